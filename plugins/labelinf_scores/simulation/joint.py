"""Labels that are read together where an answer moves with all of them: every record is asked about by itself.

The row of one record is moved, and all others stay what they are. So all else that answers depend on is the same in all
of them, and labels of all records are found at once: each takes the class that gives its own answers, the others being
what they are taken for, until none changes. Records that can change places have equal labels where answers are equal.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.errors import QueriesExhaustedError
from labelinf_scores.simulation.knowledge import OPEN, Knowledge
from labelinf_scores.simulation.simulator import Labels, Submission, differing
from labelinf_scores.simulation.window import Bases

__all__ = ["JointReading", "Move"]

Floats = NDArray[np.float64]
_CLASSES = 6  # of a record, that are to be told apart
_MOVES = 64  # that are tried on two records each
_BEST = 8  # of them that are tried on more
_TRIED = (2, 6)  # records
_REDRAWN = 0.3  # of the labels of orbits where answers are off, at every other start
_STARTS = 8  # labellings from which all answers are looked for
_SWEEPS = 16  # over all records, at most
_NAMED = 96  # ways to name the classes of records that answer alike
_FEW = 12  # kinds of answers, of which so many ways are tried


@attrs.frozen(kw_only=True, eq=False)
class Move:
    """One record's row is moved.

    Attributes:
        base: Where from: a submission.
        row: Where to.
    """

    base: Submission
    row: Any

    def at(self, place: int) -> Submission:
        """Return the submission in which one record has the row."""
        rows = self.base.copy()
        rows[place] = self.row
        return rows


@attrs.define(kw_only=True, eq=False)
class JointReading:
    """Reads the labels of all records that are open, in as many queries and one.

    Attributes:
        knowledge: What is known.
        bases: What submissions are written on.
        moves: What was asked so far of every record.
        places: The records.
        chosen: What is asked next, and the bits that it tells.
    """

    knowledge: Knowledge
    bases: Bases
    moves: list[Move] = attrs.field(factory=list)
    places: NDArray[np.intp] = attrs.field(factory=lambda: np.zeros(0, dtype=np.intp))
    chosen: tuple[Move, float] | None = None

    def read(self, places: NDArray[np.intp]) -> float:
        """Ask once more about every place, and write down the labels that are nearest; return how far answers are off.

        Raises:
            QueriesExhaustedError: The host answers no more.
            BudgetSpentError: The simulations are spent.
        """
        self.places = np.union1d(self.places, places)
        places = self._unsure(places) if self.moves else places
        knowledge, (move, _) = self.knowledge, self.chosen or self._best(places)
        self.chosen = None
        self.moves.append(move)
        try:
            knowledge.answer(move.base)
            at = next(i for i, rows in enumerate(knowledge.asked) if rows is move.base)
            for place in places.tolist():
                rows = move.at(place)
                if differing(rows, move.base).size:
                    knowledge.answer(rows)
                    knowledge.against[len(knowledge.asked) - 1] = at
        except QueriesExhaustedError:
            self.solved()
            raise
        return self.solved()

    # What is asked.

    def promise(self, places: NDArray[np.intp]) -> float:
        """Return the bits of a label that a query tells, if all others were known."""
        self.chosen = self.chosen or self._best(places)
        return self.chosen[1]

    def _best(self, places: NDArray[np.intp]) -> tuple[Move, float]:
        """Return the move that tells most of a record's class, beside those that were asked, and how many bits."""
        rng, form = self.knowledge.rng, self.bases.format
        rows = [*form.constants, *(form.rows(kind, 1, rng)[0] for kind in form.kinds for _ in range(2))]
        every = [Move(base=base, row=row) for base in self._bases() for row in rows]
        among = [every[i] for i in rng.permutation(len(every))[:_MOVES]]
        worth = np.zeros(len(among))
        for most, many in zip((_MOVES, _BEST), _TRIED, strict=True):
            best = np.argsort(-worth, kind="stable")[:most]
            among, worth = [among[i] for i in best], worth[best]
            for place in rng.choice(places, many):
                worth += self._told(among, int(place))
        return among[int(worth.argmax())], float(worth.max() / sum(_TRIED))

    def _bases(self) -> list[Submission]:
        """Return what rows are moved in: all alike, none alike, or what each record is taken for, or is not."""
        knowledge = self.knowledge
        if (knowledge.labels[self.places] == OPEN).any():
            return self.bases.submissions
        own = np.array(self.bases.format.constants[-knowledge.game.n_classes :])
        return [*self.bases.submissions, *(own[(knowledge.labels + turn) % len(own)] for turn in (0, 1))]

    def _told(self, moves: Sequence[Move], place: int) -> NDArray[np.float64]:
        """Return the bits that each move tells of a record's class, beside those that were asked, where totals stay."""
        game, made, still = self.knowledge.game, self._made(place), dict[int, Floats]()

        def moved(one: Move) -> Floats:
            if id(one.base) not in still:
                still[id(one.base)] = np.array([game(labels, one.base) for labels in made])
            table = np.array([game(labels, one.at(place)) for labels in made]) - still[id(one.base)]
            return np.round(table / (np.abs(table).max(axis=0) + 1e-300), 7)

        def bits(table: Floats) -> float:
            share = np.unique(table, axis=0, return_counts=True)[1] / len(table)
            return float(-(share * np.log2(share)).sum())

        before = [moved(one) for one in self.moves]
        return np.array([bits(np.column_stack([*before, moved(one)])) for one in moves])

    def _made(self, place: int) -> list[Labels]:
        """Return labellings in which a record has one class or another, and another record of its orbit the rest."""
        knowledge, rng, nobody = self.knowledge, self.knowledge.rng, np.zeros(0, dtype=np.intp)
        labels = knowledge.drawn(nobody, nobody)
        if labels is None:  # what is believed is not what totals are
            labels = np.where(knowledge.labels == OPEN, 0, knowledge.labels)
        peers, found = knowledge.orbit == knowledge.orbit[place], list[Labels]()
        for c in rng.permutation(knowledge.game.n_classes)[:_CLASSES]:
            other, like = labels.copy(), np.flatnonzero(peers & (labels == c))
            if like.size:
                other[rng.choice(like)] = labels[place]
            other[place] = c
            found.append(other)
        return found

    def _unsure(self, places: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the places whose own answers are off, or would be the same with another class; all, if none are."""
        knowledge, own = self.knowledge, self.knowledge.own(alone=True)
        kinds = {place: self._kind(place, own.get(place, [])) for place in places.tolist()}
        classes: dict[tuple[float, ...], set[int]] = {}
        for place, kind in kinds.items():
            classes.setdefault(kind, set()).add(int(knowledge.labels[place]))

        def fitting(place: int) -> list[int]:
            label, found = int(knowledge.labels[place]), []
            for c in range(knowledge.game.n_classes):
                knowledge.labels[place] = c
                found += [] if knowledge.missed(own.get(place, [])) else [c]
            knowledge.labels[place] = label
            return found

        unsure = [
            len(classes[kind]) > 1 or fitting(place) != [knowledge.labels[place]] for place, kind in kinds.items()
        ]
        return places[unsure] if any(unsure) else places

    # What it tells.

    def solved(self) -> float:
        """Find labels of the places that give all answers, from several starts; keep those that are nearest.

        Raises:
            BudgetSpentError: The simulations are spent.
        """
        knowledge, own, places = self.knowledge, self.knowledge.own(alone=True), self.places
        asked = {i for of in own.values() for i in of}
        shown = sorted(asked | {knowledge.against[i] for i in asked})
        if (knowledge.labels[places] == OPEN).any():
            knowledge.labels[places] = self._named(places, own)
        best, found = np.inf, knowledge.labels.copy()
        for start in range(_STARTS):
            self._settled(places, own)
            missed = self._renamed(places, shown)
            if missed < best:
                best, found = missed, knowledge.labels.copy()
            knowledge.labels[:] = found
            off = [place for place in places.tolist() if knowledge.missed(own.get(place, []))] if best else []
            if not off:
                break
            wrong = places[np.isin(knowledge.orbit[places], knowledge.orbit[off])]
            some = wrong[knowledge.rng.random(wrong.size) < (_REDRAWN if start % 2 else 1)]
            knowledge.labels[some] = self._named(some, own)
        knowledge.labels[:] = found
        return best

    def _settled(self, places: NDArray[np.intp], own: dict[int, list[int]]) -> None:
        """Give each place the class that gives its own answers, the others being what they are, until none changes."""
        knowledge = self.knowledge
        for _ in range(_SWEEPS):
            order = knowledge.rng.permutation(places).tolist()
            if not sum(knowledge.turned(place, own.get(place, [])) for place in order):
                break

    def _renamed(self, places: NDArray[np.intp], shown: Sequence[int]) -> float:
        """Let two classes change places as long as answers come nearer; return how far they are off."""
        knowledge = self.knowledge
        best = knowledge.missed(shown)
        for one, other in itertools.combinations(range(knowledge.game.n_classes), 2):
            own = knowledge.labels[places]
            knowledge.labels[places] = np.where(own == one, other, np.where(own == other, one, own))
            missed = knowledge.missed(shown, best) if best else best
            if missed < best:
                best = missed
            else:
                knowledge.labels[places] = own
        return best

    def _named(self, places: NDArray[np.intp], own: dict[int, list[int]]) -> Labels:
        """Return labels where records that answer alike have one class, others another: of many ways the nearest."""
        knowledge, rng, k = self.knowledge, self.knowledge.rng, self.knowledge.game.n_classes
        kinds = [self._kind(place, own.get(place, [])) for place in places.tolist()]
        names = list(dict.fromkeys(kinds))
        if len(names) > _FEW or len(names) == places.size:
            return rng.integers(k, size=places.size)
        which, first = np.array([names.index(kind) for kind in kinds]), [kinds.index(name) for name in names]
        orbit = knowledge.orbit[places[first]]
        shown = [i for place in places[first].tolist() for i in own.get(place, [])]
        best, found = np.inf, np.zeros(places.size, dtype=np.intp)
        for _ in range(_NAMED):
            classes = np.zeros(len(names), dtype=np.intp)
            for one in np.unique(orbit):
                classes[orbit == one] = np.resize(rng.permutation(k), (orbit == one).sum())
            knowledge.labels[places] = classes[which]
            missed = knowledge.missed(shown, best)
            if missed < best:
                best, found = missed, knowledge.labels[places].copy()
        return found

    def _kind(self, place: int, own: Sequence[int]) -> tuple[float, ...]:
        """Return a record's orbit, and its answers."""
        knowledge = self.knowledge
        told = [knowledge.answers[i] - knowledge.answers[knowledge.against[i]] for i in own]
        return float(knowledge.orbit[place]), *np.round(np.ravel(told), 9).tolist()
