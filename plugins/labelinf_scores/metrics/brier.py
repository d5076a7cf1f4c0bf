"""The Brier score of two classes, as scikit-learn computes it: exact where its argument is."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.arithmetic import Arithmetic
from labelinf_scores.metrics.shapes import only_two
from labelinf_scores.metrics.squared_euclidean import SquaredEuclidean

__all__ = ["Brier"]


@attrs.frozen(kw_only=True)
class Brier(SquaredEuclidean):
    """Squared error of the predicted probability of class 1, whatever stands beside it; two classes."""

    def costs(self, predictions: NDArray[Any], numbers: Arithmetic) -> NDArray[Any]:
        """Return ``(theta - label)**2``, shape ``(n, 2)``."""
        theta = predictions if predictions.ndim == 1 else predictions[:, 1]
        return np.stack([theta * theta, (1 - theta) * (1 - theta)], axis=1)

    def largest(self, clip: float, n_classes: int) -> float:
        """Return ``(1 - clip)**2``."""
        return (1 - clip) ** 2

    def rows(self, steps: Any, n_classes: int, numbers: Arithmetic) -> NDArray[Any]:
        """Return rows for two classes.

        Raises:
            ValueError: There are more.
        """
        only_two(self, n_classes)
        return super().rows(np.atleast_1d(steps), n_classes, numbers)
