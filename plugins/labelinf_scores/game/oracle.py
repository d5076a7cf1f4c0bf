"""The adversary's side of the score channel: an oracle to ask, and attacks that ask it."""

from __future__ import annotations

import abc
import contextlib
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import Attack, Guess
from labelinf_core.contracts.errors import InputError, QueriesExhaustedError, QueryRefusedError
from labelinf_core.contracts.guarantees import Promise
from labelinf_core.contracts.threat import ThreatModel
from labelinf_scores.game.scoring import Answer, Query
from labelinf_scores.game.threat import ScoreThreat, score_threat
from labelinf_scores.metrics.readings import ScoredMetric

if TYPE_CHECKING:
    from labelinf_scores.game.networks import MutNet

__all__ = ["Beside", "Rerun", "ScoreAttack", "ScoreOracle", "answered", "blaming", "blocks", "needed_queries"]

T = TypeVar("T")
A = TypeVar("A")


Rerun = Callable[[NDArray[np.intp], Query, np.random.Generator], Answer]  #: a board begun anew, on made labels
Beside = tuple[ScoreThreat, Callable[[Query], Answer]]  #: another metric of a board: what is public, and its answers


class ScoreOracle:
    """The adversary's whole view of the curator. What is public of it cannot be changed.

    Where a board publishes several metrics, its answers are those of one, and the others' stand :attr:`beside` them.
    """

    __slots__ = ("_answer", "_beside", "_failure", "_models", "_others", "_rerun", "_spent", "_threat")

    def __init__(
        self,
        threat: ScoreThreat,
        answer: Callable[[Query], Answer],
        others: Sequence[Beside] = (),
        rerun: Rerun | None = None,
    ) -> None:
        self._threat = threat.optimistic
        self._models = threat.models
        self._answer = answer
        self._others = others
        self._rerun = rerun
        self._beside: tuple[tuple[ScoreThreat, Answer], ...] = ()
        self._spent = 0
        self._failure: Exception | None = None

    @property
    def beside(self) -> tuple[tuple[ScoreThreat, Answer], ...]:
        """What the other metrics of the board said of the last submission, those that could score it."""
        return self._beside

    @property
    def threat(self) -> ScoreThreat:
        """What is public; of stages that have not said what they do, what an attack supposes."""
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

    @property
    def simulates(self) -> bool:
        """Whether the adversary has what it takes to run the board on labels of its own."""
        return self._rerun is not None

    def simulated(self, labels: NDArray[np.intp], predictions: NDArray[Any], rng: np.random.Generator) -> Answer:
        """Return what a board like this one would answer about made labels: code and stages are public, draws are not.

        Raises:
            QueryRefusedError: It would not answer.
        """
        if self._rerun is None:
            raise QueryRefusedError("what stands behind this board is not public.")
        return self._rerun(labels, _copied(predictions), rng)

    def query(self, predictions: NDArray[Any], *, precision: int | None = None) -> Answer:
        """Ask for the score of ``predictions``.

        Args:
            predictions: See :class:`Query`.
            precision: Bits of the answer; only an exact curator heeds it.

        Raises:
            QueriesExhaustedError: The budget is spent.
            QueryRefusedError: The predictions are malformed, a defence declines, or models are to be submitted.
        """
        self._spend()
        if self._models is not None:
            raise QueryRefusedError("this board scores models, and was sent predictions.")
        return self._asked(_copied(predictions, precision))

    def submit(self, model: MutNet) -> Answer:
        """Ask for the score of a model, which the board runs on its records.

        Raises:
            QueriesExhaustedError: The budget is spent.
            QueryRefusedError: It does not fit the records, a defence declines, or predictions are to be sent.
        """
        self._spend()
        if self._models is None:
            raise QueryRefusedError("this board scores predictions, and was sent a model.")
        return self._asked(Query(predictions=self._models.outputs(model)))

    def _asked(self, query: Query) -> Answer:
        """Return an answer. That there is none is one answer more; why there is none could be any number of them.

        Raises:
            InputError: There is none, whatever was raised behind the board.
        """
        try:
            self._beside = tuple(
                (told, answer) for (told, _), answer in answered(self._others, lambda it: it[1](query))
            )
            return self._answer(query)
        except QueryRefusedError:
            raise
        except Exception as error:
            self._failure = error
        # An exception that was still being handled here would go along, and whoever asks could read it.
        raise InputError("the board has no answer to this query; why may tell of labels, and is not told.")

    def _spend(self) -> None:
        if self.remaining < 1:
            raise QueriesExhaustedError(f"all {self.threat.query_budget} queries are spent.")
        self._spent += 1


@contextlib.contextmanager
def blaming(oracle: ScoreOracle) -> Iterator[None]:
    """Let an attack that cannot go on without an answer end with what was raised behind the board."""
    try:
        yield
    except InputError:
        if oracle._failure is None:
            raise
        raise oracle._failure from None


