"""Labels that a log determines, proved by weak duality in exact arithmetic (M41, as corrected in A1).

Write labels of K classes as ``x_ik``, 1 where record i is of class k, for ``k = 1, ..., K - 1``; class 0 is what is
left. Let ``low_t <= c_t . x <= high_t`` be proved of the true labels ``y`` and let ``n_k`` of them be of class k. For a
set U of records let ``g . x - g . y`` count the records of U whose label is another one: ``g_ik = 1`` where
``y_i = 0``, ``-1`` at ``k = y_i`` elsewhere, and 0 outside U. For **any** multipliers ``lambda_t``, ``mu_k``

    B = sum_t max(lambda_t low_t, lambda_t high_t) + sum_k mu_k n_k
        + sum_i max(0, max_k (g_ik - (C' lambda)_ik - mu_k)) - g . y

bounds that count over every x that fits the log. So **B < 1 proves every label of U**. The multipliers are taken from
a linear programme in floats, rounded, and B is computed in whole numbers: nothing hangs on the solver, which can only
be unhelpful.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.metrics.readings import Reading

__all__ = ["Entry", "Log", "Row", "class_rows", "dual_bound", "one_hot", "relax", "scaled_rows", "signs"]

_BITS = 50  # of the multipliers after rounding: a multiple of 2**-50 of the largest one

Labels = NDArray[np.intp]
Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]


@attrs.frozen(kw_only=True, eq=False)
class Row:
    """``low <= sum_i gains[i, y_i] <= high``, where class 0 gains nothing.

    Attributes:
        gains: What class k gains over class 0, in column ``k - 1``: whole numbers, shape ``(N, K - 1)``.
        low: Lower end, closed.
        high: Upper end, closed.
    """

    gains: NDArray[Any]
    low: Fraction
    high: Fraction

    @classmethod
    def of(cls, reading: Reading, n_classes: int) -> Row:
        """Return what a reading tells of labels of so many classes."""
        if reading.coefficients.ndim == 2:
            zero = reading.coefficients[:, 0]
            gains, unit, base = reading.coefficients[:, 1:] - zero[:, None], 1, int(zero.sum())
        else:
            numbers = [Fraction(number) for number in reading.numbers or range(n_classes)]
            unit = math.lcm(*(number.denominator for number in numbers))
            steps = [int((number - numbers[0]) * unit) for number in numbers[1:]]
            own = reading.coefficients if steps == [1] else reading.coefficients.astype(object)
            gains = own[:, None] * np.array(steps, dtype=own.dtype)
            base = int(own.sum()) * int(numbers[0] * unit)
        return cls(gains=gains, low=reading.low * unit - base, high=reading.high * unit - base)

    def total(self, labels: Labels) -> int:
        """Return the sum, exactly."""
        some = np.flatnonzero(labels)
        return int(self.gains[some, labels[some] - 1].sum())

    def holds(self, labels: Labels) -> bool:
        """Whether labels fit, in exact arithmetic."""
        return self.low <= self.total(labels) <= self.high


@attrs.frozen(kw_only=True, eq=False)
class Entry:
    """What one answered submission tells.

    Attributes:
        rows: Inequalities that hold of the true labels; none where no sum over the records tells anything.
        check: Whether labels fit the answer, in exact arithmetic, where that is more than the rows say.
        shown: Whether the scorer's own function gives what was released, of labels that fit; None: of all of them.
    """

    rows: tuple[Row, ...]
    check: Callable[[Labels], bool] | None = None
    shown: Callable[[Labels], bool] | None = None

    def holds(self, labels: Labels) -> bool:
        """Whether labels fit the answer, in exact arithmetic."""
        return all(row.holds(labels) for row in self.rows) if self.check is None else self.check(labels)


@attrs.frozen(kw_only=True, eq=False)
class Log:
    """The answers of a board.

    Attributes:
        entries: One per answered submission, in the order of time.
        counts: Records of class 0, 1, ..., K - 1.
    """

    entries: tuple[Entry, ...]
    counts: tuple[int, ...]

    @classmethod
    def of(cls, readings: Sequence[Reading], counts: Sequence[int]) -> Log:
        """Return the log of answers that are one sum each."""
        rows = (Row.of(item, len(counts)) for item in readings)
        return cls(entries=tuple(Entry(rows=(row,)) for row in rows), counts=tuple(counts))

    @property
    def n_records(self) -> int:
        """N."""
        return sum(self.counts)

    @property
    def n_classes(self) -> int:
        """K."""
        return len(self.counts)

    @functools.cached_property
    def rows(self) -> tuple[Row, ...]:
        """The inequalities of all answers."""
        return tuple(row for item in self.entries for row in item.rows)

    @property
    def linear(self) -> bool:
        """Whether the inequalities say all that the answers do."""
        return all(item.check is None for item in self.entries)

    def until(self, count: int) -> Log:
        """Return the first ``count`` answers."""
        return attrs.evolve(self, entries=self.entries[:count])

    def holds(self, labels: Labels) -> bool:
        """Whether labels fit every answer and the class totals, in exact arithmetic."""
        counts = np.bincount(labels, minlength=self.n_classes).tolist()
        return counts == list(self.counts) and all(item.holds(labels) for item in self.entries)

    def shows(self, labels: Labels) -> bool:
        """Whether labels that fit are told apart from the true ones by nothing: not by the last bits of a score either.

        Intervals pay for the scorer's arithmetic; whoever repeats it sees more of scores that are printed in full.
        """
        return all(item.shown is None or item.shown(labels) for item in self.entries)


@attrs.frozen(kw_only=True, eq=False)
class Relaxed:
    """An optimum of the linear programme.

    Attributes:
        moved: How far each record of U moved from its label, shape ``(N,)``, by the solver's word.
        multipliers: ``lambda``, one per row, in units of the scaled rows.
        totals: ``mu``, one per class but the first.
    """

    moved: Floats
    multipliers: Floats
    totals: Floats


def relax(log: Log, labels: Labels, wanted: Mask, seconds: float = math.inf) -> Relaxed | None:
    """Maximise the labels of ``wanted`` that change, over the relaxation; None when the solver gives nothing.

    A variable is how far a record moves from its label to another class; a row is what the moves add to its sum, which
    is a variable, too, where the answer is an interval.

    Args:
        log: The answers.
        labels: Labels that fit them, shape ``(N,)``.
        wanted: The records of U, shape ``(N,)``.
        seconds: Time limit of the solver.
    """
    from scipy.optimize import linprog

    n, others = log.n_records, log.n_classes - 1
    rows, low, high = scaled_rows(log.rows, log)
    centre = rows @ one_hot(labels, log.n_classes).ravel()
    moves, totals = _moves(rows, labels, others), _moves(class_rows(log), labels, others)
    ends = np.stack([np.minimum(low - centre, 0.0), np.maximum(high - centre, 0.0)], axis=1)
    loose = np.flatnonzero(low != high)  # an exact answer needs no variable for where in its interval it is
    slack = np.zeros((len(rows) + others, loose.size))
    slack[loose, np.arange(loose.size)] = -1.0
    each = _one_class_each(n, others, loose.size) if others > 1 else None
    found = linprog(
        -np.concatenate([np.repeat(wanted.astype(np.float64), others), np.zeros(loose.size)]),
        A_ub=each,
        b_ub=None if each is None else np.ones(n),
        A_eq=np.hstack([np.vstack([moves, totals]), slack]),
        b_eq=np.zeros(len(slack)),
        bounds=[*[(0.0, 1.0)] * (n * others), *map(tuple, ends[loose].tolist())],
        method="highs",
        options={"time_limit": min(max(seconds, 0.1), 1e6)},
    )
    if found.x is None or found.eqlin is None or found.eqlin.marginals is None:
        return None
    multipliers, mu = np.split(-np.asarray(found.eqlin.marginals), [len(rows)])
    moved = found.x[: n * others].reshape(n, others).sum(axis=1)
    return Relaxed(moved=np.where(wanted, moved, 0.0), multipliers=multipliers, totals=mu)


def _moves(rows: Floats, labels: Labels, others: int) -> Floats:
    """Return what it adds to a row that a record goes over to each of the other classes, in their order."""
    table = np.concatenate(
        [np.zeros((len(rows), labels.size, 1)), rows.reshape(len(rows), labels.size, others)], axis=2
    )
    place = np.arange(others) + (np.arange(others) >= labels[:, None])
    own = np.take_along_axis(table, labels[None, :, None], axis=2)
    moved = np.take_along_axis(table, place[None], axis=2) - own
    return np.asarray(moved.reshape(len(rows), labels.size * others))


def _one_class_each(n: int, others: int, more: int) -> Any:
    """Return that no record goes over to more than one class, beside so many variables more."""
    from scipy import sparse

    each = sparse.kron(sparse.identity(n), np.ones((1, others)))
    return sparse.hstack([each, sparse.csr_array((n, more))], format="csr")


def dual_bound(log: Log, labels: Labels, wanted: Mask, solution: Relaxed) -> Fraction:
    """Return B for the multipliers of ``solution``, rounded and then computed exactly; below 1 proves ``wanted``."""
    scales = [_scale(item) for item in log.rows]
    # Multipliers are put on a common grid: whole numbers over 2**bits, times the power of two that scaled their row.
    exponent = max(scales, default=0) + _BITS
    paired = zip(solution.multipliers.tolist(), scales, strict=True)
    weights = [round(value * 2.0**_BITS) * 2 ** (exponent - _BITS - s) for value, s in paired]
    totals = [round(value * 2.0**_BITS) * 2 ** (exponent - _BITS) for value in solution.totals.tolist()]
    one = 2**exponent
    value = sum((max(w * item.low, w * item.high) for w, item in zip(weights, log.rows, strict=True)), Fraction(0))
    value += sum(mu * count for mu, count in zip(totals, log.counts[1:], strict=True))
    pull = np.tile(np.array(totals, dtype=object), (log.n_records, 1))
    for weight, item in zip(weights, log.rows, strict=True):
        if weight:
            pull = pull + item.gains.astype(object) * weight
    sign = signs(labels, wanted, log.n_classes)
    slack = (sign.astype(object) * one - pull).max(axis=1)
    value += sum(int(part) for part in slack if part > 0)
    bound: Fraction = Fraction(value) / one - int((sign * one_hot(labels, log.n_classes)).sum())
    return bound


def one_hot(labels: Labels, n_classes: int) -> NDArray[np.int64]:
    """Return x: 1 where a record is of class k, in column ``k - 1``; shape ``(N, K - 1)``."""
    return np.asarray(labels[:, None] == np.arange(1, n_classes), dtype=np.int64)


def signs(labels: Labels, wanted: Mask, n_classes: int) -> NDArray[np.int64]:
    """Return g: 1 for every class where a wanted label is 0, -1 at its class where it is not; shape ``(N, K - 1)``."""
    zero = (labels == 0)[:, None]
    return np.where(wanted[:, None], np.where(zero, 1, -one_hot(labels, n_classes)), 0).astype(np.int64)


def _scale(row: Row) -> int:
    """Return s with gains about ``2**s``: rows are divided by it for the solver's sake."""
    largest = max((abs(int(value)) for value in (row.gains.min(), row.gains.max())), default=0)
    return max(0, largest.bit_length())


def class_rows(log: Log) -> Floats:
    """Return the rows that count the records of every class but the first, shape ``(K - 1, N (K - 1))``."""
    return np.tile(np.eye(log.n_classes - 1), log.n_records)


def scaled_rows(rows: Sequence[Row], log: Log) -> tuple[Floats, Floats, Floats]:
    """Return rows, lower and upper ends for a solver in floats, every row scaled to about one."""
    scales = [_scale(item) for item in rows]
    table = np.zeros((len(rows), log.n_records * (log.n_classes - 1)))
    for at, (item, s) in enumerate(zip(rows, scales, strict=True)):
        table[at] = _divided(item.gains.ravel(), s)
    low = np.array([float(item.low / 2**s) for item, s in zip(rows, scales, strict=True)])
    high = np.array([float(item.high / 2**s) for item, s in zip(rows, scales, strict=True)])
    return table, low, high


def _divided(gains: NDArray[Any], scale: int) -> Floats:
    if gains.dtype != object:
        return np.ldexp(gains.astype(np.float64), -scale)
    return np.array([int(value) / 2**scale for value in gains])
