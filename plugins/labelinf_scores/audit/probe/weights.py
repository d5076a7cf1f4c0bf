"""What every record, and each class, weighs in a log-loss: one surprise at a time, on made labels.

One half is predicted everywhere but for one record, whose label is made a surprise: the answer moves by its weight.
The made labels have the class totals of the private ones, which are public: weights that depend on how many there are
of a class ("balanced" ones) are then what they will be.
"""

from __future__ import annotations

import contextlib
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

_SURPRISES = (12.0, 3.0)  # what one costs; where that is clipped, less
_CHECKS = 8
_DEVIATIONS = 6  # of what errors of weights add up to, that a check may be off
_LIGHTEST = 1e-3  # of the mean weight: below it, the record is not scored
_PAIRS = 32


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
    metric = None
    for surprise in _SURPRISES:
        with contextlib.suppress(InputError, QueryRefusedError):
            metric = metric or _measured(panel.ask, level, counts, surprise)
    if metric is None:
        return None
    alike = np.unique(np.abs(metric.weights)).size == 1
    if alike and metric.ratio == 1.0:
        return None
    told = [] if metric.ratio == 1.0 else [f"class 1 counts {metric.ratio:.4g} times"]
    told += [] if alike else ["records weigh differently"]
    return Explained(
        name=f"log-loss in which {' and '.join(told)}",
        metric=metric,
        fit=Fit(link=PLAIN, scale=1.0, offset=0.0, error=0.0, level=level),
        panel=panel,
        scored=np.ones(n, dtype=bool),
    )


@np.errstate(all="ignore")
def _measured(ask: Spoken, level: Level, counts: tuple[int, ...], surprise: float) -> WeightedLogLoss | None:
    n, rng = sum(counts), np.random.default_rng(0)
    labels = rng.permutation(np.repeat([0, 1], counts)).astype(np.intp)
    effects, before = _effects(ask, labels, np.arange(n), surprise)
    error = (2 * level.room + 1e-13 * (1 + abs(before))) / surprise
    ones, zeros = np.flatnonzero(labels == 1)[:_PAIRS], np.flatnonzero(labels == 0)[:_PAIRS]
    pairs = min(ones.size, zeros.size)
    exchanged = labels.copy()
    exchanged[ones[:pairs]], exchanged[zeros[:pairs]] = 0, 1
    both = np.concatenate([ones[:pairs], zeros[:pairs]])
    others, _ = _effects(ask, exchanged, both, surprise)
    heavy = np.abs(effects[both]) > 8 * error
    with np.errstate(all="ignore"):
        ratios = np.where(labels[both] == 1, effects[both] / others, others / effects[both])[heavy]
    if not ratios.size or not np.isfinite(ratios).all():
        return None
    ratio = float(np.median(ratios))
    if not ratio:
        return None
    weights = effects / np.where(labels == 1, ratio, 1.0)
    scored = np.abs(weights) > max(error, _LIGHTEST * float(np.abs(weights).mean()))
    weights[~scored] = 0.0
    spread = 4 * error * max(1.0, 1 / abs(ratio))
    if scored.sum() < 2:
        return None
    if (
        np.ptp(weights[scored]) <= 2 * spread + 1e-9 * np.abs(weights).max()
        or abs(ratio - 1) * np.abs(weights).mean() <= spread
    ):
        ratio, weights, error = _smoothed(effects, labels, scored, ratio, weights, error)
    metric = WeightedLogLoss(weights=tuple(weights.tolist()), ratio=ratio)
    level_at = ask(labels, np.full(n, metric.neutral))
    metric = attrs.evolve(metric, level=level_at, error=max(error, level.room))
    return metric if _stands(ask, metric, level, counts, rng) else None


def _effects(
    ask: Spoken, labels: NDArray[np.intp], places: NDArray[np.intp], surprise: float
) -> tuple[NDArray[np.float64], float]:
    """Return what the record at each of ``places`` weighs with these labels, and the score of one half everywhere."""
    half = np.full(labels.size, 0.5)
    before = ask(labels, half)
    least, found = math.exp(-surprise), np.empty(places.size)
    for at, record in enumerate(places):
        predictions = half.copy()
        predictions[record] = least if labels[record] else 1 - least
        found[at] = (ask(labels, predictions) - before) / (surprise - math.log(2))
    return found, before


def _smoothed(
    effects: NDArray[np.float64],
    labels: NDArray[np.intp],
    scored: NDArray[np.bool_],
    ratio: float,
    weights: NDArray[np.float64],
    error: float,
) -> tuple[float, NDArray[np.float64], float]:
    """Return ratio and weights as exactly as all records together tell them, and their error.

    Either all records weigh the same, or both classes do.
    """
    one, zero = (effects[scored & (labels == k)] for k in (1, 0))
    alike = np.ptp(weights[scored]) <= 8 * error * max(1.0, 1 / abs(ratio)) + 1e-9 * np.abs(weights).max()
    if not alike:
        return 1.0, np.where(scored, effects, 0.0), error
    ratio = float(one.mean() / zero.mean())
    few = error * _DEVIATIONS / math.sqrt(min(one.size, zero.size))
    if abs(ratio - round(ratio, 3)) * abs(zero.mean()) <= few:
        ratio = round(ratio, 3)
    mean = float(np.concatenate([one / ratio, zero]).mean())
    return ratio, np.where(scored, mean, 0.0), min(error, few)


def _stands(
    ask: Spoken, metric: WeightedLogLoss, level: Level, counts: tuple[int, ...], rng: np.random.Generator
) -> bool:
    """Whether answers to fresh questions are what the weights make."""
    n = sum(counts)
    for _ in range(_CHECKS):
        labels = rng.permutation(np.repeat([0, 1], counts)).astype(np.intp)
        predictions = rng.beta(0.7, 0.7, n).clip(0.01, 0.99)
        room = 2 * level.room + 1e-9 * (1 + abs(metric.level)) + _DEVIATIONS * metric.error * math.sqrt(n) * 2
        if abs(ask(labels, predictions) - metric.score(labels, predictions)) > room:
            return False
    return True
