"""Rows of K classes with any costs whatever, for the losses that have them.

Under the log-loss a row of probabilities proportional to ``exp(-cost)`` costs what is wanted up to a constant that is
the same for every label (Aggarwal et al., AISTATS 2022, Theorem 3, equation 13); under the softmax log-loss the logits
are the negative costs themselves (equation 14; any constant may be added, erratum A-18).

Example:
    >>> from labelinf_scores.arithmetic import make_arithmetic
    >>> from labelinf_scores.metrics.log_loss import LogLoss
    >>> numbers = make_arithmetic("float64")
    >>> class_rows(LogLoss(), np.log([[1.0, 2.0, 5.0]]), numbers).round(4).tolist()
    [[0.5882, 0.2941, 0.1176]]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from labelinf_scores.metrics.sigmoid_log_loss import SigmoidLogLoss
from labelinf_scores.metrics.softmax_log_loss import SoftmaxLogLoss

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from labelinf_scores.arithmetic import Arithmetic
    from labelinf_scores.metrics.additive import AdditiveLoss

__all__ = ["class_rows", "has_class_rows"]


def has_class_rows(loss: AdditiveLoss) -> bool:
    """Whether :func:`class_rows` knows this loss."""
    of_logits = isinstance(loss, SoftmaxLogLoss) and not isinstance(loss, SigmoidLogLoss)
    return loss.is_log_loss or of_logits


def class_rows(loss: AdditiveLoss, costs: NDArray[np.float64], numbers: Arithmetic) -> NDArray[Any]:
    """Return rows in which the costs of two labels differ as wanted.

    Args:
        loss: The log-loss of probabilities or of logits.
        costs: What every label is to cost, up to a constant for each row; shape ``(n, K)``.
        numbers: The arithmetic to compute in.

    Returns:
        Shape ``(n, K)``; rows of probabilities sum to one.

    Raises:
        ValueError: The loss has no rows of any costs whatever.
    """
    if not has_class_rows(loss):
        raise ValueError(f"loss={loss!r} must be the log-loss of probabilities or of softmax logits")
    falling = costs.min(axis=1, keepdims=True) - costs
    with numbers.context():
        logits = numbers.convert(falling)
        if not loss.is_log_loss:
            return logits
        weights = numbers.exp(logits)
        return numbers.convert(weights / weights.sum(axis=1, keepdims=True))
