"""The deployed board as a defence of the score channel: every attack on scores plays the very code that a host runs.

Only a metric that a deployed board runs in a child is computed here in the process of the game. Each game begins a
board of its own, in a directory of its own, on a clock that stands still. A query becomes a file; the file is parsed,
numbered, scored, settled and answered by :class:`labelinf_guard.board.Board`, through the same method that a service
calls; a refusal is a refused query. What limits that board is stated as effects; what follows from them is said by
:class:`labelinf_guard.bounds.GuardedGain`, so that an attack above the board's certificate is a contradiction.
"""

from __future__ import annotations

import contextlib
import fcntl
import math
import shutil
import tempfile
import warnings
import weakref
from pathlib import Path
from typing import Any, ClassVar, TextIO

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import TunableParameter
from labelinf_core.contracts.errors import InputError, QueryRefusedError
from labelinf_core.contracts.threat import ThreatModel
from labelinf_guard import shipped
from labelinf_guard.begin import begin, rules_of
from labelinf_guard.board import Board, TeamAnswer
from labelinf_guard.certificate.response import response_epsilon
from labelinf_guard.certificate.statement import Certificate, certify, proved_bits, thousandths
from labelinf_guard.clock import StepClock
from labelinf_guard.ledger.book import Book
from labelinf_guard.metrics import GuardMetric, UnscorableError
from labelinf_guard.policy import BudgetPart, LimitsPart, Policy, PublicPart, ReleasePart, TargetPart, exact
from labelinf_guard.recommendation import recommend
from labelinf_guard.scoring import OwnMetric
from labelinf_guard.task import Task, task_of
from labelinf_guard.terms import Sizes, budget_of, metric_of, noise_of, terms_of
from labelinf_privacy.noise.discrete_gaussian import DiscreteGaussian
from labelinf_privacy.words import SeededWords
from labelinf_scores.game.curator import ActiveScoreDefence, Ask, Query, ScoreDefence
from labelinf_scores.game.effects import (
    Added,
    Budgeted,
    Laddered,
    Ledgered,
    Perturbed,
    Ranked,
    Refusing,
    Rounded,
    Sampled,
    ScoreEffect,
)
from labelinf_scores.game.threat import ScoreThreat, score_threat

__all__ = ["GuardedBoard"]

_PREFIX, _HELD = "labelinf-board-", "held"  # of the folder of a game, and what it holds while it plays
_SECONDS = 60.0  # of a score in a child, which may play beside many others


