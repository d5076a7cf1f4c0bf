"""What every record of a log-loss weighs: the effect of its label alone, on made labels."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from labelinf_core.contracts.errors import LabelinfError
from labelinf_scores.audit.identify import Ask, Identified, Shape
from labelinf_scores.metrics.readings import Rows
from labelinf_scores.metrics.readings.weighted import WeightedLogLoss

__all__ = ["weighted"]

_GAP = 12.0  # of the predictions under which effects are measured
_MOST = 4096  # records
_CHECKS = 6
_DEVIATIONS = 6  # of what errors of weights add up to, that a check may be off
_LIGHTEST = 1e-3  # of the mean weight: below it, the record is not scored


def weighted(asks: Mapping[Shape, Ask], *, n_records: int, decimals: int | None) -> Identified | None:
    """Return the weighted log-loss of two classes that explains a scorer; None where none does.

    Args:
        asks: The scorer, in every shape that it may want.
        n_records: N.
        decimals: Decimals of its answers; None: in full.
    """
    if n_records > _MOST:
        return None
    for shape, ask in asks.items():
        try:
            found = _measured(shape, ask, n_records, decimals)
        except LabelinfError:
            continue
        if found is not None:
            return found
    return None


def _measured(shape: Shape, ask: Ask, n: int, decimals: int | None) -> Identified | None:
    rng = np.random.default_rng(0)
    half = 0.0 if decimals is None else 0.5 * 10.0**-decimals

    def asked(labels: np.ndarray, predictions: np.ndarray) -> float:
        return ask(labels, shape.of(predictions, 2, Rows.COSTS))

    labels = rng.integers(0, 2, n)
    sharp = np.full(n, 1 / (1 + math.exp(_GAP)))
    before = asked(labels, sharp)
    weights = np.empty(n)
    for record in range(n):
        other = labels.copy()
        other[record] = 1 - other[record]
        effect = asked(other, sharp) - before
        weights[record] = effect / _GAP * (1 if other[record] else -1)
    error = (2 * half + 1e-13 * (1 + abs(before))) / _GAP
    scored = np.abs(weights) > max(error, _LIGHTEST * float(np.abs(weights).mean()))
    weights[~scored] = 0.0
    if scored.sum() < 2:
        return None
    level = asked(labels, np.full(n, 0.5))
    metric = WeightedLogLoss(weights=tuple(weights.tolist()), level=level, error=max(error, half))
    for _ in range(_CHECKS):
        labels, predictions = rng.integers(0, 2, n), rng.beta(0.7, 0.7, n).clip(0.01, 0.99)
        room = 2 * half + 1e-9 * (1 + abs(level)) + _DEVIATIONS * error * math.sqrt(n) * 2
        if abs(asked(labels, predictions) - metric.score(labels, predictions)) > room:
            return None
    if np.ptp(weights) == 0:
        return None
    return Identified(
        name="log-loss in which records weigh differently",
        metric=metric,
        shape=shape,
        scale=1.0,
        offset=0.0,
        decimals=decimals,
        scored=np.ones(n, dtype=bool),
        queries=n + _CHECKS + 2,
    )
