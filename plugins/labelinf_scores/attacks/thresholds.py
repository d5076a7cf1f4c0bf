"""All labels from absolute deviations: fractions of predictions tell on which side of them each label lies (M26).

Slopes cannot be enlarged, but fractions can be told apart: of ``N MAE``, a record predicted ``k + theta`` makes a whole
number of steps plus theta where its label is at most k, minus theta where it is more. With thetas that halve, the
fraction of the sum spells out some thirty such bits a query. Every record is asked about again at a level that halves
what it may still be, weighed by the class totals; known ones are predicted right and cost nothing.

Example::

    labelinf attack thresholds --metric mae --labels digits
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.attacks.metric_attack import MetricAnswer, MetricAttack, MetricSession, released
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.metrics.readings import Rows, Totals
from labelinf_scores.metrics.readings.base import UNIT
from labelinf_scores.metrics.readings.deviations import Deviations

__all__ = ["Thresholds"]

_MOST = 44  #: records of a query: levels and fractions are held exactly by doubles
_FINEST = 2**20  #: steps that the range of values may have


@attrs.frozen(kw_only=True)
class Thresholds(MetricAttack):
    """Recovers all labels by asking on which side of a level each of them lies."""

    rows = Rows.LEVELS
    reading_of = "sums of deviations, as absolute errors tell them"

    def too_coarse(self, threat: ScoreThreat) -> str:
        """The values must lie on a grid, and one record must stand out from the error."""
        values = [float(value) for value in threat.totals.values]
        if not (threat.facts.lowest <= min(values) and max(values) <= threat.facts.highest):
            return "predictions are cut to less than the range of the labels"
        grid = _grid(threat.totals)
        if grid is None:
            return "the values of the classes lie on no common grid"
        fits = _size(threat, grid, _spread(threat.totals.counts, grid)) > 0
        return "" if fits else "one label does not stand out from the error of the score"

    def rate(self, threat: ScoreThreat) -> float:
        """Return the bits of the first query over those of a label; later queries read no fewer."""
        grid = _grid(threat.totals)
        bits = -sum(share * math.log2(share) for share in threat.prior if share)
        return 0.0 if grid is None else _size(threat, grid, _spread(threat.totals.counts, grid)) / max(1.0, bits)

    def play(self, board: MetricSession) -> None:
        """Ask about as many records as a query tells apart, those that few classes are left of first."""
        threat = board.oracle.threat
        grid = _grid(threat.totals)
        if grid is None:
            return
        ranges = np.tile([0, len(grid.steps) - 1], (board.labels.size, 1))  # of classes in the order of their values
        limit = _MOST
        while limit and board.unknown.size:
            limit = _halved(board, grid, ranges, limit)


def _halved(board: MetricSession, grid: _Grid, ranges: NDArray[np.intp], limit: int) -> int:
    """Ask one query that halves the ranges of some records; how many the next one may ask about, 0 for none.

    Raises:
        ValueError: The answer fits no labels.
    """
    left = board.left[grid.order]
    cost = _spread(tuple(left.tolist()), grid)
    size = min(limit, _size(board.oracle.threat, grid, cost), max(1, board.unknown.size - 1))
    asked = board.unknown[:size]
    levels = np.array([_level(left, low, high) for low, high in ranges[asked]], dtype=np.intp)
    predictions = _predictions(board, grid, asked, levels)
    told = board.ask(predictions, asked) if size else None
    if told is None:
        return 0
    above = _sides(board, grid, told, predictions, size)
    if above is None:
        return size - 1
    ranges[asked[above], 0] = levels[above] + 1
    ranges[asked[~above], 1] = levels[~above]
    if (ranges[asked, 0] > ranges[asked, 1]).any():
        raise ValueError("no label lies on both sides that were told")
    found = asked[ranges[asked, 0] == ranges[asked, 1]]
    if found.size:
        board.settle(found, grid.order[ranges[found, 0]])
    return limit


@attrs.frozen(kw_only=True, eq=False)
class _Grid:
    """The values of the classes in whole steps.

    Attributes:
        step: What one step is.
        order: The classes in ascending order of value.
        steps: Their values from the least, in steps.
        least: The least value.
    """

    step: Fraction
    order: NDArray[np.intp]
    steps: tuple[int, ...]
    least: Fraction


@functools.lru_cache(maxsize=8)
def _grid(totals: Totals) -> _Grid | None:
    """Return the coarsest grid that all values lie on, as they are written; None when it is too fine."""
    values = [Fraction(repr(float(value))) for value in totals.values]
    order = sorted(range(len(values)), key=values.__getitem__)
    least = values[order[0]]
    unit = math.lcm(*(value.denominator for value in values))
    apart = [int((values[k] - least) * unit) for k in order]
    shared = math.gcd(*apart)
    steps = tuple(value // shared for value in apart)
    if steps[-1] >= _FINEST:
        return None
    return _Grid(step=Fraction(shared, unit), order=np.array(order, dtype=np.intp), steps=steps, least=least)


def _spread(left: tuple[int, ...], grid: _Grid) -> float:
    """Return the sum of distances of the labels that are left from the middle one, in values."""
    middle = grid.steps[_middle(np.array(left))]
    return float(grid.step) * sum(abs(at - middle) * count for at, count in zip(grid.steps, left, strict=True))


def _middle(left: NDArray[np.intp]) -> int:
    """Return the place of the median of the labels that are left."""
    return int(np.searchsorted(left.cumsum(), left.sum() / 2))


def _level(left: NDArray[np.intp], low: int, high: int) -> int:
    """Return the place below which nearly half of a record's labels lie, from ``low`` to ``high - 1``."""
    within = left[low : high + 1].cumsum()
    return low + int(np.argmin(np.abs(2 * within[:-1] - within[-1])))


