"""From a CSV to a board that is served, by five commands in processes of their own; and its pages in a browser."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

BOARD = (
    '[board]\ntitle = "<Eyes & ears>"\nlabels = "labels.csv"\nid = "image"\nlabel = "grade"\nclasses = ["0", "1"]\n'
    'metric = "accuracy"\n[public]\nshare = 0.17\n[release]\nbeat = 0.5\n[limits]\nseconds = 0.5\n'
)
LABELS = np.random.default_rng(2).integers(0, 2, 5000)
COMMAND = [sys.executable, "-m", "labelinf_core", "guard"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}

pytestmark = pytest.mark.slow


def ran(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [*COMMAND, *arguments], cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def free() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


def csv() -> bytes:
    rows = np.where(np.random.default_rng(3).random(LABELS.size) < 0.8, LABELS, 1 - LABELS)
    return ("image,prediction\n" + "".join(f"i{at},{row}\n" for at, row in enumerate(rows))).encode()


def get(address: str) -> str:
    with urllib.request.urlopen(address, timeout=60) as answer:
        return str(answer.read().decode())


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str, str]]:
    """A board as a new user comes to it: plan, init, token, serve, and a submission; both addresses and its answer."""
    pytest.importorskip("uvicorn")
    folder = tmp_path_factory.mktemp("board")
    (folder / "labels.csv").write_text("image,grade\n" + "".join(f"i{at},{y}\n" for at, y in enumerate(LABELS)))
    (folder / "board.toml").write_text(BOARD)
    assert "recommended" in ran(folder, "plan", "--records", "5000", "--teams", "50")
    assert "no rule that uses every answer of this board" in ran(folder, "init", "board.toml")
    token, ports = ran(folder, "token", "board.toml", "alice").strip(), (free(), free())
    command = [*COMMAND, "serve", "board.toml", "--port", str(ports[0]), "--host-port", str(ports[1])]
    server = subprocess.Popen(
        command, cwd=folder, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    public, host = (f"http://127.0.0.1:{port}/" for port in ports)
    try:
        for _ in range(300):
            with contextlib.suppress(OSError):
                get(public), get(host)
                break
            time.sleep(0.1)
        asked = urllib.request.Request(f"{public}submissions", data=csv())
        asked.add_header("Authorization", "Basic " + base64.b64encode(f"alice:{token}".encode()).decode())
        with urllib.request.urlopen(asked, timeout=60) as answer:
            told = json.loads(answer.read())
        assert told["left"] == 99
        yield public, host, told["score"]
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(timeout=60)


def test_five_commands_serve_a_board_that_answers(served: tuple[str, str, str]) -> None:
    public, host, score = served
    board, status = json.loads(get(f"{public}board.json")), json.loads(get(f"{host}status.json"))
    assert board["teams"] == [{"team": "alice", "score": score}]
    assert 0.7 < float(score) < 0.9
    assert status["head"] == board["head"]
    assert status["submissions"] == 1
    assert status["labels"]["status"] == "audited"
    with pytest.raises(urllib.error.HTTPError):
        get(f"{public}status.json")


@pytest.mark.parametrize("page", ["public", "host"])
def test_a_browser_shows_the_pages(served: tuple[str, str, str], page: str, tmp_path: Path) -> None:
    """Nothing is refused by the pages' own policy, nothing is fetched from elsewhere, and what is told is shown."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no Chromium here")
    public, host, score = served
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={tmp_path}"]
    quiet = ["--disable-background-networking", "--disable-component-update", "--no-first-run"]
    done = subprocess.run(
        [browser, *flags, *quiet, "--enable-logging=stderr", "--v=0", "--virtual-time-budget=3000", "--dump-dom",
         public if page == "public" else host],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert "CONSOLE" not in done.stderr, done.stderr
    assert "<h1>&lt;Eyes &amp; ears&gt;" in done.stdout
    if page == "public":
        assert f'<td class="n">{score}</td>' in done.stdout
        assert "What this board proves" in done.stdout
        assert "bits, reserved" not in done.stdout
    else:
        assert "labels already determined: 0 (proved)" in done.stdout
        assert "bits, reserved" in done.stdout
