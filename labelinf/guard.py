"""A guarded board in Python.

from labelinf import guard

board = guard.open("board.toml")                       # guard.init begins one
answer = board.submit("alice", guard.csv(ids, predictions))
print(answer.score, answer.left)
print(board.certificate().sentences())
"""

from __future__ import annotations

import csv as table
import io
from collections.abc import Iterable
from pathlib import Path

from labelinf_guard.board import Board

__all__ = ["csv", "init", "open"]


def init(path: str | Path) -> Board:
    """Begin a board, as ``labelinf guard init`` does.

    Raises:
        InputError: Something cannot be used, the board exists, or it proves less than its target.
    """
    return Board.init(Path(path))


def open(path: str | Path) -> Board:
    """Open a board that was begun.

    Raises:
        InputError: It was not begun, or what it was begun with has changed since.
    """
    return Board.open(Path(path))


def csv(ids: Iterable[object], predictions: Iterable[object], *, column: str = "id") -> bytes:
    """Return a submission as CSV: one prediction for every id.

    Args:
        ids: In any order.
        predictions: Classes, or probabilities of the second of two classes.
        column: What the board calls the ids.
    """
    text = io.StringIO()
    writer = table.writer(text, lineterminator="\n")
    writer.writerow((column, "prediction"))
    writer.writerows(zip(ids, predictions, strict=True))
    return text.getvalue().encode()
