"""Which labels a log determines, jointly and then one by one."""

from __future__ import annotations

import enum
import time
from collections.abc import Iterator

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.audit.log.certificate import Labels, Log, Mask, dual_bound, relax
from labelinf_scores.audit.log.one_answer import proved_singly
from labelinf_scores.audit.log.witness import every_labelling, exchanged, other_labelling

__all__ = ["Clock", "Determination", "Known", "determine", "jointly"]

_LITTLE = 3.0  # labels in all: below it a joint proof is near
_MUCH = 0.05  # of all labels: above it hardly any is proved in the end
_VISIBLE = 0.01  # of a label
_PATIENCE = 4.0  # seconds that the first search for one record may take
_LEFT = 0.5  # of a label: what may still move before a joint proof is tried again


class Known(enum.IntEnum):
    """What the log says of one label."""

    UNKNOWN = 0
    OPEN = 1
    """Another labelling fits the whole log, in whole numbers, and the scorer's own function prints the same of it."""
    CLAIMED = 2
    """An integer programme has no other labelling: the solver's word, in floats."""
    DETERMINED = 3
    """Proved by an exact dual bound below one."""


@attrs.frozen(kw_only=True, eq=False)
class Determination:
    """What a log has given away.

    Attributes:
        known: :class:`Known` of every record, shape ``(N,)``.
    """

    known: NDArray[np.int8]

    def count(self, known: Known) -> int:
        """Return how many records have this status."""
        return int(np.count_nonzero(self.known == known))


@attrs.define
class Clock:
    """Until when there is time, on the monotonic clock."""

    end: float

    @property
    def left(self) -> float:
        """Seconds that are left."""
        return self.end - time.monotonic()


def determine(
    log: Log, labels: Labels, *, seconds: float = 60.0, witnesses: bool = True, singly: bool = True
) -> Determination:
    """Say of every label whether the log determines it.

    Args:
        log: The answers.
        labels: Labels that fit them, shape ``(N,)``: the host's own, or any that an outsider has found. Where they are
            the outsider's, "determined" means that no other labelling fits, so that they are the true ones.
        seconds: Time to spend; what is not settled by then stays unknown.
        witnesses: Look for other labellings of what is not proved.
        singly: Try to prove one by one what the joint certificate has set aside.
    """
    clock = Clock(time.monotonic() + seconds)
    known = np.zeros(log.n_records, dtype=np.int8)
    if not log.entries:
        return Determination(known=known)
    known[jointly(log, labels, clock)] = Known.DETERMINED
    if singly and (known < Known.DETERMINED).any():
        known[proved_singly(log, labels, clock.end)] = Known.DETERMINED
    if witnesses:
        _search(log, labels, known, clock)
    if witnesses and (known < Known.DETERMINED).any() and (every := every_labelling(log, clock.end)) is not None:
        known[known == Known.CLAIMED] = Known.UNKNOWN
        known[(every == labels).all(axis=0)] = Known.DETERMINED
        _open(log, labels, known, iter(every), clock)
    if singly:
        _prove_singly(log, labels, known, clock)
    if witnesses and log.linear:
        _search_singly(log, labels, known, clock)
    return Determination(known=known)


def jointly(log: Log, labels: Labels, clock: Clock) -> Mask:
    """Return the records that one dual bound proves together, setting aside what moves."""
    wanted = np.ones(log.n_records, dtype=bool)
    while wanted.any() and clock.left > 0:
        solution = relax(log, labels, wanted, clock.left)
        if solution is None:
            break
        if dual_bound(log, labels, wanted, solution) < 1:
            return wanted
        wanted[_set_aside(solution.moved, wanted)] = False
    return np.zeros(log.n_records, dtype=bool)


def _set_aside(moved: NDArray[np.float64], wanted: Mask) -> NDArray[np.intp]:
    """Return the records to take out: all that moved, or where little did the fewest that leave next to nothing."""
    order = np.argsort(-np.where(wanted, moved, -1.0))
    if moved.sum() > _LITTLE:
        hopeless = moved.sum() > _MUCH * np.count_nonzero(wanted)
        least = np.count_nonzero(wanted) // 2 if hopeless else moved.size // 50
        return order[: max(np.count_nonzero(wanted & (moved > _VISIBLE)), 1 + least)]
    rest = moved[order][::-1].cumsum()[::-1]  # what would be left when all before are taken out
    return order[: max(1, int(np.count_nonzero(rest > _LEFT)))]


def _prove_singly(log: Log, labels: Labels, known: NDArray[np.int8], clock: Clock) -> None:
    """Try to prove each label that is not shown to be open by a bound of its own."""
    for record in np.flatnonzero((known == Known.UNKNOWN) | (known == Known.CLAIMED)):
        if clock.left <= 0:
            return
        wanted = np.arange(log.n_records) == record
        solution = relax(log, labels, wanted, clock.left)
        if solution is not None and dual_bound(log, labels, wanted, solution) < 1:
            known[record] = Known.DETERMINED


def _search(log: Log, labels: Labels, known: NDArray[np.int8], clock: Clock) -> None:
    """Note what other labellings show to be open, and what the solver says has none."""
    if not log.linear:
        half = clock.end - clock.left / 2
        _open(log, labels, known, exchanged(log, labels, known == Known.UNKNOWN, half), clock)
    while (unsettled := known == Known.UNKNOWN).any() and clock.left > 0:
        found = other_labelling(log, labels, unsettled, clock.left / 4)
        if found.labels is None:
            known[unsettled] = Known.CLAIMED if found.exhausted else Known.UNKNOWN
            return
        _open(log, labels, known, iter([found.labels]), clock)
        if np.array_equal(unsettled, known == Known.UNKNOWN):  # the last bits of a score tell them apart
            _open(log, labels, known, exchanged(log, labels, unsettled, clock.end - clock.left / 2), clock)
            return


def _search_singly(log: Log, labels: Labels, known: NDArray[np.int8], clock: Clock) -> None:
    """Spend what is left on labels that differ at one record: easier than at as many as possible, and opens others too.

    Every round gives a record twice the time of the round before; what only the last bits of a score tell is left.
    """
    patience, told = _PATIENCE, np.zeros(known.size, dtype=bool)
    while (left := (known == Known.UNKNOWN) & ~told).any():
        for record in np.flatnonzero(left):
            if clock.left <= 0:
                return
            if known[record] == Known.UNKNOWN:
                alone = np.arange(known.size) == record
                found = other_labelling(log, labels, alone, min(patience, clock.left))
                if found.exhausted:
                    known[record] = Known.CLAIMED
                elif found.labels is not None:
                    _open(log, labels, known, iter([found.labels]), clock)
                    told[record] = True
        patience *= 2


def _open(log: Log, labels: Labels, known: NDArray[np.int8], others: Iterator[Labels], clock: Clock) -> None:
    """Note what labellings that fit show to be open, if nothing tells them from the labels.

    Where the labels themselves have another score by the function here, its last bits are those of another one.
    """
    for labelling in others if log.shows(labels) else ():
        opened = (labelling != labels) & (known == Known.UNKNOWN)
        if opened.any() and clock.left > 0 and log.shows(labelling):
            known[opened] = Known.OPEN
