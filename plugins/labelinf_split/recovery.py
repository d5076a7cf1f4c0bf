"""A linear top and hard labels, solved from the gradients of one step (V4); clusters, and what ties those of steps.

Without features at the label party, ``g_i = W'(p_i - e_y)`` with ``p_i = softmax(W z_i + b)``: in coordinates of the
span of the gradients, of dimension r, D = (K - 1)(r + 1) unknowns and ``n r`` equations. Whether that holds comes out:
with label-side features, smoothed labels, a wrong scale or another top nothing explains a step to within rounding.

``PROVED`` takes n >= D + 1 records: for almost all embeddings no other labels have any explanation, up to renaming.
``GENERIC`` takes so many more equations than unknowns that all K^n labellings are improbable to fit within rounding,
``n log10(K) + (n r - D) log10(tolerance) < -6``. It is no proof: four records of K = 3, r = 2 with two explanations are
known. Only gradients well above rounding count, and of records n are those that say more than rounding beyond all
others: copies of three people are three, whatever their last bits. Where fewer classes explain a step nearly as well,
one that was found may be two with rows alike, and nothing is certified.
"""

from __future__ import annotations

import enum
import itertools
import math
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.special import softmax

__all__ = ["Solved", "TopFit", "level_of", "names_of", "own_sizes", "solve_step", "unit", "whitened"]

Floats = NDArray[Any]
Labels = NDArray[np.intp]

_CLEAR = 100  # how many times rounding another label's residual must be, and a gradient that counts
_STARTS = 8
_ROUNDS = 30
_COUNTED = 400  # records of a step, for a certificate
_SEEN = 1e-6  # the root of what eigenvalues are off by
_IMPROBABLE = -6.0  # decimal logarithm
_AGREE = 3  # records that carry a name to another step, at least
_PARTS = 5  # of the known labels, each left out once


class Solved(enum.Enum):
    """What a solution is worth, the value in words."""

    NONE = "none"
    GENERIC = "exact (generic)"
    PROVED = "proved unique"


@attrs.frozen(kw_only=True, eq=False)
class TopFit:
    """A top and labels that explain a step, the classes in any order.

    ``weights``, shape ``(K, d)``, are the top's up to what all rows share; ``sure`` says of which ``labels`` all others
    miss by far; ``residual`` is the largest distance of what is explained, as a share of the longest gradient.
    """

    weights: Floats
    bias: Floats
    labels: Labels
    sure: NDArray[np.bool_]
    residual: float
    solved: Solved


def level_of(sizes: Floats, rank: int, n_classes: int, tolerance: float) -> Solved:
    """Return what an explanation within ``tolerance`` is worth, of as many records as there are ``sizes``."""
    n, unknowns = len(sizes), (n_classes - 1) * (rank + 1)
    digits = rank * float(np.log10(sizes / tolerance).sum()) + unknowns * math.log10(tolerance)
    if n * rank <= unknowns or n * math.log10(n_classes) - digits >= _IMPROBABLE:
        return Solved.NONE
    return Solved.PROVED if n >= unknowns + 1 else Solved.GENERIC


def own_sizes(at: Floats, weights: Floats, bias: Floats, least: float) -> Floats:
    """Return how much records say that others do not, ``least`` or more, in lengths of the longest gradient.

    Tops explain gradients by smooth functions of the logits, so that records of like logits have like equations. Of C
    different records and their copies there are C sizes; near-copies add their derivatives, as small as these are.
    """
    logits = at @ weights.T + bias
    shares = softmax(logits, axis=1)
    moves = np.linalg.norm(shares[:, :, None] * (weights - (shares @ weights)[:, None]), axis=(1, 2))
    logits -= logits.mean(axis=1, keepdims=True)
    alike = np.exp(-np.square(logits[:, None] - logits).sum(axis=2) / 2)
    sizes = np.sqrt(np.clip(np.linalg.eigvalsh(alike * np.outer(moves, moves)), 0, 1))
    return np.asarray(sizes[sizes >= least])


