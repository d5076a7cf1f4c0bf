"""Against a Ladder on anything: one record after the other is predicted as another class, and what improves stays.

Whether the Ladder answers tells the label, as long as one record is worth more than its step: two classes take a query
a record, more classes as many as have to be tried. Where it begins, everybody predicted as one class, decides whether
every step shows (a precision of 1 cannot improve, a recall of 1 neither), so all beginnings are tried out on labels
that are drawn at random with the class totals.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import ABSTAIN
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.metrics.readings import Rows

__all__ = ["beginning", "climbed"]

_TRIED = 32  # records of a rehearsal
_LEAST = 0.01  # of a probability

Floats = NDArray[np.float64]
Answers = Callable[[Floats], bool]  #: whether a query is answered with something new


def climbed(threat: ScoreThreat, start: int, answers: Answers, known: NDArray[np.intp], most: float) -> None:
    """Write labels into ``known``, record by record, until all are read or ``most`` of them were looked at.

    Args:
        threat: What is public.
        start: Class that everybody is predicted as at first.
        answers: Asks.
        known: Labels read so far, :data:`ABSTAIN` where nothing is.
        most: Records.

    Raises:
        QueriesExhaustedError: ``answers`` says so.
    """
    rows = _rows(threat)
    guess = np.tile(rows[start], (threat.n_records, *[1] * (rows.ndim - 1)))
    answers(guess)
    others = [k for k in np.argsort(threat.prior)[::-1].tolist() if k != start]
    for record in range(int(min(most, threat.n_records))):
        for k in others:
            tried = guess.copy()
            tried[record] = rows[k]
            if answers(tried):
                guess, known[record] = tried, k
                break
        else:
            known[record] = start


def beginning(threat: ScoreThreat, rng: np.random.Generator) -> tuple[int, float]:
    """Return the class to begin with, and the share of labels that are then right in a rehearsal."""
    if threat.metric is None:  # of a mean every step shows, wherever it begins
        return threat.majority, 1.0
    found = {}
    for start in range(threat.n_classes):
        rehearsal = _Rehearsal(threat, rng.permutation(np.repeat(np.arange(threat.n_classes), threat.totals.counts)))
        known = np.full(threat.n_records, ABSTAIN, dtype=np.intp)
        climbed(threat, start, rehearsal.answers, known, _TRIED)
        asked = known != ABSTAIN
        found[start] = float((known == rehearsal.labels)[asked].mean())
    return max(found.items(), key=lambda item: item[1])


class _Rehearsal:
    """A Ladder on labels that were drawn.

    Attributes:
        labels: Those.
    """

    def __init__(self, threat: ScoreThreat, labels: NDArray[np.intp]) -> None:
        self._threat, self.labels = threat, labels
        self._best = -math.inf

    def answers(self, predictions: Floats) -> bool:
        metric = self._threat.metric
        assert metric is not None
        labels: NDArray[Any] = self.labels
        if metric.of_values:
            labels = np.array(self._threat.totals.values, dtype=np.float64)[labels]
        try:
            with warnings.catch_warnings(action="ignore"):
                score = metric.score(labels, predictions)
        except Exception:  # one that has no score of these
            return False
        score = score if metric.higher else -score
        if score <= self._best + self._threat.facts.ladder_edge:
            return False
        self._best = score
        return True


def _rows(threat: ScoreThreat) -> Floats:
    """Return what stands for every class in a query, shape ``(K, ...)``."""
    metric, k = threat.metric, threat.n_classes
    if metric is not None and metric.of_values:
        return np.array([float(value) for value in threat.totals.values])
    if metric is not None and metric.rows is not Rows.COSTS and not metric.columns:
        return np.arange(k, dtype=np.float64)
    least = max(threat.clip, _LEAST / k)
    if k == 2 and not (metric is not None and metric.columns):
        return np.array([least, 1 - least])
    return np.full((k, k), least) + (1 - k * least) * np.eye(k)
