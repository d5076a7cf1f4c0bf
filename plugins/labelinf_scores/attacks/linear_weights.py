"""All labels from squared errors: predictions are powers of a base, and nothing bounds predictions (M23, M24, M25).

``N MSE = sum p^2 - 2 sum p y + sum y^2`` tells ``sum p_i y_i`` for any real p. Known records are predicted right and
the others all alike; a block of m is predicted ``c + t B^j``, so that the sum spells their labels: B is one more than
the range of the values over their least distance, K for the values 0, 1, ..., K - 1. What limits m is the relative
error of the scorer's sum; t is chosen where most labels fit. Scorers err by far less than is proved: an answer that may
leave a few labellings mostly leaves one, and a record that it leaves open needs a smaller base in the next block.
Decimals do not protect the MSE: a larger t sees through them. The root does better, and so does clipping predictions to
the range of the labels *and* rounding, where ``shifted-levels`` goes on. RMSLE is read alike, its logarithms in the
place of values, as far as ``log(1 + p)`` reaches.

Example::

    labelinf attack linear-weights --metric mse --labels digits --defence 'round(decimals=0)'
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.attacks.metric_attack import MetricAttack, MetricSession, released
from labelinf_scores.decoders.labelling_sums import labellings_between
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.metrics.readings import Released, Rows
from labelinf_scores.metrics.readings.squares import SquaredResiduals

__all__ = ["LinearWeights"]

_SCALES = range(-60, 61)  #: powers of two that t is tried at
_MOST = 52  #: labels of a block
_SPARE = 1 - 2.0**-20  #: sizes are computed in doubles; what is written down is checked exactly
_WIDE = 5  #: least distances of two sums that an answer may leave, where arithmetic errors make up all but one


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
        return "" if scale.certain(1) else "one label does not stand out from the error of the score"

    def rate(self, threat: ScoreThreat) -> float:
        """Return the labels that the first query is sure to read; later ones read no fewer."""
        scale, size = _Scale.of(threat), 0
        while scale is not None and size < _MOST and scale.certain(size + 1):
            size += 1
        return float(size)

    def play(self, board: MetricSession) -> None:
        """Ask block after block, larger ones as known records leave less to be wrong about."""
        scale, size, limit = _Scale.of(board.oracle.threat), 1, _MOST
        if scale is None:
            return
        options = [tuple(range(len(scale.numbers)))] * board.labels.size
        while board.unknown.size and limit:
            block = scale.block(board, options, min(size, limit), limit)
            if block is None:
                return
            size = block.asked.size
            if not scale.read(board, block, options):
                limit = size - 1  # what was not read is not asked about again


@attrs.frozen(kw_only=True, eq=False)
class _Block:
    """Records that one query is about.

    Attributes:
        asked: Their places.
        weights: Of each, in units of t.
        exponent: Of t, a power of two.
    """

    asked: NDArray[np.intp]
    weights: tuple[float, ...]
    exponent: int


@attrs.frozen(kw_only=True)
class _Scale:
    """How wide the steps of a block are on one board.

    Attributes:
        threat: What is public.
        metric: What is scored.
        numbers: What the classes stand for in the sum.
        apart: The least distance of two of them.
    """

    threat: ScoreThreat
    metric: SquaredResiduals
    numbers: tuple[Fraction, ...]
    apart: Fraction

    @classmethod
    def of(cls, threat: ScoreThreat) -> _Scale | None:
        """Return the scale of a board; None where its values have no score."""
        metric = threat.metric
        if not isinstance(metric, SquaredResiduals):
            return None
        try:
            numbers = metric.numbers(threat.totals)
        except ValueError:
            return None
        apart = min(b - a for a, b in itertools.pairwise(sorted(numbers)))
        return cls(threat=threat, metric=metric, numbers=numbers, apart=apart)

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

    def certain(self, size: int) -> bool:
        """Whether a first block of so many records is read, whatever their labels are."""
        weights = self.weights([tuple(range(len(self.numbers)))] * size)
        return self.exponent(self.threat.totals.counts, weights, _SPARE) is not None

    def weights(self, options: Sequence[tuple[int, ...]]) -> tuple[float, ...]:
        """Return weights of records with these classes left: every sum of theirs is ``apart`` from the others."""
        found, weight = [], 1.0
        for left in options:
            numbers = [self.numbers[label] for label in left]
            found.append(float(round(weight)))
            weight *= math.ceil(16 * float((max(numbers) - min(numbers)) / self.apart)) / 16 + 1
        return tuple(found)

    def exponent(self, counts: tuple[int, ...], weights: tuple[float, ...], wide: float) -> int | None:
        """Return the exponent of the t at which the interval is shortest against t; None when it is too long."""
        residual, room = self.residual(counts), self.room(counts)
        return _exponent(self.metric, self.threat, residual, room, weights, float(self.apart), wide)

    def block(self, board: MetricSession, options: list[tuple[int, ...]], size: int, limit: int) -> _Block | None:
        """Return the largest block whose answer leaves few labellings, searched from ``size``; None where none does."""
        unknown = board.unknown.tolist()
        counts, most = tuple(board.left.tolist()), min(limit, max(1, len(unknown) - 1))
        narrowed = [i for i in unknown if len(options[i]) < len(self.numbers)]
        fresh = [i for i in unknown if len(options[i]) == len(self.numbers)]

        def of(size: int) -> _Block | None:
            asked = fresh[: max(0, size - len(narrowed))] + narrowed[:size]
            weights = self.weights([options[i] for i in asked])
            exponent = self.exponent(counts, weights, _SPARE if size == 1 else _WIDE)
            return None if exponent is None else _Block(asked=np.array(asked), weights=weights, exponent=exponent)

        size = min(size, most)
        found = of(size)
        while found is None and size > 1:
            size -= 1
            found = of(size)
        while found is not None and size < most and (larger := of(size + 1)) is not None:
            found, size = larger, size + 1
        return found

    def read(self, board: MetricSession, block: _Block, options: list[tuple[int, ...]]) -> bool:
        """Ask about a block, and keep what all labels that fit share; whether anything was learnt.

        Raises:
            ValueError: No labels fit.
        """
        asked, numbers = block.asked, np.array([float(number) for number in self.numbers])
        middle = self.middle(tuple(board.left.tolist()))
        wanted = numbers[np.maximum(board.labels, 0)]
        wanted[board.unknown] = middle if block.exponent <= -4 or self.confined else round(middle)
        wanted[asked] += 2.0**block.exponent * np.array(block.weights)
        predictions = self.metric.predictions(wanted)
        known = board.known
        predictions[known] = np.array([float(value) for value in board.totals.values])[board.labels[known]]
        told = board.ask(predictions, asked)
        if told is None:
            return False
        unit = math.lcm(*(number.denominator for number in self.numbers))
        whole = [int(number * unit) for number in self.numbers]
        left = [options[i] for i in asked.tolist()]
        costs = [[int(gap) * whole[label] for label in own] for gap, own in zip(told.gaps.tolist(), left, strict=True)]
        found = labellings_between(costs, told.low * unit, told.high * unit)
        if found is None:
            return False
        most = board.left
        labellings = [tuple(own[at] for own, at in zip(left, each, strict=True)) for each in found]
        fitting = [each for each in labellings if (np.bincount(each, minlength=most.size) <= most).all()]
        if not fitting:
            raise ValueError("no labels have this sum")
        kept = [tuple(sorted(set(labels))) for labels in zip(*fitting, strict=True)]
        for place, labels in zip(asked.tolist(), kept, strict=True):
            options[place] = labels
        sure = [(place, labels[0]) for place, labels in zip(asked.tolist(), kept, strict=True) if len(labels) == 1]
        if sure:
            board.settle(*map(np.array, zip(*sure, strict=True)))
        return kept != left


@functools.lru_cache(maxsize=1024)
def _exponent(
    metric: SquaredResiduals,
    threat: ScoreThreat,
    residual: float,
    room: float,
    weights: tuple[float, ...],
    apart: float,
    wide: float,
) -> int | None:
    if weights[-1] >= 2**52:
        return None
    norm = math.sqrt(sum(weight * weight for weight in weights))

    def share(exponent: int, noise: Released) -> float:
        t = 2.0**exponent
        if t * weights[-1] > room:
            return math.inf
        return metric.length((math.sqrt(residual) + t * norm) ** 2, threat.totals, noise) / (t * apart)

    found = min(_SCALES, key=lambda exponent: share(exponent, released(threat)))
    whole = share(found, released(threat))
    return found if whole < wide and whole - share(found, Released()) < _SPARE else None
