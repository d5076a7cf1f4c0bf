"""The score channel: a curator answers prediction vectors with a loss.

The adversary sends predictions for all N records and gets one number back. Everything it can know stands in
:class:`ScoreThreat`; everything it can do is :meth:`ScoreOracle.query`.

A **defence** of this channel is one middleware: it is given the labels, the query and the next stage towards the
scorer, and returns an answer. Rounding asks and rounds; clipping changes the query and asks; randomised response asks
about other labels. A pipeline is written from the curator outward: its first stage stands next to the scorer.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts import gate
from labelinf_core.contracts.components import Attack, Defence, Guess, NoiseModel, of_channel
from labelinf_core.contracts.errors import ComponentError, QueriesExhaustedError, QueryRefusedError
from labelinf_core.contracts.threat import ThreatModel
from labelinf_scores.game.scoring import Answer, Query, Scorer
from labelinf_scores.metrics.additive import AdditiveLoss

__all__ = [
    "AddedNoise",
    "Answer",
    "Ask",
    "Curator",
    "Query",
    "ScoreAttack",
    "ScoreDefence",
    "ScoreOracle",
    "ScoreThreat",
]

T = TypeVar("T")


@attrs.frozen(kw_only=True)
class AddedNoise:
    """Noise that was added to the score, and what stood nearer to the scorer.

    Attributes:
        model: What is drawn.
        jump: How much further than by its cost one label can move what the noise is added to.
    """

    model: NoiseModel
    jump: float = 0.0


Ask = Callable[[NDArray[np.intp], Query], Answer]  #: the next stage towards the scorer


@attrs.frozen(kw_only=True)
class ScoreThreat(ThreatModel):
    """What the adversary of the score channel knows and may spend.

    Attributes:
        loss: The loss that the score averages over the records.
        arithmetic: What the curator computes in: ``"exact"``, ``"float64"``, ``"float32"``, ``"fpa:PHI"``, ...
        summation: ``"numpy"`` when the mean is NumPy's pairwise one, ``"exact"``, or ``"unknown"``.
        input_format: Arithmetic that predictions are rounded to before anything is computed; None: ``arithmetic``.
        clip: Probabilities are clipped to ``[clip, 1 - clip]`` before scoring; 0 when they are not.
        normalised: Whether rows of probabilities must sum to one (otherwise they are merely warned about).
        decimals: Decimals of the released score, or None when it is released in full.
        noise_bound: Largest absolute difference that defences put between the computed and the released score,
            rounding included; infinity when it is unbounded.
        noise_std: Standard deviation of that difference, 0 without noise.
        noise_fresh: Whether asking again draws new noise.
        noise_factor: Largest relative difference (multiplicative noise), 0 without.
        label_keep: Probability that the label scored for a record is its true one, 1 when labels are not perturbed.
        noise: The additive models behind that noise, from the curator outward; every query, or every distinct one, has
            a draw of its own.
        jump: How much further than by its cost one label can move the score, because it is rounded; infinity once
            the answer depends on earlier ones.
        answer_epsilon: Label-DP of one answer that comes from neither ``noise`` nor a release once for all (labels
            perturbed anew for every query); infinity when there is none.
        magnification: Factor by which defences enlarge every difference of the score before it is released.
        scored: Expected share of the records that the score depends on, 1 when it is computed on all of them.
        scored_fresh: Whether every query is scored on records drawn anew.
        averaged: Records that one score averages over; None when it averages over all N.
        ladder_step: Least improvement that the Ladder answers; 0 without it.
        ordered: Whether row i of the predictions is compared with record i in an order that never changes.
        query_budget: Queries the adversary may ask; None when unlimited.
        shared_budget: Answers granted to all participants together; None when there is no such limit.
        refuses: Whether a query may be declined for what it looks like, so that no attack can promise anything.
        defences: What stands between, from the curator outward, with its parameters and without its random draws.
    """

    loss: AdditiveLoss
    arithmetic: str
    summation: str
    input_format: str | None = None
    clip: float = 0.0
    normalised: bool = False
    decimals: int | None = None
    noise_bound: float = 0.0
    noise_std: float = 0.0
    noise_fresh: bool = False
    noise_factor: float = 0.0
    label_keep: float = 1.0
    noise: tuple[AddedNoise, ...] = ()
    jump: float = 0.0
    answer_epsilon: float = float("inf")
    magnification: float = 1.0
    scored: float = 1.0
    scored_fresh: bool = False
    averaged: int | None = None
    ladder_step: float = 0.0
    ordered: bool = True
    query_budget: int | None = None
    shared_budget: int | None = None
    refuses: bool = False
    defences: tuple[Defence, ...] = ()

    @property
    def span(self) -> float:
        """L, the most by which one record's label can move N times the score."""
        return self.loss.span(self.clip)

    @property
    def sensitivity(self) -> float:
        """The most by which one label can move the score as released, whatever noise is in it: L / N and the jump."""
        return self.shift + self.jump

    @property
    def shift(self) -> float:
        """L / N, magnified: the most by which one label can move the score before it is rounded."""
        return self.magnification * self.span / (self.averaged or self.n_records)

    @property
    def deterministic(self) -> bool:
        """Whether the released score is a function of labels and query alone, but for rounding."""
        return (
            self.noise_std == 0
            and self.noise_factor == 0
            and self.label_keep == 1
            and self.scored == 1
            and self.ordered
        )

    def allows(self, queries: int) -> bool:
        """Whether ``queries`` fit into the budget."""
        return self.query_budget is None or queries <= self.query_budget


