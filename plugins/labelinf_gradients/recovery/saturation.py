"""Where recovery ends: saturated probabilities leave the classes of a label but only an interval for their weights.

When the softmax is saturated on the labelled class of a smoothed label, every other entry of ``a`` is the same number
``-t eps / C``; when it is saturated on a class of a mixed label, every entry outside the label vanishes. Then only a
product of scale and weight is left in the gradient, and every large enough scale explains it (labelinf theory,
saturation). So does a head whose logits do not depend on the feature at all. No attack can do better; one that returns
a single number returns an accident of rounding. One-hot labels are not affected: they have no weight to lose.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from labelinf_gradients.recovery.decide import Answers
    from labelinf_gradients.recovery.patterns import Pattern
    from labelinf_gradients.recovery.problem import Problem
    from labelinf_gradients.recovery.results import Precision

__all__ = ["saturated", "settle"]

_GRID = np.concatenate([s * np.logspace(0, 5, 101) for s in (1.0, -1.0)])
_VANISHED = 1e-12  # of the largest entry


def saturated(column: NDArray[np.float64], pattern: Pattern, precision: Precision) -> NDArray[np.bool_]:
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


def settle(problem: Problem, pattern: Pattern, answers: Answers, precision: Precision, *, positive: bool) -> None:
    """Overwrite the answers about saturated gradients by intervals.

    The label becomes the middle of what is possible, with the range of its heaviest weight beside it.

    Args:
        problem: The saturated gradients.
        pattern: The family of their labels.
        answers: What the equations gave.
        precision: How exactly the gradients are known.
        positive: Only scales ``t > 0`` are possible.
    """
    grid = _GRID[_GRID > 0] if positive else _GRID
    for row in range(len(problem.column)):
        scales = grid * np.abs(problem.column[row]).max()
        misfit = problem.take(np.full(len(scales), row)).misfit(scales, pattern)
        fits = (misfit.share <= precision.tolerance) & (misfit.labels.min(axis=1) >= -precision.tolerance)
        possible = np.flatnonzero(fits)
        if len(possible):
            answers.residual[row] = misfit.share[possible].min()
            _span(answers, row, scales[possible], misfit.labels[possible])


def _span(answers: Answers, row: int, scales: NDArray[np.float64], labels: NDArray[np.float64]) -> None:
    weight = labels.max(axis=1)
    low, high = weight.argmin(), weight.argmax()
    answers.lightest[row], answers.heaviest[row] = weight[low], weight[high]
    answers.labels[row] = (labels[low] + labels[high]) / 2
    answers.scales[row] = scales[low]
    answers.error[row] = np.abs(labels[low] - labels[high]).sum() / 2
