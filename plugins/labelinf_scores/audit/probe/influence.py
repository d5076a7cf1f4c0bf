"""What every single label does to the answer: which records are scored, by which row, and whether all count alike.

Labels are made up, so that each can be changed alone and everything else held. What explains a panel must also say
what becomes of the answer when any few labels change: weights and public rows cannot pass unseen.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.errors import InputError, QueryRefusedError
from labelinf_scores.audit.probe.asker import Spoken
from labelinf_scores.audit.probe.identify import Explained, Panel, sharp
from labelinf_scores.audit.probe.spelling import HARD
from labelinf_scores.metrics.readings import Rows

__all__ = ["MOST", "refuted", "rows_of", "scored_of"]

MOST = 4096  #: records whose effect is measured one by one
_GROUPS = 1024
_SAMPLE = 8
_CLEAR = 4.0  # times the error of an answer, from which an effect is seen
_REST = 0.2  # of a row's probability, which goes to the classes beyond the first two
_COSTS = (0.1, 0.9)


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
        if answer is not None and math.isfinite(expected) and abs(answer - expected) > room:
            return True
    return False


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
