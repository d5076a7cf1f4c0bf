"""All labels from rounded errors of values: what nobody asks about shifts the score to where its rounding changes (M9).

The level at which all other records are predicted is any real number, and so is how far a single record is predicted
off. So a boundary of the rounding can be laid between any two labels of a record, however coarse the rounding is and
with nothing known beforehand: one bit a query at least, and more where a printed step hides fewer labels than the
records asked about can have. Every labelling that all answers leave is kept, and what they share is decided (M2).

Example::

    labelinf attack shifted-levels --metric mae --labels 'made(n_records=80, n_classes=5)' --defence 'round(decimals=1)'
"""

from __future__ import annotations

import abc
import functools
import math
from collections.abc import Callable, Iterator

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.attacks.metric_attack import MetricAnswer, MetricAttack, MetricSession
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.metrics.readings import Rows, ScoredMetric
from labelinf_scores.metrics.readings.deviations import Deviations
from labelinf_scores.metrics.readings.squares import SquaredResiduals

__all__ = ["ShiftedLevels", "joined"]

_LONGEST = 1024  #: labellings that are kept, before an answer
_SAMPLED = 128  # of them, by which queries are chosen
_TRIED = 4  # queries that are looked at, each with as many shifts
_SHIFTS = 64
_LOWEST = 0.3  # of the records asked about, at the least level
_PATIENCE = 30  # answers that leave a list as long as it was, before nothing more is asked
_GRID, _EDGES, _UNIT = 1025, 16, 2.0**-30  # of levels within a range, which are multiples of the unit
_FAR = 8.0  # how far a record is predicted off, against the root of all squared residuals

Floats = NDArray[np.float64]
Options = NDArray[np.int8]


@attrs.frozen(kw_only=True)
class ShiftedLevels(MetricAttack):
    """Recovers all labels through rounding by choosing the level of everything else."""

    reading_of = "errors of values, behind any rounding"

    def reads(self, metric: ScoredMetric | None) -> bool:
        """Whether it is an error of values."""
        return isinstance(metric, (Deviations, SquaredResiduals)) and metric.rows in (Rows.LEVELS, Rows.REALS)

    def too_coarse(self, threat: ScoreThreat) -> str:
        """There must be rounding, and nothing else between."""
        if not threat.step:
            return "the score is not rounded: it is read as it is"
        if threat.noise_bound > threat.step * 0.51:
            return "there is more than rounding between"
        values = [float(value) for value in threat.totals.values]
        if not (threat.facts.lowest <= min(values) and max(values) <= threat.facts.highest):
            return "predictions are cut to less than the range of the labels"
        shifts = _shifts(MetricSession.unasked(threat))
        return "" if shifts is not None else "the metric has no score of such values"

    def rate(self, threat: ScoreThreat) -> float:
        """Return one bit over those of a label: what is sure, however coarse the rounding."""
        bits = -sum(share * math.log2(share) for share in threat.prior if share)
        return 1 / max(1.0, bits)

    def play(self, board: MetricSession) -> None:
        """Keep a list of labellings, until every label is known or a query is refused.

        Raises:
            ValueError: An answer fits no labels.
        """
        shifts, stalled = _shifts(board), 0
        records, options = np.empty(0, dtype=np.intp), np.zeros((1, 0), dtype=np.int8)
        while shifts is not None and board.unknown.size and stalled < _PATIENCE:
            joining = _joining(board, records, len(options), shifts.most)
            records, options = np.concatenate([records, joining]), joined(options, joining.size, shifts.values.size)
            options = options[_allowed(board, options)]
            told = board.ask(shifts.query(records, options), records)
            if told is None:
                return
            kept = options[_fitting(told, options)]
            if not len(kept):
                raise ValueError("the answers fit no labels")
            stalled = stalled + 1 if len(kept) == len(options) else 0
            shared = (kept == kept[0]).all(axis=0)
            board.settle(records[shared], kept[0, shared].astype(np.intp))
            records, options = records[~shared], kept[:, ~shared]


def _joining(board: MetricSession, records: NDArray[np.intp], n_options: int, most: int) -> NDArray[np.intp]:
    """Return the records that join the list; one always stays beside it, which the totals give in the end."""
    room = int(math.log(max(1.0, _LONGEST / n_options), len(board.totals.counts)))
    fresh = np.setdiff1d(board.unknown, records)
    spare = max(0, fresh.size - (0 if board.known.size else 1))
    return fresh[: min(room, spare, max(0, most - records.size))]


def joined(options: Options, n_new: int, n_classes: int) -> Options:
    """Return every labelling with every labelling of so many more records."""
    if not n_new:
        return options
    new = np.indices((n_classes,) * n_new).reshape(n_new, -1).T.astype(np.int8)
    return np.concatenate([np.repeat(options, len(new), axis=0), np.tile(new, (len(options), 1))], axis=1)


