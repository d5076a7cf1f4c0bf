"""What every record, and each class, weighs in a log-loss: one surprise at a time, on made labels.

One half is predicted everywhere but for one record, whose label is made a surprise: the answer moves by its weight.
Surprises are as great as no clip of the scorer's own cuts short. What all records have in common, whether classes
weigh differently and whether records do, is measured on many records at once, as much more exactly. The made labels
have the class totals of the private ones, which are public: weights that depend on how many there are of a class
("balanced" ones) are then what they will be.
"""

from __future__ import annotations

import math

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.errors import InputError, QueryRefusedError
from labelinf_scores.audit.probe.asker import Spoken
from labelinf_scores.audit.probe.identify import Explained, Panel
from labelinf_scores.audit.probe.influence import MOST
from labelinf_scores.audit.probe.links import PLAIN, Fit, Level
from labelinf_scores.metrics.readings import Rows
from labelinf_scores.metrics.readings.weighted import WeightedLogLoss

__all__ = ["weighted"]

_SURPRISES = (2, 3, 4, 9, 17, 29, 43)  # what one costs, in bits: one minus its probability is held exactly
_CHECKS = 8
_SHIFTS = 32  # of all other records, to bring a rounding to where little moves it
_DEVIATIONS = 6  # of what errors of weights add up to, that a check may be off
_CLEAR = 0.1  # of the mean weight: errors of weights below which one that does not show is none
_LIGHTEST = 1e-3  # of the mean weight: below it, the record is not scored


def weighted(panel: Panel, level: Level, counts: tuple[int, ...]) -> Explained | None:
    """Return the weighted log-loss of two classes that explains a scorer; None where none does.

    Args:
        panel: What it answered.
        level: How exactly.
        counts: Records of each class.
    """
    n = sum(counts)
    if panel.ask.rows is not Rows.COSTS or len(counts) != 2 or n > MOST or not panel.ask.asker.affords(n):
        return None
    try:
        metric = _measured(panel.ask, level, counts)
    except (InputError, QueryRefusedError):
        return None
    if metric is None:
        return None
    weights = np.array(metric.weights)
    alike = np.unique(np.abs(weights[weights != 0])).size == 1
    if alike and metric.ratio == 1.0:
        return None
    told = [] if metric.ratio == 1.0 else [f"class 1 counts {metric.ratio:.4g} times"]
    told += [] if alike else ["records weigh differently"]
    return Explained(
        name=f"log-loss in which {' and '.join(told)}",
        metric=attrs.evolve(metric, weights=tuple(weights[weights != 0].tolist())),
        fit=Fit(link=PLAIN, scale=1.0, offset=0.0, error=0.0, level=level),
        panel=panel,
        scored=weights != 0,
    )


@np.errstate(all="ignore")
def _measured(ask: Spoken, level: Level, counts: tuple[int, ...]) -> WeightedLogLoss | None:
    n, rng = sum(counts), np.random.default_rng(0)
    labels = rng.permutation(np.repeat([0, 1], counts)).astype(np.intp)
    effects = _Effects(ask=ask, room=level.room, surprise=_surprise(ask, labels, level.room))
    each = np.array([effects.of(labels, np.array([record])) for record in range(n)])
    ratio, off = effects.ratio(labels)
    if not (ratio and math.isfinite(ratio) and math.isfinite(off)):
        return None
    relative = np.where(labels == 1, ratio, 1.0)
    if effects.surprise == _SURPRISES[0]:  # no second one tells that costs are logarithms
        return None
    weights, error = each / relative, effects.error * max(1.0, 1 / abs(ratio))
    size = float(np.abs(weights).mean())
    clear = error < _CLEAR * size  # else a record that does not show may count all the same
    scored = np.abs(weights) > (max(error, _LIGHTEST * size) if clear else 0.0)
    if not scored.all() and effects.shows(labels, np.flatnonzero(~scored), rng):
        weights[weights == 0] = error / 2  # somewhere between none and what would have shown
        scored[:] = True
    mean = effects.of(labels, np.flatnonzero(scored)) / float(relative[scored].sum())
    alike = np.abs(weights - mean)[scored].max() <= 2 * error and effects.alike(labels, scored, relative * mean, rng)
    if alike:
        weights, error = np.full(n, mean), effects.error / float(np.abs(relative[scored].sum()))
    elif error > np.abs(weights[scored]).mean() / 2:  # no weight is known
        return None
    weights[~scored] = 0.0
    error += off * float(np.abs(weights).max())
    metric = WeightedLogLoss(weights=tuple(weights.tolist()), ratio=ratio, error=error)
    uneven = 0.0 if alike else off * float(np.abs(weights).sum())  # which labels are ones, the totals leave open
    metric = attrs.evolve(metric, level=ask(labels, np.full(n, metric.neutral)), level_error=level.room + uneven)
    return metric if _stands(ask, metric, level, counts, rng) else None


