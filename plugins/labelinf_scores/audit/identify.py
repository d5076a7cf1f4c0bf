"""Which metric a scorer computes, on which records, and how its answer reads: found out on made labels.

The host's function is asked about labels that are made up, so that no private one is spent and every fact can be
checked: a metric explains a scorer when, over labels of very different shares and predictions of very different worth,
every answer is ``a m + b`` of it, to the decimals that are printed. Records whose label can be changed without any
effect are not scored; of a mean of costs, the effect of every label is its weight. What is found is a hypothesis that
no answer refuted, never a proof, and who attacks is taken to know it.
"""

from __future__ import annotations

import enum
import itertools
import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.errors import LabelinfError
from labelinf_scores.metrics.readings import Rows, ScoredMetric

__all__ = ["Identified", "Shape", "identify"]

_MOST_DECIMALS = 10
_SHARES = (0.5, 0.2, 0.7, 0.5, 0.35, 0.8, 0.5, 0.4)  # of made labels that are not of class 0
_WORTH = (0.0, 0.4, 0.8, 1.0, 0.2, 0.6, 0.9, 0.5)  # how often made predictions go with their labels
_TIGHT = 1e-9
_MOST_FLIPS = 4096  # records whose effect is measured
_OFFSETS = (0.0, 1.0, -1.0, 0.5, -0.5, 2.0, 100.0)  # that a host may well have meant
_HARD = (Rows.COUNTS, Rows.CLASSES, Rows.GRADES)
#: Certain predictions come last: of those alone, log-loss is like an accuracy, and AUC like a balanced one.
_ORDER = (*(rows for rows in (Rows.COSTS, *Rows) if rows not in _HARD), *_HARD)

Ask = Callable[[NDArray[np.intp], NDArray[np.float64]], float]  #: a scorer of class numbers, in one shape


class Shape(enum.Enum):
    """What predictions look like to a scorer."""

    ROWS = "one column for every class"
    COLUMN = "one column"

    def of(self, predictions: NDArray[np.float64], n_classes: int, rows: Rows) -> NDArray[np.float64]:
        """Return predictions of a metric, shape ``(n,)``, in this shape; scores as what goes for probabilities."""
        if self is Shape.COLUMN or predictions.ndim == 2:
            return predictions
        if rows in _HARD:
            return np.eye(n_classes)[predictions.astype(np.intp)]
        if rows is Rows.RANKS:  # only their order counts
            places = np.unique(predictions, return_inverse=True)[1]
            predictions = (places + 1) / (places.max() + 2)
        return np.stack([1 - predictions, predictions], axis=1)


@attrs.frozen(kw_only=True, eq=False)
class Identified:
    """A metric that explains every answer.

    Attributes:
        name: Of the metric.
        metric: The metric.
        shape: What predictions must look like.
        scale: a, in ``answer = a m + b``.
        offset: b.
        error: How far that may be off, where a and b had to be measured.
        decimals: Decimals of the answers; None: in full.
        scored: Which records are scored, shape ``(n_records,)``.
        queries: How many were asked.
    """

    name: str
    metric: ScoredMetric
    shape: Shape
    scale: float
    offset: float
    error: float = 0.0
    decimals: int | None
    scored: NDArray[np.bool_]
    queries: int

    @property
    def plain(self) -> bool:
        """Whether it is the metric itself, of all records."""
        return (self.scale, self.offset) == (1.0, 0.0) and bool(self.scored.all())

    @property
    def document(self) -> dict[str, Any]:
        """What a machine reads of it; which records are scored is not in it."""
        return {
            "metric": self.name,
            "predictions": self.shape.value,
            "scale": self.scale,
            "offset": self.offset,
            "decimals": self.decimals,
            "records scored": int(self.scored.sum()),
            "queries": self.queries,
        }

    def sentence(self) -> str:
        """Say it in one line."""
        plain = "" if (self.scale, self.offset) == (1, 0) else f" times {self.scale:.6g} plus {self.offset:.6g}"
        digits = "all digits" if self.decimals is None else f"{self.decimals} decimals"
        part = "" if self.scored.all() else f", on {int(self.scored.sum())} of {self.scored.size} records"
        return f"{self.name}{plain}{part}, {digits}, predictions in {self.shape.value}"


@attrs.frozen(kw_only=True, eq=False)
class _Trial:
    labels: NDArray[np.intp]
    predictions: NDArray[np.float64]


