"""From scored candidates to one answer per gradient, and what may be said of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from labelinf_gradients.recovery.answers import Answers, listing, turned
from labelinf_gradients.recovery.results import Precision, RecoveryStatus
from labelinf_gradients.recovery.saturation import saturated, settle

if TYPE_CHECKING:
    from labelinf_gradients.recovery.patterns import Pattern
    from labelinf_gradients.recovery.polish import Scored
    from labelinf_gradients.recovery.problem import Problem

__all__ = ["decide"]

_UNIDENTIFIABLE = {
    False: RecoveryStatus.SMOOTHING_FACTOR_UNIDENTIFIABLE,
    True: RecoveryStatus.MIXING_WEIGHT_UNIDENTIFIABLE,
}


def decide(
    problem: Problem,
    scored: Scored,
    pattern: Pattern,
    precision: Precision,
    *,
    positive: bool,
    scaled: bool = False,
) -> Answers:
    """Choose the best candidate of each gradient and say what its rivals and its rounding allow.

    Args:
        problem: The gradients.
        scored: Their polished candidates.
        pattern: The family that the candidates follow.
        precision: How exactly the gradients are known.
        positive: Only scales ``t > 0`` are possible.
        scaled: The gradients are known up to a factor only.
    """
    n = len(problem.column)
    answers = Answers.nothing(n, scored.labels.shape[1])
    answers.families[:] = pattern
    order = np.lexsort((scored.residual, scored.rows))
    rows, first = np.unique(scored.rows[order], return_index=True)
    best = order[first]
    answers.labels[rows] = scored.labels[best]
    answers.scales[rows], answers.factors[rows] = scored.scales[best], scored.factors[best]
    answers.residual[rows] = scored.residual[best]
    answers.error[rows] = scored.lever[best] * np.maximum(scored.residual[best], precision.rounding)
    differs = np.abs(scored.labels - answers.labels[scored.rows]).sum(axis=1) > precision.same
    np.minimum.at(answers.rival, scored.rows[differs], scored.residual[differs])
    accepted = np.flatnonzero(scored.residual <= precision.tolerance)
    accepted = accepted[np.lexsort((scored.residual[accepted], scored.rows[accepted]))]
    pairs = np.stack([scored.scales, scored.factors], axis=1)[accepted]
    answers.candidates = listing(scored.rows[accepted], pairs, scored.labels[accepted], n, precision)
    weight = answers.labels[rows].max(axis=1)
    answers.lightest[rows] = weight - answers.error[rows] / 2
    answers.heaviest[rows] = weight + answers.error[rows] / 2
    _set_status(problem, answers, pattern, precision, positive, scaled)
    if scaled:  # with no equation to spare a wrong label explains the gradient just as well
        few = problem.equations(pattern, precision.rounding) <= pattern.least_classes
        answers.status[few & (answers.status == RecoveryStatus.UNIQUE)] = RecoveryStatus.AMBIGUOUS
        answers.complete &= ~few
    other = turned(scored.labels, answers.labels.argmax(axis=1)[scored.rows], precision)
    of_other_class = np.full(n, np.inf)
    np.minimum.at(of_other_class, scored.rows[other], scored.residual[other])
    answers.doubt_class(precision.comparable(of_other_class, answers.residual))
    return answers


def _set_status(
    problem: Problem, answers: Answers, pattern: Pattern, precision: Precision, positive: bool, scaled: bool
) -> None:
    turning = np.empty(0, dtype=np.intp)
    answers.status[:] = RecoveryStatus.UNIQUE
    answers.status[precision.comparable(answers.rival, answers.residual)] = RecoveryStatus.AMBIGUOUS
    if pattern.has_weight:
        unsure = ~(answers.error <= precision.same)
        rows = np.flatnonzero(saturated(problem.column, pattern, precision))
        if scaled:  # whatever the weight, some factor goes with it
            wide = np.flatnonzero(unsure | np.isin(np.arange(len(unsure)), rows))
            answers.lightest[wide], answers.heaviest[wide] = 1 / problem.n_classes, 1.0
        elif len(rows):
            settled = answers.of(rows)
            turning = rows[settle(problem.take(rows), pattern, settled, precision, positive=positive)]
            answers.put(rows, settled)
        unsure[rows] = True
        answers.status[unsure] = _UNIDENTIFIABLE[pattern.zero]
    answers.status[~(answers.residual <= precision.tolerance)] = RecoveryStatus.UNEXPLAINED
    answers.complete[:] = answers.status != _UNIDENTIFIABLE[pattern.zero]
    answers.doubt_class(np.isin(np.arange(len(answers.status)), turning))
