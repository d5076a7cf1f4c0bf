"""All labels from squared errors: predictions are powers of K, and nothing bounds predictions (M23, M24).

``N MSE = sum p^2 - 2 sum p y + sum y^2`` tells ``sum p_i y_i`` for any real p. Known records are predicted right and
the others all alike; a block of m is predicted ``c + t K^j``, so that the sum spells their labels in base K. What
limits m is the relative error of the scorer's sum; t is chosen where most labels fit. Decimals do not protect the MSE:
a larger t sees through them. The root does better, and so does clipping predictions to the range of the labels *and*
rounding.

Example::

    labelinf attack linear-weights --metric mse --labels digits --defence 'round(decimals=0)'
"""

from __future__ import annotations

import functools
import math

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.attacks.metric_attack import Board, MetricAttack, released
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.metrics.readings import Rows
from labelinf_scores.metrics.readings.squares import SquaredResiduals

__all__ = ["LinearWeights"]

_SCALES = range(-60, 61)  #: powers of two that t is tried at
_MOST = 52  #: labels of a block
_SPARE = 1 - 2.0**-20  #: sizes are computed in doubles; what is written down is checked exactly


@attrs.frozen(kw_only=True)
class LinearWeights(MetricAttack):
    """Recovers all labels, which count as the numbers 0, 1, ..., K - 1."""

    rows = Rows.REALS
    reading_of = "sums of predictions times labels, as squared errors tell them"

    def too_coarse(self, threat: ScoreThreat) -> str:
        """One label must stand out from the error."""
        fits = _scale(threat, _residual(threat.totals.counts, _middle(threat.totals.counts)), 1) is not None
        return "" if fits else "one label does not stand out from the error of the score"

    def rate(self, threat: ScoreThreat) -> float:
        """Return the labels of the first query; later ones read no fewer."""
        counts, size = threat.totals.counts, 0
        residual = _residual(counts, _middle(counts))
        while size < _MOST and _scale(threat, residual, size + 1) is not None:
            size += 1
        return float(size)

    def play(self, board: Board) -> None:
        """Ask block after block, larger ones as known records leave less to be wrong about."""
        threat, size, limit = board.oracle.threat, 1, _MOST
        while board.unknown.size:
            left = _left(board)
            middle = _middle(left)
            residual, most = _residual(left, middle), min(limit, max(1, board.unknown.size - 1))
            size = min(size, most)
            while size < most and _scale(threat, residual, size + 1) is not None:
                size += 1
            scale = _scale(threat, residual, size)
            if scale is None or not _read(board, board.unknown[:size], middle, scale):
                if size == 1:
                    return
                size = limit = size - 1  # a block that was not read is not asked about again


def _left(board: Board) -> tuple[int, ...]:
    """Return how many of the unknown labels are of every class."""
    found = np.bincount(board.labels[board.known], minlength=len(board.totals.counts))
    return tuple(int(count - seen) for count, seen in zip(board.totals.counts, found, strict=True))


def _middle(counts: tuple[int, ...]) -> float:
    """Return a value near the mean label, a multiple of 1/16 so that predictions are held exactly."""
    return round(16 * sum(k * count for k, count in enumerate(counts)) / max(1, sum(counts))) / 16


def _residual(counts: tuple[int, ...], middle: float) -> float:
    """Return the sum of squared residuals of labels that are all predicted ``middle``."""
    return sum(count * (k - middle) ** 2 for k, count in enumerate(counts))


@functools.lru_cache(maxsize=1024)
def _scale(threat: ScoreThreat, residual: float, size: int) -> int | None:
    """Return the exponent of the t at which the interval is shortest against t; None when it is no shorter."""
    metric, totals = threat.metric, threat.totals
    if not isinstance(metric, SquaredResiduals):
        return None
    base = threat.n_classes
    norm = math.sqrt(sum(float(base) ** (2 * j) for j in range(size)))
    if base**size >= 2**52:
        return None

    def share(scale: int) -> float:
        t = 2.0**scale
        return metric.length((math.sqrt(residual) + t * norm) ** 2, totals, released(threat)) / t

    found = min(_SCALES, key=share)
    return found if share(found) < _SPARE else None


def _read(board: Board, asked: NDArray[np.intp], middle: float, scale: int) -> bool:
    """Ask about a block and write down the only labels that fit; whether there were any.

    Raises:
        ValueError: No labels fit.
    """
    base, unit = len(board.totals.counts), 2.0**scale
    predictions = board.labels.astype(np.float64)
    predictions[board.unknown] = middle if scale <= -4 else round(middle)
    predictions[asked] += unit * np.array([float(base**j) for j in range(asked.size)])
    told = board.ask(predictions, asked)
    if told is None:
        return False
    step = int(told.gaps[0])
    low, high = math.ceil(told.low / step), math.floor(told.high / step)
    if low != high:
        return False
    digits = []
    for _ in range(asked.size):
        low, digit = divmod(low, base)
        digits.append(digit)
    if low:
        raise ValueError("no labels have this sum")
    board.settle(asked, digits)
    return True