def identify(
    asks: Mapping[Shape, Ask],
    metrics: Mapping[str, ScoredMetric],
    *,
    n_records: int,
    n_classes: int,
    values: tuple[float, ...],
) -> Identified | None:
    """Return the first metric that explains a scorer; None where none does.

    Args:
        asks: The scorer, in every shape that it may want.
        metrics: Candidates by name, tried in order.
        n_records: N.
        n_classes: K.
        values: What every class stands for.
    """
    everything, asked = np.ones(n_records, dtype=bool), 0
    panels: list[tuple[Shape, _Panel]] = []
    for shape, rows in itertools.product(asks, _ORDER):
        trials = list(_trials(n_records, n_classes, values, rows))
        answers = _answers(asks[shape], shape, trials, n_classes, rows)
        asked += len(trials) + 1
        if answers is not None:
            panels.append((shape, _Panel(rows=rows, trials=trials, answers=answers)))
            if found := panels[-1][1].explained(metrics, values, everything):
                return attrs.evolve(found, shape=shape, queries=asked)
    effects: dict[Shape, NDArray[np.bool_]] = {}
    for shape, panel in panels:
        if shape not in effects:
            effects[shape] = _scored(asks[shape], shape, panel, n_classes)
            asked += min(n_records, _MOST_FLIPS)
        some = effects[shape].any() and not effects[shape].all()
        found = panel.explained(metrics, values, effects[shape]) if some else None
        if found:
            return attrs.evolve(found, shape=shape, queries=asked)
    return None


@attrs.frozen(kw_only=True, eq=False)
class _Panel:
    """Made labels and predictions of one kind, and what was answered.

    Attributes:
        rows: The kind.
        trials: What was asked.
        answers: What was answered.
    """

    rows: Rows
    trials: list[_Trial]
    answers: NDArray[np.float64]

    def explained(
        self, metrics: Mapping[str, ScoredMetric], values: tuple[float, ...], scored: NDArray[np.bool_]
    ) -> Identified | None:
        """Return the first metric of such rows that explains every answer on the records that are scored."""
        fitting = {name: metric for name, metric in metrics.items() if metric.rows is self.rows}
        return _explained(fitting, self.trials, self.answers, values, scored)


def _trials(n_records: int, n_classes: int, values: tuple[float, ...], rows: Rows) -> Iterator[_Trial]:
    """Yield made labels and predictions of the kind that a metric of such rows takes."""
    rng = np.random.default_rng(0)
    for share, worth in zip(_SHARES, _WORTH, strict=True):
        labels = np.where(rng.random(n_records) < share, rng.integers(1, n_classes, n_records), 0)
        labels[rng.permutation(n_records)[:n_classes]] = np.arange(n_classes)
        follows = rng.random(n_records) < worth
        if rows in _HARD:
            predictions = np.where(follows, labels, rng.integers(0, n_classes, n_records)).astype(np.float64)
        elif rows in (Rows.REALS, Rows.LEVELS):
            noise = rng.normal(size=n_records) * (1.2 - worth) * np.ptp(values)
            predictions = np.abs(np.array(values)[labels] + noise)
        elif rows is Rows.COSTS:
            drawn = rng.dirichlet(np.full(n_classes, 1.0), n_records)
            drawn = np.where(follows[:, None], 0.5 * drawn + 0.5 * np.eye(n_classes)[labels], drawn)
            predictions = drawn[:, 1] if n_classes == 2 else drawn
        else:
            predictions = np.round(np.where(follows, 0.3 * labels, 0.0) + 0.6 * rng.random(n_records), 3) + 0.01
        yield _Trial(labels=labels.astype(np.intp), predictions=predictions)


def _answers(ask: Ask, shape: Shape, trials: list[_Trial], n_classes: int, rows: Rows) -> NDArray[np.float64] | None:
    """Return the answers to all trials; None where one is refused, or the first is not answered alike twice."""
    try:
        asked = [*trials, trials[0]]
        found = np.array([ask(trial.labels, shape.of(trial.predictions, n_classes, rows)) for trial in asked])
    except LabelinfError:
        return None
    return found[:-1] if np.isfinite(found).all() and found[0] == found[-1] else None


