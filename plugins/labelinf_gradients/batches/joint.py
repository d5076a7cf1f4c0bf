r"""All samples of a batch at once, where there are too many to find one by one.

Alone, a sample satisfies ``C - B`` equations in ``B`` unknowns: batches beyond ``C / 2`` do not separate
(:mod:`labelinf_gradients.batches.subspace`). Together, for given labels, ``(C - 1) B`` equations ``G =
(1/B) sum_b q_b x_b'`` hold for the ``B^2`` coordinates of the features in the gradient's row space, which is enough up
to ``B = C - 2``. Labels are tried in order of how well they agree with an estimate of the counts; a wrong guess leaves
a misfit, so that the right one is recognised without the truth (labelinf theory, joint recovery; to our knowledge new).

It stands and falls with the estimate: good ones come from untrained and briefly trained networks. After a few epochs
no published or own count attack is near enough for the right counts to be among those tried, and nothing is claimed.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelinf_gradients.batches.equations import ITERATIONS, BatchEquations
from labelinf_gradients.batches.polish import polished
from labelinf_gradients.batches.result import Batch

__all__ = ["likely_counts", "recover_cost", "recover_jointly"]

_STARTS = 8


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
    trying: Callable[[int], None] = lambda at: None,
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
        trying: Called with the number of counts that are over, before every one.

    Returns:
        The batch: complete when some labels explain the gradient to rounding, empty otherwise.
    """
    equations = BatchEquations.of(gradient, weights, bias, batch=batch, rank=batch)
    limit = 1e-7 if gradient.dtype == np.float64 else 2e-5
    for at, counts in enumerate(likely_counts(estimate, batch, tries)):
        trying(at)
        classes = np.repeat(np.arange(len(counts)), counts)
        ends, misfit = equations.solve(classes, _starts(equations, gradient, classes, typical, rng))
        best = int(misfit.argmin())
        if misfit[best] < limit:
            features = equations.features(ends[best])
            return polished(gradient, np.asarray(weights), bias, classes, features, batch=batch)
    return Batch.nothing(rank=batch, n_features=gradient.shape[1])


def recover_cost(n_classes: int, batch: int) -> float:
    """Return how many products one try of :func:`recover_jointly` takes at most."""
    return float(ITERATIONS * _STARTS * n_classes * batch**5)


def likely_counts(estimate: NDArray[np.float64], batch: int, most: int) -> Iterator[NDArray[np.intp]]:
    """Yield ``most`` label counts that sum to ``batch``, nearest to ``estimate`` first; of all that there are.

    From any counts some move of one label leads to no farther ones that are nearer to the nearest of all (squared
    distance is M-convex), so that a search from there, the nearest known counts first, leaves nothing out.

    Args:
        estimate: Fractional counts, shape ``(C,)``.
        batch: Their sum once rounded.
        most: How many to yield at most; work and memory grow with it, not with how many counts there are.
    """
    first = np.clip(np.floor(estimate), 0, None).astype(np.intp)
    while first.sum() > batch:
        first[np.argmax(first - estimate + (first == 0) * -1e9)] -= 1
    while first.sum() < batch:
        first[np.argmin(first - estimate)] += 1
    number = itertools.count()
    heap, seen = [(0.0, next(number), first)], {first.tobytes()}
    for _ in range(most):
        if not heap:
            return
        cost, _, counts = heapq.heappop(heap)
        yield counts
        sources, excess = np.flatnonzero(counts), counts - estimate
        dearer = 2 * (1 + excess[None, :] - excess[sources][:, None])
        dearer[np.arange(len(sources)), sources] = np.inf
        # Of one place's neighbours no more than the nearest can be wanted.
        for at in np.argsort(dearer, axis=None, kind="stable")[:most]:
            moved = counts.copy()
            moved[sources[at // len(counts)]] -= 1
            moved[at % len(counts)] += 1
            if np.isfinite(dearer.flat[at]) and moved.tobytes() not in seen:
                seen.add(moved.tobytes())
                heapq.heappush(heap, (cost + float(dearer.flat[at]), next(number), moved))


def _starts(
    equations: BatchEquations,
    gradient: NDArray[Any],
    classes: NDArray[np.intp],
    typical: NDArray[np.float64] | None,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Return starting points, shape ``(starts, B, B)``: one plain, the others more and more disturbed."""
    batch = len(classes)
    if typical is None:
        counts = np.bincount(classes, minlength=len(gradient))
        base = -(gradient[classes].astype(np.float64) @ equations.right) * (batch / counts[classes])[:, None]
    else:
        base = typical[classes] @ equations.right
    spread = np.linalg.norm(base, axis=1).mean() / np.sqrt(batch) * np.linspace(0.02, 0.6, _STARTS)
    return np.asarray(base + spread[:, None, None] * rng.normal(size=(_STARTS, *base.shape)))
