# A guarded board over HTTP. Mount the directory with board.toml, its labels and its state at /board:
#
#   docker build -t labelinf-board .
#   docker run --rm -v "$PWD:/board" --user "$(id -u)" --entrypoint labelinf labelinf-board guard init board.toml
#   docker run -v "$PWD:/board" --user "$(id -u)" -p 127.0.0.1:8000:8000 labelinf-board
#
# The host's page stays inside: docker exec CONTAINER labelinf guard status board.toml shows the same. TLS and limits of
# connections belong to the proxy in front of the port.
FROM python:3.12-slim
COPY . /source
RUN pip install --no-cache-dir "/source[serve]" && rm -rf /source
ENV OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
USER nobody
WORKDIR /board
EXPOSE 8000
ENTRYPOINT ["labelinf", "guard", "serve", "board.toml", "--address", "0.0.0.0"]
