"""The game of the score channel: one curator, one adversary, the labels in a fresh random order."""

from __future__ import annotations

import copy
import itertools
import weakref
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypeVar

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts import gate
from labelinf_core.contracts.components import (
    Channel,
    Defence,
    Guess,
    LabelSet,
    Loss,
    Measure,
    Metric,
    Rule,
    Setting,
    Trialled,
    of_channel,
)
from labelinf_core.contracts.errors import InputError
from labelinf_core.contracts.threat import ThreatModel
from labelinf_core.plugin.descriptors import Kind
from labelinf_scores.game.curator import Curator, ScoreDefence
from labelinf_scores.game.effects import Reordered
from labelinf_scores.game.likeness import Likeness, remembered
from labelinf_scores.game.models import ModelBoard, Run
from labelinf_scores.game.oracle import ScoreAttack, ScoreOracle, blaming
from labelinf_scores.game.scorers import is_own, make_scorer, metric_scorer
from labelinf_scores.game.scoring import Query, Scorer
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.metrics.additive import AdditiveLoss
from labelinf_scores.metrics.log_loss import LogLoss
from labelinf_scores.metrics.readings import ScoredMetric
from labelinf_scores.metrics.readings.sums import MeanLoss
from labelinf_scores.metrics.shipped import METRICS
from labelinf_scores.metrics.unadditive import Unadditive

__all__ = ["ScoreChannel"]

M = TypeVar("M", bound=ScoredMetric)
_Played = tuple[ScoreThreat, int]  # what is public, and which of its metrics the attack plays on
_PLAYED: weakref.WeakKeyDictionary[Setting, tuple[ScoreChannel, _Played]] = weakref.WeakKeyDictionary()


