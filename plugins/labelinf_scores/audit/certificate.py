"""What is proved of a board as it is deployed: of a user's own function nothing, of stages of ours what any one leaves.

No answer of a user's function is looked at here. It is the worst there is: what survives is how many values the last
stage lets through and how often, which rows reach it, and of which labels (labelinf theory, any scorer). All of that
holds where labels reach the function only through labelinf.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import attrs

from labelinf_core.advise.search import Advisor
from labelinf_core.advise.target import Target
from labelinf_core.contracts.components import Defence, LabelSet, Setting, TunableParameter
from labelinf_core.contracts.errors import LabelinfError
from labelinf_core.contracts.guarantees import Ceiling, Direction
from labelinf_core.contracts.threat import ThreatModel
from labelinf_core.evaluator.records import Implied
from labelinf_core.evaluator.theory import theory
from labelinf_core.specs import Builder
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.game.curator import ScoreDefence
from labelinf_scores.game.likeness import Likeness
from labelinf_scores.game.scorers import is_own
from labelinf_scores.game.scoring import Scorer
from labelinf_scores.game.threat import ScoreThreat

__all__ = [
    "ONLY_THROUGH_US",
    "AuditedBoard",
    "BoardCertificate",
    "Certifying",
    "certificate",
    "informed",
    "never_asking",
]

NEVER_ASKED = "of the board's own metric: the scorer is not asked there, and nothing is said of it"
ONLY_THROUGH_US = (
    "labels reach the scorer only through labelinf (not of a program or container that holds its own copy)"
)


@attrs.frozen(kw_only=True)
class BoardCertificate:
    """A proof that a board stays within a target.

    Attributes:
        statement: What proves it.
        conditions: Of what.
        gain: The most that any attacker has beyond what is known anyway, as a share of the labels; None: not limited.
        exact: The largest probability that all labels are recovered.
        where: What else it takes where the scorer is a user's own; empty for one that ships.
    """

    statement: str
    conditions: str
    gain: float | None
    exact: float
    where: str = ""

    @property
    def points(self) -> str:
        """The gain, rounded up."""
        if self.gain is None:
            return f"all labels recovered with probability {math.ceil(1e4 * self.exact) / 100:.2f}% at most"
        points = math.ceil(round(1e3 * self.gain, 9)) / 10
        return f"at most {points:.1f} points over what an attacker knows anyway"

    def sentence(self) -> str:
        """Say it in one line."""
        return f"{self.points} ({'; '.join(filter(None, (self.statement, self.conditions, self.where)))})"


@attrs.frozen(kw_only=True)
class AuditedBoard(ScoreChannel):
    """The board that is audited: a scorer that ships is known, one of a user's own is the worst there is.

    Attributes:
        found: A scorer of one's own as it is asked, with which costs are measured; None: it was not.
    """

    found: Likeness | None = None

    def _asked(self, data: LabelSet) -> ScoreThreat:
        if not is_own(self.scorer):
            return super()._asked(data)
        facts = self._scorer(data).facts
        return ScoreThreat(
            n_records=data.n_records,
            n_classes=data.n_classes,
            prior=data.prior,
            loss=self._loss,
            arithmetic=facts.arithmetic,
            summation=facts.summation,
            own_effects=facts.effects,
            granted=self.queries or None,
            groups=data.group_sizes,
        )

    def _likeness(self, data: LabelSet) -> Likeness | None:
        return self.found if is_own(self.scorer) else None

    @property
    def twin(self) -> AuditedBoard | None:
        """The board of the metric that a scorer of one's own agrees with, computed by what ships; None: of none.

        What scores labels itself, and never asks the scorer, stands on that board.
        """
        if not is_own(self.scorer) or self.found is None or not self.found.name:
            return None
        return attrs.evolve(self, scorer="sklearn", metric=self.found.metric, found=None)

    def computed(self, data: LabelSet) -> Scorer:
        """Return what computes a score."""
        return self._scorer(data)

    def deployed(self, data: LabelSet, stages: Sequence[Defence]) -> ScoreThreat:
        """Return what an adversary knows behind ``stages`` who knows the class shares at least.

        Raises:
            InputError: A stage does not fit there.
        """
        told: ScoreThreat = self.threat(Setting(data=informed(data), defences=tuple(stages)))
        return told


def never_asking(proof: BoardCertificate) -> BoardCertificate:
    """Return what is proved of the twin of a board, and that it says nothing of the scorer."""
    return attrs.evolve(proof, where=f"{NEVER_ASKED}; {ONLY_THROUGH_US}")


def informed(data: LabelSet) -> LabelSet:
    """Return labels of which a model that was there before is right on as many as the likeliest class has, or more."""
    return attrs.evolve(data, perfect=max(data.prior))


@attrs.frozen(kw_only=True)
class Certifying(Advisor):
    """Turns the knobs of defences until a board has a certificate."""

    def _proof(
        self, knob: TunableParameter, strength: float, notes: dict[str, str], *, vouched: bool = False
    ) -> Ceiling | None:
        if vouched:  # what rests on others' statements is no certificate
            return None
        try:
            threat = self._threat(self._defences(knob, strength))
        except LabelinfError:
            return None
        return _proof(self._theory(threat, notes), threat, self.target)


def certificate(builder: Builder, threat: ThreatModel, target: Target, until: str = "") -> BoardCertificate | None:
    """Return what is proved to stay within ``target``; None where nothing is. What others vouch for proves nothing.

    Args:
        builder: Knows the bounds.
        threat: What an adversary knows.
        target: What is to be reached.
        until: When the board ends that stands there, as a clause; empty where it does not.
    """
    implied = theory(builder, "score", threat)
    if (ceiling := _proof(implied, threat, target)) is None:
        return None
    return BoardCertificate(
        statement=ceiling.statement,
        conditions="; ".join(filter(None, (until, ceiling.conditions))),
        gain=_gain(implied, ceiling, threat.baseline),
        exact=ceiling.exact,
        where=_where(threat),
    )


def _where(threat: ThreatModel) -> str:
    if not threat.own_effects:
        return ""
    asks = (stage.asks for stage in threat.defences if isinstance(stage, ScoreDefence))
    return ONLY_THROUGH_US if all(asks) else f"{NEVER_ASKED}; {ONLY_THROUGH_US}"


def _proof(implied: Implied, threat: ThreatModel, target: Target) -> Ceiling | None:
    """Return the ceiling that reaches a target, for those who know no more than class shares and those who do."""
    ours = [ceiling for ceiling in implied.ceilings if not ceiling.vouched]
    for ceiling in sorted(ours, key=lambda item: (item.reached, item.exact)):
        if target.certified(threat, (ceiling,)):
            gain = _gain(implied, ceiling, threat.baseline)
            if target.accuracy is None or (gain is not None and gain <= target.accuracy - target.blind):
                return ceiling
    return None


def _gain(implied: Implied, ceiling: Ceiling, blind: float) -> float | None:
    """Return the larger of what is gained over class shares, and over any better model that was there before."""
    limits = [item for item in implied.bounds if item.quantity == "gain" and not item.vouched]
    gains = [item.value for item in limits if item.direction is Direction.CEILING]
    if not gains or ceiling.reached >= 1:
        return None
    return max(min(gains), ceiling.reached - blind)
