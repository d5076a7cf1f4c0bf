"""Kaggle's metric notebook: ``score(solution, submission, row_id_column_name)``, called for one ``Usage`` at a time."""

from __future__ import annotations

import pandas as pd

from labelinf_guard.export.settings import SETTINGS
from labelinf_guard.export.stateless import SubmissionError, answer, canonical, labels_of


class ParticipantVisibleError(Exception):
    """What Kaggle shows to whoever sent the submission."""


def score(solution: pd.DataFrame, submission: pd.DataFrame, row_id_column_name: str) -> float:
    """Return the score of the rows of a solution, rounded.

    Raises:
        ParticipantVisibleError: The submission cannot be scored, in a constant sentence.
        LabelsError: The solution cannot be used.
    """
    labels = labels_of(SETTINGS, solution[row_id_column_name], solution[SETTINGS.label])
    header = [SETTINGS.id if name == row_id_column_name else name for name in submission.columns]
    try:
        rows = canonical(SETTINGS, labels, header, submission.itertuples(index=False, name=None))
    except SubmissionError as error:
        raise ParticipantVisibleError(str(error)) from None
    return float(answer(SETTINGS, labels, rows))
