"""All labels from squared errors: predictions are powers of a base, and nothing bounds predictions (M23, M24, M25).

``N MSE = sum p^2 - 2 sum p y + sum y^2`` tells ``sum p_i y_i`` for any real p. Known records are predicted right and
the others all alike; a block of m is predicted ``c + t B^j``, so that the sum spells their labels: B is one more than
the range of the values over their least distance, K for the values 0, 1, ..., K - 1. What limits m is the relative
error of the scorer's sum; t is chosen where most labels fit. Decimals do not protect the MSE: a larger t sees through
them. The root does better, and so does clipping predictions to the range of the labels *and* rounding, where
``shifted-levels`` goes on. RMSLE is read alike, its logarithms in the place of values, as far as ``log(1 + p)``
reaches.

Example::

    labelinf attack linear-weights --metric mse --labels digits --defence 'round(decimals=0)'
"""

from __future__ import annotations

import functools
import itertools
import math
from fractions import Fraction

import attrs
import numpy as np

from labelinf_scores.attacks.metric_attack import Board, MetricAttack, released
from labelinf_scores.decoders.labelling_sums import labellings_between
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.metrics.readings import Rows
from labelinf_scores.metrics.readings.squares import SquaredResiduals

__all__ = ["LinearWeights"]

_SCALES = range(-60, 61)  #: powers of two that t is tried at
_MOST = 52  #: labels of a block
_SPARE = 1 - 2.0**-20  #: sizes are computed in doubles; what is written down is checked exactly


@attrs.frozen(kw_only=True)
class LinearWeights(MetricAttack):
    """Recovers all labels, which count as what their classes stand for."""

    rows = Rows.REALS
    reading_of = "sums of predictions times labels, as squared errors tell them"

    def too_coarse(self, threat: ScoreThreat) -> str:
        """One label must stand out from the error."""
        scale = _Scale.of(threat)
        if scale is None:
            return "the metric has no score of such values"
        fits = scale.exponent(threat.totals.counts, 1) is not None
        return "" if fits else "one label does not stand out from the error of the score"

    def rate(self, threat: ScoreThreat) -> float:
        """Return the labels of the first query; later ones read no fewer."""
        scale, size = _Scale.of(threat), 0
        if scale is None:
            return 0.0
        while size < _MOST and scale.exponent(threat.totals.counts, size + 1) is not None:
            size += 1
        return float(size)

    def play(self, board: Board) -> None:
        """Ask block after block, larger ones as known records leave less to be wrong about."""
        scale, size, limit = _Scale.of(board.oracle.threat), 1, _MOST
        while scale is not None and board.unknown.size:
            counts = tuple(board.left.tolist())
            most = min(limit, max(1, board.unknown.size - 1))
            size = min(size, most)
            while size < most and scale.exponent(counts, size + 1) is not None:
                size += 1
            exponent = scale.exponent(counts, size)
            if exponent is None or not scale.read(board, size, scale.middle(counts), exponent):
                if size == 1:
                    return
                size = limit = size - 1  # a block that was not read is not asked about again


@attrs.frozen(kw_only=True)
class _Scale:
    """How wide the steps of a block are on one board.

    Attributes:
        threat: What is public.
        metric: What is scored.
        numbers: What the classes stand for in the sum.
    """

    threat: ScoreThreat
    metric: SquaredResiduals
    numbers: tuple[Fraction, ...]

    @classmethod
    def of(cls, threat: ScoreThreat) -> _Scale | None:
        """Return the scale of a board; None where its values have no score."""
        metric = threat.metric
        if not isinstance(metric, SquaredResiduals):
            return None
        try:
            return cls(threat=threat, metric=metric, numbers=metric.numbers(threat.totals))
        except ValueError:
            return None

    @property
    def apart(self) -> Fraction:
        """The least distance of two numbers."""
        ordered = sorted(self.numbers)
        return min(b - a for a, b in itertools.pairwise(ordered))

    @property
    def base(self) -> float:
        """What every weight is times the one before."""
        return math.ceil(16 * float((max(self.numbers) - min(self.numbers)) / self.apart)) / 16 + 1

    def middle(self, counts: tuple[int, ...]) -> float:
        """Return a value near the mean, a multiple of 1/16 so that predictions are held exactly."""
        total = sum(float(number) * count for number, count in zip(self.numbers, counts, strict=True))
        return min(round(16 * total / max(1, sum(counts))) / 16, float(max(self.numbers)))

    @property
    def confined(self) -> bool:
        """Whether predictions are cut to a range."""
        return math.isfinite(self.threat.facts.highest) or math.isfinite(self.threat.facts.lowest)

    def room(self, counts: tuple[int, ...]) -> float:
        """Return how far above the middle a prediction may be: up to the largest value, where they are cut to it."""
        if not self.confined:
            return self.metric.reach
        facts, values = self.threat.facts, self.threat.totals.values
        inside = facts.lowest <= min(values) and max(values) <= facts.highest
        return min(self.metric.reach, float(max(self.numbers)) - self.middle(counts)) if inside else 0.0

    def residual(self, counts: tuple[int, ...]) -> float:
        """Return the sum of squared residuals of labels that are all predicted in the middle."""
        middle = self.middle(counts)
        return sum(count * (float(number) - middle) ** 2 for number, count in zip(self.numbers, counts, strict=True))

    def exponent(self, counts: tuple[int, ...], size: int) -> int | None:
        """Return the exponent of the t at which the interval is shortest against t; None when it is too long."""
        residual, room = self.residual(counts), self.room(counts)
        return _exponent(self.metric, self.threat, residual, room, self.base, float(self.apart), size)

    def read(self, board: Board, size: int, middle: float, exponent: int) -> bool:
        """Ask about a block and write down the only labels that fit; whether there were any.

        Raises:
            ValueError: No labels fit.
        """
        asked, numbers = board.unknown[:size], np.array([float(number) for number in self.numbers])
        wanted = numbers[np.maximum(board.labels, 0)]
        wanted[board.unknown] = middle if exponent <= -4 or self.confined else round(middle)
        wanted[asked] += 2.0**exponent * np.array([round(self.base**j) for j in range(size)], dtype=np.float64)
        predictions = self.metric.predictions(wanted)
        known = board.known
        predictions[known] = np.array([float(value) for value in board.totals.values])[board.labels[known]]
        told = board.ask(predictions, asked)
        if told is None:
            return False
        unit = math.lcm(*(number.denominator for number in self.numbers))
        whole = [int(number * unit) for number in self.numbers]
        costs = [[int(gap) * number for number in whole] for gap in told.gaps.tolist()]
        found = labellings_between(costs, told.low * unit, told.high * unit, counts=board.left.tolist())
        if found is None or len(found) > 1:
            return False
        if not found:
            raise ValueError("no labels have this sum")
        board.settle(asked, found[0])
        return True


@functools.lru_cache(maxsize=1024)
def _exponent(
    metric: SquaredResiduals, threat: ScoreThreat, residual: float, room: float, base: float, apart: float, size: int
) -> int | None:
    weights = [float(round(base**j)) for j in range(size)]
    if weights[-1] >= 2**52:
        return None
    norm = math.sqrt(sum(weight * weight for weight in weights))

    def share(exponent: int) -> float:
        t = 2.0**exponent
        if t * weights[-1] > room:
            return math.inf
        return metric.length((math.sqrt(residual) + t * norm) ** 2, threat.totals, released(threat)) / (t * apart)

    found = min(_SCALES, key=share)
    return found if share(found) < _SPARE else None
