"""A guarded board in a grader's place: ``grade(submission, answers)``, as benchmarks of agents call it.

The task's ``grade.py`` is then two lines::

    from labelinf_guard.graded import guarded
    grade = guarded("board.toml")

Whoever submits is told what the board tells, out of its ledger: an agent that tries again and again spends its budget.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labelinf_guard.board import UNSCORED, Board, TeamRefusal
from labelinf_guard.parse import Expected

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["guarded"]


def guarded(board: str | Path, *, team: str = "agent") -> Callable[[pd.DataFrame, Any], float]:
    """Return a grader that is a board which was begun.

    Args:
        board: Path of ``board.toml``.
        team: Who submits.

    Returns:
        ``grade(submission, answers)``. The answers are not looked at: the board has its labels. A submission that is
        not answered raises a ``ValueError`` of a sentence that no label had a part in; no score is not a number.
    """

    def grade(submission: pd.DataFrame, answers: Any) -> float:
        with closing(Board.open(Path(board))) as opened:
            told = opened.submit(team, _file(submission, opened.expected))
        if isinstance(told, TeamRefusal):
            raise ValueError(told.reason)
        return math.nan if told.score == UNSCORED else float(told.score)

    return grade


def _file(submission: pd.DataFrame, expected: Expected) -> bytes:
    """Return the board's own file of a table: one column beside that of the ids is the prediction."""
    beside = [name for name in submission.columns if name != expected.form.id]
    renamed = submission.rename(columns={beside[0]: "prediction"}) if len(beside) == 1 else submission
    return str(renamed.to_csv(index=False)).encode()
