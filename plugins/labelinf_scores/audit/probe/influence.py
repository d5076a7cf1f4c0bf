"""What every single label does to the answer: which records are scored, by which row, and whether all count alike.

Labels are made up, so that each can be changed alone and everything else held. What explains a panel must also say
what becomes of the answer when any few labels change: weights and public rows cannot pass unseen. Behind a coarse
rounding, a few change nothing; there, labels change one after the other up to an edge of the rounding, which the next
one crosses where all count alike.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import attrs
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from labelinf_core.contracts.errors import InputError, QueryRefusedError
from labelinf_scores.audit.probe.asker import Spoken
from labelinf_scores.audit.probe.identify import VALUES, Explained, Panel, sharp
from labelinf_scores.audit.probe.links import Fit
from labelinf_scores.audit.probe.spelling import HARD
from labelinf_scores.metrics.readings import Rows

__all__ = ["MOST", "off_at_edges", "refuted", "rows_of", "scored_of", "shows_each"]

MOST = 4096  #: records whose effect is measured one by one
_GROUPS = 1024
_SAMPLE = 8
_CLEAR = 4.0  # times the error of an answer, from which an effect is seen
_REST = 0.2  # of a row's probability, which goes to the classes beyond the first two
_COSTS = (0.1, 0.9)
_FAR = 64.0  # times the error of an answer, from which weights are seen to a percent or so
_PATHS = 32  # of labels that change one after the other, each to an edge of the rounding
_NARROW = 1e-7  # relative error of a solved factor
_FEW_PATHS = 8  # where records are so many that slight differences add up


def refuted(found: Explained) -> bool:
    """Whether a few labels that change, every record in its turn, move the answer otherwise than explained."""
    ask, trial = found.panel.ask, found.panel.trials[1]
    n_classes, n = len(ask.spelling.values), trial.labels.size
    predictions = sharp(trial, ask.rows, n_classes)
    order = np.random.default_rng(2).permutation(n)
    room = found.fit.level.room + found.fit.error
    start = found.expected(trial.labels, predictions)

    def changed(group: NDArray[np.intp]) -> NDArray[np.intp]:
        labels = trial.labels.copy()
        labels[group] = (labels[group] + 1) % n_classes
        return labels

    size = 1
    while size < n // 4:
        moves = [found.expected(changed(order[k::n][:1] if size == 1 else order[k : k + size]), predictions) - start
                 for k in range(min(_SAMPLE, n))]  # fmt: skip
        if np.nanmedian(np.abs(moves)) > _CLEAR * room:
            break
        size *= 2
    groups = np.array_split(order, min(math.ceil(n / size), _GROUPS))
    if not ask.asker.affords(2 * len(groups)):
        groups = groups[:_SAMPLE]
    for group in groups:
        labels = changed(group)
        expected, answer = found.expected(labels, predictions), ask.tried(labels, predictions)
        if answer is not None and math.isfinite(expected) and abs(answer - expected) > found.room(answer):
            return True
    return False


def off_at_edges(found: Explained) -> bool | None:
    """Whether answers change elsewhere than they must, where one label decides between two steps of a rounding.

    None where that was to be asked and there are too many records.
    """
    ask, trials, rng = found.panel.ask, found.panel.trials, np.random.default_rng(4)
    n, n_classes = trials[0].labels.size, len(ask.spelling.values)
    paths = _PATHS if n <= MOST else _FEW_PATHS
    if not found.fit.level.step or shows_each(found):
        return False
    if not ask.asker.affords(2 * paths):
        return None
    answers = found.panel.answers.tolist()
    seen = [(found.own(t.labels, t.predictions), answer) for t, answer in zip(trials, answers, strict=True)]
    fit = found.fit
    told: dict[float, float] = {}
    for number in range(paths):
        trial = trials[number // 2 % len(trials)]
        predictions = trial.predictions if number % 2 else sharp(trial, ask.rows, n_classes)
        path = _Path(labels=_agreeing(found, predictions), order=rng.permutation(n), n_classes=n_classes)
        for changed in _edge(attrs.evolve(found, fit=fit), path, predictions, rng):
            labels = path.at(changed)
            own, answer = found.own(labels, predictions), ask.tried(labels, predictions)
            if answer is None or not math.isfinite(own):
                continue
            # Counts that stand on an edge itself may be rounded either way, but not now so and now otherwise.
            if ask.rows in HARD and told.setdefault(own, answer) != answer:
                return True
            seen.append((own, answer))
        still = _still(found.fit, seen)
        if still is None:
            return True
        fit = still
    return False


def shows_each(found: Explained) -> bool:
    """Whether one label moves the answer so far beyond its rounding that :func:`refuted` sees what it weighs."""
    ask, trial = found.panel.ask, found.panel.trials[1]
    n, n_classes = trial.labels.size, len(ask.spelling.values)
    predictions = sharp(trial, ask.rows, n_classes)
    start = found.expected(trial.labels, predictions)
    paths = (
        _Path(labels=trial.labels, order=np.array([record]), n_classes=n_classes) for record in range(min(_SAMPLE, n))
    )
    moves = [found.expected(path.at(1), predictions) - start for path in paths]
    return bool(np.nanmedian(np.abs(moves)) > _FAR * (found.fit.level.room + found.fit.error))


@attrs.frozen(kw_only=True, eq=False)
class _Path:
    """Labels that change one after the other.

    Attributes:
        labels: The first, shape ``(n,)``.
        order: Records in the order in which theirs change.
        n_classes: K.
    """

    labels: NDArray[np.intp]
    order: NDArray[np.intp]
    n_classes: int

    def at(self, changed: int) -> NDArray[np.intp]:
        """Return the labels of which so many have changed."""
        labels = self.labels.copy()
        records = self.order[:changed]
        labels[records] = (labels[records] + 1) % self.n_classes
        return labels


def _agreeing(found: Explained, predictions: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the labels that predictions agree with most."""
    rows, values = found.panel.ask.rows, found.panel.ask.spelling.values
    if predictions.ndim == 2:
        return np.argmax(predictions, axis=1)
    if rows in HARD:
        return predictions.astype(np.intp)
    if rows in VALUES:
        return np.argmin(np.abs(predictions[:, None] - np.array(values)), axis=1)
    return np.where(predictions >= np.median(predictions), len(values) - 1, 0)


