"""Cross-entropy of the softmax of logits: the log-loss of a curator that takes logits.

Aggarwal et al., AISTATS 2022, equation 5. A row z costs ``ln sum_j e**z[j] - z[k]`` when its label is k. Adding a
constant to a row changes nothing, so the logits of a wanted row of probabilities are ``ln u[k] + c`` for any c
(erratum A-18), and gaps are plain differences of logits. Nothing is clipped, and the stable form below never
exponentiates a positive number: such a curator is *easier* to attack than one that takes probabilities, and logits
need fewer bits, not more (erratum A-19).

Example:
    >>> from labelinf_scores.arithmetic import make_arithmetic
    >>> SoftmaxLogLoss().costs(np.array([[0.0, 1e4]]), make_arithmetic("float64"))
    array([[10000.,     0.]])
"""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.arithmetic import Arithmetic
from labelinf_scores.metrics.additive import AdditiveLoss

__all__ = ["SoftmaxLogLoss"]


@attrs.frozen(kw_only=True)
class SoftmaxLogLoss(AdditiveLoss):
    """Log-loss of ``softmax(z)``; a vector z holds the logits of class 1 against class 0."""

    has_class_rows = True

    def costs(self, predictions: NDArray[Any], numbers: Arithmetic) -> NDArray[Any]:
        """Return ``ln sum_j e**z[j] - z[k]``, shape ``(n, n_classes)``."""
        z = predictions if predictions.ndim == 2 else np.stack([0 * predictions, predictions], axis=1)
        top = z.max(axis=1, keepdims=True)
        weights = numbers.exp(z - top)
        # The largest logit contributes exactly one: without it the sum keeps what is small.
        weights[np.arange(len(z)), z.argmax(axis=1)] -= 1
        return np.asarray(top - z + _log_one_plus(weights.sum(axis=1, keepdims=True), numbers))

    def span(self, clip: float) -> float:
        """Return infinity: logits are not clipped."""
        return math.inf

    def prediction(self, gap: Any, numbers: Arithmetic) -> Any:
        """Return the logit ``-gap``; every gap can be had."""
        return -numbers.convert(gap)

    def rows(self, steps: Any, n_classes: int, numbers: Arithmetic) -> NDArray[Any]:
        """Return logits ``-k * step``; every step can be had."""
        return np.asarray(-numbers.convert(steps)[:, None] * np.arange(n_classes))

    def class_rows(self, lowered: NDArray[Any], numbers: Arithmetic) -> NDArray[Any]:
        """Return ``lowered`` itself as logits."""
        return lowered

    def fault_of_values(self, predictions: NDArray[Any]) -> str:
        """Return what is wrong with the values: logits must be finite."""
        finite = abs(predictions) < math.inf
        if not finite.all():
            row = int(np.argwhere(~finite)[0][0])
            return f"prediction {predictions[row]} in row {row} must be a finite logit."
        return ""


def _log_one_plus(x: Any, numbers: Arithmetic) -> Any:
    """Return ``ln(1 + x)`` with small relative error for small x >= 0.

    The rounding error of ``w = 1 + x`` cancels in ``ln(w) / (w - 1)``, which is nearly constant (Kahan).
    """
    w = 1 + x
    lost = np.asarray(w == 1, dtype=bool)
    beyond = np.where(lost, numbers.convert(1), w - 1)
    return np.where(lost, x, numbers.log(w) * (x / beyond))
