"""Labels read from answers of few symbols: medals, passed or failed, a rank among few.

Such an answer moves where a score crosses a bar, and nowhere else. Two submissions that differ in one record and are
answered otherwise stand on both sides of a bar. Next to them, one more record that is changed says by the answer what
its label is. What a change would say is seen on labellings that give both answers: where those with one class of the
record are answered otherwise than those with the other, the host's answer is the label (universal.md, threshold mode).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.simulation.formats import SubmissionFormat
from labelinf_scores.simulation.knowledge import OPEN, Knowledge
from labelinf_scores.simulation.simulator import Labels, Simulator, Submission, Vector, blended, differing
from labelinf_scores.simulation.window import Bases

__all__ = ["few_symbols", "read_bars"]

_SYMBOLS = 24  # different answers at most
_DRAWS = 60  # after which they are counted
_BEGUN = 24  # submissions that may all be answered alike before nothing is tried any more
_POOL = 16  # labellings that give the answers on both sides of a bar
_EACH = 3  # of them at least that have a class, for what they are answered to say something of it
_STARTS = 24  # labellings drawn for one that gives an answer
_REPAIRS = 12  # changes to one that ceased to give them
_TRIED = 24  # records that a pair is tried on
_PAIRS = 40  # in a row beside which no record could be read
_ROUNDS = 2  # of reading again what a replay contradicts
_VERIFYING = 12  # queries at a bar that check what was read: by luck all of them fit once in 4096


def few_symbols(game: Simulator, form: SubmissionFormat, rng: np.random.Generator) -> bool:
    """Whether a scorer has more than one answer, and few, on made labels that fit submissions well, badly, or not."""
    seen: set[bytes] = set()
    for _ in range(_DRAWS):
        rows = form.spread(game.n_records, rng)
        seen.add(game(blended(rng.integers(game.n_classes, size=game.n_records), rows, rng), rows).tobytes())
        if len(seen) > _SYMBOLS:
            return False
    return len(seen) > 1


def read_bars(knowledge: Knowledge, form: SubmissionFormat) -> bool:
    """Read labels of two classes into ``knowledge``; return whether they give every answer, also those of new queries.

    Raises:
        QueriesExhaustedError: The host answers no more; what was read stays in ``knowledge``.
        BudgetSpentError: The simulations are spent; the same.
    """
    for care in range(1, _ROUNDS + 1):
        knowledge.labels[:] = OPEN
        _Reading(knowledge=knowledge, form=form, size=_POOL * care).run()
        if knowledge.open.size:
            return False
        if not knowledge.misfits():
            return all(_verified(knowledge, form) for _ in range(_VERIFYING))
    return False


def _verified(knowledge: Knowledge, form: SubmissionFormat) -> bool:
    """Ask a submission that is one record from a bar, if what was read is right, and return whether it is answered so.

    A replay alone shows little: every answer was believed when it was given.
    """
    rng = knowledge.rng

    def simulated(rows: Submission) -> Vector:
        return knowledge.game(knowledge.labels, rows)

    fresh = form.spread(knowledge.game.n_records, rng)
    answer = simulated(fresh)
    others = [i for i, seen in enumerate(knowledge.answers) if not np.array_equal(seen, answer)]
    other = knowledge.asked[int(rng.choice(others))]
    both = _bisected(fresh, other, lambda rows: np.array_equal(simulated(rows), answer), rng)
    rows = both[int(rng.integers(2))]
    return np.array_equal(knowledge.answer(rows), simulated(rows))


def _bisected(
    one: NDArray[Any], other: NDArray[Any], like_one: Callable[[NDArray[Any]], bool], rng: np.random.Generator
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Change one into the other, half of what is left at a time, and return where it ceases to be like the first."""
    while (places := differing(one, other)).size > 1:
        middle, half = one.copy(), rng.permutation(places)[: places.size // 2]
        middle[half] = other[half]
        if like_one(middle):
            one = middle
        else:
            other = middle
    return one, other


@attrs.define(kw_only=True, eq=False)
class _Reading:
    """A reading of labels next to a bar.

    Attributes:
        knowledge: What is known.
        form: Rows of a submission.
        size: Labellings that a label is read by.
        sides: Two submissions that differ in one record and are answered otherwise.
        pool: Labellings that give both answers.
    """

    knowledge: Knowledge
    form: SubmissionFormat
    size: int
    sides: tuple[Submission, Submission] = attrs.field(init=False)
    pool: list[Labels] = attrs.field(factory=list)

    def run(self) -> None:
        """Read record after record next to a bar, and take another one where none can be read."""
        knowledge, vain = self.knowledge, 0
        far = self._far_apart()
        while far is not None and knowledge.open.size and vain < _PAIRS:
            self.sides = _bisected(*far, lambda rows: self._answered_as(rows, far[0]), knowledge.rng)
            self.pool = []
            while knowledge.open.size and vain < _PAIRS:
                self._refresh()
                if len(self.pool) == self.size and self._read_one():
                    vain = 0
                    continue
                vain += 1
                nearer = self._narrowed() if len(self.pool) == self.size else None
                if nearer is None:
                    break
                self.sides = nearer

    # Pairs.

    def _answered_as(self, rows: Submission, other: Submission) -> bool:
        return np.array_equal(self.knowledge.answer(rows), self.knowledge.answer(other))

    def _far_apart(self) -> tuple[Submission, Submission] | None:
        """Ask submissions until two are answered otherwise."""
        knowledge, n = self.knowledge, self.knowledge.game.n_records
        more = (self.form.spread(n, knowledge.rng) for _ in range(_BEGUN))
        for rows in itertools.chain(Bases.of(self.form, n, knowledge.rng).submissions, more):
            for other in [*knowledge.asked]:
                if not self._answered_as(rows, other):
                    return other, rows
            knowledge.answer(rows)
        return None

    def _narrowed(self) -> tuple[Submission, Submission] | None:
        """Give the record a row between its two, and return what is left of the pair; None where there is none."""
        one, other = self.sides
        (place,) = differing(one, other)
        if one.ndim > 1 or one.dtype.kind != "f":
            return None
        low, high = sorted((one[place], other[place]))
        between = np.unique(one[(one > low) & (one < high)])
        if not between.size:
            return None
        middle = one.copy()
        middle[place] = between[between.size // 2]
        return (middle, other) if self._answered_as(middle, one) else (one, middle)

    # Labellings that give the answers of a pair.

    def _fits(self, labels: Labels) -> bool:
        knowledge = self.knowledge
        return all(np.array_equal(knowledge.game(labels, side), knowledge.answer(side)) for side in self.sides)

    def _refresh(self) -> None:
        """Keep the labellings that fit, mend the others, and draw new ones while there are too few."""
        known = self.knowledge.known
        kept: list[Labels] = []
        for labels in self.pool:
            changed = labels.copy()
            changed[known] = self.knowledge.labels[known]
            mended = self._mended(changed, None)
            if mended is not None:
                kept.append(mended)
        for _ in range(4 * self.size):
            if len(kept) >= self.size:
                break
            if (drawn := self._crossing()) is not None:
                kept.append(drawn)
        self.pool = kept

    def _mended(self, labels: Labels, held: int | None) -> Labels | None:
        """Return a labelling that fits, a few open records away, other than the one that is held."""
        if self._fits(labels):
            return labels
        free = self.knowledge.open
        free = free[free != held] if held is not None else free
        for _ in range(_REPAIRS if free.size else 0):
            trial = labels.copy()
            turned = self.knowledge.rng.choice(free, min(free.size, int(self.knowledge.rng.integers(1, 3))), False)
            trial[turned] = 1 - trial[turned]
            if self._fits(trial):
                return trial
        return None

    def _crossing(self) -> Labels | None:
        """Walk from a labelling that is answered otherwise to one that is answered so, and return where it changes."""
        knowledge, rng = self.knowledge, self.knowledge.rng
        side, beside = self.sides if rng.random() < 0.5 else self.sides[::-1]
        wanted, nobody = knowledge.answer(side), np.zeros(0, dtype=np.intp)
        yes: Labels | None = None
        no: Labels | None = None
        for _ in range(_STARTS):
            drawn = knowledge.drawn(nobody, nobody)
            if drawn is None:
                return None
            labels = blended(drawn, side, rng)
            labels[knowledge.known] = knowledge.labels[knowledge.known]
            if np.array_equal(knowledge.game(labels, side), wanted):
                yes = labels
            else:
                no = labels
            if yes is not None and no is not None:
                break
        if yes is None or no is None:
            return yes if yes is not None and self._fits(yes) else None
        _, yes = _bisected(no, yes, lambda some: not np.array_equal(knowledge.game(some, side), wanted), rng)
        return yes if np.array_equal(knowledge.game(yes, beside), knowledge.answer(beside)) else None

    # Records.

    def _read_one(self) -> bool:
        """Ask about the first record whose label an answer tells, and return whether there was one."""
        knowledge = self.knowledge
        for place in knowledge.rng.permutation(knowledge.open)[:_TRIED]:
            sides = self._both_classes(int(place))
            if len(sides) == 1:  # no labelling with the other class gives both answers
                knowledge.labels[place] = next(iter(sides))
                return True
            if min(map(len, sides.values())) < _EACH:
                continue
            for rows in self._moved(int(place)):
                told = self._told(rows, sides)
                if told is None:
                    continue
                answer = knowledge.answer(rows).tobytes()
                label = next((c for c, answers in told.items() if answer in answers), None)
                if label is not None:
                    knowledge.labels[place] = label
                    return True
        return False

    def _both_classes(self, place: int) -> dict[int, list[Labels]]:
        """Return the labellings by the record's class, with others made where a class has too few."""
        sides = {c: [labels for labels in self.pool if labels[place] == c] for c in (0, 1)}
        for c, own in sides.items():
            for labels in sides[1 - c][: 2 * _EACH] if len(own) < _EACH else []:
                turned = labels.copy()
                turned[place] = c
                if (mended := self._mended(turned, place)) is not None:
                    own.append(mended)
        return {c: own for c, own in sides.items() if own}

    def _moved(self, place: int) -> Iterator[Submission]:
        """Yield the pair's submissions with another row for a record."""
        ends = np.unique(np.concatenate([np.asarray(self.form.constants), *self.sides]), axis=0)[[0, -1]]
        for side in self.sides:
            for row in ends:
                moved = side.copy()
                moved[place] = row
                if differing(moved, side).size:
                    yield moved

    def _told(self, rows: Submission, sides: dict[int, list[Labels]]) -> dict[int, set[bytes]] | None:
        """Return what labellings of each class are answered; None where some of both are answered alike."""
        told: dict[int, set[bytes]] = {c: set() for c in sides}
        for both in itertools.zip_longest(*sides.values()):
            for c, labels in zip(sides, both, strict=True):
                if labels is not None:
                    told[c].add(self.knowledge.game(labels, rows).tobytes())
            if told[0] & told[1]:
                return None
        return told