class ScoreAttack(Attack, abc.ABC):
    """An attack of the score channel. Says in :meth:`missing_requirement` and :meth:`promised` what it can do.

    Attributes:
        reading_of: What scores it can read, for the clause that says why it does not fit.
        submits: Whether it sends models, which only a board that runs them scores, and no predictions.
        runs: Whether it runs the board itself, so that it needs no name of what is scored.
    """

    reading_of: ClassVar[str] = "means of a loss over the records"
    submits: ClassVar[bool] = False
    runs: ClassVar[bool] = False

    @abc.abstractmethod
    def run(self, oracle: ScoreOracle, rng: np.random.Generator) -> Guess:
        """Guess all labels from what the oracle answers.

        Args:
            oracle: The only way to the curator; ``oracle.threat`` is what is public.
            rng: The attack's own randomness.
        """

    def unsupported_reason(self, threat: ThreatModel) -> str:
        """Why this attack cannot be played; see :meth:`missing_requirement`.

        Raises:
            InputError: ``threat`` is of another channel.
        """
        return self._refused(self.view(score_threat(threat)).optimistic)

    def view(self, threat: ScoreThreat) -> ScoreThreat:
        """Return what it plays on: of several metrics one that makes it certain of all labels, or that tells most."""
        if not threat.members:
            return threat
        fitting: list[ScoreThreat] = [member for member in threat.members if not self._refused(member.optimistic)]
        return max(fitting or threat.members[:1], key=self._worth)

    def _worth(self, threat: ScoreThreat) -> tuple[bool, float, float, float]:
        promise, rate = self.promise(threat), self.rate(threat)
        certified, survives = (False, 0.0) if promise is None else (promise.certified, promise.survives)
        return certified, 0.0 if math.isnan(rate) else rate, survives, _clearness(threat)

    def _refused(self, told: ScoreThreat) -> str:
        if not self.suits(told):
            return "sends models, and this board scores predictions" if self.submits else "sends no models"
        if told.metric is not None and not told.metric.named and not (self.blind or self.runs):
            return "needs a metric that ships, and the scorer agrees with none"
        return self.missing_requirement(told) if self.reads(told.metric) else f"reads {self.reading_of}"

    def promise(self, threat: ThreatModel) -> Promise | None:
        """What is certain before playing, see :meth:`promised`; nothing where not every stage is known.

        Raises:
            InputError: ``threat`` is of another channel.
        """
        told = self.view(score_threat(threat))
        return self.promised(told) if told.known and self.suits(told) and self.reads(told.metric) else None

    def suits(self, threat: ScoreThreat) -> bool:
        """Whether what it sends is what the board scores: predictions, or models."""
        return self.blind or self.submits == (threat.models is not None)

    def reads(self, metric: ScoredMetric | None) -> bool:
        """Whether it knows what a score of ``metric`` tells; None is the mean of a loss, which every attack reads."""
        return metric is None or self.blind

    def missing_requirement(self, threat: ScoreThreat) -> str:
        """Return what this attack lacks under ``threat``, as a short clause; empty when it can be played."""
        return ""

    def rate(self, threat: ScoreThreat) -> float:
        """Return the labels a query of its plan, without playing it; NaN where there is none before playing."""
        return math.nan

    def promised(self, threat: ScoreThreat) -> Promise | None:
        """Return what is certain under ``threat``; None when this attack never promises anything."""
        return None


def needed_queries(n_records: int, labels_per_query: int) -> int:
    """Queries that ``n_records`` labels take at ``labels_per_query`` each."""
    return -(-n_records // labels_per_query)


def answered(plan: Iterable[T], ask: Callable[[T], A]) -> Iterator[tuple[T, A]]:
    """Yield what is planned with its answer, until the budget is spent; what is refused is passed over."""
    for item in plan:
        try:
            answer = ask(item)
        except QueriesExhaustedError:
            return
        except QueryRefusedError:
            continue
        yield item, answer


def blocks(n_records: int, labels_per_query: int) -> Sequence[slice]:
    """Slices of consecutive records, ``labels_per_query`` in each but the last."""
    return [slice(start, min(start + labels_per_query, n_records)) for start in range(0, n_records, labels_per_query)]


def _copied(predictions: NDArray[Any], precision: int | None = None) -> Query:
    # A copy, and of NumPy's own type: an array of the attack's making could watch which of its rows are read.
    return Query(predictions=np.array(predictions, subok=False), precision=precision)


def _clearness(threat: ScoreThreat) -> float:
    """Return how far one record stands out of the error of a score, at least; infinity where there is no error."""
    from labelinf_scores.metrics.readings.two_values import noise  # of a board of several metrics alone

    off = max(threat.noise_std, threat.noise_bound if math.isfinite(threat.noise_bound) else 0.0)
    metric = threat.metric
    alone = threat.reach / (2 * threat.n_records) if metric is None else noise(metric, threat.totals)[0]
    return alone / off if off else math.inf
