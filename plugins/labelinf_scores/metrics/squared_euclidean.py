"""The squared Euclidean loss (Brier score), halved: half the squared distance of a row from the true label's corner.

With two classes and rows that sum to one it is ``(1 - theta)**2`` of the true label's probability, as in Aggarwal et
al., AISTATS 2022, equation 10, and as scikit-learn halves its Brier score. With K classes label j costs
``(1 + |u|**2) / 2 - u[j]``, so gaps are differences of probabilities, and no prediction makes one exceed 1.

Example:
    >>> from labelinf_scores.arithmetic import make_arithmetic
    >>> float(SquaredEuclidean().prediction(0.5, make_arithmetic("float64")))
    0.25
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.arithmetic import Arithmetic
from labelinf_scores.metrics.additive import AdditiveLoss
from labelinf_scores.metrics.shapes import columns

__all__ = ["SquaredEuclidean"]


@attrs.frozen(kw_only=True)
class SquaredEuclidean(AdditiveLoss):
    """Half the squared distance between a row of probabilities and the true label's corner; bounded by 1."""

    def costs(self, predictions: NDArray[Any], numbers: Arithmetic) -> NDArray[Any]:
        """Return half the squared distance of every row from every corner, shape ``(n, n_classes)``."""
        if predictions.ndim == 1:
            return np.asarray((1 - columns(predictions)) ** 2)
        # Sums of squares, not (1 + |u|^2) / 2 - u[j], which would cancel near the corner.
        squares = predictions**2
        others = squares.sum(axis=1, keepdims=True) - squares
        return np.asarray(((1 - predictions) ** 2 + others) / 2)

    def span(self, clip: float) -> float:
        """Return L = 1 - 2 clip."""
        return 1 - 2 * clip

    def largest(self, clip: float, n_classes: int) -> float:
        """Return ``K (1 - clip)**2 / 2``: rows need not sum to one."""
        return n_classes * (1 - clip) ** 2 / 2

    def prediction(self, gap: Any, numbers: Arithmetic) -> Any:
        """Return ``(1 - gap) / 2``.

        Raises:
            ValueError: A gap exceeds 1.
        """
        gap = numbers.convert(gap)
        if not np.all(abs(gap) <= 1):
            raise ValueError("the squared Euclidean loss has no prediction with a gap beyond 1.")
        return (1 - gap) / 2

    def rows(self, steps: Any, n_classes: int, numbers: Arithmetic) -> NDArray[Any]:
        """Return rows whose probabilities fall by ``step`` from class to class, centred on 1 / K.

        Raises:
            ValueError: A step exceeds ``2 / (K (K - 1))``, beyond which a probability would be negative.
        """
        steps = numbers.convert(steps)
        if not np.all(abs(steps) * n_classes * (n_classes - 1) <= 2):
            raise ValueError(
                f"the squared Euclidean loss has no row of {n_classes} classes with steps beyond "
                f"2 / (K (K - 1)) = {2 / (n_classes * (n_classes - 1)):.6g}."
            )
        ranks = n_classes - 1 - 2 * np.arange(n_classes)
        return np.asarray(1 / numbers.convert(n_classes) + steps[:, None] * ranks / 2)
