r"""All samples of a batch at once, where there are too many to find one by one.

Alone, a sample satisfies ``C - B`` equations in ``B`` unknowns: batches beyond ``C / 2`` do not separate
(:mod:`labelinf_gradients.batches.subspace`). Together, for given labels, ``(C - 1) B`` equations ``G =
(1/B) sum_b q_b x_b'`` hold for the ``B^2`` coordinates of the features in the gradient's row space, which is enough up
to ``B = C - 2``. Labels are tried in order of how well they agree with an estimate of the counts; a wrong guess leaves
a misfit, so that the right one is recognised without the truth (labelinf theory, joint recovery; to our knowledge new).
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from labelinf_gradients.batches.instances import Batch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

__all__ = ["likely_counts", "recover_jointly"]

_ITERATIONS = 60
_STARTS = 8
_TINY = 1e-300


def recover_jointly(
    gradient: NDArray[Any],
    weights: NDArray[Any],
    *,
    batch: int,
    estimate: NDArray[np.float64],
    typical: NDArray[np.float64] | None,
    rng: np.random.Generator,
    bias: NDArray[Any] | None = None,
    tries: int = 40,
) -> Batch:
    """Recover labels and features of one batch of one-hot labels, ``B <= C - 2``.

    Args:
        gradient: Mean gradient of the last layer's weights, shape ``(C, I)``.
        weights: The last layer's weights.
        batch: B.
        estimate: Fractional label counts, shape ``(C,)``; candidates are tried in order of distance from it.
        typical: A typical feature of every class, shape ``(C, I)``, from the adversary's own data; without it starts
            come from the gradient's rows, which suits untrained networks.
        rng: Randomness of the starts.
        bias: The last layer's known bias, if it has one.
        tries: Label counts tried before giving up.

    Returns:
        The batch: complete when some labels explain the gradient to rounding, empty otherwise.
    """
    task = _Task.of(gradient, weights, bias, batch)
    limit = 1e-7 if gradient.dtype == np.float64 else 2e-5
    for counts in itertools.islice(likely_counts(estimate, batch), tries):
        classes = np.repeat(np.arange(len(counts)), counts)
        points, misfit = task.solve(classes, task.starts(classes, typical, rng))
        if misfit < limit:
            return Batch(classes=classes, features=points @ task.right.T, rank=batch, unexplained=misfit)
    empty = np.zeros((0, task.right.shape[0]))
    return Batch(classes=np.zeros(0, dtype=np.intp), features=empty, rank=batch, unexplained=1.0)


def likely_counts(estimate: NDArray[np.float64], batch: int) -> Iterator[NDArray[np.intp]]:
    """Yield label counts that sum to ``batch``, nearest to ``estimate`` first, up to two labels away from the best.

    Args:
        estimate: Fractional counts, shape ``(C,)``.
        batch: Their sum once rounded.
    """
    floor = np.clip(np.floor(estimate), 0, None).astype(np.intp)
    while floor.sum() > batch:
        floor[np.argmax(floor - estimate + (floor == 0) * -1e9)] -= 1
    while floor.sum() < batch:
        floor[np.argmin(floor - estimate)] += 1
    seen = {floor.tobytes(): floor}
    for _ in range(2):
        for counts in list(seen.values()):
            for source, target in itertools.permutations(range(len(counts)), 2):
                if counts[source] > 0:
                    moved = counts.copy()
                    moved[source] -= 1
                    moved[target] += 1
                    seen.setdefault(moved.tobytes(), moved)
    yield from sorted(seen.values(), key=lambda counts: float(((counts - estimate) ** 2).sum()))


@attrs.frozen(kw_only=True, eq=False)
class _Task:
    """The equations of one gradient, its rows scaled to equal size (entries are rounded relative to their row)."""

    rows: NDArray[np.float64]
    right: NDArray[np.float64]
    logits: NDArray[np.float64]
    offsets: NDArray[np.float64]
    target: NDArray[np.float64]
    plain: NDArray[np.float64]
    batch: int

    @classmethod
    def of(cls, gradient: NDArray[Any], weights: NDArray[Any], bias: NDArray[Any] | None, batch: int) -> _Task:
        exact = np.asarray(gradient, dtype=np.float64)
        size = np.linalg.norm(exact, axis=1)
        rows = 1 / np.where(size > 0, size, np.inf)
        right = np.linalg.svd(rows[:, None] * exact, full_matrices=False)[2][:batch].T
        return cls(
            rows=rows,
            right=right,
            logits=np.asarray(weights, dtype=np.float64) @ right,
            offsets=np.zeros(len(exact)) if bias is None else np.asarray(bias, dtype=np.float64),
            target=batch * (rows[:, None] * exact) @ right,
            plain=exact @ right,
            batch=batch,
        )

    def starts(
        self, classes: NDArray[np.intp], typical: NDArray[np.float64] | None, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Return starting points, shape ``(starts, B, B)``: one plain, the others more and more disturbed."""
        if typical is None:
            counts = np.bincount(classes, minlength=len(self.rows))
            base = -self.plain[classes] * (self.batch / counts[classes])[:, None]
        else:
            base = typical[classes] @ self.right
        spread = np.linalg.norm(base, axis=1).mean() / np.sqrt(self.batch) * np.linspace(0.02, 0.6, _STARTS)
        return np.asarray(base + spread[:, None, None] * rng.normal(size=(_STARTS, *base.shape)))

    def solve(self, classes: NDArray[np.intp], points: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
        """Run Levenberg-Marquardt from all starts at once; return the best end point and its relative misfit."""
        damping = np.full(len(points), 1e-2)
        whole = float((self.target**2).sum())
        errors = self._misfit(classes, points)
        cost = (errors**2).sum(axis=(1, 2))
        for _ in range(_ITERATIONS):
            slopes = self._slopes(classes, points)
            normal = np.einsum("kij,kil->kjl", slopes, slopes)
            pull = np.einsum("kij,ki->kj", slopes, errors.reshape(len(points), -1))
            diagonal = np.einsum("kjj->kj", normal)
            diagonal += damping[:, None] * (diagonal + 1e-9 * diagonal.max(axis=1, keepdims=True)) + _TINY
            trial = points - np.linalg.solve(normal, pull[:, :, None])[:, :, 0].reshape(points.shape)
            left = self._misfit(classes, trial)
            now = (left**2).sum(axis=(1, 2))
            better = now < cost
            points[better], errors[better], cost[better] = trial[better], left[better], now[better]
            damping = np.clip(np.where(better, damping / 4, damping * 4), 1e-12, 1e12)
            if cost.min() < 1e-24 * whole or not (damping < 1e10).any():
                break
        best = int(cost.argmin())
        return points[best], float(np.sqrt(cost[best] / whole))

    def _probabilities(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        logits = points @ self.logits.T + self.offsets
        weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
        return np.asarray(weights / weights.sum(axis=-1, keepdims=True))

    def _scaled_errors(self, classes: NDArray[np.intp], points: NDArray[np.float64]) -> NDArray[np.float64]:
        q = self._probabilities(points)
        q[:, np.arange(len(classes)), classes] -= 1
        return np.asarray(q * self.rows)

    def _misfit(self, classes: NDArray[np.intp], points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``sum_b q_b r_b' - B G V``, shape ``(k, C, B)``."""
        return np.asarray(np.einsum("kbc,kbd->kcd", self._scaled_errors(classes, points), points) - self.target)

    def _slopes(self, classes: NDArray[np.intp], points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return its derivatives, shape ``(k, C B, B B)``."""
        p = self._probabilities(points)
        dq = (p * self.rows)[..., None] * (self.logits - (p @ self.logits)[:, :, None, :])
        slopes = np.einsum("kbce,kbd->kcdbe", dq, points)
        own = np.arange(self.batch)
        slopes[:, :, own, :, own] += np.swapaxes(self._scaled_errors(classes, points), 1, 2)[None]
        return np.asarray(slopes.reshape(len(points), -1, self.batch**2))
