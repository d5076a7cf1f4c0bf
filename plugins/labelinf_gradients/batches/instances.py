"""Every sample of a batch, label and feature, exactly, from the last layer's gradient alone.

Search for one sample after another where the softmax meets the gradient's column space
(:mod:`labelinf_gradients.batches.subspace`); take each away, which lowers the rank and makes the next search smaller
and more overdetermined. Repeated classes are no obstacle. No bias gradient, no auxiliary data (labelinf theory,
batches).

Related: SPEAR (Dimitrov et al., 2024) is exact through the sparsity of hidden ReLU gradients; this uses the softmax.
"""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.errors import InputError, UnfitError
from labelinf_gradients.batches.polish import explained_by, polished
from labelinf_gradients.batches.result import Batch
from labelinf_gradients.batches.subspace import Subspace, descend

__all__ = ["recover_batch"]

_ROUNDS = 3  # searches without a find, each with more and wilder starts, before giving up
_CLEAR = 10  # finds that fit this many times worse than the best wait for another round
_SAME = 1e-3  # relative distance below which two finds are one
_TINY = 1e-300
_RANGES = np.logspace(-0.5, 2, 16)  # how far apart the logits of a start may lie
_LOOSEST = (1e-2, 1e-3, 1e-4, 1e-3, 1e-2)  # relative misfit never excused by rounding, attempt by attempt