@attrs.frozen(kw_only=True)
class ScoreChannel(Channel):
    """A curator that answers prediction vectors with a loss.

    Every trial scores the same labels in a fresh random order: attacks of this channel see no features, so the order
    carries nothing, and repeated trials show how an attack fares on the label *set*.

    Attributes:
        loss: What the score averages.
        metric: What is scored instead, where that is no mean of a loss; one that is stands for its loss.
        besides: Other metrics that are published of every submission. Each is answered through defences with draws of
            their own; one that cannot score a submission says nothing of it.
        scorer: What computes it: ``exact``, ``float64``, ``float32``, ``bfloat16``, ``float16``, ``fpa:PHI`` (the
            loss in that arithmetic), ``sklearn`` (``sklearn.metrics.log_loss``), ``cmd:PROGRAM ARGUMENT ...``, or
            ``module:function``, called as ``function(labels, predictions)``.
        model: How models are run, where those are submitted and not predictions: ``batch`` (on all records at once,
            which nobody has seen), ``rows`` (one at a time, their features are public) or ``hidden-rows``.
        queries: The adversary's budget; 0 means unlimited.

    A scorer of one's own is run on made labels. Where it agrees with a metric that ships, attacks that read it plan
    with that (:mod:`labelinf_scores.game.likeness`); otherwise those alone play that run the scorer themselves.
    Nothing is certain of either, and an attack that fails shows nothing.
    """

    default_labels: ClassVar[str] = "breast-cancer"
    rank: ClassVar[int] = 10
    knows_groups: ClassVar[bool] = True
    counts_only: ClassVar[bool] = True
    fresh_order: ClassVar[bool] = True
    inert: ClassVar[frozenset[str]] = frozenset({"sklearn:float32"})

    loss: Loss = attrs.field(factory=LogLoss)
    metric: Metric | None = None
    besides: tuple[Metric, ...] = attrs.field(default=())
    scorer: str = "sklearn"
    model: Run | None = None
    queries: int = attrs.field(default=0, validator=attrs.validators.ge(0))

    @besides.validator
    def _scored_by_what_ships(self, attribute: attrs.Attribute[object], value: tuple[Metric, ...]) -> None:
        if value and is_own(self.scorer):
            raise ValueError(f"{self.scorer!r} computes one score; audit it once for every metric that it publishes.")

    @classmethod
    def strongest(cls, threat: ThreatModel | None = None) -> tuple[str, ...]:
        """Return what of the shipped list can gain something from ``threat`` that the others cannot."""
        from labelinf_scores.audit.strongest import attacks

        return attacks(threat if isinstance(threat, ScoreThreat) else None)

    @classmethod
    def measures(cls) -> tuple[Measure, ...]:
        """Return what defences cost honest participants of a leaderboard."""
        return (
            Measure(key="mean_error", title="honest score error", better="lower"),
            Measure(key="rank_correlation", title="honest rank corr."),
            Measure(key="top_flips", title="top 3 flips", better="lower"),
            Measure(key="refused", title="honest refused", better="lower", unit="share"),
        )

    @classmethod
    def templates(cls) -> Mapping[Kind, str]:
        """Return what new components of this channel are begun from."""
        kinds = (Kind.ATTACK, Kind.DEFENCE, Kind.LOSS, Kind.METRIC)
        return {kind: f"labelinf_scores:templates/{kind.value}.py.jinja" for kind in kinds}

    @classmethod
    def rules(cls) -> Mapping[Kind, Sequence[Rule]]:
        """Return the contract of this channel's components."""
        from labelinf_scores.rules import RULES

        return RULES

    def undefended(self, setting: Setting) -> ScoreThreat:
        """Return what the adversary of ``setting`` knows where nothing stands between.

        Raises:
            InputError: The loss is not additive, the scorer does not exist or does not compute this loss, or a
                component belongs to another channel.
        """
        if setting.attack is not None:
            of_channel(setting.attack, ScoreAttack, "attack", "score")
        for item in setting.defences:
            of_channel(item, ScoreDefence, "defence", "score")
        boards = [board._bare(setting.data) for board in self._boards]
        told = ScoreThreat.together(boards) if self.besides else boards[0]
        return told if setting.data.perfect is None else attrs.evolve(told, perfect=setting.data.perfect)

    @property
    def _boards(self) -> tuple[ScoreChannel, ...]:
        """The boards of one metric each that stand side by side in this one: itself, where it publishes one."""
        if not self.besides:
            return (self,)
        return tuple(attrs.evolve(self, metric=item, besides=()) for item in (self.metric, *self.besides))

    def _bare(self, data: LabelSet) -> ScoreThreat:
        """Return what the adversary knows of the scorer, and of how the board runs models."""
        models = ModelBoard.of(self.model, data)
        if models is None:
            return self._asked(data)
        if is_own(self.scorer):
            raise InputError(f"models are scored by what ships (scorer=sklearn), and {self.scorer!r} is one's own.")
        threat = self._asked(data)
        if threat.loss.takes_logits:
            raise InputError(f"a submitted model returns probabilities, and {type(threat.loss).__name__} takes logits.")
        secret = (Reordered(),) if models.run is Run.HIDDEN_ROWS else ()
        return attrs.evolve(threat, models=models, own_effects=(*threat.own_effects, *secret))

    def _asked(self, data: LabelSet) -> ScoreThreat:
        """Return what the adversary knows of the scorer."""
        if found := self._likeness(data):
            return found.threat(data, self.queries)
        metric, facts = self._scored(data), self._scorer(data).facts
        values = data.values if metric is not None and metric.of_values else ()
        largest = max((size for size, _ in data.group_sizes), default=1)
        rarest = int(np.bincount(data.labels, minlength=data.n_classes).min()) // largest
        return ScoreThreat(
            n_records=data.n_records,
            n_classes=data.n_classes,
            prior=data.prior,
            loss=self._loss
            if metric is None
            else Unadditive(metric=metric, n_records=data.n_records, rarest=rarest, values=values),
            metric=metric,
            arithmetic=facts.arithmetic,
            summation=facts.summation,
            input_format=facts.input_format,
            scorer_clip=facts.clip,
            own_effects=facts.effects,
            values=values,
            granted=self.queries or None,
            groups=data.group_sizes,
        )

    def _played(self, setting: Setting, attack: ScoreAttack) -> _Played:
        """Return the threat model of a setting that is played again and again, and the place of what is attacked."""
        if setting not in _PLAYED or _PLAYED[setting][0] is not self:
            threat = self.threat(setting)
            at = threat.members.index(attack.view(threat)) if threat.members else 0
            _PLAYED[setting] = self, (threat, at)
        return _PLAYED[setting][1]

    def spending(self, threat: ThreatModel, queries: int) -> ScoreThreat | None:
        """Return ``threat`` with a budget of ``queries``; None for no query, after which only a blind guess is left."""
        told = of_channel(threat, ScoreThreat, "threat model", "score")
        return told.spending(queries) if queries > 0 and told.allows(queries) else None

    def check(self, data: LabelSet) -> None:
        """Ask the scorer for one score, of a prediction that says nothing.

        Raises:
            InputError: It does not exist, raises, or does not return one finite number.
            InconclusiveError: Its answers tell nothing.
        """
        if self.besides:
            for board in self._boards:
                board.check(data)
            return
        if self._likeness(data):
            return
        scored = self._scored(data)
        one_column = data.n_classes == 2 if scored is None else not scored.columns
        shape = (data.n_records,) if one_column else (data.n_records, data.n_classes)
        blank = Query(predictions=np.full(shape, 1 / data.n_classes))
        self._scorer(data).score(data.labels, blank)

    def curator(self, labels: NDArray[np.intp], threat: ScoreThreat, rng: np.random.Generator) -> Curator:
        """Start a curator for ``labels``, of a scorer that ships."""
        return self._curator(labels, threat, None, rng)

    def _curator(
        self, labels: NDArray[np.intp], threat: ScoreThreat, found: Likeness | None, rng: np.random.Generator
    ) -> Curator:
        return Curator.start(labels, threat, self._scorer(threat) if found is None else found.asked, rng)

    def _likeness(self, data: LabelSet) -> Likeness | None:
        """Return what a scorer of the user's own is like; None of any other, whose facts are its own.

        Raises:
            InputError: It cannot be asked.
            InconclusiveError: Its answers tell nothing.
        """
        return remembered(self.scorer, self._scorer(data), data) if is_own(self.scorer) else None

    @property
    def _loss(self) -> AdditiveLoss:
        """The loss that is averaged: a metric that is a mean stands for its own.

        Raises:
            InputError: It only derives from such a metric.
        """
        if isinstance(self.metric, MeanLoss):
            return _itself(self.metric, self.metric).additive
        return of_channel(self.loss, AdditiveLoss, "loss", "score")

    @property
    def _unadditive(self) -> ScoredMetric | None:
        """The metric, where it is no mean of a loss."""
        if self.metric is None or isinstance(self.metric, MeanLoss):
            return None
        return of_channel(self.metric, ScoredMetric, "metric", "score")

    def _scored(self, data: LabelSet) -> ScoredMetric | None:
        metric = self._unadditive
        metric = None if metric is None else _itself(metric, metric.of_classes(data.n_classes))
        if metric is not None and metric.two_classes and data.n_classes != 2:
            raise InputError(f"the metric {type(metric).__name__} is for two classes, and there are {data.n_classes}.")
        return metric

    def _scorer(self, told: LabelSet | ScoreThreat) -> Scorer:
        n_classes = told.n_classes
        if metric := self._unadditive:
            return metric_scorer(self.scorer, metric.of_classes(n_classes), told.values)
        # What scikit-learn computes of another loss is the mean in doubles.
        doubles = self.metric is not None and self.scorer == "sklearn" and type(self._loss) is not LogLoss
        return make_scorer("float64" if doubles else self.scorer, self._loss, n_classes)

    def utility(self, data: LabelSet, defences: tuple[Defence, ...], rng: np.random.Generator) -> Mapping[str, float]:
        """Return what became of the scores of honest participants, on bundled data with as many classes as ``data``.

        As many of its records are drawn as there are in ``data``.
        """
        from labelinf_scores.game.utility import UNHURT, honest_panel, utility

        panel = {2: "breast-cancer", 10: "digits"}.get(data.n_classes)
        if panel is None:
            return {}
        if not defences and not is_own(self.scorer):
            return attrs.asdict(UNHURT)  # without training the models, which takes longer than many a game
        if self.besides:
            return _worst(
                [board.utility(data, defences, copy.deepcopy(rng)) for board in self._boards]
            )  # one draw for all
        honest = honest_panel(panel).resized(data.n_records, rng)
        named = attrs.evolve(honest, data=attrs.evolve(honest.data, class_names=data.class_names))
        try:
            game = _Honest(board=self, found=self._likeness(named.data))
            return attrs.asdict(utility(game, defences, named, rng, repeats=1))
        except InputError:  # a scorer of one's own may want other labels than these
            if is_own(self.scorer):
                return {}
            raise

    def trial(self, setting: Setting, *, curator_rng: np.random.Generator, attack_rng: np.random.Generator) -> Trialled:
        """Play one trial on the labels in a fresh random order."""
        attack = of_channel(setting.attack, ScoreAttack, "attack", "score")
        (threat, at), found = self._played(setting, attack), self._likeness(setting.data)
        order = curator_rng.permutation(setting.data.n_records)
        labels = gate.sealed(setting.data.labels[order])
        boards = zip(self._boards, threat.members or (threat,), strict=True)
        every = [(told, board._curator(labels, told, found, curator_rng).answer) for board, told in boards]
        (told, answer), asked, board = every.pop(at), itertools.count(), self._boards[at]

        def rerun(labels: NDArray[np.intp], query: Query, rng: np.random.Generator) -> Any:
            return board._curator(labels, told, found, rng).answer(query)

        oracle = ScoreOracle(told, lambda query: (next(asked), answer(query))[1], every, rerun)
        with gate.attribute_errors(attack):
            with blaming(oracle):
                guess = attack.run(oracle, attack_rng)
            gate.guessed(guess, Guess, labels.size, setting.data.n_classes)
            evidence = gate.evidence(guess.evidence)
        if self.besides:
            evidence = {**evidence, "metric": type(told.metric or told.loss).__name__}
        doubt = _doubt(found, evidence)
        if found is not None and not found.scored.all():
            guess, order = attrs.evolve(guess, labels=np.asarray(guess.labels)[found.scored]), order[found.scored]
        return Trialled(guess=guess, records=order, queries=next(asked), evidence=evidence, doubt=doubt)


