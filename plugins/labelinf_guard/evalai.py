"""EvalAI's ``evaluate``, for a remote worker on the host's own machine, where the ledger lives.

In the challenge's ``main.py``::

    from labelinf_guard.evalai import evaluate

and the annotation file of every phase is the path of a ``board.toml`` that was begun. EvalAI keeps and may show
standard output, standard error and whatever is returned: nothing is printed, and a refusal is a constant sentence.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

from labelinf_core.contracts.regular import open_regular
from labelinf_guard.board import UNSCORED, Board, TeamRefusal

__all__ = ["evaluate"]

_DOWN = "This board cannot answer now. Nothing was told."


def evaluate(
    test_annotation_file: str, user_submission_file: str, phase_codename: str, **kwargs: Any
) -> dict[str, Any]:
    """Answer one submission, at its beat.

    Args:
        test_annotation_file: Path of ``board.toml``.
        user_submission_file: Path of the submission.
        phase_codename: Names the split of the leaderboard.
        kwargs: ``submission_metadata`` names the team by ``participant_team``.
    """
    metadata = kwargs.get("submission_metadata") or {}
    reason, result = _DOWN, []
    try:
        told = _answer(
            Path(test_annotation_file), Path(user_submission_file), str(metadata.get("participant_team", ""))
        )
        if isinstance(told, dict):
            reason, result = "Answered.", [{phase_codename: told}]
        else:
            reason = told
    except Exception:  # EvalAI shows the text of an error, and it might hold anything
        reason = _DOWN
    return {"result": result, "submission_metadata": {}, "submission_result": reason}


def _answer(path: Path, submission: Path, team: str) -> dict[str, float] | str:
    with closing(Board.open(path)) as board:
        with open_regular(submission) as file:
            told = board.submit(team, file.read(board.policy.limits.bytes + 1))
        if isinstance(told, TeamRefusal):
            return told.reason
        show = board.policy.release.show
        name = show.removesuffix("s") if show != "scores" else board.policy.board.metric or "score"
        return told.score if told.score == UNSCORED else {name: float(told.score)}
