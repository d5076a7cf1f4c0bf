"""Which submissions gave labels away: what prefixes of the log determine, by bisection.

Determined labels only grow along the log, so that a stretch whose ends agree is not looked into; the largest step is
looked into first. What is counted is what the joint certificate proves and what each answer proves alone, a lower bound
of what is determined: a submission that is named did it, by then at the latest.
"""

from __future__ import annotations

import itertools
import time

import attrs
import numpy as np

from labelinf_scores.audit.log.certificate import Labels, Log, Mask
from labelinf_scores.audit.log.determined import Clock, jointly
from labelinf_scores.audit.log.one_answer import proved_singly

__all__ = ["Given", "given_away"]


@attrs.frozen(kw_only=True)
class Given:
    """A submission after which more labels were determined than before; one of several where time ran out.

    Attributes:
        first: Place in the log of the first that it may have been, from 0.
        last: Place of the last; the same where it is known.
        before: Labels determined before the first.
        after: Labels determined with the last.
    """

    first: int
    last: int
    before: int
    after: int


def given_away(log: Log, labels: Labels, *, seconds: float = 60.0) -> tuple[Given, ...]:
    """Say which submissions gave labels away, in the order of time.

    Args:
        log: The answers.
        labels: Labels that fit them, shape ``(N,)``.
        seconds: Time to spend; a stretch that was not looked into by then is named as a whole.
    """
    prefixes = _Prefixes.of(log, labels, Clock(end=time.monotonic() + seconds))
    found: list[tuple[int, int]] = []
    stretches = [(0, len(log.entries))]
    while stretches:
        grown = [prefixes.count(high) - prefixes.count(low) for low, high in stretches]
        low, high = stretches.pop(int(np.argmax(grown)))
        middle = (low + high) // 2
        if not max(grown):
            break
        if middle > low and prefixes.tried(middle):
            stretches += [(low, middle), (middle, high)]
        else:
            found.append((low, high))
    # Counted at the end: what a shorter prefix proves, which was tried later, a longer one proves as well.
    given = (Given(first=a, last=b - 1, before=prefixes.count(a), after=prefixes.count(b)) for a, b in sorted(found))
    return tuple(item for item in given if item.after > item.before)


@attrs.define(kw_only=True)
class _Prefixes:
    """What the first answers of a log prove, of as many prefixes as were tried in time.

    Attributes:
        log: All answers.
        labels: Labels that fit them.
        clock: How long there is time.
        alone: What the first answers prove one by one, for every number of them.
        proved: What so many answers prove.
    """

    log: Log
    labels: Labels
    clock: Clock
    alone: list[Mask]
    proved: dict[int, Mask]

    @classmethod
    def of(cls, log: Log, labels: Labels, clock: Clock) -> _Prefixes:
        """Return them with the whole log tried, as far as there is time."""
        single = (proved_singly(attrs.evolve(log, entries=(item,)), labels, clock.end) for item in log.entries)
        none = np.zeros(log.n_records, dtype=bool)
        alone = list(itertools.accumulate(single, np.logical_or, initial=none))
        found = cls(log=log, labels=labels, clock=clock, alone=alone, proved={0: none})
        if not found.tried(len(log.entries)):
            found.proved[len(log.entries)] = found.alone[-1]
        return found

    def tried(self, length: int) -> bool:
        """Whether there was time to see what that many answers prove."""
        if length not in self.proved:
            together = jointly(self.log.until(length), self.labels, self.clock)
            if self.clock.left <= 0:
                return False
            self.proved[length] = together | self.alone[length]
        return True

    def count(self, length: int) -> int:
        """Return how many labels that many answers prove, and fewer of them."""
        return int(np.any([mask for tried, mask in self.proved.items() if tried <= length], axis=0).sum())