def _allowed(board: MetricSession, options: Options) -> NDArray[np.bool_]:
    """Return which labellings the class totals allow."""
    counts = np.stack([(options == k).sum(axis=1) for k in range(len(board.totals.counts))], axis=1)
    others = board.unknown.size - options.shape[1]
    return np.asarray((counts <= board.left).all(axis=1) & ((board.left - counts).sum(axis=1) == others))


def _fitting(told: MetricAnswer, options: Options) -> NDArray[np.bool_]:
    """Return which labellings have a sum between the ends, in exact arithmetic."""
    n_classes = int(options.max(initial=0)) + 1
    numbers = range(n_classes) if told.numbers is None else told.numbers
    total = np.zeros(len(options), dtype=object)
    for place in range(options.shape[1]):
        gaps = told.gaps[place]
        worth = [gaps[k] if told.gaps.ndim == 2 else gaps * numbers[k] for k in range(n_classes)]
        total = total + np.array(worth, dtype=object)[options[:, place]]
    return np.array([told.low <= value <= told.high for value in total], dtype=bool)


def _shifts(board: MetricSession) -> _Shifts | None:
    """Return how this board's scores are shifted; None where its values have no score."""
    metric, facts = board.metric, board.oracle.threat.facts
    if not isinstance(metric, (Deviations, SquaredResiduals)):
        return None
    try:
        numbers = metric.numbers(board.totals) if isinstance(metric, SquaredResiduals) else board.totals.values
    except ValueError:
        return None
    values = np.array([float(number) for number in numbers])
    if math.isfinite(facts.highest) or math.isfinite(facts.lowest):
        return _Inside(board=board, metric=metric, values=values)
    if isinstance(metric, Deviations):
        return _Levels(board=board, metric=metric, values=values)
    return _Roots(board=board, metric=metric, values=values)


@attrs.define(kw_only=True, eq=False)
class _Shifts(abc.ABC):
    """Queries about a few records, one of which is chosen by how its printed scores tell labellings apart.

    Attributes:
        board: What is asked.
        values: What the classes stand for in the sum.
        most: Records that are asked about at once.
    """

    board: MetricSession
    values: Floats
    most: int = 16

    @abc.abstractmethod
    def candidates(self, records: NDArray[np.intp], options: Options) -> Iterator[tuple[Floats, Callable[[], Floats]]]:
        """Yield what score a query has for every labelling, and how to write it."""

    def query(self, records: NDArray[np.intp], options: Options) -> Floats:
        """Return the predictions of the query that tells most."""
        chosen = options
        if len(options) > _SAMPLED:
            chosen = options[self.board.rng.choice(len(options), _SAMPLED, replace=False)]
        shares = np.log(np.maximum(self.board.left, 1) / self.board.left.sum())
        likely = np.exp(shares[chosen].sum(axis=1))
        likely /= likely.sum()
        step = self.board.oracle.threat.step

        def told(scores: Floats) -> float:
            steps = scores / step + 0.5
            cells = np.floor(steps)
            sizes = np.bincount(np.unique(cells, return_inverse=True)[1], weights=likely)  # cells may be far apart
            clear = np.minimum(steps - cells, 1 - steps + cells).min()
            return float(-(sizes * np.log2(sizes)).sum() + min(0.01, clear))

        _, write = max(self.candidates(records, chosen), key=lambda candidate: told(candidate[0]))
        return write()

    def predicted(self, unknown: float) -> Floats:
        """Return known records predicted right, and the others as given."""
        values = np.array([float(value) for value in self.board.totals.values])
        predictions = values[np.maximum(self.board.labels, 0)]
        predictions[self.board.unknown] = unknown
        return predictions


@attrs.define(kw_only=True, eq=False)
class _Levels(_Shifts):
    """Absolute deviations: the level of all others, above all values, or of one that is known, is moved.

    Attributes:
        metric: What is scored.
    """

    metric: Deviations

    def candidates(self, records: NDArray[np.intp], options: Options) -> Iterator[tuple[Floats, Callable[[], Floats]]]:
        """Yield levels of the records asked about below the greatest value, and shifts of all others."""
        board, values = self.board, self.values
        above, below = map(float, self.metric.slopes)
        ordered, others = np.sort(values), board.unknown.size - records.size
        zero = self.metric.of_total(0.0, board.totals)
        unit = self.metric.of_total(1.0, board.totals) - zero
        length = abs(board.oracle.threat.step / unit)
        at_top = below * (others * float(ordered[-1]) - board.left @ values)
        for turn in range(_TRIED):
            levels = np.full(records.size, ordered[0])
            if turn:  # between labels that a record may have; above all of them it tells nothing beside the others
                levels = np.array([board.rng.choice(np.unique(values[column])) for column in options.T])
                levels = np.where(board.rng.random(records.size) < _LOWEST, ordered[0], levels)
            apart = values - levels[:, None]
            costs = np.where(apart > 0, above * apart, -below * apart) + below * values
            worth = costs[np.arange(records.size), options].sum(axis=1) + at_top
            for shift in (np.arange(_SHIFTS) + 0.5) / _SHIFTS * length:
                yield (
                    zero + (worth + shift) * unit,
                    functools.partial(self._written, records, levels, shift / below, others),
                )

    def _written(self, records: NDArray[np.intp], levels: Floats, shift: float, others: int) -> Floats:
        top = float(self.values.max())
        predictions = self.predicted(top + shift / others if others else top)
        predictions[records] = levels
        if not others:  # a record that is known is predicted too high instead
            predictions[self.board.known[0]] += shift
        return predictions


