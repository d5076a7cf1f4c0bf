"""The log-loss: cross-entropy of predicted probabilities, for two classes or more.

A row with probabilities ``u`` costs ``-ln u[label]`` (Aggarwal et al., ICML 2021, Definitions 1 and 2; in
Definition 1 it is every *row* of u that sums to one, erratum I-1). The gap between two labels is a logit, so any gap
whatever can be had.

Example:
    >>> from labelinf_scores.arithmetic import make_arithmetic
    >>> round(float(LogLoss().score(np.array([0, 1]), np.array([0.5, 0.25]), make_arithmetic("float64"))), 6)
    1.039721
"""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.arithmetic import Arithmetic
from labelinf_scores.metrics.additive import AdditiveLoss
from labelinf_scores.metrics.shapes import columns, pick

__all__ = ["LogLoss"]


@attrs.frozen(kw_only=True)
class LogLoss(AdditiveLoss):
    """``-ln`` of the probability that the prediction gives to the true label.

    Never clips: a true label of probability zero costs infinity. Scorers clip.
    """

    is_log_loss = True
    has_class_rows = True

    def costs(self, predictions: NDArray[Any], numbers: Arithmetic) -> NDArray[Any]:
        """Return ``-ln u[i, k]``, shape ``(n, n_classes)``."""
        return np.asarray(-numbers.log(columns(predictions)))

    def span(self, clip: float) -> float:
        """Return L = ln((1 - clip) / clip)."""
        return math.log((1 - clip) / clip) if clip > 0 else math.inf

    def largest(self, clip: float, n_classes: int) -> float:
        """Return ``-ln clip``."""
        return -math.log(clip) if clip > 0 else math.inf

    def prediction(self, gap: Any, numbers: Arithmetic) -> Any:
        """Return ``1 / (1 + e**gap)``; every gap can be had."""
        return 1 / (1 + numbers.exp(numbers.convert(gap)))

    def rows(self, steps: Any, n_classes: int, numbers: Arithmetic) -> NDArray[Any]:
        """Return rows proportional to ``exp(-k * step)``; every step can be had.

        Classes are counted from the most probable one, so that no exponent is positive and nothing overflows.
        """
        steps = numbers.convert(steps)
        weights = numbers.exp(-abs(steps)[:, None] * np.arange(n_classes))
        falling = weights / weights.sum(axis=1, keepdims=True)
        return np.asarray(np.where((steps >= 0)[:, None], falling, falling[:, ::-1]))

    def class_rows(self, lowered: NDArray[Any], numbers: Arithmetic) -> NDArray[Any]:
        """Return rows proportional to ``exp(lowered)``."""
        weights = numbers.exp(lowered)
        return numbers.convert(weights / weights.sum(axis=1, keepdims=True))

    def score(self, labels: NDArray[np.intp], predictions: NDArray[Any], numbers: Arithmetic) -> Any:
        """Return the mean cost of ``labels``, at one logarithm a row (exact arithmetic: one in all)."""
        with numbers.context():
            probabilities = pick(columns(numbers.convert(predictions)), labels)
            return -numbers.total_log(probabilities) / len(labels)
