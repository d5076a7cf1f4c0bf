"""What a game on scores asks of a board: the metric as ``board.toml`` names it, and the files that queries become.

A board takes classes, probabilities or values, so that the queries of a game are written as such: classes as whole
numbers; orders of the records, of which an AUC, an NDCG or a precision at k sees nothing else, as places between 0 and
1; values and rows of probabilities as they are. What a board then does to them (values are cut to the range of the
labels, rows sum to one) is said in the channel's words, as the rest of what it does.
"""

from __future__ import annotations

import contextlib
import functools
import io
import math
from collections.abc import Callable
from typing import Any, cast

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import Metric
from labelinf_core.contracts.errors import InputError
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_guard.export.stateless import OF_VALUES
from labelinf_guard.metrics import METRICS
from labelinf_guard.policy import BoardPart
from labelinf_scores.game.effects import Clipped, Confined, Moved, RowSums, ScoreEffect
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.metrics.brier import Brier
from labelinf_scores.metrics.log_loss import LogLoss
from labelinf_scores.metrics.readings import Rows, ScoredMetric
from labelinf_scores.metrics.squared_euclidean import SquaredEuclidean

__all__ = ["Task", "task_of"]

Written = Callable[[NDArray[Any]], NDArray[Any]]

_COST = 2.0**-40  #: costs are multiples of it
_ROOT = 2.0**-19  # of a root of a mean of such costs, in units of its range
_UNIT = (0.0, 1.0)
_BOTH_WAYS = ("cohen-kappa", "mcc", "youden", "gini", "quadratic-kappa", "linear-kappa")
_FROM_ZERO = (
    *("error", "precision", "recall", "specificity", "f2", "f-beta", "jaccard", "macro-f1", "micro-f1", "weighted-f1"),
    *("roc-auc-ovr", "roc-auc-ovo", "ndcg", "average-precision", "reciprocal-rank", "precision-at-k"),
)
_RANGES = {
    **dict.fromkeys(_BOTH_WAYS, (-1.0, 1.0)),
    **dict.fromkeys(_FROM_ZERO, _UNIT),
}  #: of scores that run in a child; of the others the range must be said


@attrs.frozen(kw_only=True)
class Task:
    """What is scored, and how.

    Attributes:
        part: Of ``board.toml``.
        written: Makes predictions of what a query predicts.
        effects: What a board does to queries and scores of this kind, but for its policy.
        child: Whether scores are computed in a child, which may fail to.
        of_all_classes: Whether there is no score where a class has no label that is scored.
    """

    part: BoardPart
    written: Written
    effects: tuple[ScoreEffect, ...]
    child: bool = False
    of_all_classes: bool = False

    def file(self, ids: tuple[str, ...], predictions: NDArray[Any]) -> bytes:
        """Return the file of a query."""
        packed = io.BytesIO()
        np.savez(packed, ids=np.array(ids), predictions=self.written(predictions))
        return packed.getvalue()

    def labels(self, codes: NDArray[np.intp]) -> str:
        """Return the file of the labels, in the order of the records."""
        rows = "".join(f"{place:09d},{self.part.classes[code]}\n" for place, code in enumerate(codes.tolist()))
        return f"id,label\n{rows}"


def task_of(threat: ScoreThreat, *, clip: float, low: float | None = None, high: float | None = None) -> Task:
    """Return how a board scores what a game is about.

    Args:
        threat: Of the game.
        clip: Of the log-loss.
        low: Of all scores of a metric that runs in a child; None: as is known of it.
        high: The same from above.

    Raises:
        InputError: Boards do not score it, or nobody says between what its scores lie.
    """
    if threat.metric is not None:
        return _of_metric(threat, threat.metric, low, high)
    classes, costs = _names(threat.n_classes), Moved(bound=_COST, blind=True)  # on a grid: nothing hidden is seen
    if type(threat.loss) is LogLoss:
        part = _part(classes, "log-loss", {"clip": clip})
        return Task(part=part, written=_floats, effects=(Clipped(epsilon=clip), RowSums(), costs))
    if type(threat.loss) in (SquaredEuclidean, Brier):
        return Task(part=_part(classes, "brier"), written=_floats, effects=(RowSums(), costs))
    raise InputError(f"guarded-board scores log-loss, the squared error and metrics, not {type(threat.loss).__name__}.")


