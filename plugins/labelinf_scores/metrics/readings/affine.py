"""Log-loss in every affine form, with weights, and as D2: one weighted sum of log-losses beyond a level.

Negated, in bits, added up instead of averaged, scaled and shifted, with a weight for every record, or as the share of
the log-loss of the class frequencies that is left: ``score = level + sum_i w_i (cost(p_i, y_i) - ln 2)``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.metrics.readings.base import UNIT, Floats, Reading, Released, Rows, ScoredMetric, Totals, exact
from labelinf_scores.metrics.readings.library import scikit_learn

__all__ = ["NEUTRAL", "AffineLogLoss", "D2LogLoss", "WeightedSum"]

NEUTRAL = 0.5  #: the prediction under which both labels cost the same
_CLIP = float(np.finfo(np.float64).eps)  # scikit-learn's, of doubles
_SPARE = 8 * float(UNIT)  # relative error of a weight
_SCALE = 60


def _floats(given: Iterable[float]) -> tuple[float, ...]:
    return tuple(map(float, given))


@attrs.frozen(kw_only=True, eq=False)
class WeightedSum:
    """What a score is: a level, and what every record costs beyond the neutral prediction times its weight.

    Attributes:
        weights: What every record's cost counts for, sign and base included, shape ``(n_records,)``.
        level: The score of the neutral prediction everywhere.
        error: How far a weight, and the level, may be off.
    """

    weights: Floats
    level: float
    error: float


@attrs.frozen(kw_only=True)
class AffineLogLoss(ScoredMetric):
    """scikit-learn's log-loss times a factor, plus an offset.

    Attributes:
        factor: What it is multiplied by: -1 where more is better, ``1 / ln 2`` in bits.
        offset: What is added.
        total: Whether records are added up and not averaged.
        weights: What every record weighs, positive; none: all the same.
        clip: Probabilities are clipped to ``[clip, 1 - clip]`` before scikit-learn does so.
    """

    rows = Rows.COSTS
    higher = False
    factor: float = attrs.field(default=1.0)
    offset: float = attrs.field(default=0.0)
    total: bool = False
    weights: tuple[float, ...] = attrs.field(default=(), converter=_floats)

    clip: float = attrs.field(default=0.0, validator=[attrs.validators.ge(0), attrs.validators.lt(0.5)])

    @factor.validator
    @offset.validator
    def _number(self, attribute: attrs.Attribute[float], value: float) -> None:
        if not math.isfinite(value) or (attribute.name == "factor" and not value):
            raise ValueError(f"{attribute.name}={value} must be finite, and a factor not zero.")

    @weights.validator
    def _positive(self, attribute: attrs.Attribute[tuple[float, ...]], value: tuple[float, ...]) -> None:
        if not all(0 < weight < math.inf for weight in value):
            raise ValueError("weights must be positive numbers.")

    def score(self, labels: NDArray[Any], predictions: Floats) -> float:
        """Return ``sklearn.metrics.log_loss``, times the factor, plus the offset."""
        from sklearn.metrics import log_loss

        heavy = np.array(self.weights) if self.weights else None
        predictions = np.clip(predictions, self.clip, 1 - self.clip)
        own = log_loss(labels, predictions, labels=[0, 1], sample_weight=heavy, normalize=not self.total)
        return float(self.factor * own + self.offset)

    @property
    def scores_only(self) -> int | None:
        """As many as there are weights."""
        return len(self.weights) or None

    def within(self, clip: float) -> AffineLogLoss:
        """Return the same behind a clip."""
        return attrs.evolve(self, clip=max(clip, self.clip))

    def sensitivity(self, n_records: int) -> float:
        """Return what the heaviest record's two labels cost apart at the clip, scikit-learn's own at the least.

        Next to an offset the sum is rounded by more than the log-loss itself.
        """
        heavy = np.array(self.weights or (1.0,) * n_records)
        most = float(heavy.max()) if self.total else float(heavy.max() / heavy.sum())
        clip = max(_CLIP, self.clip)
        return abs(self.factor) * most * math.log((1 - clip) / clip) + _SPARE * abs(self.offset)

    def fault(self, predictions: NDArray[Any], n_records: int) -> str:
        """Return what is wrong with ``predictions``, or with the number of weights."""
        if self.weights and len(self.weights) != n_records:
            return f"there are {len(self.weights)} weights, and {n_records} records."
        if problem := super().fault(predictions, n_records):
            return problem
        values = np.asarray(predictions)
        return "" if values.min() >= 0 and values.max() <= 1 else "predictions must be probabilities."

    def reading(self, predictions: Floats, score: Fraction, totals: Totals, released: Released) -> Reading:
        """Return an interval for the weighted costs beyond the level, in units of ``2**-60``.

        Raises:
            ValueError: The predictions cannot be scored.
        """
        if fault := self.fault(predictions, totals.n_records):
            raise ValueError(fault.rstrip("."))
        clip, sums = max(_CLIP, self.clip), self.weighted(totals)
        predictions = np.clip(predictions, clip, 1 - clip)
        apart = np.stack([-np.log1p(-predictions), -np.log(predictions)], axis=1) - math.log(2)
        apart[predictions == NEUTRAL] = 0.0
        low, high = (end - Fraction(sums.level) for end in released.interval(score, Fraction(0)))
        sizes = float(np.abs(apart).max(axis=1).sum())
        # The weights and the level; the scorer's own sum, and the costs here and there, in doubles.
        arithmetic = 4 * (totals.n_records + 16) * float(UNIT) * (1 + abs(sums.level) + abs(float(score)))
        slack = Fraction(sums.error * (sizes + 1) + arithmetic) * 2**_SCALE + 2
        table = np.stack([exact(sums.weights * apart[:, k], _SCALE) for k in (0, 1)], axis=1)
        return Reading(coefficients=table, low=low * 2**_SCALE - slack, high=high * 2**_SCALE + slack)

    def weighted(self, totals: Totals) -> WeightedSum:
        """Return it as a weighted sum beyond a level."""
        heavy = np.array(self.weights or (1.0,) * totals.n_records)
        share = self.factor * (heavy if self.total else heavy / heavy.sum())
        level = self.offset + float(share.sum()) * math.log(2)
        error = _SPARE * (float(np.abs(share).max()) + abs(self.offset) + abs(level))
        return WeightedSum(weights=share, level=level, error=error)


@attrs.frozen(kw_only=True)
class D2LogLoss(AffineLogLoss):
    """One minus the share of the log-loss of the class frequencies that is left."""

    higher = True
    factor: float = attrs.field(default=1.0, init=False)
    offset: float = attrs.field(default=0.0, init=False)
    total: bool = attrs.field(default=False, init=False)
    weights: tuple[float, ...] = attrs.field(default=(), init=False)
    clip: float = attrs.field(default=0.0, init=False)
    score = scikit_learn("d2_log_loss_score", labels=[0, 1])

    def within(self, clip: float) -> D2LogLoss:
        """Return itself: what it is compared with changes with the labels, and nothing is proved of that."""
        return self

    def sensitivity(self, n_records: int) -> float:
        """Return infinity: nothing is proved."""
        return math.inf

    def weighted(self, totals: Totals) -> WeightedSum:
        """Return it as a log-loss over what the class frequencies have."""
        shares = [count / totals.n_records for count in totals.counts]
        blind = -sum(share * math.log(share) for share in shares)
        plain = AffineLogLoss(factor=-1 / blind, offset=1.0).weighted(totals)
        return attrs.evolve(plain, error=(totals.n_records + 16) * plain.error)
