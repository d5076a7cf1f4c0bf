"""The game: a curator holds labels; an adversary asks of two records at a time whether they are of one class.

What a defence does to an answer is data: ``Flipped`` says how often it is wrong and whether asking again helps. The
facts of a pipeline are the fold of its effects; behind a stage that says nothing, nothing is certified.

In every trial the labels are drawn afresh and independently with the class shares of the label set, so that knowing the
shares never tells one label from the others.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import attrs
import numpy as np

from labelinf_core.contracts.components import (
    Attack,
    Channel,
    Defence,
    Guess,
    LabelSet,
    Measure,
    Rule,
    Setting,
    Trialled,
    of_channel,
)
from labelinf_core.contracts.effects import Effect
from labelinf_core.contracts.errors import InputError, QueriesExhaustedError
from labelinf_core.contracts.threat import ThreatModel
from labelinf_core.plugin.descriptors import Kind

__all__ = [
    "Ask",
    "EqualityAttack",
    "EqualityChannel",
    "EqualityDefence",
    "EqualityOracle",
    "EqualityThreat",
    "Facts",
    "Flipped",
]

Ask = Callable[[int, int], bool]  #: what stands nearer to the curator: are the labels of two records equal?


@attrs.frozen(kw_only=True)
class Facts:
    """What is known of an answer.

    Attributes:
        partners: Records that one can be compared with.
        budget: Questions that may be asked; None: any number.
        error: Probability that it is wrong, in [0, 1/2]; NaN when it is not known.
        sticky: Whether asking again gives the same answer.
    """

    partners: int = 0
    budget: int | None = None
    error: float = 0.0
    sticky: bool = True

    def unknown(self) -> Facts:
        """Return that nothing is known: no accuracy is promised and no privacy."""
        return attrs.evolve(self, error=math.nan, sticky=False)

    @property
    def label_epsilon(self) -> float:
        """Label-DP of the whole game: of all answers about one record, fresh ones anew."""
        if self.error == 0.5:
            return 0.0
        asked = min(self.partners if self.sticky else math.inf, math.inf if self.budget is None else self.budget)
        return math.inf if math.isnan(self.error) or asked == math.inf else asked * self.epsilon

    @property
    def label_delta(self) -> float:
        """None goes with it."""
        return 0.0

    @property
    def epsilon(self) -> float:
        """Label-DP of one fresh answer: the log odds of its being right; infinity where nothing hides it."""
        return math.log((1 - self.error) / self.error) if self.error > 0 else math.inf


@attrs.frozen(kw_only=True)
class Flipped(Effect[Facts]):
    """The opposite is said with a probability, independently of everything else.

    Attributes:
        probability: In [0, 1/2].
        sticky: The same pair is always answered alike.
    """

    probability: float
    sticky: bool

    def after(self, facts: Facts) -> Facts:
        """Two coins are one: wrong when exactly one of them falls so."""
        error = facts.error * (1 - self.probability) + (1 - facts.error) * self.probability
        sticky = facts.sticky and (self.sticky or self.probability == 0)
        return attrs.evolve(facts, error=error, sticky=sticky)


@attrs.frozen(kw_only=True)
class EqualityThreat(ThreatModel):
    """What the adversary knows and may spend.

    Attributes:
        budget: Questions it may ask; None when there is no limit.
    """

    vocabulary: ClassVar[frozenset[type]] = frozenset({Flipped})

    budget: int | None

    def start(self) -> Facts:
        """Return what is known where nothing stands between; the core folds what stages state."""
        return Facts(partners=self.n_records - 1, budget=self.budget)


class EqualityOracle:
    """The adversary's whole view."""

    def __init__(self, threat: EqualityThreat, answer: Ask) -> None:
        self.threat = threat
        self.spent = 0
        self._answer = answer

    @property
    def remaining(self) -> float:
        """Questions that are left."""
        return math.inf if self.threat.budget is None else self.threat.budget - self.spent

    def equal(self, one: int, other: int) -> bool:
        """Ask whether two records have the same label.

        Raises:
            QueriesExhaustedError: The budget is spent.
        """
        if self.remaining < 1:
            raise QueriesExhaustedError(f"the budget of {self.threat.budget} questions is spent.")
        self.spent += 1
        return self._answer(one, other)


