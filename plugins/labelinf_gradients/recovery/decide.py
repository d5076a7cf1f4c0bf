"""From scored candidates to one answer per gradient, and what may be said of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from labelinf_gradients.recovery.answers import SAME_LABEL, Answers, distinct
from labelinf_gradients.recovery.results import Precision, RecoveryStatus
from labelinf_gradients.recovery.saturation import saturated, settle

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from labelinf_gradients.recovery.patterns import Pattern
    from labelinf_gradients.recovery.polish import Scored
    from labelinf_gradients.recovery.problem import Problem

__all__ = ["decide"]

_UNIDENTIFIABLE = {
    False: RecoveryStatus.SMOOTHING_FACTOR_UNIDENTIFIABLE,
    True: RecoveryStatus.MIXING_WEIGHT_UNIDENTIFIABLE,
}
_WIDEST_ERROR = 1e-3  # L1: beyond it the weight of a label is an interval, not a number


def decide(problem: Problem, scored: Scored, pattern: Pattern, precision: Precision, *, positive: bool) -> Answers:
    """Choose the best candidate of each gradient and say what its rivals and its rounding allow.

    Args:
        problem: The gradients.
        scored: Their polished candidates.
        pattern: The family that the candidates follow.
        precision: How exactly the gradients are known.
        positive: Only scales ``t > 0`` are possible.
    """
    n = len(problem.column)
    answers = Answers.nothing(n, scored.labels.shape[1])
    answers.families[:] = pattern
    order = np.lexsort((scored.residual, scored.rows))
    rows, first = np.unique(scored.rows[order], return_index=True)
    best = order[first]
    answers.labels[rows] = scored.labels[best]
    answers.scales[rows] = scored.scales[best]
    answers.residual[rows] = scored.residual[best]
    answers.error[rows] = scored.lever[best] * np.maximum(scored.residual[best], precision.rounding)
    differs = np.abs(scored.labels - answers.labels[scored.rows]).sum(axis=1) > SAME_LABEL
    np.minimum.at(answers.rival, scored.rows[differs], scored.residual[differs])
    answers.candidates = _distinct(scored, n, precision.tolerance)
    weight = answers.labels[rows].max(axis=1)
    answers.lightest[rows] = weight - answers.error[rows] / 2
    answers.heaviest[rows] = weight + answers.error[rows] / 2
    _set_status(problem, answers, pattern, precision, positive)
    return answers


def _set_status(problem: Problem, answers: Answers, pattern: Pattern, precision: Precision, positive: bool) -> None:
    answers.status[:] = RecoveryStatus.UNIQUE
    answers.status[precision.comparable(answers.rival, answers.residual)] = RecoveryStatus.AMBIGUOUS
    if pattern.has_weight:
        unsure = ~(answers.error <= _WIDEST_ERROR)
        rows = np.flatnonzero(saturated(problem.column, pattern, precision))
        if len(rows):
            settled = answers.of(rows)
            settle(problem.take(rows), pattern, settled, precision, positive=positive)
            answers.put(rows, settled)
        unsure[rows] = True
        answers.status[unsure] = _UNIDENTIFIABLE[pattern.zero]
    answers.status[~(answers.residual <= precision.tolerance)] = RecoveryStatus.UNEXPLAINED
    answers.complete[:] = answers.status != _UNIDENTIFIABLE[pattern.zero]


def _distinct(scored: Scored, n: int, tolerance: float) -> NDArray[np.float64]:
    """Return the accepted scales of every gradient, each once, best first, shape ``(n, m)``."""
    accepted = np.flatnonzero(scored.residual <= tolerance)
    accepted = accepted[np.lexsort((scored.residual[accepted], scored.rows[accepted]))]
    found: list[list[float]] = [[] for _ in range(n)]
    for row, scale in zip(scored.rows[accepted].tolist(), scored.scales[accepted].tolist(), strict=True):
        found[row].append(scale)
    listed = [distinct(scales) for scales in found]
    width = max(map(len, listed), default=0)
    return np.array([row + [np.nan] * (width - len(row)) for row in listed]).reshape(n, width)
