"""One column per class, and the column of the true one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["columns", "only_two", "pick"]


def columns(predictions: NDArray[Any]) -> NDArray[Any]:
    """Return probabilities of shape ``(n, n_classes)``; a vector holds the probability of class 1 of two."""
    return predictions if predictions.ndim == 2 else np.stack([1 - predictions, predictions], axis=1)


def pick(values: NDArray[Any], labels: NDArray[np.intp]) -> NDArray[Any]:
    """Return the entry of each row that its label names, shape ``(n,)``."""
    chosen: NDArray[Any] = values[np.arange(len(labels)), labels]
    return chosen


def only_two(loss: object, n_classes: int) -> None:
    """Refuse more classes than a binary loss has.

    Raises:
        ValueError: ``n_classes`` is not 2.
    """
    if n_classes != 2:
        raise ValueError(f"n_classes={n_classes}: {type(loss).__name__} is defined for only two classes.")
