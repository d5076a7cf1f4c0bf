"""The last fit of a recovered batch: all samples together, every row as loud as its rounding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from labelinf_gradients.batches.equations import BatchEquations
from labelinf_gradients.batches.result import Batch

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["polished"]

_ITERATIONS = 200


def polished(
    gradient: NDArray[Any],
    weights: NDArray[Any],
    bias: NDArray[Any] | None,
    classes: NDArray[np.intp],
    features: NDArray[np.float64],
    *,
    batch: int,
) -> Batch:
    """Return the least-squares solution next to the samples that were found, and how sure of it one can be.

    With the labels known, so is the rounding of every row: its entries carry a unit of the last place of what they
    are, and the entry ``p - 1`` of a label one of the format itself, whatever is left of it.

    Args:
        gradient: Of the last layer's weights, shape ``(C, I)``.
        weights: The layer's weights.
        bias: Its known bias, if it has one.
        classes: Labels, one for every dimension of the gradient's row space.
        features: Where to start, shape ``(len(classes), I)``.
        batch: B.
    """
    squares = (gradient.astype(np.float64) ** 2).sum(axis=1)
    np.add.at(squares, classes, (features**2).sum(axis=1) / batch**2)
    equations = BatchEquations.of(gradient, weights, bias, batch=batch, rank=len(classes), loudness=np.sqrt(squares))
    ends, misfit = equations.solve(classes, (features @ equations.right)[None], iterations=_ITERATIONS)
    return Batch(
        classes=classes,
        features=equations.features(ends[0]),
        rank=len(classes),
        unexplained=float(misfit[0]),
        uncertainty=float(equations.uncertainty(classes, ends[0]).max()),
    )
