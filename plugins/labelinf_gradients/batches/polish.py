"""The last fit of a recovered batch: all samples together, every row as loud as its rounding."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelinf_gradients.batches.equations import SOLVED, BatchEquations
from labelinf_gradients.batches.result import Batch
from labelinf_gradients.recovery.evidence import LUCK, apart, chance
from labelinf_gradients.recovery.problem import FAINT
from labelinf_gradients.recovery.tensors import precision_of

__all__ = ["explained_by", "polished"]

_ITERATIONS = 200
_STARTED = 2  # solutions of one sample's scale, at most


def explained_by(gradient: NDArray[Any]) -> float:
    """Return the largest share of a gradient that rounding, and where a fit stops, leave unexplained."""
    return max(precision_of(gradient).convincing, 16 * SOLVED)


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
    explained = misfit[0] <= explained_by(gradient)
    return Batch(
        classes=classes,
        features=equations.features(ends[0]),
        rank=len(classes),
        unexplained=float(misfit[0]),
        uncertainty=float(equations.uncertainty(classes, ends[0]).max()),
        chance=_chance(equations, gradient, classes, ends[0], batch) if explained else 1.0,
    )


def _chance(
    equations: BatchEquations,
    gradient: NDArray[Any],
    classes: NDArray[np.intp],
    points: NDArray[np.float64],
    batch: int,
) -> float:
    """Bound how likely a gradient of another origin has samples that explain it as well.

    The rows of the classes sum to zero, so one of them says nothing; the features are the other unknowns. A row of a
    class that no sample has says what its probabilities are, those of a class that one has whatever its row is.
    """
    n_classes, rank = equations.target.shape
    size = np.linalg.norm(equations.target, axis=1) / batch
    size[np.abs(gradient).max(axis=1) <= FAINT * precision_of(gradient).least] = 0
    own = np.isin(np.arange(n_classes), classes)
    logits = equations.logits @ points.T
    others = apart(np.where(own, -1.0, size)[None], logits[None], most=int((~own).sum())) if not own.all() else ()
    widths = -np.sort(-np.repeat(np.concatenate([size[own], *others]), rank))
    share = np.sqrt((equations.misfit(classes, points[None]) ** 2).mean()) / batch
    share = max(float(share), LUCK * precision_of(gradient).rounding * (1 + float(np.abs(logits).max())))
    tried = math.comb(n_classes + rank - 1, rank) * float(_STARTED**rank)
    unknowns = rank * (rank + 1)
    return float(chance(widths[None], np.array([share]), np.array([tried]), unknowns=unknowns, entries=len(widths))[0])