class Guard:
    """A defence in one game: may keep state between queries. The default lets everything through."""

    def answer(self, labels: NDArray[np.intp], query: Query, ask: Ask) -> Answer:
        """Answer ``query`` about ``labels``, asking the next stage as often as need be.

        Raises:
            QueryRefusedError: The defence declines to answer.
        """
        return ask(labels, query)


class ScoreDefence(Defence, abc.ABC):
    """A defence of the score channel. Overrides :meth:`start`, and says in :meth:`effect` what it changes."""

    @abc.abstractmethod
    def start(self, threat: ScoreThreat, rng: np.random.Generator) -> Guard:
        """Return this defence's part in one game.

        Args:
            threat: What is public about the whole game. A defence that must calibrate itself to the stages nearer to
                the scorer does so in :meth:`effect`, which is told of those only, and puts the result in its own place.
            rng: Its own source of randomness; the adversary never sees it.
        """

    def tell(self, threat: ThreatModel) -> ThreatModel:
        """Return ``threat`` with what this defence changes in it.

        Raises:
            InputError: ``threat`` is of another channel.
        """
        return self.effect(of_channel(threat, ScoreThreat, "threat model", "score"))

    def effect(self, threat: ScoreThreat) -> ScoreThreat:
        """Return ``threat`` with what this defence changes in it; by default nothing."""
        return threat


class ScoreOracle:
    """The adversary's whole view of the curator. What is public of it cannot be changed."""

    __slots__ = ("_answer", "_spent", "_threat")

    def __init__(self, threat: ScoreThreat, answer: Callable[[Query], Answer]) -> None:
        self._threat = threat
        self._answer = answer
        self._spent = 0

    @property
    def threat(self) -> ScoreThreat:
        """What is public."""
        return self._threat

    @property
    def spent(self) -> int:
        """Queries asked so far, refused ones included."""
        return self._spent

    @property
    def remaining(self) -> float:
        """Queries left; infinity when they are not limited."""
        budget = self.threat.query_budget
        return float("inf") if budget is None else budget - self._spent

    def query(self, predictions: NDArray[Any], *, precision: int | None = None) -> Answer:
        """Ask for the score of ``predictions``.

        Args:
            predictions: See :class:`Query`.
            precision: Bits of the answer; only an exact curator heeds it.

        Raises:
            QueriesExhaustedError: The budget is spent.
            QueryRefusedError: The predictions are malformed, or a defence declines.
        """
        if self.remaining < 1:
            raise QueriesExhaustedError(f"all {self.threat.query_budget} queries are spent.")
        self._spent += 1
        # A copy, and of NumPy's own type: an array of the attack's making could watch which of its rows are read.
        return self._answer(Query(predictions=np.array(predictions, subok=False), precision=precision))


class ScoreAttack(Attack, abc.ABC):
    """An attack of the score channel."""

    @abc.abstractmethod
    def run(self, oracle: ScoreOracle, rng: np.random.Generator) -> Guess:
        """Guess all labels from what the oracle answers.

        Args:
            oracle: The only way to the curator; ``oracle.threat`` is what is public.
            rng: The attack's own randomness.
        """


@attrs.frozen(kw_only=True, eq=False)
class Curator:
    """Holds labels and answers queries through its defences. Serves attacks and honest participants alike.

    Attributes:
        labels: The private labels, shape ``(n_records,)``.
        threat: What is public.
        scorer: What computes the score.
    """

    labels: NDArray[np.intp] = attrs.field(repr=False)
    threat: ScoreThreat
    scorer: Scorer
    _guards: tuple[tuple[Defence, Guard], ...] = attrs.field(repr=False)

    @classmethod
    def start(cls, labels: NDArray[np.intp], threat: ScoreThreat, scorer: Scorer, rng: np.random.Generator) -> Curator:
        """Start one game: every defence gets a generator of its own, in order."""
        generators = rng.spawn(len(threat.defences))
        guards = []
        for defence, generator in zip(threat.defences, generators, strict=True):
            if isinstance(defence, ScoreDefence):
                with gate.blamed(defence, quote=False):
                    guards.append((defence, defence.start(threat, generator)))
        return cls(labels=labels, threat=threat, scorer=scorer, guards=tuple(guards))

    def answer(self, query: Query) -> Answer:
        """Answer one query.

        Raises:
            QueryRefusedError: It is malformed, or a defence declines.
        """
        problem = self.threat.loss.fault(query.predictions, self.threat.n_records, self.threat.n_classes)
        if problem:
            raise QueryRefusedError(problem)
        ask: Ask = self.scorer.score
        for defence, guard in self._guards:
            ask = _through(defence, guard, ask)
        return ask(self.labels, query)


def _through(defence: Defence, guard: Guard, ask: Ask) -> Ask:
    def answer(labels: NDArray[np.intp], query: Query) -> Answer:
        with gate.blamed(defence, QueryRefusedError, quote=False):  # what it raises may hold the labels it is handed
            answered = guard.answer(labels, query, ask)
            if math.isnan(answered):
                raise ComponentError("it answered NaN, expected a number")
        return answered

    return answer


def needed_queries(n_records: int, labels_per_query: int) -> int:
    """Queries that ``n_records`` labels take at ``labels_per_query`` each."""
    return -(-n_records // labels_per_query)


def blocks(n_records: int, labels_per_query: int) -> Sequence[slice]:
    """Slices of consecutive records, ``labels_per_query`` in each but the last."""
    return [slice(start, min(start + labels_per_query, n_records)) for start in range(0, n_records, labels_per_query)]
