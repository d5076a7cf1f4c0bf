"""Joint weights: an answer means what replaying the curator says it means, and what it leaves open is asked again.

The hybrid sends only what a proof beforehand reads right whatever the labels, and that proof pays for the worst case of
all roundings. Here a query may ask for more than its answer surely tells. Answers of a group are read together: the
detecting matrix first, from the whole multiples of the widest gap, which no rounding reaches; then the private labels
of every query: all that come near the answer are put through the curator's own additions, in its order and format, and
those stay that give its answer to the last bit. Mostly one labelling does. Where several do, all that they share is
known, and one record more decides (:mod:`labelinf_scores.decoders.explanations`).

Records that are known cost next to nothing from then on, so that later answers are finer. Should a group tell less than
half of what it asked about, single queries follow that are read right whatever the labels.

A replay has no margin: one answer that is one last place off can be explained by wrong labels. So once all are decided
one query more weighs every record by a gap and a side that are drawn then, and only labels that give its answer, too,
are certified.

Example::

    labelinf attack joint-weights --labels y.csv
"""

from __future__ import annotations

import functools
import itertools
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import Guess
from labelinf_core.contracts.errors import QueriesExhaustedError, QueryRefusedError
from labelinf_core.contracts.guarantees import Promise
from labelinf_scores.attacks.certified import conditions_of, mismatch
from labelinf_scores.certificates.error import disturbance
from labelinf_scores.certificates.summation import SpreadSum, adds_pairwise, to_fixed, to_float
from labelinf_scores.constructions.detecting_matrix import detecting_row, n_columns
from labelinf_scores.constructions.rows import computes_as_it_reads
from labelinf_scores.decoders.detecting import detect
from labelinf_scores.decoders.explanations import ContradictionError, Explanations
from labelinf_scores.decoders.posterior import certainly, likeliest_labels
from labelinf_scores.decoders.subset_sums import subsets_between
from labelinf_scores.game.oracle import ScoreAttack, ScoreOracle
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.plans.joint_plan import JointPlanner, QueryRows, Size

__all__ = ["JointWeights"]

_FEWEST = 0.5  # of the labels that a group asks about; one that tells fewer is the last
_LARGEST = 1024  # queries of a group
_REHEARSALS = 6
_CERTIFIED = "certified: no other labels give these answers, and the last one verifies them"
_DISAGREES = "the last query's answer is not that of the labels decided"
_NO_QUERY = "no query was left to verify the labels decided"
_REFUSED = "the query that verifies was refused"
_NO_ROWS = "no rows within the clip verify labels"
_WEIGHED_APART = 1024  # records that the verifying query gives rows of their own


@attrs.frozen(kw_only=True)
class JointWeights(ScoreAttack):
    """Recovers all labels of two classes from groups of answers that are decoded together.

    Attributes:
        proper: Whether rows sum to one.
    """

    proper: bool = attrs.field(default=True, validator=attrs.validators.instance_of(bool))

    def missing_requirement(self, threat: ScoreThreat) -> str:
        """It needs a curator that can be replayed to the last bit."""
        if unfit := mismatch(threat):
            return unfit
        if threat.n_classes != 2 or not threat.loss.is_log_loss:
            return "needs the log-loss of two classes"
        if disturbance(threat, 1.0) or threat.label_keep < 1 or threat.magnification != 1:
            return "needs scores as the scorer computes them"
        if threat.normalised and not self.proper:
            return "rows must sum to one"
        if threat.arithmetic != "float64" or not computes_as_it_reads(threat):
            return "needs a curator that reads and computes in float64"
        return _planner(self, threat).missing_requirement

    def promised(self, threat: ScoreThreat) -> Promise | None:
        """Every label, within three queries a record, one group more and one to verify, whatever the labels."""
        return Promise(
            survives=0.0,
            present=0.0,
            statement="labelinf theory, answers replayed",
            conditions=conditions_of(threat),
            proved=threat.facts.intact and threat.allows(3 * threat.n_records + _LARGEST + 1),
        )

    def run(self, oracle: ScoreOracle, rng: np.random.Generator) -> Guess:
        """Ask group after group until every label is known, and then whether they give one answer more."""
        game = _Game.start(oracle, _planner(self, oracle.threat), rng)
        contradiction, doubt = False, _NO_QUERY
        try:
            game.play()
            doubt = game.doubt()
        except QueriesExhaustedError:
            pass
        except ContradictionError:
            contradiction = True
        decided = int((game.labels >= 0).sum())
        evidence = _evidence(oracle.threat, decided, contradiction=contradiction, doubt=doubt)
        evidence |= {"labels decided": decided, "labels per query": decided / max(oracle.spent, 1)}
        return Guess(labels=likeliest_labels(certainly(game.labels, oracle.threat), oracle.threat), evidence=evidence)


