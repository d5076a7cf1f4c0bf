"""A score of which nothing is known but what a submission looks like: it can be run, and that is all.

No attack reads it by its name, no bound knows how far a label moves it, and nothing ships that it is.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar, NoReturn

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.metrics.readings import Reading, Released, Rows, ScoredMetric, Totals
from labelinf_scores.simulation.formats import Classes, Columns, SubmissionFormat

__all__ = ["Unnamed"]


@attrs.frozen(kw_only=True, eq=False)
class Unnamed(ScoredMetric):
    """Whatever a user's scorer computes.

    Attributes:
        form: What a submission looks like.
        classes: What says that a record is of class 0, ..., K - 1, where a record has one entry.
        better: Whether more is better, as far as is known.
    """

    rows: ClassVar[Rows] = Rows.FIRST  # of which least is known
    two_classes: ClassVar[bool] = False
    sums: ClassVar[bool] = False
    named: ClassVar[bool] = False

    form: SubmissionFormat
    classes: NDArray[Any]
    better: bool = True

    @property
    def higher(self) -> bool:  # type: ignore[override]  # of other metrics the class knows
        """Whether more is better, as far as is known."""
        return self.better

    def honest(self, probabilities: NDArray[np.float64]) -> NDArray[Any]:
        """Return the submission of who believes this of every record, shape ``(n, K)``."""
        if isinstance(self.form, Columns):
            return probabilities
        if isinstance(self.form, Classes):
            return np.asarray(self.classes[probabilities.argmax(axis=1)])
        return np.asarray(probabilities @ self.classes.astype(np.float64))

    def score(self, labels: NDArray[Any], predictions: NDArray[np.float64]) -> float:
        """There is none of our own."""
        self._refuse()

    def reading(self, predictions: NDArray[Any], score: Fraction, totals: Totals, released: Released) -> Reading:
        """There is none.

        Raises:
            ValueError: Always.
        """
        self._refuse()

    def fault(self, predictions: NDArray[Any], n_records: int) -> str:
        """Return what is wrong with predictions: nothing but their number."""
        sent = len(predictions) if np.ndim(predictions) else 1
        return "" if sent == n_records else f"there are {sent} rows of predictions, expected {n_records}."

    def _refuse(self) -> NoReturn:
        raise ValueError("nobody knows what is scored")
