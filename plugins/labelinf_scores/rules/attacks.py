"""What attacks of the score channel are tried on: a curator that answers about *other* labels than it seems to hold.

Whoever looks for the truth finds it: it lies in the callers' frames, and in the curator behind the oracle. The answers
come from labels of which no array exists but while a query is answered. An honest attack returns those, whatever the
truth is; who looks is convicted by following the truth.
"""

from __future__ import annotations

import attrs
import numpy as np

from labelinf_core.contracts.components import Attack, Rule
from labelinf_core.testing.attacks import Arrays, AttackRules, Situation
from labelinf_core.testing.rules import NotApplicableError, belongs, require
from labelinf_privacy.noise.gaussian import Gaussian
from labelinf_scores.defences.clip import Clip
from labelinf_scores.defences.ladder import Ladder
from labelinf_scores.defences.score_noise import ScoreNoise
from labelinf_scores.defences.subset import Subset
from labelinf_scores.defences.thresholdout import Thresholdout
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.game.curator import ActiveScoreDefence, Answer, Ask, Curator, Query, ScoreDefence
from labelinf_scores.game.models import Run
from labelinf_scores.game.oracle import ScoreAttack, ScoreOracle
from labelinf_scores.metrics.log_loss import LogLoss
from labelinf_scores.metrics.readings.classes import MicroF1
from labelinf_scores.metrics.readings.columns import MacroAuc
from labelinf_scores.metrics.readings.counts import Accuracy
from labelinf_scores.metrics.readings.deviations import MeanAbsoluteError
from labelinf_scores.metrics.readings.discounts import Ndcg
from labelinf_scores.metrics.readings.grades import QuadraticKappa
from labelinf_scores.metrics.readings.lists import AveragePrecision, ReciprocalRank
from labelinf_scores.metrics.readings.ranks import RocAuc
from labelinf_scores.metrics.readings.squares import MeanSquaredError
from labelinf_scores.rules.games import Labels, channel_of, threat_of

__all__ = ["RULES"]


@attrs.frozen(kw_only=True)
class _Situation:
    """One small game.

    Attributes:
        channel: Loss, arithmetic and budget.
        n_classes: K.
        n_records: N.
        defences: What stands between.
    """

    channel: ScoreChannel
    n_classes: int = 2
    n_records: int = 8
    defences: tuple[ScoreDefence, ...] = ()

    @property
    def labels(self) -> Labels:
        """The labels that are answered about; every class is among them."""
        return np.random.default_rng(0).permutation(np.arange(self.n_records, dtype=np.intp) % self.n_classes)

    def set_up(self, truth: Labels) -> tuple[ScoreOracle, Arrays]:
        """Return an oracle for :attr:`labels` behind a curator that seems to hold ``truth``."""
        threat = threat_of(self.channel, self.labels, *self.defences, n_classes=self.n_classes)
        curator = self.channel.curator(truth, threat, np.random.default_rng(1))
        swapped = Curator(
            labels=truth,
            threat=threat,
            scorer=curator.scorer,
            actives=(*curator._actives, (_Swap(), _Elsewhere(self.labels))),
        )
        return ScoreOracle(threat, swapped.answer), {}


class _Elsewhere(ActiveScoreDefence):
    """Answers about other labels than it is given, which it keeps in two halves."""

    def __init__(self, labels: Labels) -> None:
        self._one = np.random.default_rng().integers(0, 2**40, labels.size)
        self._two = self._one ^ labels

    def answer(self, labels: Labels, query: Query, ask: Ask) -> Answer:
        return ask(self._one ^ self._two, query)


@attrs.frozen(kw_only=True)
class _Swap(ScoreDefence):
    """Stands for the exchange of labels where a stage must have a name."""


_LOG_LOSS = channel_of(loss=LogLoss())
_SITUATIONS = (
    _Situation(channel=channel_of()),
    _Situation(channel=_LOG_LOSS),
    _Situation(channel=channel_of(loss=LogLoss(), scorer="exact")),
    _Situation(channel=channel_of(loss=LogLoss(), scorer="exact"), n_classes=3, n_records=4),
    _Situation(channel=_LOG_LOSS, n_classes=3),
    _Situation(channel=_LOG_LOSS, defences=(Clip(), Ladder(step=0.01))),
    _Situation(channel=channel_of(loss=LogLoss(), scorer="sklearn"), defences=(Subset(share=0.5),)),
    _Situation(channel=channel_of(), defences=(ScoreNoise(model=Gaussian(scale=0.01)),)),
    _Situation(channel=channel_of(loss=LogLoss(), model=Run.BATCH)),
    _Situation(channel=channel_of(loss=LogLoss(), model=Run.ROWS)),
    _Situation(channel=channel_of(metric=Accuracy())),
    _Situation(channel=channel_of(metric=RocAuc())),
    _Situation(channel=channel_of(metric=MacroAuc()), n_classes=3, n_records=9),
    _Situation(channel=channel_of(metric=Ndcg())),
    _Situation(channel=channel_of(metric=AveragePrecision())),
    _Situation(channel=channel_of(metric=ReciprocalRank())),
    _Situation(channel=channel_of(metric=MeanSquaredError())),
    _Situation(channel=channel_of(metric=MeanAbsoluteError())),
    _Situation(channel=channel_of(metric=QuadraticKappa())),
    _Situation(channel=channel_of(metric=MicroF1())),
)

_PLAYED = AttackRules(
    base=ScoreAttack,
    stages=[
        Situation(
            threat=threat_of(each.channel, each.labels, *each.defences, n_classes=each.n_classes),
            set_up=each.set_up,
        )
        for each in _SITUATIONS
    ],
    strange=[
        threat_of(channel_of(queries=1), np.array([0, 1])),
        threat_of(_LOG_LOSS, np.array([0, 1, 0]), Thresholdout()),
    ],
)


def _keeps_its_promise(attack: Attack) -> None:
    """Check that all labels come out wherever that was certain."""
    promised = False
    for situation, stage in zip(_SITUATIONS, _PLAYED.stages, strict=True):
        known = belongs(attack, ScoreAttack)
        if known.unsupported_reason(stage.threat):
            continue
        promise = known.promise(stage.threat)
        if promise is not None and promise.certified:
            promised = True
            oracle, _ = stage.set_up(situation.labels[::-1])
            guess = known.run(oracle, np.random.default_rng(3)).labels
            require(np.array_equal(guess, situation.labels), "it promised every label and missed some")
    if not promised:
        raise NotApplicableError("it promises nothing in any of the games tried")


RULES: tuple[Rule, ...] = (
    *_PLAYED.named,
    ("keeps-its-promise", _keeps_its_promise),
)  #: what every attack of this channel is held to, beside what holds for all components