def _explained(
    metrics: Mapping[str, ScoredMetric],
    trials: list[_Trial],
    answers: NDArray[np.float64],
    values: tuple[float, ...],
    scored: NDArray[np.bool_],
) -> Identified | None:
    decimals, found = _decimals(answers), None
    for name, metric in metrics.items():
        own = [_own(metric, trial, values, scored) for trial in trials]
        if not np.isfinite(own).all() or np.ptp(own) == 0:
            continue
        fit = _affine(np.array(own), answers, decimals, int(scored.sum()))
        if fit is not None and (found is None or fit[:2] == (1.0, 0.0)):
            found = Identified(
                name=name,
                metric=metric,
                shape=Shape.COLUMN,
                scale=fit[0],
                offset=fit[1],
                error=fit[2],
                decimals=decimals,
                scored=scored,
                queries=0,
            )
            if found.scale == 1.0:  # of several that fit up to a factor, the one that needs none
                break
    return found


def _own(metric: ScoredMetric, trial: _Trial, values: tuple[float, ...], scored: NDArray[np.bool_]) -> float:
    labels = trial.labels[scored]
    try:
        with warnings.catch_warnings(action="ignore"):
            return float(
                metric.score(np.array(values)[labels] if metric.of_values else labels, trial.predictions[scored])
            )
    except Exception:  # a stranger's metric, or one that has no score of these
        return math.nan


def _affine(
    own: NDArray[np.float64], answers: NDArray[np.float64], decimals: int | None, n_scored: int
) -> tuple[float, float, float] | None:
    """Return a and b with ``answers = a own + b`` to the decimals printed, and how far off that may be.

    Plain factors come first, and are taken to be meant; others are as exact as they could be measured.
    """
    low, high = int(own.argmin()), int(own.argmax())
    slope = float(np.polyfit(own, answers, 1)[0])
    half = 0.0 if decimals is None else 0.5 * 10.0**-decimals
    room = half + _TIGHT * max(1.0, float(np.abs(answers).max()))
    plain = [
        sign * factor * size
        for sign, factor, size in itertools.product(
            (1.0, -1.0), (1.0, 100.0, 1 / math.log(2), 1 / math.log(10), 0.5, 2.0), (1.0, float(n_scored))
        )
    ]
    loose = 2 * room / (own[high] - own[low])
    for scale in [*(value for value in plain if abs(value - slope) <= loose), slope]:
        rests = answers - scale * own
        middle = (rests.min() + rests.max()) / 2
        offset = next((value for value in _OFFSETS if abs(value - middle) <= 2 * room), float(middle))
        if np.abs(rests - offset).max() <= room and abs(scale) * np.ptp(own) > 8 * room:
            measured = loose * float(np.abs(own).max()) * (scale == slope) + 2 * room * (offset not in _OFFSETS)
            return float(scale), offset, measured
    return None


def _scored(ask: Ask, shape: Shape, panel: _Panel, n_classes: int) -> NDArray[np.bool_]:
    """Return which labels have any effect, each changed alone; none where that is too much to ask."""
    trial = panel.trials[1]
    found = np.zeros(trial.labels.size, dtype=bool)
    if trial.labels.size > _MOST_FLIPS:
        return found
    sharp = shape.of(_sharp(trial, panel.rows, n_classes, np.random.default_rng(1)), n_classes, panel.rows)
    try:
        before = ask(trial.labels, sharp)
        for record in range(trial.labels.size):
            labels = trial.labels.copy()
            labels[record] = (labels[record] + 1) % n_classes
            found[record] = ask(labels, sharp) != before
    except LabelinfError:
        return np.zeros_like(found)
    return found


def _sharp(trial: _Trial, rows: Rows, n_classes: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return predictions under which every label has as much effect as it can have: certain ones."""
    if rows in (Rows.COSTS, Rows.RANKS):
        certain = rng.integers(0, n_classes, trial.labels.size)
        if rows is Rows.RANKS or n_classes == 2:
            return np.where(certain > 0, 0.999, 0.001)
        return 0.001 + (1 - 0.001 * n_classes) * np.eye(n_classes)[certain]
    return trial.predictions


def _decimals(answers: NDArray[np.float64]) -> int | None:
    """Return the fewest decimals that write every answer; None when they need more than ten."""
    for decimals in range(_MOST_DECIMALS + 1):
        if np.all(np.abs(np.round(answers, decimals) - answers) <= 4 * np.spacing(np.abs(answers))):
            return decimals
    return None