def solve_step(
    gradients: Floats,
    embeddings: Floats,
    n_classes: int,
    rounding: float,
    rng: np.random.Generator,
    near: TopFit | None = None,
) -> TopFit | None:
    """Return a top and labels that explain a step, accepted or not; None where there is no gradient.

    Every record has one of ``gradients``, of its own loss, and of ``embeddings``, shape ``(n, d)``, that may be off by
    ``rounding`` times the longest gradient; ``near`` is the solution of a step nearby, to begin from.
    """
    longest = float(np.linalg.norm(gradients, axis=1).max())
    if not (math.isfinite(longest) and longest > 0):
        return None
    g = gradients / longest
    _, sizes, lines = np.linalg.svd(g, full_matrices=False)
    rank = min(int((sizes > sizes[0] * rounding / 30).sum()), n_classes - 1)
    basis = lines[:rank].T
    a, at = g @ basis, embeddings @ basis * longest
    # begun from a solution nearby, then from K of the gradients, which lie about -m_y at first
    nearby = [(near.weights @ basis / longest, near.bias)] if near is not None else []
    drawn = (rng.choice(len(a), n_classes, replace=len(a) < n_classes) for _ in range(_STARTS))
    starts = ((-a[rows], np.zeros(n_classes)) for rows in drawn)
    fits = (_fitted(*begun, a, at, rounding) for begun in itertools.chain(nearby, starts))
    best = next(fits)
    while best[0] >= rounding and (found := next(fits, None)):
        best = min(best, found, key=lambda fit: fit[0])
    _, weights, bias = best
    labels, missed, explained = _labels(weights, bias, a, at)
    missed[np.arange(len(a)), labels] = np.inf
    residual = float(np.linalg.norm(g - (explained - weights[labels]) @ basis.T, axis=1).max())
    shown = np.linalg.norm(g, axis=1) >= _CLEAR * rounding  # what was masked is 0, and fits a record that is learnt
    sure, solved = shown & (np.sqrt(missed.min(axis=1)) >= _CLEAR * rounding), Solved.NONE
    if residual < rounding:
        sizes = own_sizes(at[shown][:_COUNTED], weights, bias, max(_CLEAR * rounding, _SEEN))
        solved = level_of(sizes, rank, n_classes, rounding)
        for k in np.setdiff1d(np.arange(n_classes), labels[sure]) if solved is not Solved.NONE else ():
            fewer, *_ = _fitted(np.delete(weights, k, axis=0), np.delete(bias, k), a, at, rounding)
            solved = Solved.NONE if fewer < _CLEAR * rounding else solved
    top = weights @ basis.T * longest
    return TopFit(weights=top, bias=bias, labels=labels, sure=sure, residual=residual, solved=solved)


def _labels(weights: Floats, bias: Floats, a: Floats, at: Floats) -> tuple[Labels, Floats, Floats]:
    """Return the nearest labels, squared distances of all, shape ``(n, K)``, and what no label explains."""
    explained = softmax(at @ weights.T + bias, axis=1) @ weights
    missed = np.square((a - explained)[:, None] + weights[None]).sum(axis=2)
    return missed.argmin(axis=1), missed, explained


def _fitted(weights: Floats, bias: Floats, a: Floats, at: Floats, rounding: float) -> tuple[float, Floats, Floats]:
    """Return the largest residual, and the top that has it: labels and top in turns (Levenberg, 1944)."""
    labels, missed, _ = _labels(weights, bias, a, at)
    damping, cost, slow = 1e-3, float(missed.min(axis=1).sum()), False
    for _ in range(_ROUNDS):
        if slow or math.sqrt(cost) < rounding / 30 or damping > 1e3:
            break
        step = _step(weights, bias, a, at, labels, damping)
        new, tried, _ = _labels(weights + step[:, :-1], bias + step[:, -1], a, at)
        reached = float(tried.min(axis=1).sum())
        damping = max(damping / 10, 1e-12) if reached < cost else damping * 10
        if reached < cost:
            weights, bias, labels, missed = weights + step[:, :-1], bias + step[:, -1], new, tried
            slow, cost = reached > 0.999 * cost, reached
    return math.sqrt(float(missed.min(axis=1).max())), weights, bias


