"""Fixtures of the guard's tests."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from labelinf_guard.begin import _digest
from labelinf_guard.board import Board
from labelinf_guard.clock import StepClock
from labelinf_guard.files import State, read_key, read_labels
from labelinf_guard.kept import SealedFiles
from labelinf_guard.ledger import store
from labelinf_guard.policy import read_policy
from labelinf_privacy.words import SeededWords

Twins = tuple[Path, Path, Path]


def write_labels(folder: Path, labels: np.ndarray) -> None:
    rows = "".join(f"r{at:03d},{label}\n" for at, label in enumerate(labels))
    (folder / "labels.csv").write_text(f"id,label\n{rows}")


def relabelled(folder: Path, labels: np.ndarray) -> None:
    """Write other labels of a board as though it had been begun with them, by the same draws."""
    write_labels(folder, labels)
    path = folder / "board.toml"
    state = State.of(path)
    kept = SealedFiles(state=state, key=read_key(state.key))
    public, _, codes = kept.split("public", "ids", "codes")
    ids = _digest(read_labels(path, read_policy(path).board), kept.key)
    kept.write_split(public=public, ids=ids, codes=codes)


@pytest.fixture
def relabel() -> Callable[[Path, np.ndarray], None]:
    """Write other labels of a board as though it had been begun with them."""
    return relabelled


@pytest.fixture
def begun_twins(tmp_path: Path) -> Callable[[str, dict[str, bytes]], Twins]:
    """Begin a board of 200 labels beside other files, and it with its sealed, or its public, labels flipped."""

    def begun(text: str, files: dict[str, bytes]) -> Twins:
        first = tmp_path / "one"
        first.mkdir()
        labels = np.random.default_rng(5).integers(0, 2, 200)
        write_labels(first, labels)
        for name, data in {"board.toml": text.encode(), **files}.items():
            (first / name).write_bytes(data)
        board = Board.init(first / "board.toml", clock=StepClock(), words=SeededWords(np.random.default_rng(2)))
        public = board.public
        board.close()
        second, third = (Path(shutil.copytree(first, tmp_path / name)) for name in ("two", "three"))
        relabelled(second, np.where(public, labels, 1 - labels))
        relabelled(third, np.where(public, 1 - labels, labels))
        return first, second, third

    return begun


@pytest.fixture(autouse=True)
def closed_ledgers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Close whatever ledgers a test has opened and left: as killed processes leave them, which is what many play."""
    opened: list[sqlite3.Connection] = []

    def connected(path: Path) -> sqlite3.Connection:
        opened.append(plainly(path))
        return opened[-1]

    plainly = store._connected
    monkeypatch.setattr(store, "_connected", connected)
    yield
    for connection in opened:
        connection.close()