def _evidence(threat: ScoreThreat, decided: int, *, contradiction: bool, doubt: str) -> dict[str, Any]:
    """Return what is certain: nothing, unless every stage is known and additions go as they are replayed."""
    whole = decided == threat.n_records
    pairwise = adds_pairwise(threat.arithmetic, threat.n_records)
    evidence: dict[str, Any] = {"recovery": "heuristic", "NumPy adds pairwise here": pairwise}
    if contradiction:
        evidence["contradiction"] = "an answer fitted no labels: what was assumed of the scorer is wrong"
    elif whole and doubt:
        evidence["not verified"] = doubt
    elif threat.facts.known and pairwise:
        evidence["recovery"] = _CERTIFIED if whole else "decided where one labelling fits"
    return evidence


@functools.lru_cache(maxsize=32)
def _planner(attack: JointWeights, threat: ScoreThreat) -> JointPlanner:
    """Keep rows: the same ones serve the refusal and every trial."""
    return JointPlanner(threat=threat, proper=attack.proper)


@attrs.frozen(kw_only=True, eq=False)
class _Asked:
    """One query of a group.

    Attributes:
        records: Its private records, the narrowest first.
        rows: The rows of these, and last that of the detected ones; there may be some between.
        sign: On which side every detected record is costly; 0: it is neutral.
        score: The answer.
        count: Detected records on their costly side.
    """

    records: NDArray[np.intp]
    rows: QueryRows
    sign: NDArray[np.int8]
    score: float
    count: int


