"""The absolute error as a loss that every built-in attack can use."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.arithmetic import Arithmetic
from labelinf_scores.metrics.additive import AdditiveLoss


@attrs.frozen(kw_only=True)
class AbsoluteError(AdditiveLoss):
    """``|label - theta|`` for two classes, theta being the predicted probability of class 1."""

    def costs(self, predictions: NDArray[Any], numbers: Arithmetic) -> NDArray[Any]:
        """Label 0 costs theta, label 1 costs 1 - theta."""
        theta = predictions if predictions.ndim == 1 else predictions[:, 1]
        return np.stack([theta, 1 - theta], axis=1)

    def span(self, clip: float) -> float:
        """Return ``1 - 2 clip``."""
        return 1 - 2 * clip

    def prediction(self, gap: Any, numbers: Arithmetic) -> Any:
        """Label 1 costs ``1 - 2 theta`` more than label 0.

        Raises:
            ValueError: The gap is wider than one.
        """
        if np.max(np.abs(gap)) > 1:
            raise ValueError(f"gap={gap} must be between -1 and 1")
        return (1 - numbers.convert(gap)) / 2

    def rows(self, steps: Any, n_classes: int, numbers: Arithmetic) -> NDArray[Any]:
        """Return rows for two classes.

        Raises:
            ValueError: There are more.
        """
        if n_classes != 2:
            raise ValueError(f"n_classes={n_classes} must be 2")
        theta = np.atleast_1d(self.prediction(steps, numbers))
        return np.stack([1 - theta, theta], axis=1)
