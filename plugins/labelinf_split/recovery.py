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
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.special import softmax

__all__ = ["Solved", "Ties", "TopFit", "level_of", "lloyd", "named", "own_sizes", "solve_step", "unit", "whitened"]

Floats = NDArray[Any]
Labels = NDArray[np.intp]

_CLEAR = 100  # how many times rounding another label's residual must be, and a gradient that counts
_STARTS = 8
_ROUNDS = 30
_COUNTED = 400  # records of a step, for a certificate
_SEEN = 1e-6  # the root of what eigenvalues are off by
_IMPROBABLE = -6.0  # decimal logarithm


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
    _, sizes, rows = np.linalg.svd(g, full_matrices=False)
    rank = min(int((sizes > sizes[0] * rounding / 30).sum()), n_classes - 1)
    basis = rows[:rank].T
    a, at = g @ basis, embeddings @ basis * longest
    # begun from a solution nearby, then from clusters of the gradients, which lie about -m_y at first
    nearby = [(near.weights @ basis / longest, near.bias)] if near is not None else []
    starts = ((-lloyd(a, n_classes, rng)[1], np.zeros(n_classes)) for _ in range(_STARTS))
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
    kept = min(rank, int((sizes > 1e-9 * max(sizes[0], 1e-300)).sum()))
    return np.asarray(points @ rows[:kept].T / sizes[:kept])


def lloyd(points: Floats, n_clusters: int, rng: np.random.Generator) -> tuple[Labels, Floats]:
    """Return clusters and their centres; a cluster that is empty keeps its centre.

    Centres begin far from one another (k-means++; Arthur and Vassilvitskii, SODA 2007).
    """
    centres = points[rng.integers(len(points), size=1)]
    while len(centres) < n_clusters:
        far = np.square(points[:, None] - centres).sum(axis=2).min(axis=1)
        chosen = rng.choice(len(points), p=far / far.sum() if far.sum() > 0 else None)
        centres = np.append(centres, points[chosen][None], axis=0)
    labels = np.zeros(len(points), dtype=np.intp)
    for _ in range(_ROUNDS):
        labels = np.square(points[:, None] - centres).sum(axis=2).argmin(axis=1)
        for cluster in np.unique(labels):
            centres[cluster] = points[labels == cluster].mean(axis=0)
    return labels, centres


def named(clusters: Labels, shots: Labels, n_classes: int) -> tuple[Labels, NDArray[np.bool_]]:
    """Return the class of every cluster, -1 where it has no name, and whether it has two names.

    ``clusters``, shape ``(n,)``, are numbered from 0; of ``shots``, known records and their classes, most decide.
    """
    counts = np.zeros((clusters.max() + 1, n_classes), dtype=np.intp)
    np.add.at(counts, (clusters[shots[0]], shots[1]), 1)
    return np.where(counts.any(axis=1), counts.argmax(axis=1), -1), (counts > 0).sum(axis=1) > 1


class Ties:
    """Records that are known to be of one class, whatever it is called: what every step says, put together.

    Clusters of one of S steps have no names, but are of different classes; records that meet again carry both over.
    """

    def __init__(self, n_records: int, n_steps: int, n_classes: int) -> None:
        self._n, self._k, self._size = n_records, n_classes, n_records + n_steps * n_classes
        self._pairs = [np.zeros((2, 0), dtype=np.intp)]

    def join(self, step: int, rows: Labels, clusters: Labels) -> None:
        """Say which records of a step, or of several whose clusters are the same, are of one class."""
        self._pairs.append(np.stack([rows, self._n + step * self._k + clusters]))

    def names(self, shots: Labels, drawn: bool = False) -> Labels:
        """Return the class of every record, -1 where its piece has no name.

        A piece that holds two clusters of one step is torn: who is in it is not who, or of the class, that it was; it
        has no name. Of others none has, if a piece has ``shots``, known records and their classes, of two classes, or
        if two of one step are called the same. K - 1 names name the last. Where trained labels are ``drawn`` most shots
        decide, and name no other piece.
        """
        pairs = np.concatenate(self._pairs, axis=1)
        graph = coo_array((np.ones(pairs.shape[1]), pairs), shape=(self._size, self._size))
        pieces = connected_components(graph, directed=False)[1].astype(np.intp)
        steps = pieces[self._n :].reshape(-1, self._k)
        names, several = named(pieces, shots, self._k)
        torn = np.isin(np.arange(len(names)), steps[_again(steps)])
        names[torn] = -1
        while not drawn:
            said = names[steps]
            without = said < 0
            if (several & ~torn).any() or (_again(said) & ~without).any():
                names[:] = -1
            rows, last = np.nonzero(without & ~torn[steps] & (without.sum(axis=1, keepdims=True) == 1))
            if not rows.size or (names < 0).all():
                break
            names[steps[rows, last]] = self._k * (self._k - 1) // 2 - said[rows].clip(0).sum(axis=1)
        return names[pieces[: self._n]]


def _again(rows: Labels) -> NDArray[np.bool_]:
    """Return which entries stand in their row more than once."""
    return np.asarray((rows[:, :, None] == rows[:, None]).sum(axis=2) > 1)
