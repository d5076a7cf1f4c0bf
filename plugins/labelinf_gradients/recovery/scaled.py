r"""Every solution when the gradient is known up to a positive factor only: one more unknown, still enumerated.

A client that clips, forgets its rate, averages one step or multiplies its loss sends ``c G``. With ``G = a v'`` the
label is ``y = p(t) - u a`` for *two* numbers, ``t`` and ``u = 1 / (c t)`` of the same sign. Outside the exclusion set
S, where labels are zero, ``p_i = u a_i``: two entries give ``t`` in closed form,

    exp(t (w_i - w_j) + b_i - b_j) = a_i / a_j.

Where labels are only equal there, ``p`` is affine in ``a``, and three entries give the vanishing determinant

    e_i (a_j - a_k) + e_j (a_k - a_i) + e_k (a_i - a_j) = 0,   e_i = exp(t w_i + b_i).

One of its coefficients differs in sign from the two others, so it says that a log-sum-exp of two lines meets a third
line: a convex function with at most two zeros, at most one where the third line is the steepest or the flattest (the
rule of signs for sums of exponentials). Without biases ``t = 0`` is one of them. Newton's method from outside runs
monotonically into each; nothing is searched (labelinf theory, corrections, D3).
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelinf_gradients.recovery.patterns import Pattern
from labelinf_gradients.recovery.polish import Scored, distinct, is_label
from labelinf_gradients.recovery.problem import Misfit, Problem, outside
from labelinf_gradients.recovery.results import GradientPrecision

__all__ = ["affine_roots", "solve_scaled"]

_ITERATIONS = 60
_STEPS = 8
_KEPT = 6  # candidates of one gradient and family that are polished
_ALL = 8  # up to so many classes all pairs or triples are tried
_TINY = float(np.finfo(np.float64).tiny)
_CLOSEST = 2.0**-55  # no prediction computed in doubles is nearer to its label, unless it is equal to it
_NULL = 1e-9  # of the steepest logit's scale: the root at zero, which is none


def solve_scaled(problem: Problem, pattern: Pattern, precision: GradientPrecision, *, positive: bool) -> Scored:
    """Return the polished candidates of every gradient, each with the factor that goes with it.

    Args:
        problem: Gradients that are not zero, each times a positive factor that is not known.
        pattern: The family of their labels.
        precision: How exactly the gradients are known.
        positive: Only scales ``t > 0`` are possible.
    """
    find = _from_pairs if pattern.zero else _from_triples
    with np.errstate(all="ignore"):  # candidates can be as extreme as numbers get; what is not finite is none
        rows, scales, units = find(problem, pattern)
        steepest = np.abs(problem.slopes[rows]).max(axis=1)
        good = np.isfinite(scales) & np.isfinite(units) & (scales * units > 0) & (np.abs(scales) * steepest > _NULL)
        # Where a large factor makes everything vanish, whatever is saturated would explain it.
        good &= np.abs(units) * np.abs(problem.column[rows]).max(axis=1) > _CLOSEST
        if positive:
            good &= scales > 0
        rows, scales, units = rows[good], scales[good], units[good]
        tried = distinct(rows, scales, len(problem.column), precision)
        rows, scales, units = _best(problem, pattern, rows, scales, units)
        return _polished(problem, pattern, precision, rows, scales, units, tried)


_Found = tuple["NDArray[np.intp]", "NDArray[np.float64]", "NDArray[np.float64]"]


def _from_pairs(problem: Problem, pattern: Pattern) -> _Found:
    """Return gradients, scales ``t`` and units ``u`` from pairs of entries where the label may be zero."""
    rows, (i, j) = _tuples(problem, pattern.excluded, 2)
    a, w, b = problem.column, problem.slopes, _offsets(problem)
    ratio = a[rows, i] / a[rows, j]
    scales = (np.log(ratio) - (b[i] - b[j])) / (w[rows, i] - w[rows, j])
    larger = np.where(np.abs(a[rows, i]) > np.abs(a[rows, j]), i, j)
    at = np.arange(len(rows))
    return rows, scales, problem.take(rows).probabilities(scales)[at, larger] / a[rows, larger]


def _from_triples(problem: Problem, pattern: Pattern) -> _Found:
    """The same from triples of entries that may be equal in the label."""
    rows, (i, j, k) = _tuples(problem, pattern.excluded, 3)
    a, w, b = problem.column, problem.slopes, _offsets(problem)
    of = np.stack([i, j, k], axis=1)
    order = np.argsort(np.take_along_axis(w[rows], of, axis=1), axis=1)
    of = np.take_along_axis(of, order, axis=1)
    values, lines = a[rows[:, None], of], w[rows[:, None], of]
    weights = np.stack([values[:, 1] - values[:, 2], values[:, 2] - values[:, 0], values[:, 0] - values[:, 1]], axis=1)
    scales = affine_roots(lines, np.log(np.abs(weights)) + b[of], np.sign(weights))
    rows, of = np.repeat(rows, 2), np.repeat(of, 2, axis=0)
    at, scales = np.arange(len(rows)), scales.ravel()
    p = problem.take(rows).probabilities(np.where(np.isfinite(scales), scales, 0.0))
    gap = a[rows, of[:, 2]] - a[rows, of[:, 0]]
    return rows, scales, (p[at, of[:, 2]] - p[at, of[:, 0]]) / gap


def affine_roots(
    lines: NDArray[np.float64], logs: NDArray[np.float64], signs: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return all ``t`` with ``sum_k signs_k exp(lines_k t + logs_k) = 0``, shape ``(m, 2)``, NaN where there is none.

    Args:
        lines: Ascending, shape ``(m, 3)``.
        logs: Shape ``(m, 3)``.
        signs: Plus or minus one, not all equal, shape ``(m, 3)``.
    """
    odd = np.where(signs[:, 1] == signs[:, 2], 0, np.where(signs[:, 0] == signs[:, 2], 1, 2))
    two = np.array([[1, 2], [0, 2], [0, 1]])[odd]
    at = np.arange(len(lines))
    # phi(t) = log(exp(first) + exp(second)), both lines measured from the odd one.
    tilt = np.take_along_axis(lines, two, axis=1) - lines[at, odd][:, None]
    lift = np.take_along_axis(logs, two, axis=1) - logs[at, odd][:, None]
    ends = -lift / tilt  # where each line alone meets zero: phi is not negative there
    left = np.where(odd == 1, ends[:, 0], np.where(odd == 2, ends.max(axis=1), np.nan))
    right = np.where(odd == 1, ends[:, 1], np.where(odd == 0, ends.min(axis=1), np.nan))
    void = (signs == 0).any(axis=1) | ~np.isfinite(lift).all(axis=1)
    return np.stack([_newton(np.where(void, np.nan, start), tilt, lift) for start in (left, right)], axis=1)


