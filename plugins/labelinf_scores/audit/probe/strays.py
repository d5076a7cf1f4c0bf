"""Whether submissions that no honest one is are scored, so that one label moves the answer further than is learnt.

Noise and all that is proved of it are calibrated to what one label does to the score of *valid* predictions. Her own
function is what decides which are valid: one that scores a probability of 1000, cuts predictions on one side alone, or
leaves records out of a mean whose prediction is no number, or missing, lets one label do more.
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.errors import ComponentError, InputError, QueryRefusedError
from labelinf_core.plugin.apart import apart
from labelinf_scores.audit.probe.identify import Explained
from labelinf_scores.audit.probe.links import grid_of
from labelinf_scores.audit.probe.spelling import Shape
from labelinf_scores.game.scoring import Query

__all__ = ["STRAYS", "moved_further"]

#: Predictions, most of them invalid; each kind is sent to a copy of its own, since a program may end over it.
STRAYS = ((0.0, 1.0), (-1.0, 2.0, 1e6), (math.nan, math.inf))
_SAME = 1e-9  # relative errors of rounding that are no difference
_WIDE = 6.0  # errors of a mean

Floats = NDArray[np.float64]


def moved_further(title: str, found: Explained, labels: NDArray[np.intp], most: float) -> str | None:
    """Say which submissions let one label move the metric by more than ``most``, or tell more digits; nothing: none do.

    None where answers take too long for all to be sent: then nobody knows.

    Args:
        title: The scorer's name.
        found: What explains the scorer.
        labels: Made labels.
        most: By which one label is taken to move the metric.
    """
    ask, level = found.panel.ask, found.fit.level
    if level.step and not level.digits and grid_of(ask.answered, level) is not level:
        return "extreme predictions are answered with more digits than others"
    honest = np.asarray(ask.spelling.predictions(found.panel.trials[1].predictions, ask.rows))
    if not math.isfinite(most) or honest.dtype.kind not in "fiu":
        return ""
    for strays in STRAYS:
        submissions = list(_submissions(strays, honest.astype(np.float64), _row(found), ask.spelling.shape))
        if not ask.asker.affords(2 * len(submissions)):
            return None
        ask.asker.asked += 2 * len(submissions) * ask.asker.repeats
        with contextlib.suppress(ComponentError):  # it ended or hung: what it did not answer is refused
            stray = apart(title, functools.partial(_further, found, labels, submissions, most), once=False)
            if stray:
                return f"{stray} let one label move the score further than what was learnt explains"
    return ""


def _further(found: Explained, labels: NDArray[np.intp], submissions: Sequence[tuple[str, Floats]], most: float) -> str:
    """Say by which submissions one label moves the metric by more than ``most``; nothing: by none."""
    record, last = int(np.flatnonzero(found.scored)[0]), len(found.panel.ask.spelling.values) - 1
    either = [np.where(np.arange(labels.size) == record, kind, labels) for kind in (0, last)]
    for told, predictions in submissions:
        answers = [_answers(found, each, predictions) for each in either]
        if all(each.size for each in answers):
            first, second = (float(each.mean()) for each in answers)
            noise = _WIDE * max(found.panel.noise, *map(np.std, answers)) / math.sqrt(answers[0].size)
            size = max(abs(first), abs(second))
            room = 2 * (found.room(size) + noise + _SAME * size)
            if abs(second - first) > room + _reach(found, first, second, most):
                return told
    return ""


def _row(found: Explained) -> int:
    """Return the row of predictions by which the first scored record is scored."""
    record, order = int(np.flatnonzero(found.scored)[0]), found.panel.ask.order
    return record if order is None else int(order[record])


def _submissions(strays: Sequence[float], honest: Floats, row: int, shape: Shape) -> Iterator[tuple[str, Floats]]:
    """Yield submissions in which one row is strange, and in what; or all others, or in which those are missing."""
    for stray in strays:
        for strange in _rows(stray, honest[row], shape):
            alone = honest.copy()
            alone[row] = strange
            yield f"predictions such as {stray:g}", alone
            if 0 <= stray <= 1:
                yield "submissions of fewer rows", alone[: row + 1]
        if math.isnan(stray):
            others = np.full_like(honest, stray)
            others[row] = honest[row]
            yield "predictions that are no numbers", others


def _rows(stray: float, honest: Floats, shape: Shape) -> Iterator[Floats]:
    """Yield rows of a strange number: in every place, or in the last, the others making up for it or 0."""
    yield np.full_like(honest, stray)
    if shape is Shape.ROWS and math.isfinite(stray):
        for rest in (0.0, (1.0 - stray) / (honest.size - 1)):
            filled = np.full_like(honest, rest)
            filled[-1] = stray
            yield filled


def _answers(found: Explained, labels: NDArray[np.intp], predictions: Floats) -> Floats:
    """Return all answers to a question; none where one is refused, or no number."""
    asker, written = found.panel.ask.asker, found.panel.ask.spelling.labels(labels)
    try:
        answers = [asker.scorer.score(written, Query(predictions=predictions.copy())) for _ in range(asker.repeats)]
    except (InputError, QueryRefusedError):
        return np.zeros(0)
    numbers = np.array(answers, dtype=np.float64)
    return numbers if np.isfinite(numbers).all() else np.zeros(0)


def _reach(found: Explained, first: float, second: float, most: float) -> float:
    """Return how far one label may move an answer that is where either of these is."""
    fit = found.fit
    if not fit.link.name:
        return abs(fit.scale) * most
    own = np.array([fit.back(first), fit.back(second)])
    if not np.isfinite(own).all():
        return 0.0
    low, high = float(own.min()), float(own.min()) + most
    return abs(float(fit.forward(high)) - float(fit.forward(low)))