def _size(threat: ScoreThreat, grid: _Grid, cost: float) -> int:
    """Return how many records one query tells apart."""
    metric = threat.metric
    if not isinstance(metric, Deviations):
        return 0
    unit, above, below = metric.units()
    total = cost + _MOST * float(grid.step) * grid.steps[-1] * max(above, below) / unit
    length = metric.length(total, threat.totals, released(threat)) * unit / float(grid.step)
    size = _MOST
    while size and length * 2 >= (above + below) * 2.0 ** -(size + _shift(metric)):
        size -= 1
    return size


def _shift(metric: Deviations) -> int:
    """Return by how many halvings the first fraction lies below one, so that all of them add up to less."""
    _, above, below = metric.units()
    return (above + below - 1).bit_length()


def _thetas(metric: Deviations, size: int) -> list[Fraction]:
    """Return the fractions of the records of a query, in steps."""
    return [Fraction(1, 2 ** (place + 1 + _shift(metric))) for place in range(size)]


def _predictions(
    board: MetricSession, grid: _Grid, asked: NDArray[np.intp], levels: NDArray[np.intp]
) -> NDArray[np.float64]:
    values = np.array([float(value) for value in board.totals.values])
    predictions = values[np.maximum(board.labels, 0)]
    predictions[board.unknown] = values[grid.order[_middle(board.left[grid.order])]]
    thetas = _thetas(_metric(board), asked.size)
    predictions[asked] = [
        float(grid.least + grid.step * (grid.steps[level] + theta)) for level, theta in zip(levels, thetas, strict=True)
    ]
    return predictions


def _metric(board: MetricSession) -> Deviations:
    if not isinstance(board.metric, Deviations):
        raise TypeError("absolute deviations are read by this attack alone")
    return board.metric


def _sides(
    board: MetricSession, grid: _Grid, told: MetricAnswer, predictions: NDArray[np.float64], size: int
) -> NDArray[np.bool_] | None:
    """Return which labels lie above their levels; None when the answer does not tell.

    In steps and units of the slopes, a record at ``k + theta`` costs ``below (k + theta - v)`` or
    ``above (v - k - theta)``: a whole number, plus ``below theta`` for all, less ``(above + below) theta`` for those
    above. What is no double is rounded, values and predictions alike: the window is that much wider.

    Raises:
        ValueError: No sides fit.
    """
    metric = _metric(board)
    unit, above, below = metric.units()
    grain = metric.grain(predictions, board.totals) * grid.step / unit
    largest = Fraction(float(np.abs(predictions).max())) + max(abs(Fraction(value)) for value in board.totals.values)
    slack = size * 8 * UNIT * largest * (above + below) / grid.step
    base = below * sum(_thetas(metric, size))
    low, high = base - told.high / grain - slack, base - told.low / grain + slack
    step, start = (above + below) * _thetas(metric, size)[-1], math.floor(low)
    fitting = {
        word
        for turn in (0, 1)
        for word in range(
            max(0, math.ceil((low - start - turn) / step)),
            min(2**size - 1, math.floor((high - start - turn) / step)) + 1,
        )[:2]
    }
    if len(fitting) > 1:
        return None
    if not fitting:
        raise ValueError("no sides fit the answer")
    word = fitting.pop()
    return np.array([bool(word >> (size - 1 - place) & 1) for place in range(size)])