@attrs.define(kw_only=True, eq=False)
class _Game:
    """What is known so far, and the rows and costs of the records that are not asked about."""

    oracle: ScoreOracle
    planner: JointPlanner
    labels: NDArray[np.intp]
    sent: NDArray[np.float64]
    base: NDArray[np.float64]
    rng: np.random.Generator
    open: list[Explanations] = attrs.field(factory=list)
    daring: bool = True
    passed: QueryRows | None = None  # what told labels apart in one query mostly does in the next

    @classmethod
    def start(cls, oracle: ScoreOracle, planner: JointPlanner, rng: np.random.Generator) -> _Game:
        n = oracle.threat.n_records
        return cls(
            oracle=oracle,
            planner=planner,
            labels=np.full(n, -1, dtype=np.intp),
            sent=np.tile(planner.rows.neutral.prediction, (n, 1)),
            base=np.full(n, planner.neutral),
            rng=rng,
        )

    def play(self) -> None:
        """Ask until nothing is left to ask about.

        Raises:
            QueriesExhaustedError: The budget is spent.
            ContradictionError: An answer fits no labels.
        """
        while self.oracle.remaining >= 1 and (records := self._to_ask()).size:
            before = int((self.labels >= 0).sum())
            if self.daring:
                size = self.planner.best(records.size, min(self.oracle.remaining, _LARGEST))
            else:
                size = self.planner.safe(records.size)
            asked = records[: size.capacity]
            self._ask(asked, size)
            self._settle()
            told = int((self.labels >= 0).sum()) - before
            if not told and not self.daring:
                return  # refused: there is nothing to be had
            self.daring = self.daring and told >= _FEWEST * asked.size

    def doubt(self) -> str:
        """Ask about all labels at once, and return what is left to doubt of those decided; empty: nothing.

        Every record has a wide row, its gap and its costly side drawn only now: a few other labels move the sum, even
        where as many are positive.
        """
        n = self.labels.size
        if (self.labels < 0).any():
            return "some labels are not decided"
        if self.oracle.remaining < 1:
            return _NO_QUERY
        rows = self.planner.scattered(min(n, _WEIGHED_APART), self.rng)
        if not rows:
            return _NO_ROWS
        drawn = self.rng.permutation(np.arange(n) % len(rows))
        flipped = self.rng.integers(0, 2, n)
        columns = np.arange(2) ^ flipped[:, None]
        predictions, costs = (
            np.take_along_axis(np.array(table)[drawn], columns, axis=1)
            for table in ([row.prediction for row in rows], [[to_float(cost) for cost in row.low] for row in rows])
        )
        try:
            score = float(self.oracle.query(predictions))
        except QueryRefusedError:
            return _REFUSED
        replayed = np.add.reduce(costs[np.arange(n), self.labels]) / n
        return "" if score == replayed else _DISAGREES

    def _to_ask(self) -> NDArray[np.intp]:
        """Return the unknown records, those first that decide others; records that wait for these are left out."""
        first = np.array(sorted({told.pivot for told in self.open}), dtype=np.intp)
        waiting = [told.waiting for told in self.open]
        others = np.setdiff1d(np.flatnonzero(self.labels < 0), np.concatenate([first, *waiting]))
        return np.concatenate([first, others])

    def _settle(self) -> None:
        """Take from all explanations what they share by now, and let known records cost next to nothing."""
        known = -1
        while known != (known := int((self.labels >= 0).sum())):
            settled = [told.settle(self.labels) for told in self.open]
            self.open = [told for told in settled if told.records.size]
        if not self.planner.proper:
            return
        for label in (0, 1):
            row = self.planner.rows.settled(label)
            self.sent[self.labels == label] = row.prediction
            self.base[self.labels == label] = to_float(row.low[label])

    def _ask(self, records: NDArray[np.intp], size: Size) -> None:
        """Ask a group of queries, read them together, and write down what they leave open."""
        if not self.planner.variants(size):
            return
        n_detected = min(n_columns(size.queries), records.size)
        detected, rest = records[:n_detected], records[n_detected:]
        told = []
        for place in range(size.queries):
            sign = detecting_row(size.queries, place)[:n_detected]
            private = rest[place * size.private : (place + 1) * size.private]
            answer = self._query(detected, sign, private, self._rows(detected, sign, private, size))
            if answer is None:
                return
            told.append(answer)
        counts = np.array([asked.count - np.count_nonzero(asked.sign < 0) for asked in told], dtype=np.int64)
        found = detect(counts)
        if found[n_detected:].any() or not np.isin(found, (0, 1)).all():
            raise ContradictionError("no labels have these counts")
        self.labels[detected] = found[:n_detected]
        for asked in told:
            if asked.records.size:
                costs = self.base.copy()
                asked.rows.weigh(costs, detected, asked.sign, self.labels[detected])
                self.open.append(self._explained(asked, costs))

    def _rows(
        self, detected: NDArray[np.intp], sign: NDArray[np.int8], private: NDArray[np.intp], size: Size
    ) -> QueryRows:
        """Return the rows that tell the lowest two labels apart, whatever others are, in most of a few rehearsals."""
        most, best, *others = (-1, *sorted(self.planner.variants(size), key=lambda rows: rows is not self.passed))
        costs = self.base.copy()
        for rows in (best, *others) if others and private.size > 1 else ():
            passed = 0
            for left in range(_REHEARSALS, 0, -1):
                if passed + left <= max(most, _REHEARSALS // 2):
                    break  # it is no better than the best, or fails too often to matter
                rows.weigh(costs, detected, sign, self.rng.integers(0, 2, detected.size))
                passed += self._tells(costs, private, rows)
            if passed > most:
                most, best = passed, rows
            if passed == _REHEARSALS:
                self.passed = best
                break
        return best

    def _tells(self, costs: NDArray[np.float64], private: NDArray[np.intp], rows: QueryRows) -> bool:
        """Whether four labellings of the lowest two records have sums of their own, the others' being drawn."""
        table, sums = rows.costs[0], set[float]()
        costs[private] = table[np.arange(private.size), self.rng.integers(0, 2, private.size)]
        for option in itertools.product(*table[:2]):
            costs[private[:2]] = option
            sums.add(float(np.add.reduce(costs)))
        return len(sums) == 4

    def _query(
        self, detected: NDArray[np.intp], sign: NDArray[np.int8], private: NDArray[np.intp], rows: QueryRows
    ) -> _Asked | None:
        """Ask one query; None when it is refused, or its count is not certain."""
        sent, wide, used = self.sent.copy(), rows.rows[-1], rows.rows[: private.size]
        sent[detected[sign > 0]], sent[detected[sign < 0]] = wide.prediction, wide.prediction[::-1]
        sent[private] = rows.predictions[: private.size]
        try:
            score = float(self.oracle.query(sent))
        except QueryRefusedError:
            return None
        weighed = detected[sign != 0]
        fixed = weighed.size * wide.low[0] + sum(row.low[0] for row in used) + self._others(weighed.size + private.size)
        gap, narrow = wide.low[1] - wide.low[0], sum(row.high[1] - row.low[0] for row in used)
        error = self.planner.error(fixed + weighed.size * gap + narrow)
        try:
            total = to_fixed(score) * self.labels.size - fixed
        except (ValueError, OverflowError) as problem:
            raise ContradictionError("no labels have this score") from problem
        first, last = max(0, -((narrow + error - total) // gap)), min(weighed.size, (total + error) // gap)
        if first > last:
            raise ContradictionError("no labels have this sum")
        return _Asked(records=private, rows=rows, sign=sign, score=score, count=first) if first == last else None

    def _others(self, n_asked: int) -> int:
        """Return the exact cost of all records but ``n_asked`` unknown ones, in fixed point."""
        settled = self.base[self.base != self.planner.neutral]  # all of one and the same cost
        known = to_fixed(float(settled[0])) * settled.size if settled.size else 0
        return known + to_fixed(self.planner.neutral) * int(self.base.size - settled.size - n_asked)

    def _explained(self, asked: _Asked, costs: NDArray[np.float64]) -> Explanations:
        """Return the private labels with which the curator computes this very answer."""
        gaps = [row.low[1] - row.low[0] for row in asked.rows.rows[: asked.records.size]]
        spreads = dict(zip(asked.records.tolist(), asked.rows.spreads, strict=False))
        rest = SpreadSum(unit=1, bits=53).total(costs, spreads)
        total, half = to_fixed(asked.score) * costs.size, to_fixed(float(np.spacing(asked.score))) * costs.size // 2 + 1
        options = subsets_between(gaps, total - half - rest.high, total + half - rest.low)
        kept = [self._replays(asked, costs, option) for option in options]
        return Explanations(records=asked.records, options=options[np.array(kept, dtype=bool)])

    def _replays(self, asked: _Asked, costs: NDArray[np.float64], option: NDArray[np.int8]) -> bool:
        """Whether the curator can compute this very answer; where a cost may be one of two floats, both are tried."""
        low, high = asked.rows.costs[:, np.arange(option.size), option]
        costs[asked.records], either = low, np.flatnonzero(low != high)
        for chosen in itertools.product((low, high), repeat=either.size):
            costs[asked.records[either]] = [ends[at] for ends, at in zip(chosen, either, strict=True)]
            if np.add.reduce(costs) / costs.size == asked.score:
                return True
        return False
