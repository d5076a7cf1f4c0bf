"""The labelling whose sum is nearest, by looking at all of them.

The decoder of both score papers (Aggarwal et al., ICML 2021, Algorithm 2; AISTATS 2022, LabelInf in equation 1): all
K^m sums, built by doubling, so that twenty labels cost a million additions in one NumPy call each.

It is as exact as its numbers: floats are added with one rounding a row, integers that fit 64 bits and object arrays of
integers or rationals exactly.

Example:
    >>> nearest_labelling([3, 5, 6, 7], 14)
    array([1, 1, 1, 0])
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["MAX_SUMS", "all_sums", "as_costs", "labels_of_index", "nearest_labelling"]

MAX_SUMS = 2**24  #: tables beyond this do not fit an ordinary machine


def nearest_labelling(gaps: ArrayLike, target: Any) -> NDArray[np.intp]:
    """Return the labelling whose sum of gaps is nearest to ``target``; of several, the first in counting order.

    Args:
        gaps: Shape ``(m,)``: how much more label 1 costs than label 0. Or shape ``(m, K)``: what each label costs.
        target: The observed sum, in the same unit.

    Returns:
        Labels, shape ``(m,)``.

    Raises:
        ValueError: There are more than :data:`MAX_SUMS` labellings.
    """
    costs = as_costs(gaps)
    distance = np.abs(all_sums(costs) - target)
    return labels_of_index(int(distance.argmin()), *costs.shape)


def all_sums(costs: NDArray[Any]) -> NDArray[Any]:
    """Return the sums of all labellings in counting order, the first row's label counting fastest.

    Args:
        costs: What each label costs, shape ``(m, K)``.

    Returns:
        Shape ``(K**m,)``.

    Raises:
        ValueError: There are more than :data:`MAX_SUMS`.
    """
    n_rows, n_classes = costs.shape
    if n_classes**n_rows > MAX_SUMS:
        raise ValueError(f"{n_classes}**{n_rows} labellings must be at most {MAX_SUMS}")
    sums = np.zeros(1, dtype=costs.dtype)
    for row in costs:
        sums = np.add.outer(row, sums).ravel()
    return sums


def labels_of_index(index: Any, n_rows: int, n_classes: int) -> NDArray[np.intp]:
    """Return the labelling at ``index`` of :func:`all_sums`.

    Args:
        index: A place in counting order, or an array of them.
        n_rows: m.
        n_classes: K.

    Returns:
        Shape ``(m,)``, with the shape of ``index`` in front.
    """
    places = n_classes ** np.arange(n_rows, dtype=np.intp)
    return np.asarray(index, dtype=np.intp)[..., None] // places % n_classes


def as_costs(gaps: ArrayLike) -> NDArray[Any]:
    """Return what each label costs, shape ``(m, K)``, from gaps in a shape of :func:`nearest_labelling`."""
    array = np.asarray(gaps)
    if array.ndim == 1:
        array = np.stack([np.zeros_like(array), array], axis=1)
    if array.ndim != 2:
        raise ValueError(f"gaps have shape {array.shape}, expected (m,) or (m, K)")
    return array