def _surprise(ask: Spoken, labels: NDArray[np.intp], room: float) -> int:
    """Return the greatest surprise that no clip cuts short: that of all labels at once keeps step with lesser ones.

    Raises:
        InputError: None is answered.
    """
    found, unit = _SURPRISES[0], _Effects(ask=ask, room=room, surprise=_SURPRISES[0]).of(labels, np.arange(labels.size))
    for surprise in _SURPRISES[1:]:
        effects = _Effects(ask=ask, room=room, surprise=surprise)
        try:
            one = effects.of(labels, np.arange(labels.size))
        except (InputError, QueryRefusedError):
            break
        before = _Effects(ask=ask, room=room, surprise=found)
        if abs(one - unit) > effects.error + before.error + 1e-9 * abs(unit):
            break
        found, unit = surprise, one
    return found


@attrs.frozen(kw_only=True)
class _Effects:
    """How far the answer moves, per unit of surprise, where the labels of some records surprise.

    Attributes:
        ask: Who is asked.
        room: How far an answer may be off.
        surprise: What a surprise costs, in bits.
    """

    ask: Spoken
    room: float
    surprise: int
    _before: dict[bytes, float] = attrs.field(factory=dict, init=False, repr=False)

    @property
    def _charged(self) -> float:
        return (self.surprise - 1) * math.log(2)

    @property
    def error(self) -> float:
        """How far an effect may be off."""
        size = max(map(abs, self._before.values()), default=0.0)
        return (2 * self.room + 1e-13 * (1 + size)) / self._charged

    def of(self, labels: NDArray[np.intp], records: NDArray[np.intp]) -> float:
        """Return the effect of ``records`` together, beyond one half everywhere."""
        predictions = np.full(labels.size, 0.5)
        if labels.tobytes() not in self._before:
            self._before[labels.tobytes()] = self.ask(labels, predictions)
        least = 2.0**-self.surprise
        predictions[records] = np.where(labels[records] == 1, least, 1 - least)
        return (self.ask(labels, predictions) - self._before[labels.tobytes()]) / self._charged

    def shows(self, labels: NDArray[np.intp], records: NDArray[np.intp], rng: np.random.Generator) -> bool:
        """Whether surprises of ``records`` ever move the answer, wherever in its steps that is."""
        least = 2.0**-self.surprise
        for _ in range(_SHIFTS):
            predictions = rng.uniform(0.1, 0.9, labels.size)
            predictions[records] = 0.5
            before = self.ask(labels, predictions)
            predictions[records] = np.where(labels[records] == 1, least, 1 - least)
            if self.ask(labels, predictions) != before:
                return True
        return False

    def ratio(self, labels: NDArray[np.intp]) -> tuple[float, float]:
        """Return how many times as much label 1 counts as label 0, and how far off that may be.

        As many ones as zeros exchange their labels, so that the totals stay.
        """
        ones, zeros = np.flatnonzero(labels == 1), np.flatnonzero(labels == 0)
        pairs = min(ones.size, zeros.size)
        ones, zeros = ones[:pairs], zeros[:pairs]
        exchanged = labels.copy()
        exchanged[ones], exchanged[zeros] = 0, 1
        one = self.of(labels, ones) + self.of(exchanged, zeros)
        zero = self.of(labels, zeros) + self.of(exchanged, ones)
        ratio = one / zero if zero else math.nan
        off = 2 * self.error * (1 + abs(ratio)) / abs(zero) if zero else math.nan
        plain = min((1.0, round(ratio, 3)), key=lambda value: abs(value - ratio)) if math.isfinite(ratio) else math.nan
        return (1.0 if abs(ratio - 1) <= off else plain if abs(ratio - plain) <= off else ratio), off

    def alike(
        self, labels: NDArray[np.intp], scored: NDArray[np.bool_], each: NDArray[np.float64], rng: np.random.Generator
    ) -> bool:
        """Whether random halves of the scored records have the effects that ``each`` adds up to."""
        for _ in range(_CHECKS):
            half = np.flatnonzero(scored & (rng.random(scored.size) < 0.5))
            if abs(self.of(labels, half) - each[half].sum()) > 2 * self.error:
                return False
        return True


def _stands(
    ask: Spoken, metric: WeightedLogLoss, level: Level, counts: tuple[int, ...], rng: np.random.Generator
) -> bool:
    """Whether answers to fresh questions are what the weights make."""
    n = sum(counts)
    for _ in range(_CHECKS):
        labels = rng.permutation(np.repeat([0, 1], counts)).astype(np.intp)
        predictions = rng.beta(0.7, 0.7, n).clip(0.1, 0.9)  # what no reasonable board clips
        off = metric.level_error + _DEVIATIONS * metric.error * math.sqrt(n) * 2
        room = 2 * level.room + 1e-9 * (1 + abs(metric.level)) + off
        if abs(ask(labels, predictions) - metric.score(labels, predictions)) > room:
            return False
    return True
