"""How far apart and how large the costs of a loss are: what it says, tried out.

Noise is private for a sensitivity, and a sensitivity rests on what a loss says of its span. Losses are anybody's: so
the loss is asked for its costs on rows of every kind that a clip lets through, corners included, and the larger number
counts. How large the costs themselves are nobody says; it decides by how much a computed score may be off.

Example:
    >>> from labelinf_scores.metrics.log_loss import LogLoss
    >>> found = probed(LogLoss(), 0.01, 2)
    >>> round(found.span, 3), round(found.largest, 3)
    (4.595, 4.605)
"""

from __future__ import annotations

import functools
import itertools
import math
import warnings
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.arithmetic import make_arithmetic
from labelinf_scores.metrics.additive import AdditiveLoss
from labelinf_scores.metrics.readings import Rows, ScoredMetric
from labelinf_scores.metrics.unadditive import Unadditive

__all__ = ["Probed", "probed"]

_POINTS = 17  # of a logarithmic grid from the clip to 1/2, and as many beyond
_ROWS = 400  # drawn at random where there are more than two classes
_SIZES, _EACH = (2, 3, 5, 16), 24  # of games of a metric that is no mean
_ROUNDING = 1e-9  # by which costs that were computed may differ more than they do


@attrs.frozen(kw_only=True)
class Probed:
    """What is known of the costs of a loss.

    Attributes:
        span: The largest difference between costs of one row: what the loss says, or what was found if that is more.
        largest: The largest cost found, in absolute value; infinity where some are not finite.
        always: Whether labels of one class have a score, too. That there is none tells of labels, whatever the noise.
    """

    span: float
    largest: float
    always: bool = True


def probed(loss: AdditiveLoss, least: float, n_classes: int) -> Probed:
    """Return what is known of ``loss`` where probabilities lie in ``[least, 1 - least]``.

    Args:
        loss: Anybody's.
        least: In [0, 1/2).
        n_classes: K.
    """
    try:
        return _kept(loss, least, n_classes)
    except TypeError:  # it cannot be hashed
        return _found(loss, least, n_classes)


def _found(loss: AdditiveLoss, least: float, n_classes: int) -> Probed:
    said = loss.span(least)
    if not math.isfinite(said):
        return Probed(span=math.inf, largest=math.inf)
    if isinstance(loss, Unadditive):
        wide = said if _moves_as_said(loss.metric, loss.least, loss.width) else math.inf
        return Probed(span=wide, largest=wide, always=_scores_one_class(loss.metric, loss.least, loss.width))
    numbers = make_arithmetic("float64")
    try:
        with np.errstate(all="ignore"), numbers.context():
            costs = np.asarray(loss.costs(numbers.convert(_rows(least, n_classes)), numbers), dtype=np.float64)
    except Exception:  # a stranger's code: what cannot be computed is not known
        return Probed(span=math.inf, largest=math.inf)
    if not np.isfinite(costs).all():
        return Probed(span=math.inf, largest=math.inf)
    wide = float((costs.max(axis=1) - costs.min(axis=1)).max())
    return Probed(span=wide if wide > said * (1 + _ROUNDING) else said, largest=float(np.abs(costs).max()))


@functools.cache
def _moves_as_said(metric: ScoredMetric, least: float, width: float) -> bool:
    """Whether no label that was exchanged moved a score by more than the metric says.

    All of it lies in [0, 1], or from ``least`` on in a range of a finite width.
    """
    rng, confined = np.random.default_rng(0), math.isfinite(width)
    start, unit = (least, width) if confined else (0.0, 1.0)
    sizes = (metric.scores_only,) if metric.scores_only else _SIZES
    for n, turn in itertools.product(sizes, range(_EACH)):
        labels = rng.integers(0, 2, n) if turn % 2 else np.full(n, turn // 2 % 2)
        predictions = (rng.random(n), rng.integers(0, 2, n).astype(float), np.round(rng.random(n), 1))[turn % 3]
        other = labels.copy()
        other[rng.integers(n)] ^= 1
        rows = start + unit * predictions
        if metric.fault(rows, n):
            continue
        scores = (_score(metric, start + unit * some if confined else some, rows) for some in (labels, other))
        moved = abs(next(scores) - next(scores))
        # Where one of the two has no score, which the curator says instead of a number, nothing is compared.
        most = metric.moved(n, width) if confined else metric.sensitivity(n)
        if math.isfinite(moved) and moved > most * (1 + _ROUNDING):
            return False
    return True


@functools.cache
def _scores_one_class(metric: ScoredMetric, least: float, width: float) -> bool:
    """Whether labels that are all the same had a score at every prediction that could be asked, at one at least."""
    tried = False
    start, unit = (least, width) if math.isfinite(width) else (0.0, 1.0)
    inner = metric.rows is Rows.COSTS  # a certain prediction may cost without limit
    for n, label in itertools.product((metric.scores_only,) if metric.scores_only else _SIZES, (0, 1)):
        apart, classes = np.linspace(0.1, 0.9, n, dtype=np.float64), np.arange(n, dtype=np.float64) % 2
        for rows in (apart,) if inner else (apart, classes, np.zeros(n), np.ones(n)):
            if metric.fault(start + unit * rows, n):
                continue
            if not math.isfinite(_score(metric, start + unit * np.full(n, label), start + unit * rows)):
                return False
            tried = True
    return tried


def _score(metric: ScoredMetric, labels: NDArray[Any], predictions: NDArray[np.float64]) -> float:
    try:
        with warnings.catch_warnings(action="ignore"):
            return float(metric.score(labels, predictions))
    except Exception:  # there need be none, of one class for instance
        return math.nan


_kept = functools.lru_cache(maxsize=256)(_found)


def _rows(least: float, n_classes: int) -> NDArray[np.float64]:
    """Return rows of probabilities, whether they sum to one or not, shape ``(n, K)``."""
    near = np.geomspace(max(least, 1e-300), 0.5, _POINTS) if least else np.linspace(0, 0.5, _POINTS)
    values = np.unique(np.concatenate([near, 1 - near]).clip(least, 1 - least))
    if n_classes == 2:
        return np.array(list(itertools.product(values, repeat=2)))
    rng, ends = np.random.default_rng(0), np.array([least, 1 - least])
    corners = np.where(np.eye(n_classes, dtype=bool), *ends[::-1])
    drawn = [rng.choice(points, (_ROWS, n_classes)) for points in (ends, values)]
    return np.concatenate([corners, ends.sum() - corners, *drawn])
