"""What attacks on metrics share: a board to ask, what is known of the labels so far, and how answers are read.

An answer is turned into an interval by the metric itself (:meth:`ScoredMetric.reading`), in exact arithmetic. Records
that are not asked about are *neutral*: they share one coefficient, so that the class totals and what is known already
leave an interval for the records that are asked about (statement M1; that they share it is checked in every reading,
never assumed). Labels are written down only where one labelling alone fits; the others are guessed to be what most of
them are, as the class totals tell: an attack that reads half of the labels does better than a blind guess.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import ABSTAIN, Guess
from labelinf_core.contracts.errors import InputError, QueriesExhaustedError, QueryRefusedError
from labelinf_scores.game.effects import Perturbed, Supposed
from labelinf_scores.game.oracle import ScoreAttack, ScoreOracle
from labelinf_scores.game.scoring import Answer
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.metrics.readings import Reading, Released, Rows, ScoredMetric, Totals
from labelinf_scores.seen_through import unreadable

__all__ = ["CONDITIONS", "MetricAnswer", "MetricAttack", "MetricSession", "released"]

_DEVIATIONS = 6.0  # within which unbounded noise is supposed to stay: of a normal one all but 2e-9

CONDITIONS = (
    "the curator answers every query on the true labels of all records, in order; class totals are public; the library "
    "computes within the error that the metric states"
)


@attrs.frozen(kw_only=True, eq=False)
class MetricAnswer:
    """What one answer leaves for the records it asks about: ``low <= sum_j gaps_j y_j <= high``.

    Where labels are no numbers to multiply with, gaps have a column for every class, and the entries of the true
    classes are added up.

    Attributes:
        gaps: Whole numbers, shape ``(n_asked,)`` or ``(n_asked, n_classes)``.
        low: Lower end, closed.
        high: Upper end, closed.
        numbers: What the classes stand for in the sum; None: 0, 1, ..., K - 1.
    """

    gaps: NDArray[Any]
    low: Fraction
    high: Fraction
    numbers: tuple[Fraction | int, ...] | None = None

    @property
    def value(self) -> int | None:
        """The sum, where only one whole number fits."""
        low, high = math.ceil(self.low), math.floor(self.high)
        return low if low == high else None


@attrs.define(kw_only=True, eq=False)
class MetricSession:
    """A metric's oracle, and the labels that are known so far.

    Attributes:
        oracle: What is asked.
        metric: What is scored.
        labels: Shape ``(n_records,)``, :data:`ABSTAIN` where nothing is known yet.
        rng: Of the attack.
        contradicted: Whether an answer fitted no labels: what was assumed of the scorer is wrong.
    """

    oracle: ScoreOracle
    metric: ScoredMetric
    labels: NDArray[np.intp]
    rng: np.random.Generator
    contradicted: bool = False

    @classmethod
    def of(cls, oracle: ScoreOracle, rng: np.random.Generator) -> MetricSession:
        """Start with nothing known but the class totals."""
        metric = oracle.threat.metric
        if metric is None:
            raise TypeError("attacks on metrics are played on metrics")
        labels = np.full(oracle.threat.n_records, ABSTAIN, dtype=np.intp)
        return cls(oracle=oracle, metric=metric, labels=labels, rng=rng)

    @classmethod
    def unasked(cls, threat: ScoreThreat) -> MetricSession:
        """Return the board of a plan, which nobody may ask."""
        return cls.of(ScoreOracle(threat, _unasked), np.random.default_rng(0))

    @property
    def totals(self) -> Totals:
        """The class totals."""
        return self.oracle.threat.totals

    @property
    def unknown(self) -> NDArray[np.intp]:
        """Places of the labels that are not known."""
        return np.flatnonzero(self.labels == ABSTAIN)

    @property
    def known(self) -> NDArray[np.intp]:
        """Places of the labels that are known."""
        return np.flatnonzero(self.labels != ABSTAIN)

    def ask(self, predictions: NDArray[np.float64], asked: NDArray[np.intp]) -> MetricAnswer | None:
        """Ask one query about the records at ``asked``; None when it was refused.

        Raises:
            QueriesExhaustedError: The budget is spent.
            ValueError: The answer fits no labels, or a record that is not asked about has a coefficient of its own.
        """
        try:
            answer = self.oracle.query(predictions)
        except QueriesExhaustedError:
            raise
        except QueryRefusedError:
            return None
        threat = self.oracle.threat
        predictions = np.clip(predictions, threat.facts.lowest, threat.facts.highest)  # what is scored
        reading = self.metric.reading(predictions, Fraction(float(answer)), self.totals, released(threat))
        for other, said in self.oracle.beside:
            reading = _narrowed(reading, predictions, other, said)
        return self.told(reading, asked)

    def told(self, reading: Reading, asked: NDArray[np.intp]) -> MetricAnswer:
        """Return what a reading leaves for the records at ``asked``.

        Raises:
            ValueError: A record that is neither known nor asked about has a coefficient of its own.
        """
        known, coefficients = self.known, reading.coefficients
        rest = self.labels == ABSTAIN
        rest[asked] = False
        others = coefficients[rest]
        if others.size and (others != others[0]).any():
            raise ValueError("records that are not asked about must share one coefficient")
        base = others[0] if others.size else 0 * coefficients[0]
        numbers = range(len(self.totals.counts)) if reading.numbers is None else reading.numbers
        row = [base * number for number in numbers] if coefficients.ndim == 1 else base
        whole = (entry if isinstance(entry, Fraction) else int(entry) for entry in row)  # Python's own do not overflow
        neutral = sum((int(left) * entry for left, entry in zip(self.left, whole, strict=True)), 0)
        apart = reading.added(known, self.labels[known]) + neutral
        return MetricAnswer(
            gaps=coefficients[asked] - base, low=reading.low - apart, high=reading.high - apart, numbers=reading.numbers
        )

    @property
    def left(self) -> NDArray[np.intp]:
        """How many of the labels that are not known are of every class."""
        return np.array(self.totals.counts) - np.bincount(self.labels[self.known], minlength=len(self.totals.counts))

    def settle(self, places: NDArray[np.intp], labels: NDArray[np.int64] | Sequence[int]) -> None:
        """Write labels down, and the last one, which the totals give."""
        self.labels[places] = labels
        if self.unknown.size == 1:
            left = self.left
            if left.min() < 0:
                raise ValueError("the labels that were read do not have the class totals")
            self.labels[self.unknown] = left.argmax()

    def guess(self, evidence: dict[str, Any]) -> Guess:
        """Return what is known, the likeliest class of what is left for all others, and what it cost."""
        decided = int((self.labels != ABSTAIN).sum())
        found: dict[str, Any] = {"labels decided": decided, **evidence}
        if self.contradicted:
            found["contradiction"] = "an answer fitted no labels: what was assumed of the scorer or its noise is wrong"
        if self.oracle.spent:
            found["labels per query"] = decided / self.oracle.spent
        labels = np.where(self.labels == ABSTAIN, self.left.argmax(), self.labels)
        return Guess(labels=labels, evidence=found)


def _narrowed(reading: Reading, predictions: NDArray[np.float64], threat: ScoreThreat, answer: Answer) -> Reading:
    """Return what is left of an interval for a sum that another metric of the board tells of, too (M34)."""
    readable = threat.metric is not None and threat.facts.intact and math.isfinite(threat.noise_bound)
    if threat.metric is None or not readable:
        return reading
    try:
        other = threat.metric.reading(predictions, Fraction(float(answer)), threat.totals, released(threat))
    except ValueError:  # that metric's answers tell no sum
        return reading
    if other.numbers != reading.numbers or not np.array_equal(other.coefficients, reading.coefficients):
        return reading
    return attrs.evolve(reading, low=max(reading.low, other.low), high=min(reading.high, other.high))


def _unasked(query: object) -> float:
    raise AssertionError("nothing is asked")


def released(threat: ScoreThreat) -> Released:
    """Return how far a released score may be off the computed one; its rounding is bounded noise."""
    return Released(noise=Fraction(threat.noise_bound))


def _supposed(threat: ScoreThreat) -> ScoreThreat:
    """Return what is public, as though what hardly ever happens did not; where nothing is supposed, the same.

    That is noise far beyond its standard deviation, where it has no bound, and labels that are perturbed, where less
    than one is expected to be.
    """
    facts, effects, bound = threat.facts, threat.effects, None
    if facts.ladders or facts.noise_factor or facts.debiased or facts.label_fresh or facts.scored_fresh:
        return threat
    if 0 < (1 - facts.label_keep) * facts.n_records < 1:
        effects = tuple(effect for effect in effects if not isinstance(effect, Perturbed))
    if math.isinf(facts.noise_bound) and 0 < facts.noise_std < math.inf:
        grids = sum(item.magnification * item.model.grid for item in facts.noise)  # the score is put on them as well
        bound = _DEVIATIONS * facts.noise_std + facts.step + grids
    if effects == threat.effects and bound is None:
        return threat
    return attrs.evolve(threat, effects=effects).supposing(Supposed(bound=bound))


class MetricAttack(ScoreAttack):
    """An attack on metrics that allow its rows.

    Attributes:
        rows: The rows it asks.
    """

    rows: ClassVar[Rows]

    def view(self, threat: ScoreThreat) -> ScoreThreat:
        """As for every attack; noise without a bound is supposed to have one, and nothing is certain then."""
        told = super().view(threat)
        return told if threat.members else _supposed(told)

    def reads(self, metric: ScoredMetric | None) -> bool:
        """Whether the metric allows its rows."""
        return metric is not None and metric.rows is self.rows

    def missing_requirement(self, threat: ScoreThreat) -> str:
        """It needs true labels behind every score, and an error with a bound."""
        if clause := unreadable(threat):
            return clause
        if threat.label_keep < 1 or threat.magnification != 1:
            return "needs the true labels behind every score"
        if max(threat.prior) == 1:
            return "there is one class only"
        if not math.isfinite(threat.noise_bound):
            return "the noise has no bound that is known"
        return self.too_coarse(threat)

    def too_coarse(self, threat: ScoreThreat) -> str:
        """Say why no label stands out from the error; empty when one does."""
        return ""

    def run(self, oracle: ScoreOracle, rng: np.random.Generator) -> Guess:
        """Play until every label is known, the budget is spent, or an answer fits no labels."""
        told = _supposed(oracle.threat)
        if told is not oracle.threat:
            whole = oracle
            oracle = ScoreOracle(told, lambda query: whole.query(query.predictions, precision=query.precision))
        board = MetricSession.of(oracle, rng)
        try:
            self.play(board)
        except QueriesExhaustedError:
            pass
        except InputError:  # the board cannot be played at all, which tells nothing of what holds there
            raise
        except ValueError:
            board.contradicted = True
        promise = self.promise(oracle.threat)
        sure = promise is not None and promise.certified and not board.contradicted
        return board.guess({"recovery": "certified" if sure else "decided where one labelling fits"})

    def play(self, board: MetricSession) -> None:
        """Ask, and settle what the answers decide.

        Raises:
            ValueError: An answer fits no labels.
        """
        raise NotImplementedError