@attrs.frozen(kw_only=True)
class _Honest:
    """A board as honest participants meet it: their labels are no private ones.

    Attributes:
        board: The board.
        found: What a scorer of one's own is like.
    """

    board: ScoreChannel
    found: Likeness | None

    def threat(self, setting: Setting) -> ScoreThreat:
        """Return what is public."""
        told: ScoreThreat = self.board.threat(setting)
        return told

    def curator(self, labels: NDArray[np.intp], threat: ScoreThreat, rng: np.random.Generator) -> Curator:
        """Start a curator for ``labels``."""
        return self.board._curator(labels, threat, self.found, rng)


def _itself(metric: ScoredMetric, scored: M) -> M:
    """Return what is scored for a metric, which has to be its own.

    Raises:
        InputError: It derives from a metric that ships, which would be scored in its place.
    """
    if type(metric) not in METRICS and (type(scored) in METRICS or isinstance(metric, MeanLoss)):
        raise InputError(
            f"the metric {type(metric).__name__} derives from one that ships, which would be scored in its place; "
            f"derive from ScoredMetric."
        )
    return scored


def _doubt(found: Likeness | None, evidence: Mapping[str, Any]) -> str:
    """Say why a game shows nothing that an attack did not win; nothing where it does."""
    if found is not None and found.changed:
        return f"{found.title} changed while it was attacked: it keeps state"
    if found is not None:
        return f"nothing is known of {found.title} for certain: an attack on it that fails shows nothing"
    if "contradiction" in evidence:
        return "an answer fitted no labels, so that what is assumed of the scorer or its noise is wrong"
    return ""


def _worst(found: Sequence[Mapping[str, float]]) -> Mapping[str, float]:
    """Return what became of the scores of the metric that suffers most, for every measure."""
    lower = {measure.key for measure in ScoreChannel.measures() if measure.better == "lower"} | {"max_error"}
    return {key: (max if key in lower else min)(item[key] for item in found) for key in found[0]}
