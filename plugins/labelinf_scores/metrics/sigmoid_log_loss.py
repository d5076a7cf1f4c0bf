"""Cross-entropy of the sigmoid of logits: two classes, one real number a row.

Aggarwal et al., AISTATS 2022, equation 14, where logits range over all reals and not over (0, 1) (erratum A-18).
Label 1 costs ``ln(1 + e**-z)`` and label 0 ``ln(1 + e**z)``: the gap is ``-z`` itself.

Example:
    >>> from labelinf_scores.arithmetic import make_arithmetic
    >>> numbers = make_arithmetic("float64")
    >>> SigmoidLogLoss().costs(numbers.convert([0.0, -800.0]), numbers).round(6).tolist()
    [[0.693147, 0.693147], [0.0, 800.0]]
"""

from __future__ import annotations

from typing import Any

import attrs
from numpy.typing import NDArray

from labelinf_scores.arithmetic import Arithmetic
from labelinf_scores.metrics.shapes import only_two
from labelinf_scores.metrics.softmax_log_loss import SoftmaxLogLoss

__all__ = ["SigmoidLogLoss"]


@attrs.frozen(kw_only=True)
class SigmoidLogLoss(SoftmaxLogLoss):
    """Log-loss of ``sigmoid(z)``: the softmax of the logits ``(0, z)``."""

    has_class_rows = False

    def rows(self, steps: Any, n_classes: int, numbers: Arithmetic) -> NDArray[Any]:
        """Return logits ``(0, -step)``.

        Raises:
            ValueError: There are more than two classes.
        """
        only_two(self, n_classes)
        return super().rows(steps, n_classes, numbers)

    def fault(self, predictions: NDArray[Any], n_records: int, n_classes: int) -> str:
        """Return what is wrong with ``predictions``; more than two classes are."""
        if n_classes != 2:
            return f"SigmoidLogLoss is defined for only two classes, got {n_classes}."
        return super().fault(predictions, n_records, n_classes)
