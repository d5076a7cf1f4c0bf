"""What is known of the labels while a scorer is read: some labels, class counts of records that are alike, answers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.simulation.simulator import Labels, Simulator, Submission, Vector, differing

__all__ = ["OPEN", "Count", "Knowledge"]

OPEN = -1  #: the label of a record that is not known

_MISSED = 12  # labellings in which a board misses nothing that it was asked before
_EVEN = 0.1  # of a drawn labelling that every class has alike: a labelling of one class is an exception, not a case
_TINY = 1e-9  # beside which answers that are all alike are far from any other
Count = tuple[int, int]  #: an orbit and a class whose number of records a hypothesis names


@attrs.define(kw_only=True, eq=False)
class Knowledge:
    """What is known so far, and labellings drawn that agree with it.

    Attributes:
        game: The scorer's simulation.
        ask: Asks the host; what it shows.
        rng: For drawn labels.
        labels: Shape ``(N,)``, :data:`OPEN` where nothing is known.
        orbit: Shape ``(N,)``: records of one orbit can change places without changing any answer.
        totals: Shape ``(orbits, K)``: class counts, :data:`OPEN` where not known.
        asked: Submissions so far.
        answers: What they were answered.
        against: Which of them some were set against.
        step: What the numbers of an answer are whole multiples of, shape ``(d,)``; 0: of nothing.
    """

    game: Simulator
    ask: Callable[[Submission], Any]
    rng: np.random.Generator
    labels: Labels
    orbit: NDArray[np.intp]
    totals: NDArray[np.intp]
    asked: list[Submission] = attrs.field(factory=list)
    answers: list[Vector] = attrs.field(factory=list)
    against: dict[int, int] = attrs.field(factory=dict)
    step: Vector = attrs.field(factory=lambda: np.zeros(1))

    @classmethod
    def none(cls, game: Simulator, ask: Callable[[Submission], Any], rng: np.random.Generator) -> Knowledge:
        """Start with all records in one orbit, and nothing known."""
        n, k = game.n_records, game.n_classes
        nothing = np.full((1, k), OPEN, dtype=np.intp)
        orbit = np.zeros(n, dtype=np.intp)
        return cls(game=game, ask=ask, rng=rng, labels=np.full(n, OPEN, dtype=np.intp), orbit=orbit, totals=nothing)

    @property
    def open(self) -> NDArray[np.intp]:
        """Places of the labels that are not known."""
        return np.flatnonzero(self.labels == OPEN)

    @property
    def known(self) -> NDArray[np.intp]:
        """Places of the labels that are known."""
        return np.flatnonzero(self.labels != OPEN)

    def has(self, submission: Submission) -> bool:
        """Whether this very submission was asked."""
        return any(submission is other for other in self.asked)

    def answer(self, submission: Submission) -> Vector:
        """Return what the host answers to a submission; it is asked once."""
        for other, answer in zip(reversed(self.asked), reversed(self.answers), strict=True):
            if other is submission:
                return answer
        answer = self.game.shown(lambda: self.ask(submission))
        self.asked.append(submission)
        self.answers.append(answer)
        if self.game.remembers:
            self._remember(submission, answer)
        return answer

    def _remember(self, submission: Submission, answer: Vector) -> None:
        """Add to a board's past, and leave out what it seems to have forgotten, given that it answered so."""
        game, nobody = self.game, np.zeros(0, dtype=np.intp)
        drawn = (self.drawn(nobody, nobody) for _ in range(_MISSED * _MISSED))
        fitting = (one for one in drawn if one is not None and np.array_equal(game(one, submission), answer))
        labels = list(itertools.islice(fitting, _MISSED))
        game.history = [*game.history, submission]
        for past in game.history if len(labels) == _MISSED else []:
            if not any(self._misses(one, past) for one in labels):
                game.history = [one for one in game.history if one is not past]

    def _misses(self, labels: Labels, past: Submission) -> bool:
        """Whether a board answers something otherwise without a part of its past: something near to another part."""
        game, rows = self.game, self.game.history[int(self.rng.integers(len(self.game.history)))].copy()
        turned = self.rng.choice(rows.shape[0], int(self.rng.integers(1, 4)), replace=False)
        rows[turned] = self.asked[int(self.rng.integers(len(self.asked)))][turned]
        whole = game.history
        there, game.history = game(labels, rows), [one for one in whole if one is not past]
        without, game.history = game(labels, rows), whole
        return not np.array_equal(there, without)

    def misfits(self, most: float = math.inf) -> float:
        """Return how far labels are from giving all answers, so far at most; an open label is of the first class."""
        return self.missed(range(len(self.asked)), most)

    def missed(self, which: Iterable[int], most: float = math.inf) -> float:
        """Return how far labels are from giving some answers, each at most by 1, and all by so much at most.

        An answer counts by how far it is off, beside the answer that it was set against: so a wrong label shows where
        it was asked about, and labels that are nearly right are told from others.
        """
        labels, game = np.where(self.labels == OPEN, 0, self.labels), self.game
        size = np.std(self.answers, axis=0) + _TINY
        past, total, errors = [], 0.0, dict[int, Vector]()
        if game.remembers:
            whole, game.history = game.history, []
            past, game.history = game.each(labels, self.asked), whole

        def error(i: int) -> Vector:
            if i not in errors:
                errors[i] = (past[i] if past else game(labels, self.asked[i])) - self.answers[i]
            return errors[i]

        for i in which:
            off = np.abs(error(i) - error(self.against[i]) if i in self.against else error(i))
            off[off <= 1e-12 + 1e-9 * np.abs(self.answers[i])] = 0
            total += float((off / (off + size)).max())
            if total >= most:
                break
        return total

    def doubted(self) -> NDArray[np.intp]:
        """Return the records that were asked about where the labels do not give the answer."""
        own = self.own()
        return np.array([place for place in sorted(own) if self.missed(own[place])], dtype=np.intp)

    def own(self, *, alone: bool = False) -> dict[int, list[int]]:
        """Return the answers that each record was asked about by, alone or not: in which its row was moved."""
        found: dict[int, list[int]] = {}
        for i, other in self.against.items():
            moved = differing(self.asked[i], self.asked[other]).tolist()
            for place in moved if len(moved) == 1 or not alone else []:
                found.setdefault(place, []).append(i)
        return found

    def mended(self) -> bool:
        """Give records the classes that bring answers nearest, as long as one does; return whether all come out.

        First those answers count that a record was asked about by: what others are wrong moves them little, and less
        whenever others are mended. Then all do, and the label is changed that brings them nearest.
        """
        game, own, turned = self.game, self.own(), 1
        until = (game.calls + game.limit) / 2
        while turned and game.calls < until and self.misfits():
            places = self.rng.permutation(self.known).tolist()
            turned = sum(self.turned(place, own.get(place, [])) for place in places)
        left, best = self.misfits(), self.known[:1].tolist()
        while left and best and game.calls < until:
            left, best = self._nearest(left, until)
        return left == 0

    def turned(self, place: int, which: Sequence[int]) -> bool:
        """Give a record the class that brings some answers nearest; return whether it is another."""
        own = best = int(self.labels[place])
        left = self.missed(which)
        for c in self.rng.permutation(self.game.n_classes).tolist() if left else []:
            if c != own:
                self.labels[place] = c
                there = self.missed(which, left)
                if there < left:
                    left, best = there, c
        self.labels[place] = best
        return best != own

    def _nearest(self, left: float, until: float) -> tuple[float, list[int]]:
        """Change the one label that brings all answers nearest; return how far they are off, and whose label it is."""
        best: list[int] = []
        for place, c in itertools.product(self.rng.permutation(self.known).tolist(), range(self.game.n_classes)):
            own, self.labels[place] = self.labels[place], c
            there = self.misfits(left) if c != own else left
            self.labels[place] = own
            if there < left:
                left, best = there, [place, c]
            if not left or self.game.calls >= until:
                break
        self.labels[best[:1]] = best[1:]
        return left, best[:1]

    def uncounted(self, orbit: int) -> list[Count]:
        """Return the classes of an orbit whose numbers are not known; of the last class the others tell."""
        unknown = [(orbit, int(c)) for c in np.flatnonzero(self.totals[orbit] == OPEN)]
        return unknown[1:] if len(unknown) == self.game.n_classes else unknown

    def count(self, counted: Count, number: int) -> None:
        """Write a class count down, and the last one of the orbit, which follows."""
        orbit, c = counted
        row = self.totals[orbit]
        row[c] = number
        left = np.flatnonzero(row == OPEN)
        if left.size == 1:
            row[left] = (self.orbit == orbit).sum() - row[row != OPEN].sum()

    def possible(
        self, places: NDArray[np.intp], values: NDArray[np.intp], counted: Count | None, numbers: NDArray[np.intp]
    ) -> NDArray[np.bool_]:
        """Return which hypotheses, rows of ``values``, the class counts allow."""
        fine = np.ones(len(values), dtype=bool)
        for orbit in np.unique(self.orbit[places]) if places.size else []:
            inside = self.orbit == orbit
            labels = self.labels[inside]
            rest = int((labels == OPEN).sum()) - int(inside[places].sum())
            own, taken = values[:, inside[places]], np.zeros(len(values), dtype=np.intp)
            for c in range(self.game.n_classes):
                total = np.full(len(values), self.totals[orbit, c])
                if counted == (orbit, c):
                    total = numbers
                left = np.where(total == OPEN, 0, total - (labels == c).sum() - (own == c).sum(axis=1))
                fine &= left >= 0
                taken += left
            fine &= taken <= rest
        return fine

    def drawn(
        self, places: NDArray[np.intp], values: NDArray[np.intp], counted: Count | None = None, number: int = 0
    ) -> Labels | None:
        """Draw a labelling that agrees with all that is known and has ``values`` at ``places``; None where none does.

        Class shares that are not known are drawn, too: an answer that does not move with them does not depend on them.

        Args:
            places: Records of a hypothesis.
            values: Their classes.
            counted: A count that is a part of the hypothesis.
            number: What it is.
        """
        labels = self.labels.copy()
        labels[places] = values
        rest = np.flatnonzero(labels == OPEN)
        k = self.game.n_classes
        seen = np.bincount(self.labels[self.known], minlength=k)
        shares = (1 - _EVEN) * self.rng.dirichlet(seen + 2.0) + _EVEN / k
        labels[rest] = self.rng.choice(k, size=rest.size, p=shares)
        orbits: set[int] = set(np.flatnonzero((self.totals != OPEN).any(axis=1)).tolist())
        for orbit in orbits | ({counted[0]} if counted else set()):
            totals = self.totals[orbit].copy()
            if counted and counted[0] == orbit:
                totals[counted[1]] = number
            if not self._arrange(labels, rest[self.orbit[rest] == orbit], orbit, totals, shares):
                return None
        return labels

    def _arrange(
        self,
        labels: Labels,
        rest: NDArray[np.intp],
        orbit: int,
        totals: NDArray[np.intp],
        shares: NDArray[np.float64],
    ) -> bool:
        """Give the rest of an orbit labels that make its counts right; False where they cannot be."""
        k = totals.size
        inside = np.flatnonzero(self.orbit == orbit)
        fixed = np.setdiff1d(inside, rest, assume_unique=True)
        have = np.bincount(labels[fixed], minlength=k)
        told = totals != OPEN
        left = np.where(told, totals - have, 0)
        spare = rest.size - int(left.sum())
        if left.min() < 0 or spare < 0 or (spare and told.all()):
            return False
        if spare:
            free = np.where(told, 0.0, shares)
            left = left + self.rng.multinomial(spare, free / free.sum())
        labels[rest] = self.rng.permutation(np.repeat(np.arange(k), left))
        return True
