"""Another labelling that fits the whole log: the proof that a label is open (M42), checked in whole numbers.

A mixed-integer programme proposes; only what fits every answer exactly is believed. That there is none is a solver's
word in floats and proves nothing: it is reported as such, apart from what is proved.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterator

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.audit.log.certificate import Floats, Labels, Log, Mask, class_rows, one_hot, scaled_rows, signs

__all__ = ["WitnessSearch", "every_labelling", "exchanged", "fitting_labels", "other_labelling"]

_MOST = 20_000  # labellings that are all tried
_NEAREST = 4  # partners of a record that are tried


@attrs.frozen(kw_only=True, eq=False)
class WitnessSearch:
    """What became of a search for labels.

    Attributes:
        labels: Labels that fit the log, checked in whole numbers; None when none was found.
        exhausted: Whether the solver says that there are none; in floats, so not a proof.
    """

    labels: Labels | None = None
    exhausted: bool = False


_INFEASIBLE = 2  # scipy's status


def other_labelling(log: Log, labels: Labels, wanted: Mask, seconds: float) -> WitnessSearch:
    """Look for labels that fit the log and differ from ``labels`` somewhere in ``wanted``.

    Args:
        log: The answers.
        labels: Labels that fit.
        wanted: Where they must differ at least once, shape ``(N,)``.
        seconds: Time limit.
    """
    sign = signs(labels, wanted, log.n_classes).astype(np.float64).ravel()
    own = one_hot(labels, log.n_classes).ravel()
    return _solve(log, -sign, seconds, extra=(sign, 1.0 + float(sign @ own)))


def fitting_labels(log: Log, seconds: float) -> Labels | None:
    """Return any labels that fit the log: what an outsider without the labels can find; None when none was found."""
    end = time.monotonic() + seconds
    found = _solve(log, np.zeros(log.n_records * (log.n_classes - 1)), seconds / 2).labels
    every = every_labelling(log, end) if found is None else None
    return found if every is None else next(iter(every), None)


def exchanged(log: Log, labels: Labels, wanted: Mask, end: float) -> Iterator[Labels]:
    """Yield labels that fit the log and are the given ones but for an exchange of two, one of them ``wanted``.

    Tried are the records of other classes for which the inequalities move least.

    Args:
        log: The answers.
        labels: Labels that fit.
        wanted: Whose labels are to change, shape ``(N,)``; what is yielded needs to change no more.
        end: When to stop, on the monotonic clock.
    """
    table = scaled_rows(log.rows, log)[0].reshape(len(log.rows), log.n_records, log.n_classes - 1)
    gains = np.concatenate([np.zeros((*table.shape[:2], 1)), table], axis=2)
    left = wanted.copy()
    for record in np.flatnonzero(wanted):
        if not left[record]:
            continue
        others = np.flatnonzero(labels != labels[record])
        moved = gains[:, record, labels[others]] + gains[:, others, labels[record]]
        kept = gains[:, record, labels[record]][:, None] + gains[:, others, labels[others]]
        far = np.abs(moved - kept).max(axis=0, initial=0.0)
        for other in others[np.argsort(far, kind="stable")[:_NEAREST]]:
            if time.monotonic() > end:
                return
            found = labels.copy()
            found[[record, other]] = labels[[other, record]]
            if log.holds(found):
                left[[record, other]] = False
                yield found
                break


def every_labelling(log: Log, end: float) -> NDArray[np.intp] | None:
    """Return all labellings that fit the log; None where there are too many to try, or time runs out.

    Args:
        log: The answers.
        end: When to stop, on the monotonic clock.
    """
    n_labellings, left = 1, log.n_records
    for count in log.counts:
        n_labellings, left = n_labellings * math.comb(left, count), left - count
    if n_labellings > _MOST:
        return None
    found = []
    for labels in _arranged(log.counts):
        if time.monotonic() > end:
            return None
        if log.holds(labels):
            found.append(labels)
    return np.array(found)


def _arranged(counts: tuple[int, ...]) -> Iterator[Labels]:
    """Yield every labelling with these class totals."""
    n = sum(counts)
    if len(counts) == 1:
        yield np.zeros(n, dtype=np.intp)
        return
    for places in itertools.combinations(range(n), counts[-1]):
        labels = np.full(n, len(counts) - 1, dtype=np.intp)
        rest = np.setdiff1d(np.arange(n), places)
        for others in _arranged(counts[:-1]):
            labels[rest] = others
            yield labels.copy()


def _solve(
    log: Log,
    cost: Floats,
    seconds: float,
    extra: tuple[Floats, float] | None = None,
) -> WitnessSearch:
    from scipy import sparse
    from scipy.optimize import Bounds, LinearConstraint, milp

    others = log.n_classes - 1
    constraints = [LinearConstraint(class_rows(log), log.counts[1:], log.counts[1:])]
    if log.rows:
        constraints.append(LinearConstraint(*scaled_rows(log.rows, log)))
    if others > 1:
        each = sparse.kron(sparse.identity(log.n_records), np.ones((1, others)))
        constraints.append(LinearConstraint(each, -np.inf, 1))
    if extra is not None:
        constraints.append(LinearConstraint(extra[0][None, :], extra[1], np.inf))
    found = milp(
        cost,
        constraints=constraints,
        integrality=np.ones(cost.size, dtype=np.int64),
        bounds=Bounds(0, 1),
        options={"time_limit": max(seconds, 0.1)},
    )
    if found.x is None:
        return WitnessSearch(exhausted=found.status == _INFEASIBLE)
    proposed = (np.rint(found.x).reshape(-1, others) @ np.arange(1, others + 1)).astype(np.intp)
    return WitnessSearch(labels=proposed if proposed.max() <= others and log.holds(proposed) else None)