@attrs.frozen(kw_only=True)
class GuardedBoard(ScoreDefence):
    """A board of ``labelinf guard`` that scores what the game is about, alone between the labels and the world.

    That is log-loss, the squared error, or any metric but means of other losses.

    Stage: all of them. Guarantee: the board's own certificate, for class counts that are known. Utility: that of its
    rounding, its noise and its public subset.

    Attributes:
        share: Of the labels that are public, in (0, 1].
        decimals: Of an answer.
        noise: Deviation of the discrete Gaussian noise, in units of the score.
        bits: Of all answers together; -1: not limited.
        answers: Submissions of all teams together.
        rule: How answers are predicted: ``near`` or ``uniform``.
        show: ``scores``; ``records``, the best of all teams after every submission; or ``ranks``.
        clip: Of the log-loss.
        flip: Probability with which every public label is replaced by another class, once.
        low: Of all scores, where a metric runs in a child and its range is not known; what is below counts as this.
        high: The same from above.
    """

    asks: ClassVar[bool] = False

    share: float = attrs.field(default=1.0, validator=[attrs.validators.gt(0), attrs.validators.le(1)])
    decimals: int = attrs.field(default=3, validator=[attrs.validators.ge(0), attrs.validators.le(6)])
    noise: float = attrs.field(default=0.0, validator=attrs.validators.ge(0))
    bits: float = attrs.field(default=-1.0, validator=attrs.validators.ge(-1))
    answers: int = attrs.field(default=100_000, validator=attrs.validators.ge(1))
    rule: str = attrs.field(default="near", validator=attrs.validators.in_(("near", "uniform")))
    show: str = attrs.field(default="scores", validator=attrs.validators.in_(("scores", "records", "ranks")))
    clip: float = attrs.field(default=0.01, validator=[attrs.validators.gt(0), attrs.validators.lt(0.5)])
    flip: float = attrs.field(default=0.0, validator=[attrs.validators.ge(0), attrs.validators.lt(0.5)])
    low: float | None = None
    high: float | None = None

    def start(self, threat: ScoreThreat, rng: np.random.Generator) -> ActiveScoreDefence:
        """Return a board that begins with the first query."""
        return _Playing(self._policy(threat), self._task(threat), rng)

    def does(self, threat: ScoreThreat) -> tuple[ScoreEffect, ...]:
        """What a board does to a score, in the channel's words.

        Raises:
            InputError: The loss is none that boards score, or something stands nearer to the scorer.
        """
        if threat.effects:
            raise InputError("guarded-board scores the labels itself: put nothing before it.")
        task, size = self._task(threat), self._sizes(threat).public
        told: list[ScoreEffect] = [Sampled(size=size)] if size < threat.n_records else []
        if self.flip:
            told.append(Perturbed(epsilon=response_epsilon(exact(self.flip), threat.n_classes)))
        told.extend(task.effects)
        if task.child or (task.of_all_classes and (self.flip or size < threat.n_records)):
            told.append(Refusing())
        if noise := noise_of(self._policy(threat), self._metric(threat), size, self.noise):
            told.append(Added(model=DiscreteGaussian(scale=self.noise, step=float(noise.step)), sticky=True))
        public = self.certificate(threat).terms.public
        told.append(Ledgered(bits=public.bits, information=proved_bits(self.certificate(threat).terms, public)))
        queries = self.answers
        if self.bits >= 0:  # after so many some may still be answered, and none must be
            rules = rules_of(self._policy(threat), self._metric(threat), self._sizes(threat))
            queries = max(1, Book(rules=rules).sure())
            told.append(Refusing())
        shown: ScoreEffect = Rounded(step=10.0**-self.decimals)
        if self.show != "scores":
            shown = Ranked() if self.show == "ranks" else Laddered(step=10.0**-self.decimals, nearest=True)
        return (*told, shown, Budgeted(queries=queries, shared=True))

    def certificate(self, threat: ThreatModel) -> Certificate:
        """Return what the board proves of so many labels."""
        policy = attrs.evolve(self._policy(threat), target=TargetPart(perfect=threat.baseline, accept_void=True))
        bits = self.bits if self.bits >= 0 else math.inf
        return certify(terms_of(policy, self._metric(threat), self._sizes(threat), bits))

    def deployment(self, threat: ThreatModel) -> tuple[str, ...]:
        """What such a board grants, what honest teams pay for it, and its ``board.toml``."""
        policy, metric, sizes = self._deployed(threat), self._metric(threat), self._sizes(threat)
        proved = certify(terms_of(policy, metric, sizes, budget_of(policy, metric, sizes))).now
        policy = attrs.evolve(policy, target=TargetPart(gain=thousandths(proved) / 1000))
        worth = recommend(policy, metric, sizes)
        return (*worth.lines(), "", *worth.board.splitlines())

    @classmethod
    def tunable_parameters(cls, threat: ThreatModel) -> tuple[TunableParameter, ...]:
        """The public share."""
        title = "deploy a guarded board, public share t"
        smallest = 1 / threat.n_records
        return (TunableParameter(title=title, template="guarded-board(share={})", weakest=1.0, strongest=smallest),)

    def _task(self, threat: ThreatModel) -> Task:
        return task_of(score_threat(threat), clip=self.clip, low=self.low, high=self.high)

    def _metric(self, threat: ThreatModel) -> GuardMetric:
        return metric_of(self._policy(threat), Path())

    def _deployed(self, threat: ThreatModel) -> Policy:
        """Return the board as a host would begin it, whatever it proves."""
        return Policy(
            board=self._task(threat).part,
            public=PublicPart(share=self.share, flip=self.flip),
            release=ReleasePart(show=self.show, decimals=self.decimals, noise=self.noise, rule=self.rule),
            budget=BudgetPart(bits=self.bits, per_board=self.answers),
            target=TargetPart(accept_void=True),
        )

    def _policy(self, threat: ThreatModel) -> Policy:
        """Return the same for a game, in which one team sends all there is."""
        most = dict.fromkeys(("per_team", "per_team_day", "per_day", "per_board"), self.answers)
        budget = BudgetPart(bits=self.bits if self.bits >= 0 else 1e12, **most)
        return attrs.evolve(self._deployed(threat), budget=budget, limits=LimitsPart(seconds=_SECONDS))

    def _sizes(self, threat: ThreatModel) -> Sizes:
        public = max(1, round(self.share * threat.n_records))
        return Sizes(public=public, sealed=threat.n_records - public)


