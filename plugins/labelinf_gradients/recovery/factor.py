r"""A one-sample gradient is a column times a row: ``G = a v'`` with ``|v| = 1``.

The last layer's gradient of one sample is ``(p - y) x'`` (Wang et al., ICLR 2024, eq. 2), so ``x = t v`` and
``p - y = a / t`` for one unknown scalar ``t``. Everything after this module is about that scalar.

Example:
    >>> import numpy as np
    >>> g = np.outer([-0.75, 0.75], [3.0, 4.0])
    >>> parts = factor(g[None], nonnegative=True)
    >>> parts.direction[0], parts.column[0]
    (array([0.6, 0.8]), array([-3.75,  3.75]))
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

__all__ = ["RankOne", "factor", "principal"]

_FAINT = 1e-18


@attrs.frozen(kw_only=True, eq=False)
class RankOne:
    """The two factors of ``n`` gradients.

    Attributes:
        column: ``a``, proportional to ``p - y``, shape ``(n, C)``.
        direction: ``v``, the unit direction of the feature, shape ``(n, I)``.
        misfit: How far each gradient is from rank one, relative to its size, shape ``(n,)``.
    """

    column: NDArray[np.float64]
    direction: NDArray[np.float64]
    misfit: NDArray[np.float64]


def factor(gradients: NDArray[Any], *, nonnegative: bool = False) -> RankOne:
    """Factor clean gradients, shape ``(n, C, I)``, by their largest row, in one pass over the data.

    The largest row gives the direction; projecting every row on it averages the rounding of I entries, which the
    single-entry ratio of the paper's code does not.

    Args:
        gradients: Last-layer gradients.
        nonnegative: Features are known to be non-negative, which fixes the sign of ``v``.

    Returns:
        The factors; all zero where a gradient is zero.
    """
    at = np.arange(len(gradients))
    steepest = np.abs(gradients[:, 0]).argmax(axis=1)
    largest = np.abs(gradients[at, :, steepest]).argmax(axis=1)
    direction = gradients[at, largest]
    lost = ~direction.any(axis=1)  # the first row is zero (it can be): look at all of the gradient
    if lost.any():
        rows = np.abs(gradients[lost]).max(axis=2).argmax(axis=1)
        direction[lost] = gradients[lost, rows]
    direction = _unit(direction.astype(np.float64), nonnegative)
    column = _project(gradients, direction)
    faint = np.flatnonzero(np.abs(column).max(axis=1) < _FAINT)  # squares of so small numbers leave the type's range
    if len(faint):
        column[faint] = _project(gradients[faint].astype(np.float64), direction[faint])
    return RankOne(column=column, direction=direction, misfit=_misfit(gradients, column, direction))


def principal(gradients: NDArray[Any], *, nonnegative: bool = False) -> RankOne:
    """Factor noisy gradients by their leading singular vectors: the least-squares rank-one fit."""
    left, values, right = np.linalg.svd(gradients.astype(np.float64), full_matrices=False)
    direction = _unit(right[:, 0], nonnegative)
    sign = np.sign(np.einsum("ni,ni->n", direction, right[:, 0]))
    column = left[:, :, 0] * (values[:, 0] * sign)[:, None]
    second = values[:, 1] if values.shape[1] > 1 else np.zeros(len(values))
    return RankOne(column=column, direction=direction, misfit=second / np.maximum(values[:, 0], np.finfo(float).tiny))


def _unit(rows: NDArray[np.float64], nonnegative: bool) -> NDArray[np.float64]:
    # Dividing by the largest entry first keeps the squares of tiny gradients from underflowing.
    rows = rows / np.maximum(np.abs(rows).max(axis=1, keepdims=True), np.finfo(float).tiny)
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), np.finfo(float).tiny)
    return np.where(rows.sum(axis=1, keepdims=True) < 0, -rows, rows) if nonnegative else rows


def _project(gradients: NDArray[Any], direction: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ``G v``, by the matrix products of the gradients' own type."""
    product = np.matmul(gradients, direction.astype(gradients.dtype)[:, :, None])[:, :, 0]
    return np.asarray(product, dtype=np.float64)


def _misfit(
    gradients: NDArray[Any], column: NDArray[np.float64], direction: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Compare ``G u`` with ``a v'u`` for one vector ``u`` of fixed random signs."""
    signs = np.random.default_rng(0).choice(np.array([-1.0, 1.0]), size=gradients.shape[2])
    seen = np.asarray(gradients @ signs.astype(gradients.dtype), dtype=np.float64)
    difference = np.abs(seen - column * (direction @ signs)[:, None]).max(axis=1)
    # The relative precision of entries below the smallest normal number is lost.
    rounding = 16 * len(signs) * np.finfo(gradients.dtype).smallest_subnormal
    size = np.maximum(np.abs(column).max(axis=1), rounding)
    return np.asarray(np.maximum(difference - rounding, 0) / size)
