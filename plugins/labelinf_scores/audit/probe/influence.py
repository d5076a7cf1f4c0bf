"""What every single label does to the answer: which records are scored, by which row, and whether all count alike.

Labels are made up, so that each can be changed alone and everything else held. What explains a panel must also say
what becomes of the answer when any few labels change: weights and public rows cannot pass unseen.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.errors import InputError, QueryRefusedError
from labelinf_scores.audit.probe.identify import Explained, Panel, sharp
from labelinf_scores.audit.probe.spelling import HARD
from labelinf_scores.metrics.readings import Rows

__all__ = ["MOST", "refuted", "rows_of", "scored_of"]

MOST = 4096  #: records whose effect is measured one by one
_GROUPS = 1024
_SAMPLE = 8
_CLEAR = 4.0  # times the error of an answer, from which an effect is seen
_HIGH = {Rows.COSTS: (0.1, 0.9), Rows.REALS: (0.0, 1.0), Rows.LEVELS: (0.0, 1.0)}


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


def rows_of(panel: Panel) -> tuple[NDArray[np.intp], ...]:
    """Return the permutations of the rows of predictions that the effects of labels may come from; none: no clear one.

    The digits of a row's number are written into the predictions: a label that changes moves the answer by what the
    row predicts that it is scored by, and the other way where the opposite digit is written. Which way is which is
    not known, so that there are two.
    """
    trial, ask = panel.trials[1], panel.ask
    n = trial.labels.size
    bits = max(1, (n - 1).bit_length())
    if n > MOST or len(ask.spelling.values) != 2 or not ask.asker.affords(2 * n * bits):
        return ()
    low, high = _HIGH.get(ask.rows, (0.0, 1.0) if ask.rows in HARD else (0.1, 0.9))
    turned = np.zeros((bits, n))
    try:
        for bit in range(bits):
            for sign in (1, -1):
                digit = (np.arange(n) >> bit & 1) == (1 if sign > 0 else 0)
                predictions = np.where(digit, high, low)
                before = ask(trial.labels, predictions)
                for record in range(n):
                    labels = trial.labels.copy()
                    labels[record] ^= 1
                    effect = (ask(labels, predictions) - before) * (1 if labels[record] else -1)
                    turned[bit, record] += sign * effect
    except (InputError, QueryRefusedError):
        return ()
    weights = (1 << np.arange(bits))[:, None]
    found = []
    for way in (turned > 0, turned < 0):
        rows = (way * weights).sum(axis=0)
        if np.array_equal(np.sort(rows), np.arange(n)):
            found.append(rows.astype(np.intp))
    return tuple(found)
