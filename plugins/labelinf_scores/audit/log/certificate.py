"""Labels that a log determines, proved by weak duality in exact arithmetic (M41, as corrected in A1).

Let ``low_t <= c_t . y <= high_t`` be proved of the true labels ``y`` and let P of them be 1. For a set U of records put
``g_i = 1`` where ``y_i = 0``, ``-1`` where ``y_i = 1``, and 0 outside U: any other labelling that differs on U has
``g . x - g . y >= 1``. For **any** multipliers ``lambda_t``, ``mu``

    B = sum_t max(lambda_t low_t, lambda_t high_t) + mu P + sum_i max(0, g_i - (C' lambda)_i - mu) - g . y

bounds ``g . x - g . y`` over every x in [0, 1]^N that fits the log. So **B < 1 proves every label of U**. The
multipliers are taken from a linear programme in floats, rounded, and B is computed in whole numbers: nothing hangs on
the solver, which can only be unhelpful.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.metrics.readings import Reading

__all__ = ["Log", "dual_bound", "relax", "scaled_rows", "signs"]

_BITS = 50  # of the multipliers after rounding: a multiple of 2**-50 of the largest one

Labels = NDArray[np.intp]
Mask = NDArray[np.bool_]


def _of_two(readings: tuple[Reading, ...]) -> tuple[Reading, ...]:
    return tuple(item.of_two() for item in readings)


@attrs.frozen(kw_only=True, eq=False)
class Log:
    """The answers of a board, as intervals.

    Attributes:
        readings: One per answered submission, in the order of time; each record with one coefficient.
        n_positive: P.
    """

    readings: tuple[Reading, ...] = attrs.field(converter=_of_two)
    n_positive: int

    @property
    def n_records(self) -> int:
        """N; 0 for an empty log."""
        return len(self.readings[0].coefficients) if self.readings else 0

    def until(self, count: int) -> Log:
        """Return the first ``count`` answers."""
        return attrs.evolve(self, readings=self.readings[:count])

    def holds(self, labels: Labels) -> bool:
        """Whether labels fit every answer and the number of positives, in exact arithmetic."""
        return int(labels.sum()) == self.n_positive and all(item.holds(labels) for item in self.readings)


@attrs.frozen(kw_only=True, eq=False)
class Relaxed:
    """An optimum of the linear programme.

    Attributes:
        moved: How far each record of U moved from its label, shape ``(N,)``, by the solver's word.
        multipliers: ``lambda``, one per answer, in units of the scaled rows.
        total: ``mu``.
    """

    moved: NDArray[np.float64]
    multipliers: NDArray[np.float64]
    total: float


def relax(log: Log, labels: Labels, wanted: Mask, seconds: float = math.inf) -> Relaxed | None:
    """Maximise the labels of ``wanted`` that change, over the relaxation; None when the solver gives nothing.

    Args:
        log: The answers.
        labels: Labels that fit them, shape ``(N,)``.
        wanted: The records of U, shape ``(N,)``.
        seconds: Time limit of the solver.
    """
    from scipy.optimize import linprog

    rows, low, high = scaled_rows(log.readings)
    sign = signs(labels, wanted).astype(np.float64)
    centre = rows @ labels  # around the truth, so that right-hand sides are small numbers
    shift = np.where(labels == 1, -1.0, 1.0)  # variables are how far a record moved from its label
    moves = rows * shift
    found = linprog(
        -(sign * shift),
        A_ub=np.vstack([moves, -moves]),
        b_ub=np.maximum(np.concatenate([high - centre, centre - low]), 0.0),
        A_eq=shift[None, :],
        b_eq=[0.0],
        bounds=(0, 1),
        method="highs",
        options={"time_limit": min(max(seconds, 0.1), 1e6)},
    )
    if found.x is None or found.ineqlin is None or found.ineqlin.marginals is None:
        return None
    up, down = np.split(-np.asarray(found.ineqlin.marginals), 2)
    return Relaxed(moved=np.where(wanted, found.x, 0.0), multipliers=up - down, total=float(-found.eqlin.marginals[0]))


def dual_bound(log: Log, labels: Labels, wanted: Mask, solution: Relaxed) -> Fraction:
    """Return B for the multipliers of ``solution``, rounded and then computed exactly; below 1 proves ``wanted``."""
    scales = [_scale(item) for item in log.readings]
    sign = signs(labels, wanted)
    # Multipliers are put on a common grid: whole numbers over 2**bits, times the power of two that scaled their row.
    exponent = max(scales, default=0) + _BITS
    weights = [round(value * 2.0**_BITS) * 2 ** (exponent - _BITS - s) for value, s in _paired(solution, scales)]
    total = round(solution.total * 2.0**_BITS) * 2 ** (exponent - _BITS)
    one = 2**exponent
    value = sum(
        (max(w * item.low, w * item.high) for w, item in zip(weights, log.readings, strict=True)),
        Fraction(total) * log.n_positive,
    )
    pull = np.full(log.n_records, total, dtype=object)
    for weight, item in zip(weights, log.readings, strict=True):
        if weight:
            pull = pull + item.coefficients.astype(object) * weight
    slack = sign.astype(object) * one - pull
    positive = sum(int(part) for part in slack if part > 0)
    bound: Fraction = Fraction(value + positive) / one - int((sign * labels).sum())
    return bound


def _paired(solution: Relaxed, scales: Sequence[int]) -> list[tuple[float, int]]:
    return list(zip(solution.multipliers.tolist(), scales, strict=True))


def signs(labels: Labels, wanted: Mask) -> NDArray[np.int64]:
    """Return g: 1 where a wanted label is 0, -1 where it is 1, 0 elsewhere."""
    return np.where(wanted, np.where(labels == 1, -1, 1), 0).astype(np.int64)


def _scale(reading: Reading) -> int:
    """Return s with coefficients about ``2**s``: rows are divided by it for the solver's sake."""
    largest = max((abs(int(value)) for value in (reading.coefficients.min(), reading.coefficients.max())), default=0)
    return max(0, largest.bit_length())


def scaled_rows(
    readings: Sequence[Reading],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return rows, lower and upper ends for a solver in floats, every row scaled to about one."""
    scales = [_scale(item) for item in readings]
    rows = np.array([_divided(item.coefficients, s) for item, s in zip(readings, scales, strict=True)])
    low = np.array([float(item.low / 2**s) for item, s in zip(readings, scales, strict=True)])
    high = np.array([float(item.high / 2**s) for item, s in zip(readings, scales, strict=True)])
    return rows, low, high


def _divided(coefficients: NDArray[Any], scale: int) -> NDArray[np.float64]:
    if coefficients.dtype != object:
        return np.ldexp(coefficients.astype(np.float64), -scale)
    return np.array([int(value) / 2**scale for value in coefficients])