def _newton(start: NDArray[np.float64], tilt: NDArray[np.float64], lift: NDArray[np.float64]) -> NDArray[np.float64]:
    """Run from where a convex function is positive to its nearest zero; where there is none, to near its minimum."""
    found, live = start.copy(), np.flatnonzero(np.isfinite(start))
    downhill = np.zeros(len(start))
    for number in range(_ITERATIONS):
        if not len(live):
            break
        t = found[live]
        lines = tilt[live] * t[:, None] + lift[live]
        value = np.logaddexp(lines[:, 0], lines[:, 1])
        share = np.exp(lines - value[:, None])
        slope = (share * tilt[live]).sum(axis=1)
        if number == 0:
            downhill[live] = np.sign(slope)
        step = np.where((slope * downhill[live] > 0) & (value > 0), -value / slope, 0.0)
        found[live] = t + step
        live = live[np.abs(step) > 4e-16 * np.abs(t)]
    return found


def _tuples(problem: Problem, excluded: int, size: int) -> tuple[NDArray[np.intp], list[NDArray[np.intp]]]:
    """Return gradients and ``size`` indices each, of which some avoid any S: spread over slopes, and over entries."""
    n, c = problem.column.shape
    if c <= _ALL or c < size * (excluded + 1):
        every = np.array(list(itertools.combinations(range(c), size)), dtype=np.intp)
        chosen = np.broadcast_to(every, (n, *every.shape))
    else:
        keys = (problem.slopes, problem.column) if problem.offsets is not None else (problem.slopes,)
        chosen = np.concatenate([_spread(key, excluded + 1, size) for key in keys], axis=1)
    rows = np.repeat(np.arange(n), chosen.shape[1])
    return rows, [chosen[:, :, place].ravel() for place in range(size)]


def _spread(key: NDArray[np.float64], count: int, size: int) -> NDArray[np.intp]:
    """Return one index from each of ``size`` groups of ``count``, at equal distances in order of ``key``."""
    order = np.argsort(key, axis=1)
    c = key.shape[1]
    starts = [round(place * (c - count) / (size - 1)) for place in range(size)]
    picks = np.array(list(itertools.product(*(range(start, start + count) for start in starts))), dtype=np.intp)
    return np.asarray(order[:, picks], dtype=np.intp)


def _offsets(problem: Problem) -> NDArray[np.float64]:
    return np.zeros(problem.n_classes) if problem.offsets is None else problem.offsets


def _best(
    problem: Problem,
    pattern: Pattern,
    rows: NDArray[np.intp],
    scales: NDArray[np.float64],
    units: NDArray[np.float64],
) -> _Found:
    """Keep the few candidates of every gradient that explain most."""
    share = problem.rescaled(rows, 1 / (scales * units)).misfit(scales, pattern).share
    order = np.lexsort((np.where(np.isnan(share), np.inf, share), rows))
    first = np.searchsorted(rows[order], rows[order])
    kept = order[np.arange(len(order)) - first < _KEPT * (1 if pattern.zero else 2)]
    return rows[kept], scales[kept], units[kept]


