"""The image of a served board, as far as it goes without a daemon: its steps, in an empty environment, as nobody.

What remains untried is the base image itself, and the mount.
"""

from __future__ import annotations

import fnmatch
import json
import os
import shlex
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BOARD = (
    '[board]\nlabels = "labels.csv"\nid = "id"\nlabel = "label"\nclasses = ["0", "1"]\nmetric = "accuracy"\n'
    "[release]\nbeat = 1.0\n[limits]\nseconds = 1.0\n[target]\ngain = 0.3\n"
)


def steps() -> dict[str, list[str]]:
    """Return the instructions of the Dockerfile, by their words."""
    found: dict[str, list[str]] = {}
    for line in (ROOT / "Dockerfile").read_text().splitlines():
        if line and not line.startswith("#"):
            word, _, rest = line.partition(" ")
            found.setdefault(word, []).append(rest)
    return found


def context(folder: Path) -> Path:
    """Copy what ``COPY .`` copies: what ``.dockerignore`` lets through."""
    lines = (ROOT / ".dockerignore").read_text().split()
    assert lines[0] == "*"
    never = [line.removeprefix("**/") for line in lines if line.startswith("**/")]
    for name in (line[1:] for line in lines if line.startswith("!")):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns(*never))
        else:
            shutil.copy(ROOT / name, folder / name)
    assert not [path for path in folder.rglob("*") if any(fnmatch.fnmatch(path.name, one) for one in never)]
    return folder


def free() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.slow
def test_the_steps_of_the_image_make_a_board_that_serves_as_nobody() -> None:
    """The RUN line word for word but for its folder, then the entry point, as nobody where nobody may run it."""
    said = steps()
    assert said["COPY"] == [". /source"]
    assert said["USER"] == ["nobody"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "source").mkdir()
        context(folder / "source")
        venv.create(folder / "empty", with_pip=True)
        (run,) = said["RUN"]
        environment = {"PATH": f"{folder / 'empty' / 'bin'}{os.pathsep}{os.environ['PATH']}", "HOME": name}
        environment |= dict(item.split("=") for item in said["ENV"][0].split())
        given = {key: value for key, value in os.environ.items() if key.startswith(("PIP_", "SSL_", "http", "HTTP"))}
        done = subprocess.run(
            ["sh", "-c", run.replace("/source", str(folder / "source"))],
            env={**given, **environment},
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        if "No matching distribution" in done.stderr or "Failed to establish" in done.stderr:
            pytest.skip("no registry of packages can be reached")
        assert done.returncode == 0, done.stderr[-2000:]
        assert not (folder / "source").exists()
        _served(folder, environment, json.loads(said["ENTRYPOINT"][0]))


def _served(folder: Path, environment: dict[str, str], entry: list[str]) -> None:
    board, ports = folder / "board", (free(), free())
    board.mkdir()
    (board / "labels.csv").write_text("id,label\n" + "".join(f"r{at},{at % 2}\n" for at in range(200)))
    (board / "board.toml").write_text(BOARD)
    nobody = _nobody(folder)
    if nobody:
        for path in (board, *board.iterdir()):
            shutil.chown(path, "nobody", "nogroup")
    begin = ["labelinf", "guard", "init", entry[3]]
    begun = subprocess.run(begin, cwd=board, env=environment, check=True, stdout=subprocess.PIPE, text=True, **nobody)
    command = [*entry, "--port", str(ports[0]), "--host-port", str(ports[1])]
    server = subprocess.Popen(command, cwd=board, env=environment, stdout=subprocess.DEVNULL, **nobody)
    try:
        said = json.loads(_page(f"http://127.0.0.1:{ports[0]}/board.json", server))["certificate"]
        assert [line.partition(".")[0] for line in said][:2] == ["Model", "Gain"]
        assert set(said) <= set(begun.stdout.splitlines())  # what the host was told is what everybody is
    finally:
        server.terminate()
        server.wait(timeout=60)


def _nobody(folder: Path) -> dict[str, str]:
    """Return how to run as nobody, where that is allowed and nobody may read the interpreter; else as oneself."""
    there = {"user": "nobody", "group": "nogroup"}
    tried = [str(folder / "empty" / "bin" / "python"), "-c", ""]
    able = os.geteuid() == 0 and not subprocess.run(tried, capture_output=True, check=False, **there).returncode
    return there if able else {}


def _page(address: str, server: subprocess.Popen[bytes]) -> str:
    end = time.monotonic() + 120
    while time.monotonic() < end and server.poll() is None:
        try:
            with urllib.request.urlopen(address, timeout=10) as answer:
                return str(answer.read().decode())
        except OSError:
            time.sleep(0.5)
    raise AssertionError("the board was not served")


def test_the_steps_are_those_that_are_tried() -> None:
    """One step more, and the trial above would no longer be that of the image."""
    assert {word: len(lines) for word, lines in steps().items()} == {
        "FROM": 1,
        "COPY": 1,
        "RUN": 1,
        "ENV": 1,
        "USER": 1,
        "WORKDIR": 1,
        "EXPOSE": 1,
        "ENTRYPOINT": 1,
    }
    assert shlex.split(steps()["RUN"][0])[:3] == ["pip", "install", "--no-cache-dir"]
