"""A user may name what never ends: a pipe that nobody writes to, a device. Every command says so and ends."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from labelinf_core.cli import main
from labelinf_core.contracts.errors import InputError
from labelinf_core.contracts.regular import open_regular, read_regular
from labelinf_gradients.audit.updates import read_updates
from labelinf_gradients.game.networks import Perceptron

NAMED = [
    "attack majority --labels FILE",
    "check FILE",
    "check sklearn FILE",
    "check y.csv FILE --scores FILE --metric accuracy",
    "check p.csv --seal FILE",
    "check FILE.npz --model m:f",
    "bounds --labels FILE",
    "matrix FILE",
    "audit scorer sklearn --labels FILE",
    "audit scorer sklearn --labels FILE.npy",
    "audit log FILE --scores FILE --metric accuracy --labels FILE",
    "audit log FILE.npy --scores s.csv --metric accuracy --labels y.csv",
    "audit outputs FILE --planted-by-me c.csv",
    "audit outputs FILE.npy --planted-by-me c.csv",
    "audit outputs p.csv --planted-by-me FILE",
    "audit outputs p.csv --planted-by-me c.csv --reference FILE.npz",
    "audit outputs FILE --seal FILE",
    "audit grader FOLDER --solution FILE --sample FILE",
    "plant FILE --column y --out new",
    "guard init FILE",
    "guard status FILE",
    "report FILE",
    "compare FILE FILE",
]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with pipes; whoever waits for one is stopped, which fails the test."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "y.csv").write_text("id,y\n" + "".join(f"{i},{i % 2}\n" for i in range(20)))
    (tmp_path / "s.csv").write_text("submission,score\na,.5\n")
    (tmp_path / "c.csv").write_text("label\n" + "0\n1\n" * 10)
    (tmp_path / "p.csv").write_text("0,1\n" + ".4,.6\n" * 20)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "grade.py").write_text("def grade(submission, answers):\n    return 0.0\n")
    for name in ("pipe.csv", "pipe.csv.npy", "pipe.csv.npz", "pipe.csv.safetensors", "folder/answers.csv"):
        os.mkfifo(tmp_path / name)

    def late(*_: object) -> None:
        raise AssertionError("it waits for a pipe that nobody writes to")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(20)
    yield tmp_path
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("command", NAMED)
def test_no_command_waits_for_a_pipe(here: Path, command: str) -> None:
    words = command.replace("FILE", "pipe.csv").replace("FOLDER", "folder").split()
    done = CliRunner().invoke(main, words)

    assert done.exit_code == 2, done.output
    assert "pipe or a device" in done.output or "holds no run" in done.output


@pytest.mark.parametrize("name", ["pipe.csv.npz", "pipe.csv.safetensors"])
def test_saved_updates_are_regular_files(here: Path, name: str) -> None:
    network = Perceptron.random((4, 3), rng=np.random.default_rng(0))
    with pytest.raises(InputError, match="pipe or a device"):
        read_updates(name, network)


def test_a_device_is_refused_and_a_size_is_limited(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="no regular file"):
        open_regular("/dev/zero")
    with pytest.raises(IsADirectoryError):
        open_regular(tmp_path)
    with pytest.raises(FileNotFoundError):
        open_regular(tmp_path / "none")
    large = tmp_path / "large"
    large.write_bytes(b"")
    os.truncate(large, 1 << 40)  # a hole: it takes no room
    with pytest.raises(OSError, match="at most") as told:
        read_regular(large)
    assert told.value.errno == errno.EFBIG
    (tmp_path / "link").symlink_to(tmp_path / "y")
    (tmp_path / "y").write_bytes(b"0")
    assert read_regular(tmp_path / "link") == b"0"