def recover_batch(
    gradient: NDArray[Any],
    weights: NDArray[Any],
    *,
    batch: int,
    rng: np.random.Generator,
    bias: NDArray[Any] | None = None,
    nonnegative: bool = True,
) -> Batch:
    """Recover the samples of one batch of one-hot labels.

    Args:
        gradient: Mean gradient of the last layer's weights, shape ``(C, I)``.
        weights: The last layer's weights, shape ``(C, I)``.
        batch: B, the number of samples.
        rng: Randomness of the starts.
        bias: The last layer's known bias, if it has one.
        nonnegative: The features are known to be non-negative.

    Raises:
        InputError: Shapes do not fit, the batch is larger than half the number of classes, where nothing is left over
            to tell a true sample by.
        UnfitError: The gradient's rank exceeds the batch.
    """
    if gradient.shape != weights.shape:
        raise InputError(f"the gradient has shape {gradient.shape} and the weights {weights.shape}; they must agree.")
    if batch > max(1, len(weights) // 2):
        raise InputError(
            f"a batch of {batch} from {len(weights)} classes cannot be taken apart sample by sample: "
            f"at most half as many samples as classes can."
        )
    rounding = float(np.finfo(gradient.dtype).eps) if gradient.dtype.kind == "f" else 2.2e-16
    exact = np.asarray(gradient, dtype=np.float64)
    size = np.linalg.norm(exact, axis=1)
    rows = 1 / np.where(size > 0, size, np.inf)
    rank, condition = _rank(rows[:, None] * exact, rounding, batch)
    hunt = _Hunt(
        released=np.asarray(gradient),
        gradient=exact,
        weights=np.asarray(weights),
        offsets=np.zeros(len(exact)) if bias is None else np.asarray(bias, dtype=np.float64),
        rows=rows,
        batch=batch,
        rank=rank,
        condition=condition,
        rounding=rounding,
        nonnegative=nonnegative,
        loosest=_LOOSEST[0],
    )
    best = hunt.run(rng)
    # A false find spoils all that follow, and does not explain the gradient: begin again with other starts and limits.
    for loosest in _LOOSEST[1:] if rank else ():
        if best.unexplained <= explained_by(gradient):
            break
        again = attrs.evolve(hunt, loosest=loosest).run(rng)
        best = min(best, again, key=lambda found: found.unexplained)
    return best


def _rank(gradient: NDArray[np.float64], rounding: float, batch: int) -> tuple[int, float]:
    """Return the numerical rank and the ratio of the largest singular value to the smallest that counts."""
    values = np.linalg.svd(gradient, compute_uv=False)
    rank = int((values > 4 * rounding * np.sqrt(max(gradient.shape)) * values[0]).sum()) if values[0] > 0 else 0
    if rank > batch:
        raise UnfitError(
            f"the gradient has rank {rank}, more than its batch of {batch}: it is noisy, coarsely rounded, of a tied "
            "head, or not one batch."
        )
    return rank, float(values[0] / values[rank - 1]) if rank else 1.0


@attrs.frozen(kw_only=True, eq=False)
class _Hunt:
    """Searches one gradient for its samples."""

    released: NDArray[Any]
    gradient: NDArray[np.float64]
    weights: NDArray[Any]
    offsets: NDArray[np.float64]
    rows: NDArray[np.float64]
    batch: int
    rank: int
    condition: float
    rounding: float
    nonnegative: bool
    loosest: float

    def run(self, rng: np.random.Generator) -> Batch:
        """Search until every sample is found or several rounds in a row find none."""
        classes = np.zeros(0, dtype=np.intp)
        features = np.zeros((0, self.gradient.shape[1]))
        whole = self._space(self.gradient, self.rank) if self.rank else None
        left, failures = self.gradient, 0
        while whole is not None and len(classes) < self.rank and failures < _ROUNDS:
            new, where = self._round(left, self.rank - len(classes), failures, rng)
            failures = 0 if len(new) else failures + 1
            classes, features = np.append(classes, new), np.concatenate([features, where])
            # The whole gradient fixes each sample better than what others left of it.
            points = descend(whole, classes, features @ whole.right)
            features = points @ whole.right.T
            left = self.gradient - whole.errors(classes, points).T @ features / self.batch
        if len(classes) == self.rank > 0:
            return polished(self.released, self.weights, self.offsets, classes, features, batch=self.batch)
        sizes = np.linalg.norm(self.rows[:, None] * np.array([left, self.gradient]), axis=(1, 2))
        return Batch(
            classes=classes,
            features=features,
            rank=self.rank,
            unexplained=float(sizes[0] / max(sizes[1], _TINY)),
            uncertainty=math.inf,
        )

    def _space(self, gradient: NDArray[np.float64], rank: int) -> Subspace:
        return Subspace.of(gradient, self.weights, self.offsets, self.rows, batch=self.batch, rank=rank)

    def _round(
        self, gradient: NDArray[np.float64], rank: int, failures: int, rng: np.random.Generator
    ) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Return classes and features of the samples that one round finds."""
        space = self._space(gradient, rank)
        classes, points = self._starts(space, gradient, failures, rng)
        points = descend(space, classes, points)
        keep = self._true(space, classes, points)
        classes, points = classes[keep], points[keep]
        misfit = np.linalg.norm(space.misfit(classes, points), axis=1)
        chosen: list[int] = []
        for at in np.argsort(misfit, kind="stable"):
            if misfit[at] > max(_CLEAR * misfit.min(), 10 * self.rounding):
                break  # it may be an accident; what is found first makes the next round sharper
            gap = [np.linalg.norm(points[at] - points[other]) for other in chosen]
            if not gap or min(gap) > _SAME * np.linalg.norm(points[at]):
                chosen.append(int(at))
        chosen = chosen[:rank]
        return classes[chosen], points[chosen] @ space.right.T

    def _starts(
        self, space: Subspace, gradient: NDArray[np.float64], failures: int, rng: np.random.Generator
    ) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Start along each likely class's row of the gradient and around it, each at its best length.

        The row of a class that occurs once is nearly the negative feature of its sample, of one that occurs twice the
        sum of two. How far a start strays from it is drawn over two decades; how long it is, is tried out.
        """
        rank = len(space.values)
        plain = np.linalg.svd(gradient, full_matrices=False)[0][:, :rank]  # leverage needs rows as they are
        likely = np.argsort(-np.einsum("cb,cb->c", plain, plain))[: 3 * rank + 5]
        copies = 4 + 20 * failures
        classes = np.repeat(likely, copies)
        rows = -space.left[classes] * space.values
        noise = rng.normal(size=rows.shape)
        noise *= np.linalg.norm(rows, axis=1, keepdims=True) / np.linalg.norm(noise, axis=1, keepdims=True)
        stray = np.where(np.arange(len(rows)) % copies == 0, 0, 10 ** rng.uniform(-1.5, 0.5, len(rows)))
        directions = rows + stray[:, None] * noise
        directions /= np.maximum(np.ptp(directions @ space.logits.T, axis=1, keepdims=True), _TINY)
        tried = np.array([np.linalg.norm(space.misfit(classes, size * directions), axis=1) for size in _RANGES])
        return classes, directions * _RANGES[tried.argmin(axis=0)][:, None]

    def _true(self, space: Subspace, classes: NDArray[np.intp], points: NDArray[np.float64]) -> NDArray[np.intp]:
        """Return which end points are samples: both conditions hold to rounding, features have the right sign.

        The label's own entry ``p - 1`` is rounded to the format's unit, whatever is left of it: a sample that the
        network is sure of is known to that unit over ``|q|`` only.
        """
        size = np.maximum(np.linalg.norm(space.errors(classes, points), axis=1), 1e-300)
        blur = self.rounding * np.maximum(self.condition, 1 / size)
        limit = np.clip(20 * blur, 1e-7, self.loosest)
        fits = np.linalg.norm(space.misfit(classes, points)[:, :-1], axis=1) < limit
        fits &= np.abs(space.coefficients(classes, points) - 1) < np.clip(100 * blur, 1e-4, max(self.loosest, 1e-4))
        if self.nonnegative:
            features = points @ space.right.T
            fits &= features.min(axis=1) > -np.clip(100 * blur, 1e-6, self.loosest) * np.abs(features).max(axis=1)
        return np.flatnonzero(fits)