@attrs.define(kw_only=True, eq=False)
class _Roots(_Shifts):
    """Roots of squared errors: a single record is predicted far off, so that the score is how far, less its label.

    Attributes:
        metric: What is scored.
    """

    metric: SquaredResiduals
    most: int = 1

    def candidates(self, records: NDArray[np.intp], options: Options) -> Iterator[tuple[Floats, Callable[[], Floats]]]:
        """Yield distances that differ by less than a step of the rounding."""
        board, values, left = self.board, self.values, self.board.left
        middle = float(left @ values / left.sum())
        rest = float(left @ (values - middle) ** 2)
        step = board.oracle.threat.step * math.sqrt(board.labels.size)
        far = min(_FAR * max(math.sqrt(rest), 1.0), self.metric.reach - middle - 2 * step)
        apart = values[options[:, 0]] - middle
        for shift in far + (np.arange(_SHIFTS) + 0.5) / _SHIFTS * step:
            sums = rest + (shift - apart) ** 2 - apart**2
            scores = np.array([self.metric.of_total(total, board.totals) for total in sums.tolist()])
            yield scores, functools.partial(self._written, records, middle, middle + shift)

    def _written(self, records: NDArray[np.intp], middle: float, level: float) -> Floats:
        levels = self.metric.predictions(np.array([middle, level]))
        predictions = self.predicted(float(levels[0]))
        predictions[records] = levels[1]
        return predictions


@attrs.define(kw_only=True, eq=False)
class _Inside(_Shifts):
    """Predictions that are cut to the range of the labels: the records asked about at its ends, all others in between.

    Attributes:
        metric: What is scored.
    """

    metric: Deviations | SquaredResiduals

    def candidates(self, records: NDArray[np.intp], options: Options) -> Iterator[tuple[Floats, Callable[[], Floats]]]:
        """Yield levels of the others at which half of the labellings are printed otherwise than the other half."""
        board, values = self.board, self.values
        ends, grid = np.array([values.min(), values.max()]), np.linspace(values.min(), values.max(), _GRID)
        counts = np.stack([(options == k).sum(axis=1) for k in range(values.size)])
        for _ in range(_TRIED):
            levels = board.rng.choice(ends, records.size)
            own = self._costs(levels)[np.arange(records.size), options].sum(axis=1)

            def totals(others: Floats, own: Floats = own) -> Floats:
                return np.asarray(self._costs(others) @ (board.left[:, None] - counts) + own)

            for level in self._edges(grid, np.median(totals(grid), axis=1)):
                scores = [self.metric.of_total(total, board.totals) for total in totals(np.array([level]))[0].tolist()]
                yield np.array(scores), functools.partial(self._written, records, levels, level)

    def _edges(self, grid: Floats, sums: Floats) -> list[float]:
        """Return levels at which sums, given along a grid, are printed otherwise than next to them; one at least."""
        board = self.board
        scores = np.array([self.metric.of_total(total, board.totals) for total in sums.tolist()])
        steps = scores / board.oracle.threat.step + 0.5
        before, after = steps[:-1], steps[1:]
        at = board.rng.permutation(np.flatnonzero(np.floor(before) != np.floor(after)))[:_EDGES]
        part = (np.floor(np.maximum(before, after))[at] - before[at]) / (after - before)[at]
        found = grid[at] + part * (grid[1] - grid[0])
        return [float(level) for level in np.round(found / _UNIT) * _UNIT] or [float(grid[0])]

    def _costs(self, levels: Floats) -> Floats:
        """Return what every class costs at every level, shape ``(n, K)``."""
        apart = self.values - levels[:, None]
        if isinstance(self.metric, SquaredResiduals):
            return np.asarray(apart**2)
        above, below = map(float, self.metric.slopes)
        return np.where(apart > 0, above * apart, -below * apart)

    def _written(self, records: NDArray[np.intp], levels: Floats, level: float) -> Floats:
        wanted = np.array([level, *levels])
        if isinstance(self.metric, SquaredResiduals):
            wanted = self.metric.predictions(wanted)
        predictions = self.predicted(float(wanted[0]))
        predictions[records] = wanted[1:]
        return predictions