def _polished(
    problem: Problem,
    pattern: Pattern,
    precision: GradientPrecision,
    rows: NDArray[np.intp],
    scales: NDArray[np.float64],
    units: NDArray[np.float64],
    tried: NDArray[np.intp],
) -> Scored:
    """Run Gauss-Newton in scale and factor on all entries outside S, and score."""
    factors = 1 / (scales * units)
    part = problem.rescaled(rows, factors)
    misfit = part.misfit(scales, pattern)
    for _ in range(_STEPS):
        own = _column_slopes(part, misfit, pattern)
        step = _least_squares(misfit, own)
        sane = (np.abs(step[:, 0]) < 0.5 * np.abs(scales)) & (np.abs(step[:, 1]) < 0.5)
        moved = scales + np.where(sane, step[:, 0], 0.0)
        again = factors / (1 + np.where(sane, step[:, 1], 0.0))
        part = problem.rescaled(rows, again)
        trial = part.misfit(moved, pattern)
        better = trial.share < misfit.share
        scales, factors = np.where(better, moved, scales), np.where(better, again, factors)
        part = problem.rescaled(rows, factors)
        misfit = part.misfit(scales, pattern)
        if not better.any():
            break
    return Scored(
        rows=rows,
        scales=scales,
        factors=factors,
        residual=np.where(is_label(misfit.labels, precision), misfit.share, np.inf),
        labels=misfit.labels,
        lever=_lever(part, scales, misfit, pattern),
        tried=tried,
    )


def _column_slopes(problem: Problem, misfit: Misfit, pattern: Pattern) -> NDArray[np.float64]:
    """Return the derivative of ``h`` by the logarithm of the column's factor."""
    return outside(-problem.column, misfit.inside, centre=not pattern.zero)


def _jacobian(misfit: Misfit, own: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.stack([misfit.slopes / misfit.yardstick, own / misfit.yardstick], axis=2)


def _least_squares(misfit: Misfit, own: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the Gauss-Newton steps of scale and log-factor, shape ``(k, 2)``."""
    parts = _triangular(_jacobian(misfit, own))
    pull = misfit.values / misfit.yardstick
    second = -np.einsum("nc,nc->n", parts.rest, pull) / np.einsum("nc,nc->n", parts.rest, parts.rest)
    first = (-np.einsum("nc,nc->n", parts.unit, pull) - parts.along * second) / parts.length
    return np.stack([first, second], axis=1)


class _Triangular(NamedTuple):
    """Two columns as ``length * unit`` and ``along * unit + rest``, with ``rest`` orthogonal to ``unit``."""

    unit: NDArray[np.float64]
    rest: NDArray[np.float64]
    length: NDArray[np.float64]
    along: NDArray[np.float64]


def _triangular(columns: NDArray[np.float64]) -> _Triangular:
    """Take two columns apart, shape ``(n, C, 2)``.

    Where scale and factor are nearly one direction, products of the columns hold nothing of what tells them apart; this
    does. It is done twice, so that what is left is orthogonal.
    """
    first, rest = columns[:, :, 0], columns[:, :, 1]
    length = np.sqrt(np.einsum("nc,nc->n", first, first))
    unit, along = first / length[:, None], np.zeros(len(first))
    for _ in range(2):
        more = np.einsum("nc,nc->n", unit, rest)
        rest, along = rest - more[:, None] * unit, along + more
    return _Triangular(unit, rest, length, along)


def _lever(problem: Problem, scales: NDArray[np.float64], misfit: Misfit, pattern: Pattern) -> NDArray[np.float64]:
    """Return the L1 change of the label per unit of unexplained share, for the worst of all directions."""
    p = misfit.labels + problem.column / scales[:, None]
    mean = np.einsum("nc,nc->n", p, problem.slopes)
    by_scale = p * (problem.slopes - mean[:, None]) + problem.column / scales[:, None] ** 2
    by_factor = -problem.column / scales[:, None]
    slopes = _jacobian(misfit, _column_slopes(problem, misfit, pattern))
    slopes = slopes / np.sqrt(slopes.shape[1] - misfit.inside.shape[1])
    unit = np.stack([np.abs(scales), np.ones_like(scales)], axis=1)
    own = _triangular(np.where(np.isfinite(slopes), slopes, 0) * unit[:, None, :])
    rest = np.sqrt(np.einsum("nc,nc->n", own.rest, own.rest))
    # The stiffest direction is known to rounding; the softest, which matters, is orthogonal to it.
    gram = np.array([[own.length**2, own.length * own.along], [own.length * own.along, own.along**2 + rest**2]])
    values, vectors = np.linalg.eigh(np.nan_to_num(np.moveaxis(gram, 2, 0), posinf=0.0))
    least = own.length * rest / np.sqrt(np.maximum(values[:, 1], _TINY))
    change = np.abs(by_scale * unit[:, :1]), np.abs(by_factor)
    worst = sum(part.sum(axis=1) * np.abs(vectors[:, 1 - place, 1]) for place, part in enumerate(change))
    return np.asarray(worst / np.maximum(least, _TINY))