class _Playing(ActiveScoreDefence):
    def __init__(self, policy: Policy, task: Task, rng: np.random.Generator) -> None:
        self._policy, self._task, self._rng = policy, task, rng
        self._board: Board | None = None

    def answer(self, labels: NDArray[np.intp], query: Query, ask: Ask) -> float:
        """Send one file.

        Raises:
            QueryRefusedError: The board refuses it, or it could not be scored.
        """
        if self._board is None:
            self._board = self._begun(labels)
        told = self._board.submit("all-teams", self._task.file(self._board.expected.ids, query.predictions))
        if not isinstance(told, TeamAnswer):
            raise QueryRefusedError(told.reason)
        try:
            return float(told.score)
        except ValueError:
            raise QueryRefusedError(told.score) from None

    def _begun(self, labels: NDArray[np.intp]) -> Board:
        _swept()
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
        held = (begun := folder / "begun").open("w")
        fcntl.flock(held, fcntl.LOCK_EX)
        begun.rename(folder / _HELD)  # nobody sees it who could sweep it before it is held
        (folder / "labels.csv").write_text(self._task.labels(labels), encoding="utf-8")
        words, metric = SeededWords(self._rng), metric_of(self._policy, folder)
        metric = _Here.of(metric) if isinstance(metric, OwnMetric) else metric
        path, clock = folder / "board.toml", StepClock()
        begin(path, self._policy, clock, words, metric)
        board = Board.open(path, self._policy, clock=clock, words=words, metric=metric)
        weakref.finalize(self, _end, board, folder, held)
        (folder / "labels.csv").unlink()  # killed at any moment, no game leaves its labels behind
        return board


@attrs.frozen(kw_only=True)
class _Here(OwnMetric):
    """A metric that ships, without a child: a game has thousands of queries, and a child takes a second of each."""

    @classmethod
    def of(cls, metric: OwnMetric) -> _Here:
        """Return the same metric."""
        return cls(**{field.name: getattr(metric, field.name) for field in attrs.fields(OwnMetric) if field.init})

    def ready(self) -> None:
        """Nothing has to be started."""

    def returned(self, labels: NDArray[Any], rows: NDArray[Any], places: NDArray[np.intp] | None = None) -> float:
        """Compute it; what a library warns of is heard by nobody, as in a child.

        Raises:
            UnscorableError: It raised.
        """
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return float(getattr(shipped, self.function.partition(":")[2])(labels, rows))
        except Exception:
            raise UnscorableError from None


def _end(board: Board, folder: Path, held: TextIO) -> None:
    board.close()
    shutil.rmtree(folder, ignore_errors=True)
    held.close()


def _swept() -> None:
    """Remove what games left that were killed: their folders are held by nobody."""
    for left in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*/{_HELD}"):
        with contextlib.suppress(OSError), left.open("w") as held:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(left.parent, ignore_errors=True)
