"""Losses that are defined for two classes only."""

from __future__ import annotations

import abc
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelinf_scores.arithmetic import Arithmetic
from labelinf_scores.metrics.additive import AdditiveLoss
from labelinf_scores.metrics.shapes import only_two

__all__ = ["BinaryLoss"]


class BinaryLoss(AdditiveLoss, abc.ABC):
    """A loss of the predicted probability theta of class 1."""

    def rows(self, steps: Any, n_classes: int, numbers: Arithmetic) -> NDArray[Any]:
        """Return rows ``(1 - theta, theta)`` with the wanted gaps.

        Raises:
            ValueError: There are more than two classes, or no row has such a gap.
        """
        only_two(self, n_classes)
        theta = self.prediction(steps, numbers)
        return np.stack([1 - theta, theta], axis=1)

    def fault(self, predictions: NDArray[Any], n_records: int, n_classes: int) -> str:
        """Return what is wrong with ``predictions``; more than two classes are."""
        if n_classes != 2:
            return f"{type(self).__name__} is defined for only two classes, got {n_classes}."
        return super().fault(predictions, n_records, n_classes)
