"""Hugging Face competitions: ``compute(params)`` of ``metric.py``, with ``solution.csv`` in the private data set."""

from __future__ import annotations

from typing import Any

from huggingface_hub import hf_hub_download

from labelinf_guard.export.settings import SETTINGS
from labelinf_guard.export.stateless import scored


def compute(params: Any) -> dict[str, dict[str, float]]:
    """Return the scores of the public rows and of the private ones, which the platform keeps until the end.

    Raises:
        SubmissionError: The submission cannot be scored, in a constant sentence.
        LabelsError: The solution cannot be used.
    """
    solution, submission = (
        hf_hub_download(repo_id=params.competition_id, filename=name, token=params.token, repo_type="dataset")
        for name in ("solution.csv", f"submissions/{params.team_id}-{params.submission_id}.csv")
    )
    public, private = scored(SETTINGS, solution, submission, ("Public", "Private"))
    return {"public_score": {SETTINGS.metric: public}, "private_score": {SETTINGS.metric: private}}