def _edge(found: Explained, path: _Path, predictions: NDArray[np.float64], rng: np.random.Generator) -> Iterator[int]:
    """Yield two neighbouring numbers of changed labels between which the rounded answer must change; none: nowhere."""
    step, phase = found.fit.level.step, float(found.panel.answers[0])

    def place(changed: int) -> float:
        return float(np.round((found.expected(path.at(changed), predictions) - phase) / step))

    low, high = 0, predictions.shape[0]
    below, above = place(low), place(high)
    while high - low > 1:
        middle = (low + high) // 2
        between = place(middle)
        if not math.isfinite(between):
            return
        if between != below and (between == above or rng.random() < 0.5):
            high, above = middle, between
        else:
            low, below = middle, between
    if below != above and math.isfinite(below) and math.isfinite(above):
        yield from (low, high)


def _still(fit: Fit, seen: Sequence[tuple[float, float]]) -> Fit | None:
    """Return a fit through the same link of what was seen at the edges; None where there is none.

    A factor and an offset that were measured may be any that fit.
    """
    own, answers = np.array(seen).T
    if not fit.error:
        return fit if np.abs(fit.forward(own) - answers).max() <= fit.level.room else None
    x = np.asarray(fit.link.of(own), dtype=np.float64)
    sides = np.column_stack([x, np.ones_like(x)])
    one = np.ones((x.size, 1))
    solved = linprog(
        (0.0, 0.0, 1.0),
        A_ub=np.block([[sides, -one], [-sides, -one]]),
        b_ub=np.concatenate([answers, -answers]),
        bounds=[(None, None)] * 3,
    )
    if solved.x is None or solved.x[2] > fit.level.room * (1 + _NARROW) or solved.x[0] * fit.scale <= 0:
        return None
    return attrs.evolve(fit, scale=float(solved.x[0]), offset=float(solved.x[1]))