class EqualityAttack(Attack, abc.ABC):
    """Recovers labels from answers."""

    @abc.abstractmethod
    def run(self, oracle: EqualityOracle, rng: np.random.Generator) -> Guess:
        """Guess one label per record, or abstain."""


class EqualityDefence(Defence, abc.ABC):
    """Stands between the curator and the world."""

    @abc.abstractmethod
    def start(self, threat: EqualityThreat, rng: np.random.Generator, ask: Ask) -> Ask:
        """Begin a game: return what answers from now on, instead of ``ask``."""


@attrs.frozen(kw_only=True)
class EqualityChannel(Channel):
    """A curator that says whether two records have the same label.

    Attributes:
        queries: The adversary's budget; 0 is unlimited.
    """

    default_labels: ClassVar[str] = "breast-cancer"
    rank: ClassVar[int] = 60

    queries: int = attrs.field(default=0, validator=attrs.validators.ge(0))

    @classmethod
    def strongest(cls, threat: ThreatModel | None = None) -> tuple[str, ...]:
        """Return what may be the strongest, whatever stands between."""
        return ("partition", "partition(repeat=9)")

    @classmethod
    def measures(cls) -> tuple[Measure, ...]:
        """Return what honest users lose, and what a trial shows beside labels: which records belong together."""
        return (
            Measure(key="wrong", title="wrong answers", better="lower", unit="share"),
            Measure(key="pairs_told", title="pairs told", of="trial", better="lower", unit="share"),
        )

    @classmethod
    def rules(cls) -> Mapping[Kind, Sequence[Rule]]:
        """Return the contract of this channel's components."""
        from labelinf_equality.rules import RULES

        return RULES

    @classmethod
    def templates(cls) -> Mapping[Kind, str]:
        """Return what new components are begun from."""
        return {Kind.ATTACK: "labelinf_equality:templates/attack.py.jinja"}

    def undefended(self, setting: Setting) -> EqualityThreat:
        """Return what is public where nothing stands between.

        Raises:
            InputError: A component belongs to another channel.
        """
        data = setting.data
        if setting.attack is not None:
            of_channel(setting.attack, EqualityAttack, "attack", "equality")
        for defence in setting.defences:
            of_channel(defence, EqualityDefence, "defence", "equality")
        return EqualityThreat(
            n_records=data.n_records, n_classes=data.n_classes, prior=data.prior, budget=self.queries or None
        )

    def utility(self, data: LabelSet, defences: tuple[Defence, ...], rng: np.random.Generator) -> Mapping[str, float]:
        """Return the share of answers that are wrong."""
        answer = self._answering(data.labels, Setting(data=data, defences=defences), rng)
        pairs = rng.integers(0, data.n_records, (400, 2))
        wrong = [answer(one, other) != (data.labels[one] == data.labels[other]) for one, other in pairs.tolist()]
        return {"wrong": float(np.mean(wrong))}

    def trial(self, setting: Setting, *, curator_rng: np.random.Generator, attack_rng: np.random.Generator) -> Trialled:
        """Play one trial on freshly drawn labels."""
        attack = of_channel(setting.attack, EqualityAttack, "attack", "equality")
        threat = self.threat(setting)
        labels = curator_rng.choice(threat.n_classes, threat.n_records, p=threat.prior)
        oracle = EqualityOracle(threat, self._answering(labels, setting, curator_rng))
        guess = attack.run(oracle, attack_rng)
        if np.shape(guess.labels) != labels.shape:
            raise InputError(f"the attack guessed an array of shape {np.shape(guess.labels)}, expected {labels.shape}.")
        return Trialled(
            guess=guess,
            planted=labels,
            queries=oracle.spent,
            evidence={**guess.evidence, "pairs_told": _pairs_told(guess.labels, labels)},
        )

    def _answering(self, labels: Any, setting: Setting, rng: np.random.Generator) -> Ask:
        def ask(one: int, other: int) -> bool:
            return bool(labels[one] == labels[other])

        threat = self.threat(setting)
        for defence in setting.defences:
            ask = of_channel(defence, EqualityDefence, "defence", "equality").start(threat, rng, ask)
        return ask


def _pairs_told(guessed: Any, truth: Any) -> float:
    """Return the share of pairs of records that are rightly said to belong together or not."""
    pairs = np.triu_indices(len(truth), 1)
    together = (guessed[:, None] == guessed)[pairs]
    return float(np.mean(together == (truth[:, None] == truth)[pairs]))
