"""The labels behind a scorer, read record by record from a window of hypotheses that rolls over all of them.

A window holds a few open records and all that their labels may be. Every query is the submission, among some that are
tried out, whose answer tells most of the window and depends on nothing outside it. Records whose label all remaining
hypotheses share are settled; new ones take their place.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.errors import QueriesExhaustedError
from labelinf_scores.simulation.cases import cases
from labelinf_scores.simulation.formats import SubmissionFormat
from labelinf_scores.simulation.joint import JointReading
from labelinf_scores.simulation.knowledge import OPEN, Knowledge
from labelinf_scores.simulation.orbits import orbits, scored
from labelinf_scores.simulation.simulator import (
    BudgetSpentError,
    Labels,
    Simulator,
    Submission,
    Vector,
    alike,
    differing,
)
from labelinf_scores.simulation.statistics import Hypotheses
from labelinf_scores.simulation.window import Bases, Family, QueryPlan, planned

__all__ = ["Reader"]

_MOST = 32768  # hypotheses of a window, where a statistic is a sum
_SINGLE = 128  # where each has to be simulated
_TRIES = 3  # families that are tried before a query, once some are known to tell something
_ENOUGH = 0.6  # bits a query, for which nothing riskier is tried
_SOME = 16  # families of a query, where those that are known tell nothing
_CARE = 3  # labellings of the rest that a statistic is tried on at first
_VERIFYING = 2  # queries that check what was read
_DOUBTED = 6  # where it had to be mended
_DOUBTS = 24  # submissions that are tried for one
_TOLD = 12  # queries that tell labels which were read from others that give all answers, too
_TINY = 1e-9  # how far off an answer is that is off
_SWAPPED = 0.5  # of the labellings that are looked at beside it have two records' labels exchanged
_BESIDE = 8  # labellings, each with another label than was read, most of which such queries are to tell from it
_ORBITS = 40  # of which each is asked whether it is scored
_HEARD = 16  # labellings in which one record's label is changed
_USUAL = 0.75  # of what the best family told lately, which is enough
_POOR = 0.6  # of the bits of a window: where the best family tells less, another may well tell more
_WEARY = 0.8  # by which the chance to try another falls, each time that one was tried
_CURIOUS = 0.05  # the least such chance
_NEARLY = 0.95  # of the budget of simulations, in which windows may read all records
_GRACE = 0.05  # of it, by which they may be late
_WHOLE = 0.9  # of a class count, told by one query, than which none is looked for that tells more
_LOOKED = 16  # answers that show how they are rounded
_LIKED = 8  # failures that one success makes up for
_SOUGHT = 3  # times that a query which moves with few records is looked for where answers are few
_WAYS = ("plain", "count")  #: what a query rests on, the surest first
_ROUNDS = 3  # of forgetting what a replay contradicts
_VAIN = 2  # windows that nothing tells enough of, after which records are asked about one at a time
_HINT = 0.02  # bits of a label that a query tells at least, for any to be asked
_ASKED = 3  # times that each is asked about then


@attrs.define(kw_only=True, eq=False)
class Reader:
    """Reads labels until none is open, or the budget of queries or simulations is spent.

    Attributes:
        knowledge: What is known.
        bases: What submissions are written on.
        public: Class totals of every orbit that are public, as ``knowledge.totals`` is.
        care: Labellings of the rest that a statistic is tried on.
        room: Hypotheses that a window may hold.
        worth: What each family's last queries told, in bits.
        failed: How often in a row nothing was found in a family.
        way: What the last query rested on.
        vain: Windows in a row that nothing told enough of.
        looked: How often another family was tried beside those that tell something.
        half: Simulations that were spent, and labels known, when half of the budget was gone.
        joint: Asks about records one at a time, where nothing tells enough.
        settled: Records in the order in which they were settled, with the window that settled them.
        given_up: Records that nothing was found to read by.
        silent: Records whose label no answer was seen to depend on.
        confirmed: Whether what was read gave all answers, those of verifying queries, too.
    """

    knowledge: Knowledge
    bases: Bases
    public: NDArray[np.intp]
    care: int
    room: int = 8
    worth: dict[Family, float] = attrs.field(factory=dict)
    failed: dict[Family, int] = attrs.field(factory=dict)
    way: str = ""
    vain: int = 0
    looked: int = 0
    half: tuple[int, int] | None = None
    joint: JointReading = attrs.field(init=False)
    settled: list[NDArray[np.intp]] = attrs.field(factory=list)
    given_up: set[int] = attrs.field(factory=set)
    silent: set[int] = attrs.field(factory=set)
    confirmed: bool = False
    log: list[str] = attrs.field(factory=list)

    def __attrs_post_init__(self) -> None:
        self.joint = JointReading(knowledge=self.knowledge, bases=self.bases)

    @classmethod
    def of(cls, knowledge: Knowledge, form: SubmissionFormat, totals: Sequence[int] | None = None) -> Reader:
        """Start a reading: find which records are alike, and how answers are rounded.

        Args:
            knowledge: Nothing yet.
            form: What a submission looks like.
            totals: The class totals, where they are public.
        """
        game, rng = knowledge.game, knowledge.rng
        knowledge.orbit = orbits(game, form, rng)
        knowledge.totals = np.full((knowledge.orbit.max() + 1, game.n_classes), OPEN, dtype=np.intp)
        if totals is not None and len(knowledge.totals) == 1:
            knowledge.totals[0] = totals
        knowledge.step = _step(game, form, rng)
        one = np.unique(knowledge.orbit, return_index=True)[1]
        heard = scored(game, form, rng, one, _HEARD) if one.size < _ORBITS else one.tolist()
        silent = np.flatnonzero(~np.isin(knowledge.orbit, knowledge.orbit[heard]))
        bases, public = Bases.of(form, game.n_records, rng), knowledge.totals.copy()
        care = 2 * _CARE if game.remembers else _CARE
        return cls(knowledge=knowledge, bases=bases, public=public, care=care, silent=set(silent.tolist()))

    def decouples(self) -> bool:
        """Whether a query was found whose answer moves with a few records only."""
        window = self._filled(None)
        return window is not None and any(self._attempt("plain", window.first) for _ in range(_SOUGHT))

    def run(self) -> None:
        """Read until all that is read gives all answers, and nothing more can be read."""
        try:
            while self.log.count("replay") < _ROUNDS:
                if not self.joint.moves:
                    self._by_windows()
                if (len(self.open) or self.joint.moves) and not self.knowledge.game.remembers:
                    self._together()
                if len(self.open):
                    return
                self.confirmed = self._verified()
                if self.confirmed or not self.knowledge.misfits():
                    return
                self.log.append("replay")
                if self.log.count("replay") < _ROUNDS and not self.joint.moves:
                    doubted = self.knowledge.doubted()
                    self.knowledge.labels[doubted] = OPEN
                    self._forget(0 if doubted.size else len(self.settled))
                self.care += 3
        except (QueriesExhaustedError, BudgetSpentError):
            return

    def _by_windows(self) -> None:
        self._at_once()
        self._anchor()
        before = -1
        while len(self.open) and self.knowledge.known.size > before and self.vain < _VAIN:
            before = self.knowledge.known.size
            self.given_up.clear()
            self._roll()

    def _together(self) -> None:
        """Ask about what no window read, record by record, until labels are found that give all answers."""
        places = np.array(sorted(self.open), dtype=np.intp) if len(self.open) else self.joint.places
        if self.joint.moves:
            self.joint.solved()
        elif self.joint.promise(places) < _HINT:
            return
        for _ in range(_ASKED):
            if not len(self.open) and not self.knowledge.misfits(_TINY):
                places = np.unique([differing(one, self.knowledge.labels) for one in self._rivals()]).astype(np.intp)
                if not places.size or self.joint.promise(places) < _HINT:
                    return
            self.joint.read(places)

    @property
    def open(self) -> set[int]:
        """Records whose label is not known, though an answer may depend on it."""
        return set(self.knowledge.open.tolist()) - self.silent

    def _verified(self) -> bool:
        """Ask a few submissions about all records, and return whether what was read gives their answers, too.

        They are answered otherwise of every labelling with one other label that gives all answers so far, and of most
        that are like what was read but for one label, or two that change places. What nothing tells is not read.
        """
        if not np.setdiff1d(self.knowledge.known, list(self.silent)).size:
            return False
        whole = self.knowledge.misfits() == 0
        if (not whole and not self.knowledge.mended()) or self._renamed():
            return False
        if not self._apart(self._rivals()) or not np.setdiff1d(self.knowledge.known, list(self.silent)).size:
            return False
        beside, asked = [self._beside() for _ in range(_BESIDE)], 0
        while 2 * len(beside) >= _BESIDE or asked < (_VERIFYING if whole else _DOUBTED):
            rows, beside = self._doubting(beside or [self._beside()])
            if rows is None:
                return False
            self.knowledge.answer(rows)
            asked += 1
        return self.knowledge.misfits() == 0

    def _apart(self, rivals: list[Labels]) -> bool:
        """Ask what tells labels from their rivals, leave open what nothing tells; return whether all answers fit."""
        for _ in range(_TOLD if rivals else 0):
            rows, rivals = self._doubting(rivals)
            if rows is None or not rivals:
                break
            self.knowledge.answer(rows)
            if self.knowledge.misfits():
                return False
        for one in rivals:
            place = differing(one, self.knowledge.labels)
            self.silent.update(place.tolist())
            self.knowledge.labels[place] = OPEN
        return True

    def _rivals(self) -> list[Labels]:
        """Return the labellings with one other label that give all answers, too."""
        knowledge, own, found = self.knowledge, self.knowledge.own(), list[Labels]()
        for place in np.setdiff1d(knowledge.known, list(self.silent)).tolist():
            label = int(knowledge.labels[place])
            for c in range(knowledge.game.n_classes):
                knowledge.labels[place] = c
                told = c == label or knowledge.missed(own.get(place, []), _TINY) or knowledge.misfits(_TINY)
                found += [] if told else [knowledge.labels.copy()]
            knowledge.labels[place] = label
        return found

    def _renamed(self) -> bool:
        """Whether two classes can change places in one orbit without changing an answer: no query names them."""
        knowledge = self.knowledge
        game, every = knowledge.game, np.unique(knowledge.orbit)
        pairs = itertools.combinations(range(game.n_classes), 2)
        for orbit, (a, b) in itertools.product(every, pairs) if every.size < _ORBITS else ():
            told = self.public[orbit, [a, b]]
            if told[0] != told[1] and OPEN not in told:  # unequal totals that are public say which is which
                continue
            own, labels = knowledge.labels, knowledge.labels.copy()
            inside = knowledge.orbit == orbit
            labels[inside & (own == a)], labels[inside & (own == b)] = b, a
            rows = (self.bases.format.spread(game.n_records, knowledge.rng) for _ in range(_HEARD))
            if not np.array_equal(own, labels) and all(alike(game(own, x), game(labels, x)) for x in rows):
                return True
        return False

    def _beside(self) -> Labels:
        """Return what was read, but for the label of one record that is scored, or two that change places."""
        rng, k, read = self.knowledge.rng, self.knowledge.game.n_classes, self.knowledge.labels
        labels, orbit = read.copy(), self.knowledge.orbit
        heard = np.setdiff1d(self.knowledge.known, list(self.silent))
        turned = int(rng.choice(heard))
        peers = heard[(orbit[heard] == orbit[turned]) & (read[heard] != read[turned])]
        if peers.size and rng.random() < _SWAPPED:
            other = int(rng.choice(peers))
            labels[[turned, other]] = read[[other, turned]]
        else:
            labels[turned] = (labels[turned] + rng.integers(1, k)) % k
        return labels

    def _doubting(self, beside: list[Labels]) -> tuple[Submission | None, list[Labels]]:
        """Return a submission that is answered otherwise of labellings beside what was read, and those it is not."""
        knowledge, every = self.knowledge, self.bases.families(self.knowledge)
        best: tuple[Submission | None, list[Labels]] = None, beside
        for i in knowledge.rng.permutation(len(every))[:_DOUBTS]:
            rows = self.bases.written(every[i], np.arange(knowledge.game.n_records), knowledge)
            answer = knowledge.game(knowledge.labels, rows)
            left = [one for one in beside if alike(answer, knowledge.game(one, rows))]
            if len(left) < len(best[1]):
                best = rows, left
            if 2 * len(left) < len(beside):
                break
        return best

    # All in one answer, where it has a number for every record.

    def _at_once(self) -> None:
        if self.knowledge.game.width < 2:
            return
        found = [cases(self.knowledge, submission) for submission in self.bases.submissions]
        best = max((one for one in found if one), key=lambda one: one.places.size, default=None)
        if best is not None:
            self.settled.append(best.read(self.knowledge))

    # The class counts first: with them known, most answers depend on few labels.

    def _anchor(self) -> None:
        nothing = np.zeros(0, dtype=np.intp)
        if self.knowledge.orbit.max() or not self.open:
            return
        n = self.knowledge.game.n_records
        for counted in self.knowledge.uncounted(0):
            hypotheses = Hypotheses(
                places=nothing,
                values=np.zeros((n + 1, 0), dtype=np.intp),
                counted=counted,
                numbers=np.arange(n + 1),
            )
            families = [Family(base=base, kind="permuted") for base in range(len(self.bases.submissions))]
            best: QueryPlan | None = None
            for family in families:
                plan = planned(self.knowledge, self.bases, hypotheses, family, care=self.care)
                if plan is not None and (best is None or plan.bits > best.bits):
                    best = plan
                if best is not None and best.bits > _WHOLE * math.log2(n + 1):
                    break
            if best is not None and best.bits > 0.5 * math.log2(n + 1):
                self._noted(best.asked(self.knowledge, hypotheses))

    def _noted(self, hypotheses: Hypotheses) -> None:
        if hypotheses.counted and len(set(hypotheses.numbers.tolist())) == 1:
            self.knowledge.count(hypotheses.counted, int(hypotheses.numbers[0]))

    # The window.

    def _roll(self) -> None:
        window = self._filled(None)
        while window is not None:
            if len(window) < 2:
                window = self._filled(self._settle(window)) if len(window) else self._contradicted()
                continue
            window, plan = self._best(window)
            if plan is None:
                window = None if self.vain == _VAIN else self._stuck(window)
                continue
            if not plan.holds(self.knowledge, window):  # it moves, though rarely
                self.failed[plan.family] = max(0, self.failed.get(plan.family, 0)) + 1
                self.worth.pop(plan.family, None)
                continue
            left = plan.asked(self.knowledge, window)
            if not len(left):
                window = self._contradicted()
                continue
            gained = math.log2(len(window) / len(left))
            self.worth[plan.family] = 0.7 * self.worth.get(plan.family, gained) + 0.3 * gained
            if plan.added or len(window) <= 64:
                self.room = max(self.room, min(_MOST if plan.added else _SINGLE, 2 * self.room))
            window = self._filled(self._settle(left))

    def _settle(self, window: Hypotheses) -> Hypotheses:
        """Write down what all hypotheses share, and return the rest."""
        self._noted(window)
        if window.counted and self.knowledge.totals[window.counted[0]][window.counted[1]] != OPEN:
            window = attrs.evolve(window, counted=None, numbers=np.zeros(0, dtype=np.intp))
        shared = (window.values == window.values[0]).all(axis=0)
        if shared.any():
            self.knowledge.labels[window.places[shared]] = window.values[0][shared]
            self.settled.append(window.places[shared])
        values = window.values[:, ~shared]
        if window.counted is None:
            values = np.unique(values, axis=0)
            return Hypotheses(places=window.places[~shared], values=values)
        return attrs.evolve(window, places=window.places[~shared], values=values)

    def _filled(self, window: Hypotheses | None) -> Hypotheses | None:
        """Take new records into a window while there is room; None where no record is left."""
        k = self.knowledge.game.n_classes
        nothing = np.zeros(0, dtype=np.intp)
        window = window or Hypotheses(places=nothing, values=np.zeros((1, 0), dtype=np.intp))
        taken = set(window.places.tolist()) | self.given_up | self.silent
        free = [place for place in self.knowledge.open if place not in taken]
        if window.counted is None:
            free.sort(key=lambda place: self.bases.rank[place])
            if free:  # records of one orbit are read together
                own = self.knowledge.orbit[window.places[0] if window.places.size else free[0]]
                free.sort(key=lambda place: self.knowledge.orbit[place] != own)
            places, values = list(window.places), window.values
            while free and (len(values) * k <= self.room or not places):
                places.append(free.pop(0))
                values = np.column_stack([np.repeat(values, k, axis=0), np.tile(np.arange(k), len(values))])
            window = Hypotheses(places=np.array(places, dtype=np.intp), values=values)
        window = self._possible(window)
        return window if window.places.size else None

    def _best(self, window: Hypotheses) -> tuple[Hypotheses, QueryPlan | None]:
        """Return the plan that tells most of the window, and the window, smaller where only less could be read."""
        game = self.knowledge.game
        if self._late():
            self.vain = _VAIN
            return window, None
        weak: tuple[Hypotheses, QueryPlan] | None = None
        for found in self._attempts(window):
            if found is not None and (weak is None or weak[1].worth < found[1].worth):
                weak = found
            if weak is not None and weak[1].worth >= min(_ENOUGH, 0.5 * math.log2(len(weak[0]))):
                self.vain = 0
                return weak
        if game.remembers:
            return weak or (window, None)
        if weak is not None and weak[1].worth >= self.joint.promise(self.knowledge.open):
            return weak
        self.vain += 1
        return window, None

    def _late(self) -> bool:
        """Whether the simulations that are left are for asking about one record at a time.

        The second half of them is, unless windows read records fast enough to be done with all in time.
        """
        game, known = self.knowledge.game, self.knowledge.known.size
        if game.calls <= game.limit / 2 or game.remembers:
            return False
        calls, before = self.half = self.half or (game.calls, known)
        due = (game.calls - calls - _GRACE * game.limit) / (_NEARLY * game.limit - calls)
        return known - before < due * (game.n_records - before)

    def _attempts(self, window: Hypotheses) -> Iterator[tuple[Hypotheses, QueryPlan] | None]:
        """Yield plans in the order of what they rest on: nothing but the window, or a class count.

        What told something last time goes first.
        """
        best = sorted(self.worth, key=lambda family: -self.worth[family])[:_TRIES]
        poor = best and self.worth[best[0]] < _POOR * math.log2(max(2, len(window)))
        if poor and self.knowledge.rng.random() < max(_CURIOUS, _WEARY**self.looked):
            self.looked += 1
            best = [*self._some_families(window)[:1], *best]
        yield self._among(window, best)
        tried = [window]
        if (
            window.counted is None and len(window) == self.knowledge.game.n_classes**window.places.size
        ):  # none asked yet
            self.room = max(4, self.room // 2)
            tried = [self._cut(window, b) for b in (2, 1) if b < window.places.size] or tried
        for way in sorted(_WAYS, key=lambda way: way != self.way):
            for small in tried if way == "plain" else reversed(tried):  # a class count times as few as will do
                found = self._attempt(way, small)
                if found is not None:
                    self.way = way
                    yield found

    def _attempt(self, way: str, window: Hypotheses) -> tuple[Hypotheses, QueryPlan] | None:
        families = self._some_families(window)
        return self._with_count(window, families) if way == "count" else self._among(window, families)

    def _cut(self, window: Hypotheses, b: int) -> Hypotheses:
        k = self.knowledge.game.n_classes
        return self._possible(
            Hypotheses(places=window.places[:b], values=np.array(list(np.ndindex(*[k] * b)), dtype=np.intp))
        )

    def _possible(self, window: Hypotheses) -> Hypotheses:
        return window.kept(self.knowledge.possible(window.places, window.values, window.counted, window.numbers))

    def _some_families(self, window: Hypotheses) -> list[Family]:
        """Return some families, seldom such as told nothing before."""
        fixed = window.places.size < 2 and not self.knowledge.known.size
        every = [
            family
            for family in self.bases.families(self.knowledge)
            if not (family.known != "base" and not self.knowledge.known.size)
            and not (fixed and family.kind == "permuted")
        ]
        weights = np.array([0.7 ** self.failed.get(family, 0) + 0.02 for family in every])
        size = min(len(every), _SOME)
        chosen = self.knowledge.rng.choice(len(every), size=size, replace=False, p=weights / weights.sum())
        return [every[i] for i in chosen]

    def _among(self, window: Hypotheses, families: list[Family]) -> tuple[Hypotheses, QueryPlan] | None:
        """Return the best plan of some families; of many, the first few that tell anything."""
        if len(window) < 2:
            return None
        plans: list[QueryPlan] = []
        for family in families:
            plan = planned(self.knowledge, self.bases, window, family, care=self.care)
            if plan is None:
                self.failed[family] = self.failed.get(family, 0) + 1
                continue
            self.failed[family] = -_LIKED
            plans.append(plan)
            usual = _USUAL * max(self.worth.values(), default=math.inf)
            if plan.worth > min(usual, 0.9 * math.log2(len(window))) or len(plans) >= _TRIES:
                break
        return (window, max(plans, key=lambda plan: plan.worth)) if plans else None

    def _with_count(self, window: Hypotheses, families: list[Family]) -> tuple[Hypotheses, QueryPlan] | None:
        """Try the same with one class count of the first record's orbit as a part of every hypothesis."""
        if window.counted is not None:
            return None
        orbit = int(self.knowledge.orbit[window.places[0]])
        n = int((self.knowledge.orbit == orbit).sum())
        for counted in self.knowledge.uncounted(orbit) if n > 1 else []:
            values = np.repeat(window.values, n + 1, axis=0)
            numbers = np.tile(np.arange(n + 1), len(window))
            counting = self._possible(attrs.evolve(window, values=values, counted=counted, numbers=numbers))
            if found := self._among(counting, families):
                return found
        return None

    def _stuck(self, window: Hypotheses) -> Hypotheses | None:
        """Leave a record that nothing was found to read by, for later; what its window knew is lost."""
        knowledge, first = self.knowledge, window.places[:1]
        if not scored(knowledge.game, self.bases.format, knowledge.rng, first, _HEARD):
            self.silent.update(first.tolist())
        self.given_up.add(int(first[0]))
        return self._filled(None)

    def _contradicted(self) -> Hypotheses | None:
        """No hypothesis fits: something read before is wrong. Return another window."""
        self.log.append("contradiction")
        self._forget(2 ** self.log.count("contradiction"))
        self.care += self.care // 2
        return self._filled(None)

    def _forget(self, windows: int) -> None:
        for _ in range(min(windows, len(self.settled))):
            self.knowledge.labels[self.settled.pop()] = OPEN
        if not self.settled:
            self.knowledge.totals = self.public.copy()


def _step(game: Simulator, form: SubmissionFormat, rng: np.random.Generator) -> Vector:
    """Return what every number of an answer is a multiple of: 10 to some power; 0 where it is none, or a share of N."""
    n = game.n_records
    seen = np.array([game(rng.integers(game.n_classes, size=n), form.spread(n, rng)) for _ in range(_LOOKED)])
    step = np.zeros(seen.shape[1])
    for decimals in range(7):
        fits = np.abs(seen * 10**decimals - np.round(seen * 10**decimals)).max(axis=0) < 1e-7
        step[(step == 0) & fits] = 10.0**-decimals
    shares = np.abs(seen * n - np.round(seen * n)).max(axis=0) < 1e-7
    return np.where(shares, 0.0, step)
