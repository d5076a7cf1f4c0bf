"""The Brier score of two classes, as scikit-learn computes it: exact where its argument is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from labelinf_scores.metrics.additive import AdditiveLoss

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from labelinf_scores.arithmetic import Arithmetic

__all__ = ["Brier"]


@attrs.frozen(kw_only=True)
class Brier(AdditiveLoss):
    """Squared error of the predicted probability of class 1; two classes."""

    def costs(self, predictions: NDArray[Any], numbers: Arithmetic) -> NDArray[Any]:
        """Return ``(theta - label)**2``, shape ``(n, 2)``."""
        theta = predictions if predictions.ndim == 1 else predictions[:, 1]
        return np.stack([theta * theta, (1 - theta) * (1 - theta)], axis=1)

    def span(self, clip: float) -> float:
        """Return ``1 - 2 clip``."""
        return 1 - 2 * clip

    def largest(self, clip: float, n_classes: int) -> float:
        """Return ``(1 - clip)**2``."""
        return (1 - clip) ** 2

    def prediction(self, gap: Any, numbers: Arithmetic) -> Any:
        """Return ``(1 - gap) / 2``.

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