def scored_of(panel: Panel) -> NDArray[np.bool_] | None:
    """Return which labels have any effect, each changed alone; None where that is too much to ask, or was refused."""
    trial, ask = panel.trials[1], panel.ask
    if trial.labels.size > MOST or not ask.asker.affords(trial.labels.size):
        return None
    n_classes = len(ask.spelling.values)
    predictions = sharp(trial, ask.rows, n_classes)
    found = np.zeros(trial.labels.size, dtype=bool)
    try:
        before = ask(trial.labels, predictions)
        for record in range(trial.labels.size):
            labels = trial.labels.copy()
            labels[record] = (labels[record] + 1) % n_classes
            found[record] = ask(labels, predictions) != before
    except (InputError, QueryRefusedError):
        return None
    return found


def rows_of(panel: Panel) -> Iterator[NDArray[np.intp]]:
    """Yield the permutations of the rows of predictions that the effects of labels may come from; none: no clear one.

    Every row predicts something else, and one record after the other is alone in class 1: the greater the answer, the
    further on in the list, up or down, is the row that the record is scored by. Where a rounding, or classes, let fewer
    levels be told apart, row numbers are written in as many digits as it takes.
    """
    n, ask = panel.trials[1].labels.size, panel.ask
    if n > MOST or not ask.asker.affords(2 * n):
        return
    try:
        places = list(_places(ask, n))
    except (InputError, QueryRefusedError):
        return
    for rows in np.sum(places, axis=0) if places else ():
        if np.array_equal(np.sort(rows), np.arange(n)) and not np.array_equal(rows, np.arange(n)):
            yield rows


def _places(ask: Spoken, n: int) -> Iterator[NDArray[np.intp]]:
    """Yield what every digit adds to the number of each record's row, counted up and down, shape ``(2, n)``."""
    hard = ask.rows in HARD
    first = np.zeros(1) if hard else _alone(ask, np.arange(n), n)
    told = np.unique(first).size
    if told < 2 and not hard:
        return
    base = n if told == n else max(2, told // 2)
    digits = next(count for count in range(1, n + 1) if base**count >= n)
    if digits > 1 and not ask.asker.affords(n * digits):
        return
    for digit in range(digits):
        written = np.arange(n) // base**digit % base
        answers = first if base == n else _alone(ask, written, base)
        values, place = np.unique(answers, return_inverse=True)
        if values.size != np.unique(written).size:  # levels that are not told apart: what is added is no row
            place = np.full(n, -n)
        yield np.stack([place, values.size - 1 - place]) * base**digit


def _alone(ask: Spoken, written: NDArray[np.intp], base: int) -> NDArray[np.float64]:
    """Return the answers where one record after the other is alone in class 1, and every row predicts a digit."""
    n, n_classes = written.size, len(ask.spelling.values)
    values = ask.spelling.values
    low, high = (min(values), max(values)) if ask.rows is Rows.REALS else (0.0, 1.0) if ask.rows in HARD else _COSTS
    predictions = low + (high - low) * written / max(1, base - 1)
    if n_classes > 2 and ask.rows in (Rows.COSTS, Rows.COLUMNS):
        rest = np.full((n, n_classes - 2), _REST / (n_classes - 2))
        one = (1 - _REST) * predictions
        predictions = np.column_stack([1 - _REST - one, one, rest])
    return np.array([ask((np.arange(n) == record).astype(np.intp), predictions) for record in range(n)])