def _step(weights: Floats, bias: Floats, a: Floats, at: Floats, labels: Labels, damping: float) -> Floats:
    """Return the step of Gauss and Newton, damped, for weights and bias, shape ``(K, r + 1)``."""
    n, rank = a.shape
    shares = softmax(at @ weights.T + bias, axis=1)
    explained = shares @ weights
    off = a - explained + weights[labels]
    beside = np.append(at, np.ones((n, 1)), axis=1)
    slope = np.einsum("ik,ikc,il->ickl", shares, weights[None] - explained[:, None], beside)
    own = shares.copy()
    own[np.arange(n), labels] -= 1
    for entry in range(rank):
        slope[:, entry, :, entry] += own
    jacobian = slope.reshape(n * rank, -1)
    normal = jacobian.T @ jacobian
    normal[np.diag_indices_from(normal)] += damping * max(float(np.trace(normal)) / len(normal), 1e-30)
    found: Floats = np.linalg.solve(normal, jacobian.T @ off.ravel())
    return found.reshape(weights.shape[0], rank + 1)


def unit(points: Floats) -> Floats:
    """Return points divided by their length, 0 for 0."""
    return np.asarray(points / np.maximum(np.linalg.norm(points, axis=-1, keepdims=True), 1e-300))


def whitened(points: Floats, rank: int) -> Floats:
    """Return points in their leading ``rank`` directions, each of spread one: there classes lie apart alike (V5b)."""
    _, sizes, rows = np.linalg.svd(points, full_matrices=False)
    kept = max(1, min(rank, int((sizes > 1e-9 * sizes[0]).sum())))  # one, of 0, where all points are 0
    return np.asarray(points @ rows[:kept].T / np.maximum(sizes[:kept], 1e-300))


def names_of(
    groups: Sequence[Labels], shots: Labels, n_records: int, n_classes: int, again: int = 1
) -> tuple[Labels, NDArray[np.bool_], int]:
    """Return what most steps call every record, -1 without any, where that is sure, and how many contradict themselves.

    ``groups`` are records of a step, and in which cluster of that step each is, shape ``(2, m)``; clusters have no
    names. A name is sure that ``again`` steps give, whichever part of the known labels is left out: no single one is
    trusted. One contradiction shows that an id is not one person with one label, or that a known label is not what was
    trained on. No name is sure then.
    """
    steps = [each + np.array([[0], [step * n_classes]]) for step, each in enumerate(groups)]
    rows, own = np.unique(np.concatenate([np.zeros((2, 0), dtype=np.intp), *steps], axis=1), axis=1)
    inside = coo_array((np.ones(rows.size), (own, rows)), shape=(len(groups) * n_classes, n_records)).tocsr()
    known, called = _called(inside, shots, n_classes)
    heard = inside @ (known + inside.T @ called > 0)
    most = np.eye(n_classes)[heard.argmax(axis=1)] * heard.any(axis=1, keepdims=True)
    said = known + inside.T @ most
    labels = np.where(said.any(axis=1), said.argmax(axis=1), -1)
    within = (heard > 0).reshape(-1, n_classes, n_classes)
    if (within.sum(axis=1) > 1).any() or (within.sum(axis=2) > 1).any():
        return labels, np.zeros(n_records, dtype=bool), max(1, int(((said > 0).sum(axis=1) > 1).sum()))
    by_class = shots[:, np.argsort(shots[1], kind="stable")]
    parts = [np.delete(by_class, slice(part, None, _PARTS), axis=1) for part in range(_PARTS)]
    given = [inside.T @ _called(inside, part, n_classes)[1] >= again for part in parts]
    return labels, np.all(given, axis=0).any(axis=1), 0


def _called(inside: Any, shots: Labels, n_classes: int) -> tuple[Floats, Floats]:
    """Return what is known of records, shape ``(n, K)``, and what groups are called by it, ``(S K, K)``, 0 or 1.

    A known label inside a group names it. From other steps a name is carried by many: by ``_AGREE`` records or more
    which are most of the group. So no few wrong ids carry one, nor two that stand for each other. K - 1 names of a step
    name the last.
    """
    known, sizes = np.zeros((inside.shape[1], n_classes)), np.asarray(inside.sum(axis=1))[:, None]
    known[tuple(shots)] = 1
    called = (inside @ known > 0).astype(float)
    while True:
        votes = inside @ (known + inside.T @ called > 0).astype(float)
        more = np.maximum(called, (votes >= _AGREE) & (2 * votes > sizes)).reshape(-1, n_classes, n_classes)
        named, taken = more.any(axis=2), more.any(axis=1)
        last = (named.sum(axis=1) == n_classes - 1) & (taken.sum(axis=1) == n_classes - 1)
        more[last] += ~named[last][:, :, None] & ~taken[last][:, None]
        if (more.reshape(called.shape) == called).all():
            return known, called
        called = more.reshape(called.shape)
