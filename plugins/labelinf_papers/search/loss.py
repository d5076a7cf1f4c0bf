"""The paper's label losses as functions of one scalar (Wang et al., ICLR 2024, eq. 5 and Appendix C).

``lambda`` is measured as the paper's code does: the chosen row is divided by a coefficient, so that ``x = lambda g_r /
coefficient`` and the true value is ``coefficient / (p_r - y_r)``. (Algorithm 1 prints a product; with it the swarm
would start beyond the optimum of every untrained network.)
"""

from __future__ import annotations

import enum
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

__all__ = ["LabelLoss", "Objective", "label_loss"]


class Objective(enum.Enum):
    """What is minimised."""

    VARIANCE = "variance"
    """Variance of the entries outside S (eq. 5)."""

    ZEROS = "zeros"
    """Mean square of the entries outside S (Appendix C, first)."""

    NEGATIVES = "negatives"
    """Sum of absolute entries less one (Appendix C, second)."""


@attrs.frozen(kw_only=True, eq=False)
class LabelLoss:
    """The loss of one gradient over ``lambda``.

    Attributes:
        slopes: Logits per unit of ``lambda``: ``W g_r / coefficient``, shape ``(C,)``.
        ratios: Gradient rows in units of the chosen one: ``c_i``, shape ``(C,)``.
        coefficient: 4 for smoothing, 2 for mixup.
        excluded: Size of S.
        target: What is minimised.
        magnification: The loss is multiplied by it; 1000 in the paper.
    """

    slopes: NDArray[np.float64]
    ratios: NDArray[np.float64]
    coefficient: float
    excluded: int
    target: Objective = Objective.VARIANCE
    magnification: float = 1000.0

    def labels(self, scalars: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the pseudo labels of several scalars, shape ``(m, C)`` (eq. 4)."""
        return self._probabilities(scalars) - self.ratios * (self.coefficient / scalars)[:, None]

    def value(self, scalars: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the loss at several scalars, shape ``(m,)``."""
        return self.with_slope(scalars)[0]

    def with_slope(self, scalars: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the loss and its derivative at several scalars."""
        p = self._probabilities(scalars)
        y = p - self.ratios * (self.coefficient / scalars)[:, None]
        dy = p * (self.slopes - (p @ self.slopes)[:, None]) + self.ratios * (self.coefficient / scalars**2)[:, None]
        if self.target is Objective.NEGATIVES:
            loss, slope = np.abs(y).sum(axis=1) - 1, (np.sign(y) * dy).sum(axis=1)
        else:
            order = y.argsort(axis=1)[:, : y.shape[1] - self.excluded]
            rest, change = np.take_along_axis(y, order, axis=1), np.take_along_axis(dy, order, axis=1)
            if self.target is Objective.VARIANCE:
                rest = rest - rest.mean(axis=1, keepdims=True)
            loss, slope = (rest**2).mean(axis=1), 2 * (rest * change).mean(axis=1)
        return self.magnification * loss, self.magnification * slope

    def _probabilities(self, scalars: NDArray[np.float64]) -> NDArray[np.float64]:
        logits = scalars[:, None] * self.slopes
        weights = np.exp(logits - logits.max(axis=1, keepdims=True))
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def label_loss(
    gradient: NDArray[Any],
    weights: NDArray[Any],
    *,
    coefficient: float,
    excluded: int,
    target: Objective = Objective.VARIANCE,
) -> LabelLoss:
    """Return the loss of one gradient, shape ``(C, I)``, under a last layer with ``weights``.

    The row is the one of largest absolute sum. The ratios are inner products, ``<G_i, G_r> / |G_r|^2``; the paper's
    code divides one entry of each, which is the same without noise.
    """
    row = int(np.abs(gradient.sum(axis=1)).argmax())
    chosen = gradient[row].astype(np.float64)
    return LabelLoss(
        slopes=weights.astype(np.float64) @ chosen / coefficient,
        ratios=gradient.astype(np.float64) @ chosen / (chosen @ chosen),
        coefficient=coefficient,
        excluded=excluded,
        target=target,
    )
