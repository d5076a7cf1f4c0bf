"""Killed at any moment, a run goes on where it stopped and ends with the same bytes."""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

SUITE = """
title = "slow"
trials = 6
[[matrix]]
labels = "fake-labels"
loss = "log-loss"
scorer = "float64"
attacks = ["fake-reader(pause=0.05)", "fake-coin(fails=0.2)", "fake-raises"]
defences = ["none", "fake-noise(scale=0.01)", "fake-boast"]
"""
FILES = ("results.json", "results.csv")


@pytest.fixture
def folder(tmp_path: Path, fakes: Path) -> Path:
    (tmp_path / "slow.toml").write_text(SUITE)
    return tmp_path


def start(folder: Path, out: str, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "labelinf_core", "matrix", "slow.toml", "--out", out, *options]
    return subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def trials_kept(folder: Path, out: str) -> int:
    try:
        with closing(sqlite3.connect(f"file:{folder / out / 'run.sqlite'}?mode=ro", uri=True)) as connection:
            return int(connection.execute("SELECT COUNT(*) FROM trials").fetchone()[0])
    except sqlite3.OperationalError:
        return 0


def wait_for(folder: Path, out: str, trials: int, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 60
    while trials_kept(folder, out) < trials and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def finished(folder: Path, out: str, *options: str, status: int = 4) -> dict[str, bytes]:
    process = start(folder, out, *options)
    _, errors = process.communicate(timeout=600)
    assert process.returncode == status, errors  # 4: one of the attacks raises
    return {name: (folder / out / name).read_bytes() for name in FILES}


def below(process: int) -> list[int]:
    """Return all that a command runs, but Python's own tracker of shared memory, whose death says nothing of us."""
    tracker = b"resource_tracker"
    return [one for one in workers_of(process) if tracker not in Path(f"/proc/{one}/cmdline").read_bytes()]


def workers_of(process: int) -> list[int]:
    """Return everything below a process: the command in its child, and the workers of that."""
    found = Path(f"/proc/{process}/task").glob("*/children")
    children = [int(child) for path in found for child in path.read_text().split()]
    return [*children, *(below for child in children for below in workers_of(child))]


def alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.slow
@pytest.mark.timeout(180)
@pytest.mark.skipif(not hasattr(os, "killpg"), reason="no process groups here")
def test_a_killed_run_resumed_equals_an_uninterrupted_one(folder: Path) -> None:
    whole = finished(folder, "whole", "--workers", "0")

    for attempt in range(5):  # a busy machine may not let us kill it before it is done
        process = start(folder, f"killed-{attempt}", "--workers", "2")
        wait_for(folder, f"killed-{attempt}", 3, process)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        if not (folder / f"killed-{attempt}" / "results.json").exists():
            break
    assert trials_kept(folder, f"killed-{attempt}") < 54

    assert finished(folder, f"killed-{attempt}", "--workers", "2") == whole


MATRIX = SUITE.replace('"fake-coin(fails=0.2)", "fake-raises"', '"fake-coin"').replace("6", "60", 1)
ENGINES = {
    "local": (12, ("--workers", "2")),
    "dask": (5, ("--executor", "dask", "--workers", "2")),
    "slurm": (3, ("--executor", "array.toml")),
}


@pytest.mark.slow
@pytest.mark.timeout(1800)  # a job of an array takes ten seconds to start on a busy machine
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes cannot be looked at here")
@pytest.mark.parametrize("engine", ENGINES)
def test_twenty_random_kills_change_no_byte_and_end_in_a_sentence(folder: Path, engine: str) -> None:
    """Of the command, of what it runs in, of workers: whoever is killed, the record holds what was played."""
    if engine != "local":
        pytest.importorskip({"dask": "distributed", "slurm": "submitit"}[engine])
    kills, options = ENGINES[engine]
    (folder / "slow.toml").write_text(MATRIX)
    (folder / "array.toml").write_text('executor = "slurm"\ncluster = "local"\nworkers = 2\n')
    whole = finished(folder, "whole", "--workers", "0", status=0)
    rng = np.random.default_rng(kills)

    killed = 0
    for turn in range(kills):
        process = start(folder, "killed", "--resume", *options)
        moment = time.monotonic() + rng.uniform(1, 6)  # while it starts, plays, or writes
        while process.poll() is None and (time.monotonic() < moment or not below(process.pid)):
            time.sleep(0.02)
        with contextlib.suppress(OSError, IndexError):  # it is done
            victims = [process.pid] if turn % 2 else below(process.pid)
            os.kill(rng.permutation(victims).tolist()[0], signal.SIGKILL)
            killed += 1
        _, errors = process.communicate(timeout=600)
        left_out = process.returncode == 2 and "its process was killed by SIGKILL" in errors  # a plugin, as it is read
        assert left_out or process.returncode in (0, 4, -signal.SIGKILL), errors
        if process.returncode > 0:
            assert "Traceback" not in errors
            assert all(line.startswith(("labelinf: ", "slow.toml: ")) for line in errors.rstrip().splitlines()), errors

    assert killed >= kills / 2
    assert finished(folder, "killed", "--resume", *options, status=0) == whole


@pytest.mark.long
@pytest.mark.timeout(120)
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes cannot be looked at here")
def test_workers_do_not_outlive_a_killed_run(folder: Path) -> None:
    (folder / "slow.toml").write_text(SUITE.replace('"fake-raises"', '"fake-hangs"'))
    process = start(folder, "killed", "--workers", "2")
    wait_for(folder, "killed", 1, process)
    workers = workers_of(process.pid)
    assert len(workers) >= 2

    process.send_signal(signal.SIGKILL)
    process.communicate()

    deadline = time.monotonic() + 20
    while any(map(alive, workers)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(alive, workers))


@pytest.mark.long
@pytest.mark.timeout(120)
@pytest.mark.skipif(not hasattr(os, "killpg"), reason="no process groups here")
@pytest.mark.parametrize("name", ["SIGINT", pytest.param("SIGTERM", marks=pytest.mark.slow)])
def test_an_interrupted_run_stops_at_once_and_says_how_to_go_on(folder: Path, name: str) -> None:
    process = start(folder, "stopped", "--workers", "2")
    wait_for(folder, "stopped", 1, process)

    os.killpg(process.pid, getattr(signal, name))  # as Ctrl-C in a terminal does
    output, errors = process.communicate(timeout=30)

    assert process.returncode == 130
    assert output == ""
    assert errors.splitlines() == [
        "labelinf: what was played is kept; the same command with --out stopped goes on",
        "labelinf: stopped",
    ]
    assert trials_kept(folder, "stopped") >= 1
