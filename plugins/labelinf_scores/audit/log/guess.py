"""The best guess that a log leaves where it determines little: labels nearly determined (M44).

A **vote** ranks records by the mean rank of what submissions predict. The **programme's point** ranks them by where a
normal variable with independent coordinates ends up that is told all answers: ``mu = p + V C' (C V C' + H)^-1 (T -
C p)``, with each interval's length as noise. From a flat prior p (as M44 was written down) it is worse than the vote
where answers are few; from the vote itself as prior it was better in every log that was tried. It is worth something
only where it is better, which the host, who has the labels, can tell.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.audit.log.certificate import Log, scaled_rows

__all__ = ["VoteGuess", "guess", "point", "right", "vote"]

Floats = NDArray[np.float64]

_TRUST = 2.0  # log-odds for every standard deviation of the vote


@attrs.frozen(kw_only=True)
class VoteGuess:
    """How many labels of two classes are guessed right.

    Attributes:
        vote: By a vote of all submissions.
        point: By the programme's point.
    """

    vote: float
    point: float


def vote(predictions: Sequence[Floats]) -> Floats:
    """Return the mean rank of every record, shape ``(n_records,)``; higher is more positive."""
    from scipy.stats import rankdata

    return np.asarray(np.mean([rankdata(row) for row in predictions], axis=0))


def point(log: Log, prior: Floats) -> Floats:
    """Return the posterior mean of two classes' labels.

    Args:
        log: The answers, one row each.
        prior: Chance of every record to be positive, shape ``(n_records,)``.
    """
    rows, low, high = scaled_rows(log.rows, log)
    variance = prior * (1 - prior)
    spread = rows * variance
    noise = np.diag((high - low) ** 2 / 12 + 1e-12 * (rows**2).sum(axis=1))
    pull = np.linalg.lstsq(spread @ rows.T + noise, (low + high) / 2 - rows @ prior, rcond=None)[0]
    return np.asarray(prior + spread.T @ pull)


def guess(log: Log, predictions: Sequence[Floats], labels: NDArray[np.intp]) -> VoteGuess | None:
    """Return how good both guesses are; None where a vote says nothing: more than two classes, or no sums."""
    if log.n_classes != 2 or not log.linear or not log.entries:
        return None
    voted = vote(predictions)
    apart = (voted - voted.mean()) / (float(voted.std()) or 1.0)
    return VoteGuess(vote=right(voted, labels), point=right(point(log, 1 / (1 + np.exp(-_TRUST * apart))), labels))


def right(score: Floats, labels: NDArray[np.intp]) -> float:
    """Return the share of two classes' labels that are right where the highest scores are positive, as many as are."""
    chosen = np.zeros(labels.size, dtype=np.intp)
    chosen[np.argsort(-score, kind="stable")[: int(labels.sum())]] = 1
    return float((chosen == labels).mean())
