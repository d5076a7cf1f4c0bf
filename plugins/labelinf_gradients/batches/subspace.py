r"""A batch's gradient as a subspace, and Levenberg-Marquardt for the samples that lie in it.

``G = (1/B) sum_b q_b x_b'`` with ``q_b = softmax(W x_b + b) - e_{y_b}``. The left singular vectors span the ``q_b``,
the right ones the ``x_b``. So every sample, alone, satisfies

* its ``q`` lies in the left space: ``(I - U U') (softmax(M r + b) - e_c) = 0`` with ``x = V r``, ``M = W V``;
* taking it away lowers the rank (Wedderburn): ``q' U S^-1 r = B``.

These are ``C - B`` equations for the ``B`` unknowns ``r``: where softmax meets subspace, the samples of a batch
separate (labelinf theory, batches; one sample is the exact solver's problem).
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_gradients.game.networks import softmax

__all__ = ["Subspace", "descend"]

_ITERATIONS = 60
_DAMPING = 1e-2
_DONE = 1e-13


@attrs.frozen(kw_only=True, eq=False)
class Subspace:
    """Singular factors of what is left of a batch's gradient.

    Attributes:
        left: ``U``, shape ``(C, B)``.
        values: Singular values, shape ``(B,)``.
        right: ``V``, shape ``(I, B)``.
        logits: ``M = W V``, shape ``(C, B)``.
        offsets: ``b``, shape ``(C,)``.
        rows: Factor by which every row of the gradient, and so of every ``q``, is multiplied, shape ``(C,)``. Entries
            are rounded relative to their row; rows of equal size make rounding the same everywhere.
        batch: Number of samples that the gradient is the mean of.
    """

    left: NDArray[np.float64]
    values: NDArray[np.float64]
    right: NDArray[np.float64]
    logits: NDArray[np.float64]
    offsets: NDArray[np.float64]
    rows: NDArray[np.float64]
    batch: int

    @classmethod
    def of(
        cls,
        gradient: NDArray[np.float64],
        weights: NDArray[Any],
        offsets: NDArray[np.float64],
        rows: NDArray[np.float64],
        *,
        batch: int,
        rank: int,
    ) -> Subspace:
        """Factor a gradient, shape ``(C, I)``, keeping ``rank`` singular values."""
        left, values, right = np.linalg.svd(rows[:, None] * gradient, full_matrices=False)
        basis = right[:rank].T
        return cls(
            left=left[:, :rank],
            values=values[:rank],
            right=basis,
            logits=weights.astype(np.float64) @ basis,
            offsets=offsets,
            rows=rows,
            batch=batch,
        )

    def errors(self, classes: NDArray[np.intp], points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``q``, shape ``(k, C)``, of samples ``x = V r`` with given classes."""
        p = self._probabilities(points)
        p[np.arange(len(classes)), classes] -= 1
        return p

    def _scaled(self, classes: NDArray[np.intp], points: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.errors(classes, points) * self.rows

    def misfit(self, classes: NDArray[np.intp], points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the residuals of both conditions, shape ``(k, C + 1)``; the direction of ``q`` alone counts."""
        q = self._scaled(classes, points)
        u = q / np.maximum(np.linalg.norm(q, axis=1, keepdims=True), 1e-300)
        coefficient = self.coefficients(classes, points)
        bent = 0.3 * np.tanh(coefficient - 1)  # the rank condition: far away it does not drown the others
        return np.concatenate([u - (u @ self.left) @ self.left.T, bent[:, None]], axis=1)

    def coefficients(self, classes: NDArray[np.intp], points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``q' U S^-1 r / B``, shape ``(k,)``: 1 for every sample of the batch."""
        q = self._scaled(classes, points)
        return np.asarray(np.einsum("kb,kb->k", q @ self.left, points / self.values) / self.batch)

    def slopes(self, classes: NDArray[np.intp], points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the derivatives of :meth:`misfit`, shape ``(k, C + 1, B)``."""
        p = self._probabilities(points)
        dq = (p * self.rows)[:, :, None] * (self.logits - (p @ self.logits)[:, None, :])
        q = self._scaled(classes, points)
        size = np.maximum(np.linalg.norm(q, axis=1), 1e-300)[:, None, None]
        u = q[:, :, None] / size
        du = (dq - u * np.einsum("kcb,kcd->kbd", dq, u)[:, None, :, 0]) / size
        du -= np.einsum("cb,kbd->kcd", self.left, np.einsum("cb,kcd->kbd", self.left, du))
        scaled = points / self.values
        dc = np.einsum("kcd,kc->kd", dq, scaled @ self.left.T) + (q @ self.left) / self.values
        far = np.clip(self.coefficients(classes, points) - 1, -300, 300)
        dc *= (0.3 / np.cosh(far) ** 2 / self.batch)[:, None]
        return np.concatenate([du, dc[:, None, :]], axis=1)

    def _probabilities(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        return softmax(points @ self.logits.T + self.offsets)


def descend(space: Subspace, classes: NDArray[np.intp], points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Run Levenberg-Marquardt from every point at once; return where each ends, shape ``(k, B)``.

    Args:
        space: The batch.
        classes: Assumed class of every sample, shape ``(k,)``.
        points: Starts ``r``, shape ``(k, B)``.
    """
    points, damping = points.copy(), np.full(len(points), _DAMPING)
    cost = _squares(space.misfit(classes, points))
    live = np.arange(len(points))
    for _ in range(_ITERATIONS):
        slopes = space.slopes(classes[live], points[live])
        normal = np.einsum("kcb,kcd->kbd", slopes, slopes)
        pull = np.einsum("kcb,kc->kb", slopes, space.misfit(classes[live], points[live]))
        diagonal = np.einsum("kbb->kb", normal)
        diagonal += damping[live, None] * (diagonal + 1e-12 * diagonal.max(axis=1, keepdims=True)) + 1e-300
        trial = points[live] - np.linalg.solve(normal, pull[:, :, None])[:, :, 0]
        trial = np.where(np.isfinite(trial), trial, points[live])
        now = _squares(space.misfit(classes[live], trial))
        better = now < cost[live]
        gain = np.where(better, 1 - now / np.maximum(cost[live], 1e-300), 1.0)
        points[live[better]], cost[live[better]] = trial[better], now[better]
        damping[live] = np.clip(np.where(better, damping[live] / 5, damping[live] * 4), 1e-12, 1e8)
        live = live[(cost[live] > _DONE**2) & (damping[live] < 1e8) & ~(better & (gain < 1e-9))]
        if not len(live):
            break
    return points


def _squares(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.einsum("kc,kc->k", rows, rows))
