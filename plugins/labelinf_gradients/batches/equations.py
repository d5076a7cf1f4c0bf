r"""All equations of a batch together: ``sum_b q_b x_b' = B G`` with ``q_b = softmax(W x_b + b) - e_{y_b}``.

For given labels the features lie in the row space of ``G``: ``x_b = V r_b``. That leaves ``(C - 1) R`` equations for
the ``B R`` coordinates of ``B`` samples in a space of ``R`` dimensions. Both the joint search and the last polish of
samples that were found one by one solve them by Levenberg-Marquardt.

How far a solution can be off is read from the release itself: entries are rounded, which leaves singular values beyond
the rank and a misfit; the derivatives say how much such an error moves a feature (labelinf theory, batches).
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_gradients.game.networks import softmax

__all__ = ["ITERATIONS", "SOLVED", "BatchEquations"]

ITERATIONS = 60  #: of Levenberg and Marquardt

_DAMPING = 1e-2
_TINY = 1e-300
SOLVED = 1e-12  #: relative misfit at which there is nothing left to gain


@attrs.frozen(kw_only=True, eq=False)
class BatchEquations:
    """The equations of one gradient, its rows scaled.

    Attributes:
        rows: Factor of every row, shape ``(C,)``. Entries are rounded relative to their row; rows of equal size make
            rounding the same everywhere.
        right: Row space ``V``, shape ``(I, R)``.
        logits: ``W V``, shape ``(C, R)``.
        offsets: ``b``, shape ``(C,)``.
        target: ``B G V``, scaled, shape ``(C, R)``.
        noise: Standard deviation of the scaled entries' rounding, times B.
    """

    rows: NDArray[np.float64]
    right: NDArray[np.float64]
    logits: NDArray[np.float64]
    offsets: NDArray[np.float64]
    target: NDArray[np.float64]
    noise: float

    @classmethod
    def of(
        cls,
        gradient: NDArray[Any],
        weights: NDArray[Any],
        bias: NDArray[Any] | None,
        *,
        batch: int,
        rank: int,
        loudness: NDArray[np.float64] | None = None,
    ) -> BatchEquations:
        """Write the equations of a mean gradient, shape ``(C, I)``.

        Args:
            gradient: G.
            weights: Of the last layer.
            bias: Of the last layer.
            batch: B.
            rank: R, dimensions of the row space that are kept.
            loudness: Size of the rounding of every row, shape ``(C,)``; without it, its norm.
        """
        exact = np.asarray(gradient, dtype=np.float64)
        size = np.linalg.norm(exact, axis=1) if loudness is None else loudness
        rows = 1 / np.where(size > 0, size, np.inf)
        _, values, right = np.linalg.svd(rows[:, None] * exact, full_matrices=False)
        basis = right[:rank].T
        rest = (exact.shape[0] - rank) * (exact.shape[1] - rank)
        rounding = np.finfo(gradient.dtype).eps / np.sqrt(exact.shape[1])
        return cls(
            rows=rows,
            right=basis,
            logits=np.asarray(weights, dtype=np.float64) @ basis,
            offsets=np.zeros(len(exact)) if bias is None else np.asarray(bias, dtype=np.float64),
            target=batch * (rows[:, None] * exact) @ basis,
            noise=batch * max(float(rounding), float(np.sqrt((values[rank:] ** 2).sum() / max(rest, 1)))),
        )

    def features(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``x = V r``, shape ``(..., I)``."""
        return np.asarray(points @ self.right.T)

    def solve(
        self, classes: NDArray[np.intp], points: NDArray[np.float64], *, iterations: int = ITERATIONS
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Run Levenberg-Marquardt from several starts at once, until one of them solves the equations.

        Args:
            classes: Label of every sample, shape ``(B,)``.
            points: Starts, shape ``(k, B, R)``.
            iterations: Steps at most.

        Returns:
            Where each ends, and its misfit relative to the gradient, shape ``(k,)``.
        """
        points, damping = points.copy(), np.full(len(points), _DAMPING)
        whole = max(float((self.target**2).sum()), _TINY)
        errors = self.misfit(classes, points)
        cost = (errors**2).sum(axis=(1, 2))
        for _ in range(iterations):
            slopes = self.slopes(classes, points)
            normal = np.einsum("kij,kil->kjl", slopes, slopes, optimize=True)
            pull = np.einsum("kij,ki->kj", slopes, errors.reshape(len(points), -1))
            diagonal = np.einsum("kjj->kj", normal)
            diagonal += damping[:, None] * (diagonal + 1e-9 * diagonal.max(axis=1, keepdims=True)) + _TINY
            trial = points - np.linalg.solve(normal, pull[:, :, None])[:, :, 0].reshape(points.shape)
            trial = np.where(np.isfinite(trial), trial, points)
            left = self.misfit(classes, trial)
            now = (left**2).sum(axis=(1, 2))
            better = now < cost
            points[better], errors[better], cost[better] = trial[better], left[better], now[better]
            damping = np.clip(np.where(better, damping / 4, damping * 4), 1e-12, 1e12)
            if cost.min() < SOLVED**2 * whole or not (damping < 1e10).any():
                break
        return points, np.sqrt(cost / whole)

    def uncertainty(self, classes: NDArray[np.intp], points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the standard error of every sample's feature relative to its norm, shape ``(B,)``.

        Args:
            classes: Labels.
            points: A solution, shape ``(B, R)``.
        """
        n_samples, n_dimensions = points.shape
        slopes = self.slopes(classes, points[None])[0]
        spare = max((len(self.rows) - 1 - n_samples) * n_dimensions, 1)
        noise = max(self.noise, float(np.sqrt((self.misfit(classes, points[None]) ** 2).sum() / spare)))
        # The row space is as uncertain as what lies in it: outside, features are a linear least-squares fit.
        errors = self._errors(classes, points[None])[0]
        outside = len(self.right) - n_dimensions
        with np.errstate(over="ignore", invalid="ignore"):
            inside = (np.linalg.pinv(slopes) ** 2).sum(axis=1).reshape(points.shape).sum(axis=1)
            spread = inside + outside * (np.linalg.pinv(errors.T) ** 2).sum(axis=1)
        return np.asarray(noise * np.sqrt(spread) / np.maximum(np.linalg.norm(points, axis=1), _TINY))

    def _probabilities(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        return softmax(points @ self.logits.T + self.offsets)

    def _errors(self, classes: NDArray[np.intp], points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``q``, scaled, shape ``(k, B, C)``."""
        q = self._probabilities(points)
        q[:, np.arange(len(classes)), classes] -= 1
        return np.asarray(q * self.rows)

    def misfit(self, classes: NDArray[np.intp], points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``sum_b q_b r_b' - B G V``, shape ``(k, C, R)``."""
        return np.asarray(np.einsum("kbc,kbd->kcd", self._errors(classes, points), points) - self.target)

    def slopes(self, classes: NDArray[np.intp], points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return its derivatives, shape ``(k, C R, B R)``."""
        p = self._probabilities(points)
        dq = (p * self.rows)[..., None] * (self.logits - (p @ self.logits)[:, :, None, :])
        slopes = np.einsum("kbce,kbd->kcdbe", dq, points)
        own = np.arange(points.shape[2])
        slopes[:, :, own, :, own] += np.swapaxes(self._errors(classes, points), 1, 2)[None]
        return np.asarray(slopes.reshape(len(points), -1, points.shape[1] * points.shape[2]))
