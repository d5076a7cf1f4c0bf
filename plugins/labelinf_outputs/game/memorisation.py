"""Per-record memorisation (Feldman, STOC 2020; Feldman and Zhang, NeurIPS 2020), for labels.

How much more a model says of a record's label when it was trained on it:

    mem_i = E[p_i(k) | trained with label k] - E[p_i(k) | trained with another label],

estimated over models whose labels of the record were drawn at random, and averaged over the classes k that some of them
were trained on and some not. 1 is a record whose label is remembered whatever it is; 0 one whose label leaves no trace.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["memorisation", "with_and_without"]


def with_and_without(
    said: NDArray[np.float64], own: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_]]:
    """Return means over models that were trained on a label and over the others, and where there are such, ``(m, K)``.

    Args:
        said: What T models say, shape ``(T, m, K)``.
        own: Whether each was trained on each label, shape ``(T, m, K)``.
    """
    inside, outside = own.sum(axis=0), (~own).sum(axis=0)
    with_label = np.where(own, said, 0).sum(axis=0) / np.maximum(inside, 1)
    without = np.where(own, 0, said).sum(axis=0) / np.maximum(outside, 1)
    return with_label, without, inside > 0, outside > 0


def memorisation(probabilities: NDArray[np.float64], trained: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the estimate of every record, shape ``(m,)``; NaN where all models were trained on one label.

    Args:
        probabilities: What T models say, shape ``(T, m, K)``.
        trained: The labels they were trained on, shape ``(T, m)``.

    Example:
        >>> said = np.array([[[0.9, 0.1]], [[0.3, 0.7]]])
        >>> memorisation(said, np.array([[0], [1]])).round(3)
        array([0.6])
    """
    own = trained[:, :, None] == np.arange(probabilities.shape[2])
    with_label, without, inside, outside = with_and_without(probabilities, own)
    both = inside & outside
    n_both = both.sum(axis=1)
    total = np.where(both, with_label - without, 0).sum(axis=1)
    return np.asarray(np.divide(total, n_both, out=np.full(n_both.shape, np.nan), where=n_both > 0))