def _of_metric(threat: ScoreThreat, metric: ScoredMetric, low: float | None, high: float | None) -> Task:
    name, parameters = _named(metric, threat.n_classes)
    classes = _names(threat.n_classes)
    if metric.of_values:
        classes = [repr(float(value)) for value in threat.totals.values]
    exact = not parameters and (name in OF_VALUES or name in METRICS)
    written, effects = _queries(threat, metric)
    if exact:
        return Task(
            part=_part(classes, name),
            written=written,
            effects=(*effects, *_grid(threat, name)),
            of_all_classes=name in ("roc-auc", "balanced-accuracy"),
        )
    said = _UNIT if low is not None and high is not None else None
    known = _RANGES.get(name)
    if (ends := known or said) is None:
        raise InputError(f"nothing is known of the range of {name}: say guarded-board(low=..., high=...).")
    ends = (ends[0] if low is None else low, ends[1] if high is None else high)
    cut = known is None or ends[0] > known[0] or ends[1] < known[1]
    part = attrs.evolve(_part(classes, name, parameters), low=ends[0], high=ends[1])
    lost = [Moved(bound=math.inf, blind=True)] * cut
    return Task(part=part, written=written, effects=(*effects, *lost), child=True)


@functools.lru_cache(maxsize=32)
def _named(metric: ScoredMetric, n_classes: int) -> tuple[str, dict[str, float]]:
    """Return the name that users give a metric, and its parameters."""
    for item in Host.load().catalogue(Kind.METRIC):
        with contextlib.suppress(Exception):  # somebody else's, which cannot be loaded or made
            kind: type[Metric] = item.load()
            variant = kind().of_classes(n_classes) if issubclass(kind, ScoredMetric) else None
            if kind is type(metric) or variant == metric:
                return item.descriptor.name, _parameters(metric) if kind is type(metric) else {}
    raise InputError(f"guarded-board cannot score {type(metric).__name__}: no plugin provides it by a name.")


def _parameters(metric: ScoredMetric) -> dict[str, float]:
    """Return those that are not what they are when nobody says anything."""
    fields = attrs.fields(cast("type[attrs.AttrsInstance]", type(metric)))
    given = {field.name: getattr(metric, field.name) for field in fields}
    return {field.name: float(given[field.name]) for field in fields if given[field.name] != field.default}


def _queries(threat: ScoreThreat, metric: ScoredMetric) -> tuple[Written, tuple[ScoreEffect, ...]]:
    """Return how queries are written, and what a board does to them."""
    if metric.of_values:
        values = [float(value) for value in threat.totals.values]
        return _floats, (Confined(low=min(values), high=max(values)),)
    if metric.columns:
        return _floats, (RowSums(),)
    if metric.rows in (Rows.COUNTS, Rows.CLASSES, Rows.GRADES):
        return _whole, ()
    if metric.rows is Rows.COSTS:
        raise InputError(
            f"guarded-board scores costs as the losses log-loss and brier only, not {type(metric).__name__}."
        )
    return _places, ()


def _grid(threat: ScoreThreat, name: str) -> tuple[ScoreEffect, ...]:
    """Return how far the board's own score of values is off, whose costs lie on a grid."""
    if name not in OF_VALUES:
        return ()
    power, root = OF_VALUES[name]
    span = float(max(threat.totals.values) - min(threat.totals.values))
    return (Moved(bound=(_ROOT if root else _COST) * span ** (1 if root else power), blind=True),)


def _part(classes: list[str], metric: str, parameters: dict[str, float] | None = None) -> BoardPart:
    return BoardPart(
        labels="labels.csv", id="id", label="label", classes=classes, metric=metric, parameters=parameters or {}
    )


def _names(n_classes: int) -> list[str]:
    return [str(name) for name in range(n_classes)]


def _floats(predictions: NDArray[Any]) -> NDArray[Any]:
    return predictions.astype(np.float64)


def _whole(predictions: NDArray[Any]) -> NDArray[Any]:
    """Return classes; what is none stays what it is, and the board refuses it."""
    given = predictions.astype(np.float64)
    classes = given.astype(np.intp)
    return classes if (classes == given).all() else given


def _places(predictions: NDArray[Any]) -> NDArray[Any]:
    """Return every prediction's place among those that differ, from 0 to 1: the same order, and the same ties."""
    _, places = np.unique(predictions.astype(np.float64), return_inverse=True)
    return places / max(1, int(places.max()))
