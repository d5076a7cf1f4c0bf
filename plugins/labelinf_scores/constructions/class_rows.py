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

from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelinf_scores.arithmetic import Arithmetic
from labelinf_scores.metrics.additive import AdditiveLoss

__all__ = ["class_rows"]


def class_rows(loss: AdditiveLoss, costs: NDArray[np.float64], numbers: Arithmetic) -> NDArray[Any]:
    """Return rows in which the costs of two labels differ as wanted.

    Args:
        loss: One that has rows of any costs whatever.
        costs: What every label is to cost, up to a constant for each row; shape ``(n, K)``.
        numbers: The arithmetic to compute in.

    Returns:
        Shape ``(n, K)``; rows of probabilities sum to one.

    Raises:
        ValueError: The loss has no rows of any costs whatever.
    """
    with numbers.context():
        return loss.class_rows(numbers.convert(costs.min(axis=1, keepdims=True) - costs), numbers)
