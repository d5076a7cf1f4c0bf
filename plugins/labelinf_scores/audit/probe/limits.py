"""Which predictions a scorer takes: clipped where, refused where, and whether rows must sum to one.

Labels are made up, so that certainty can be wrong of all records but one: what that is charged is what a prediction
equal to the clip costs. Where certainty is refused, or costs no finite number, predictions are tried from there on
inwards. Predicted numbers are led away from those of the labels, until they are cut or refused; what lies between
is halved.
"""

from __future__ import annotations

import math

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.arithmetic import make_arithmetic
from labelinf_scores.audit.probe.identify import Explained, Panel
from labelinf_scores.audit.probe.links import Fit
from labelinf_scores.audit.probe.spelling import Shape
from labelinf_scores.metrics.additive import AdditiveLoss
from labelinf_scores.metrics.readings.weighted import WeightedLogLoss

__all__ = ["Limits", "cut_of", "limits_of", "limits_of_values", "limits_of_weights"]

_NEVER = 1e-18
_INWARDS = (1e-15, 1e-12, 1e-9, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.05, 0.1)
_OUTWARDS = tuple(2.0**power for power in (*range(10), *range(10, 120, 10)))  # times the range of labels' numbers
_HALVINGS = 30
_SLIGHT = 1e-3  # of the range, by which the error of answers may hide a cut
_FAR = 1e-6  # relative error of an answer to far numbers; a cut changes it by more
_NARROW = 1e-9  # relative errors that single precision or a rounding leaves are wider


@attrs.frozen(kw_only=True)
class Limits:
    """What becomes of extreme predictions.

    Attributes:
        clip: Probabilities are clipped to ``[clip, 1 - clip]``, or refused beyond; 0: neither shows.
        error: How far off the clip may be, relative to it.
        refused: Whether they are refused beyond, and not clipped.
        normalised: Whether rows that do not sum to one are refused or renormalised.
        low: Predicted numbers below are cut or refused.
        high: Those above.
    """

    clip: float = 0.0
    error: float = 0.0
    refused: bool = False
    normalised: bool = True
    low: float = -math.inf
    high: float = math.inf

    @property
    def confined(self) -> bool:
        """Whether predicted numbers have a bound."""
        return math.isfinite(self.low) or math.isfinite(self.high)


def limits_of(found: Explained, loss: AdditiveLoss) -> Limits:
    """Return what becomes of extreme predictions of a mean of ``loss``.

    Args:
        found: What explains the scorer.
        loss: What is averaged.
    """
    ask = found.panel.ask
    n_classes = len(ask.spelling.values)
    labels = (found.scored.cumsum() > 1).astype(np.intp)  # all of class 1 but the first that is scored
    n = int(found.scored.sum())
    base = float(_costs(loss, np.full((1, n_classes), 1 / n_classes))[0, 0])

    def predicted(least: float) -> NDArray[np.float64]:
        rows = np.full((labels.size, n_classes), least)
        rows[:, 0] = 1 - (n_classes - 1) * least
        rows[labels == 0] = 1 / n_classes
        return rows[:, 1] if n_classes == 2 else rows

    normalised = _normalises(found)
    answer = ask.tried(labels, predicted(0.0))
    if answer is not None:
        clip, error = _clip(loss, n_classes, found.fit, answer, n, base)
        return Limits(clip=clip, error=error, normalised=normalised)
    for least in _INWARDS:
        answer = ask.tried(labels, predicted(least))
        cost = float(_costs(loss, _certain(n_classes, least))[0, 1])
        expected = float(found.fit.forward(((n - 1) * cost + base) / n))
        room = 2 * (found.room(expected) + _NARROW * abs(expected))
        if answer is not None and abs(answer - expected) <= room:
            return Limits(clip=least, refused=True, normalised=normalised)
    return Limits(clip=_INWARDS[-1], refused=True, normalised=normalised)


def limits_of_weights(found: Explained, metric: WeightedLogLoss, counts: tuple[int, ...]) -> Limits:
    """Return what becomes of extreme predictions of a weighted log-loss.

    Args:
        found: What explains the scorer.
        metric: Its weights, of the records that are scored.
        counts: Records of each class, with which the weights were measured.
    """
    ask = found.panel.ask
    labels = np.random.default_rng(0).permutation(np.repeat([0, 1], counts)).astype(np.intp)
    weights, relative = np.array(metric.weights), np.where(labels[found.scored] == 1, metric.ratio, 1.0)
    charged, blind = float((weights * relative).sum()), float(weights.sum()) * math.log1p(-metric.neutral)
    off = found.fit.level.room + metric.level_error + metric.error * weights.size * -math.log(_NEVER)
    for least in (0.0, *_INWARDS):
        answer = ask.tried(labels, np.where(labels == 1, least, 1 - least))
        if answer is None or not charged:
            continue
        surprise = (answer - metric.level - blind) / charged
        if least:
            return Limits(clip=least, refused=True)
        if surprise >= -math.log(2 * _NEVER):
            return Limits()
        return Limits(clip=min(0.25, math.exp(-surprise)), error=min(1.0, math.expm1(min(1.0, off / abs(charged)))))
    return Limits(clip=_INWARDS[-1], refused=True)


