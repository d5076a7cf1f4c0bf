"""Where recovery ends: saturated probabilities leave the classes of a label but only an interval for their weights.

When the softmax is saturated on the labelled class of a smoothed label, every other entry of ``a`` is the same number
``-t eps / C``; when it is saturated on a class of a mixed label, every entry outside the label vanishes. Then only a
product of scale and weight is left in the gradient, and every large enough scale explains it (labelinf theory,
saturation). So does a head whose logits do not depend on the feature at all. No attack can do better; one that returns
a single number returns an accident of rounding. One-hot labels are not affected: they have no weight to lose.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from labelinf_gradients.recovery.answers import Answers, turned
from labelinf_gradients.recovery.patterns import Pattern
from labelinf_gradients.recovery.problem import Problem
from labelinf_gradients.recovery.results import GradientPrecision

__all__ = ["saturated", "settle"]

_GRID = np.logspace(0, 5, 101)
_FINE = np.logspace(0, 0.05, 51)  # between two points of the grid
_VANISHED = 1e-30  # of the largest entry; smaller ones the solver does not look at either


def saturated(column: NDArray[np.float64], pattern: Pattern, precision: GradientPrecision) -> NDArray[np.bool_]:
    """Return which gradients say nothing about the scale, shape ``(n,)``: their entries outside S are all alike.

    Alike means equal to the precision's tolerance, or zero where the pattern's other entries are zero. The best S
    consists of extreme entries, some of the largest and the others of the smallest.
    """
    ordered = np.sort(column, axis=1)
    rest = column.shape[1] - pattern.excluded
    whole = np.maximum(-ordered[:, 0], ordered[:, -1])
    alike = np.zeros(len(column), dtype=bool)
    for start in range(pattern.excluded + 1):
        others = ordered[:, start : start + rest]
        size = np.sqrt((others**2).mean(axis=1))
        alike |= size <= _VANISHED * whole if pattern.zero else others.std(axis=1) <= precision.tolerance * size
    return alike


def settle(
    problem: Problem, pattern: Pattern, answers: Answers, precision: GradientPrecision, *, positive: bool
) -> NDArray[np.bool_]:
    """Overwrite the answers about saturated gradients by intervals; return in which the heaviest class changes.

    The label becomes the middle of what is possible, with the range of its heaviest weight beside it.

    Args:
        problem: The saturated gradients.
        pattern: The family of their labels.
        answers: What the equations gave.
        precision: How exactly the gradients are known.
        positive: Only scales ``t > 0`` are possible.
    """
    turning = np.zeros(len(problem.column), dtype=bool)
    for row in range(len(problem.column)):
        one = problem.take(np.array([row]))
        found = [_feasible(one, sign, pattern, precision) for sign in ((1.0,) if positive else (1.0, -1.0))]
        scales = np.concatenate([scales for scales, _ in found])
        if len(scales):
            answers.residual[row] = min(share.min(initial=np.inf) for _, share in found)
            labels = problem.take(np.full(len(scales), row)).labels(scales)
            _span(answers, row, scales, labels)
            own = np.broadcast_to(answers.labels[row], labels.shape)
            turning[row] = bool(turned(labels, own, pattern.zero, precision).any())
    return turning


def _feasible(
    one: Problem, sign: float, pattern: Pattern, precision: GradientPrecision
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the scales of one sign that explain one gradient, and the shares they leave: a grid, then its two ends."""
    size = np.abs(one.column).max()
    scales, share = _explaining(one, sign * size * _GRID, pattern, precision)
    if not len(scales):
        return scales, share
    ends = np.concatenate([scales[0] / _FINE, scales[-1] * _FINE])
    more, more_share = _explaining(one, ends, pattern, precision)
    return np.concatenate([scales, more]), np.concatenate([share, more_share])


def _explaining(
    one: Problem, scales: NDArray[np.float64], pattern: Pattern, precision: GradientPrecision
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    misfit = one.take(np.zeros(len(scales), dtype=np.intp)).misfit(scales, pattern)
    share = misfit.share
    fits = (share <= precision.tolerance) & (misfit.labels.min(axis=1) >= -precision.tolerance)
    return scales[fits], share[fits]


def _span(answers: Answers, row: int, scales: NDArray[np.float64], labels: NDArray[np.float64]) -> None:
    weight = labels.max(axis=1)
    low, high = weight.argmin(), weight.argmax()
    answers.lightest[row], answers.heaviest[row] = weight[low], weight[high]
    answers.labels[row] = (labels[low] + labels[high]) / 2
    answers.scales[row] = scales[low]
    answers.error[row] = np.abs(labels[low] - labels[high]).sum() / 2