def limits_of_values(found: Explained) -> Limits:
    """Return between which bounds predicted numbers count as what they are; those of the labels do."""
    values = found.panel.ask.spelling.values
    low, high = min(values), max(values)
    return Limits(low=_reach(found, low, low - high), high=_reach(found, high, high - low))


def cut_of(panel: Panel) -> tuple[float, float] | None:
    """Return the bounds within the labels' own range to which predicted numbers are cut; None where they are not."""
    ask, labels = panel.ask, panel.trials[0].labels
    low, high = min(ask.spelling.values), max(ask.spelling.values)

    def end(start: float, other: float) -> float:
        """Return how far towards ``other`` the answer is what it is at ``start``."""
        first = ask.tried(labels, np.full(labels.size, start))
        inside, outside = other, start
        for _ in range(_HALVINGS):
            middle = (inside + outside) / 2
            if ask.tried(labels, np.full(labels.size, middle)) == first:
                outside = middle
            else:
                inside = middle
        return outside

    found = end(low, (low + high) / 2), end(high, (low + high) / 2)
    slight = _SLIGHT * (high - low)
    return found if slight < found[0] - low or slight < high - found[1] else None


def _reach(found: Explained, start: float, step: float) -> float:
    """Return how far from ``start`` a prediction goes, in multiples of ``step``, before it is cut or refused."""
    trial, record = found.panel.trials[0], int(np.flatnonzero(found.scored)[0])
    values = found.panel.ask.spelling.values
    labels = trial.labels.copy()
    labels[record] = int(np.argmin(values) if step > 0 else np.argmax(values))

    def counts(times: float) -> bool | None:
        predictions = np.array(values)[labels]
        predictions[record] = start + times * step
        expected, answer = found.expected(labels, predictions), found.panel.ask.tried(labels, predictions)
        if not math.isfinite(expected):
            return None
        room = 2 * (found.room(expected) + _FAR * abs(expected))
        return answer is not None and abs(answer - expected) <= room

    inside = 0.0
    for times in _OUTWARDS:
        counted = counts(times)
        if counted is None:  # the metric itself takes no such numbers
            break
        if counted:
            inside = times
            continue
        outside = times
        for _ in range(_HALVINGS):
            middle = (inside + outside) / 2
            inside, outside = (middle, outside) if counts(middle) else (inside, middle)
        return start + (inside if inside > _SLIGHT else 0.0) * step
    return math.copysign(math.inf, step)


def _clip(loss: AdditiveLoss, n_classes: int, fit: Fit, answer: float, n: int, base: float) -> tuple[float, float]:
    """Return the prediction that costs as much as certainty is charged, and its relative error; zeros: no clip."""
    mean = fit.back(answer)
    if not math.isfinite(mean):
        return 0.0, 0.0
    charged = (n * mean - base) / (n - 1)
    found = _costing(loss, n_classes, charged)
    if found <= 2 * _NEVER:
        return 0.0, 0.0
    step = 0.0 if fit.link.name else fit.level.step / 2 / abs(fit.scale)
    off = 4 * (float(fit.off(mean)) + step + 1e-13 * (1 + abs(charged)))
    low, high = (_costing(loss, n_classes, charged + side * off) for side in (1, -1))
    return found, min(1.0, (high - low) / found)


def _costing(loss: AdditiveLoss, n_classes: int, charged: float) -> float:
    """Return the clip under which wrong certainty is charged so much."""
    low, high = math.log(_NEVER), math.log(0.25)
    for _ in range(60):
        middle = (low + high) / 2
        if float(_costs(loss, _certain(n_classes, math.exp(middle)))[0, 1]) > charged:
            low = middle
        else:
            high = middle
    return math.exp(high)


def _certain(n_classes: int, clip: float) -> NDArray[np.float64]:
    """Return certainty about class 0 as a scorer that clips would read it, shape ``(1, K)``."""
    row = np.full((1, n_classes), clip)
    row[0, 0] = 1 - clip
    return row


def _costs(loss: AdditiveLoss, rows: NDArray[np.float64]) -> NDArray[np.float64]:
    numbers = make_arithmetic("float64")
    with numbers.context(), np.errstate(all="ignore"):
        return np.asarray(loss.costs(numbers.convert(rows), numbers), dtype=np.float64)


def _normalises(found: Explained) -> bool:
    """Whether halved rows are refused, or scored as if they had not been halved; one column has no sums."""
    ask = found.panel.ask
    if ask.spelling.shape is Shape.COLUMN:
        return True
    # Two: where classes are balanced, a half of one column may cost what a whole one does.
    for trial in found.panel.trials[:2]:
        rows = trial.predictions
        rows = rows if rows.ndim == 2 else np.stack([1 - rows, rows], axis=1)
        halved, plain = ask.tried(trial.labels, rows / 2), ask.tried(trial.labels, rows)
        if halved is not None and plain is not None and abs(halved - plain) > float(found.fit.level.at(plain)):
            return False
    return True
