"""The smallest strength of a defence that reaches a target, twice: proved, and observed.

*By certificate*: the smallest strength at which a ceiling that holds for every attack meets the target. *By attack*:
the smallest at which the strongest attacks that are known stay within it. The truth lies between the two; where they
meet nothing is left to argue.

Both are bisections: more strength is taken to protect more. The ends are tried first, so a target that nothing reaches
is reported as such.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import attrs
import numpy as np

from labelinf_core.advise.target import Target
from labelinf_core.components import Attack, Bound, Channel, Defence, Knob, LabelSet, Setting
from labelinf_core.descriptors import Kind
from labelinf_core.errors import LabelinfError
from labelinf_core.guarantees import Ceiling
from labelinf_core.specs import Builder
from labelinf_core.threat import ThreatModel

__all__ = ["Advice", "Advisor", "smallest"]

_STEPS = 30


@attrs.frozen(kw_only=True)
class Advice:
    """What one knob can do.

    Attributes:
        knob: The knob.
        certified: Smallest strength that reaches the target by certificate; None when none does.
        statement: What proves it.
        forced: Smallest strength that the known attacks leave within the target; None when none does or none was asked
            for.
        strongest_attack: The attack that forced it.
        certified_cost: What the certified strength costs honest participants, as named numbers; empty when there is
            none, or the channel cannot say.
        forced_cost: The same for the forced one.
    """

    knob: Knob
    certified: float | None = None
    statement: str = ""
    forced: float | None = None
    strongest_attack: str = ""
    certified_cost: Mapping[str, float] = attrs.field(factory=dict)
    forced_cost: Mapping[str, float] = attrs.field(factory=dict)

    @property
    def setting(self) -> str:
        """The certified defence, its strength written with four digits, rounded to the stronger side.

        Raises:
            ValueError: Nothing is certified.
        """
        if self.certified is None:
            raise ValueError("no strength is certified, so there is no setting to name")
        return self.knob.spec(_four_digits(self.certified, up=self.knob.strongest > self.knob.weakest))


@attrs.frozen(kw_only=True)
class Advisor:
    """Answers for one setting of a channel.

    Attributes:
        builder: Builds components.
        channel: The game.
        data: A label set of the size in question.
        base: Defences that stand already, nearest to the curator.
        target: What is to be reached.
        attacks: Specs of the attacks to withstand.
        trials: Most games per attack and strength; fewer where the first ones leave no doubt.
        seed: Of the games.
    """

    builder: Builder
    channel: Channel
    data: LabelSet
    base: tuple[Defence, ...]
    target: Target
    attacks: Sequence[str]
    trials: int = 16
    seed: int = 0

    def knobs(self) -> list[Knob]:
        """Return every knob of every defence of the channel."""
        threat = self._threat(())
        found: list[Knob] = []
        for item in self.builder.host.catalogue(Kind.DEFENCE):
            found.extend(item.load().knobs(threat))
        return found

    def advise(self, knob: Knob) -> Advice:
        """Turn one knob."""
        certified = smallest(knob, lambda strength: self._proof(knob, strength) is not None)
        proof = None if certified is None else self._proof(knob, certified)
        forced, attack = self._forced(knob)
        return Advice(
            knob=knob,
            certified=certified,
            statement=proof.statement if proof else "",
            forced=forced,
            strongest_attack=attack,
            certified_cost=self._cost(knob, certified),
            forced_cost=self._cost(knob, forced),
        )

    def _cost(self, knob: Knob, strength: float | None) -> Mapping[str, float]:
        """Return what a strength costs honest participants, with the same draws for every knob."""
        if strength is None:
            return {}
        return self.channel.utility(self.data, self._defences(knob, strength), np.random.default_rng(self.seed))

    def _proof(self, knob: Knob, strength: float) -> Ceiling | None:
        """Return a ceiling that reaches the target, or None."""
        try:
            defences = self._defences(knob, strength)
            threat = self._threat(defences)
            ceilings = self._ceilings(threat, defences)
        except LabelinfError:
            return None
        for ceiling in sorted(ceilings, key=lambda item: (item.accuracy, item.exact)):
            if self.target.certified(threat, (ceiling,)):
                return ceiling
        return None

    def _forced(self, knob: Knob) -> tuple[float | None, str]:
        if self.target.epsilon is not None:
            return None, ""
        culprit = ""

        def withstands(strength: float) -> bool:
            nonlocal culprit
            broken_by = self._broken_by(knob, strength, culprit)
            culprit = broken_by or culprit
            return not broken_by

        return smallest(knob, withstands, steps=10), culprit

    def _broken_by(self, knob: Knob, strength: float, suspect: str) -> str:
        """Return the first attack that exceeds the target, or nothing; ``suspect`` is tried before all others."""
        defences = self._defences(knob, strength)
        for spec in sorted(self.attacks, key=lambda spec: spec != suspect):
            attack: Attack = self.builder.build(Kind.ATTACK, spec, "advise")
            setting = Setting(data=self.data, attack=attack, defences=defences)
            if attack.refusal(self.channel.threat(setting)):
                continue
            if not self.target.withstood(*self._mean(setting)):
                return spec
        return ""

    def _mean(self, setting: Setting) -> tuple[float, float]:
        """Return mean accuracy and share of exact recoveries, over as many games as it takes to tell."""
        played: list[tuple[float, float]] = []
        while len(played) < self.trials:
            played.append(self._play(setting, len(played)))
            accuracy, exact = (float(np.mean(values)) for values in zip(*played, strict=True))
            if self.target.is_settled(accuracy, exact, labels=len(played) * self.data.n_records, games=len(played)):
                break
        return accuracy, exact

    def _play(self, setting: Setting, trial: int) -> tuple[float, float]:
        curator, attack = np.random.default_rng([self.seed, trial]).spawn(2)
        try:
            outcome = self.channel.play(setting, curator_rng=curator, attack_rng=attack)
        except LabelinfError:
            return 0.0, 0.0
        return outcome.n_correct / outcome.n_records, float(outcome.n_correct == outcome.n_records)

    def _defences(self, knob: Knob, strength: float) -> tuple[Defence, ...]:
        return (*self.base, self.builder.build(Kind.DEFENCE, knob.spec(strength), "advise"))

    def _threat(self, defences: tuple[Defence, ...]) -> ThreatModel:
        return self.channel.threat(Setting(data=self.data, defences=defences or self.base))

    def _ceilings(self, threat: ThreatModel, defences: tuple[Defence, ...]) -> list[Ceiling]:
        bounds: list[Bound] = [
            self.builder.build(Kind.BOUND, item.descriptor.name, "advise")
            for item in self.builder.host.catalogue(Kind.BOUND)
        ]
        sources: list[Defence | Bound] = [*defences, *bounds]
        return [ceiling for source in sources for ceiling in source.ceilings(threat)]


def smallest(knob: Knob, reaches: Callable[[float], bool], steps: int = _STEPS) -> float | None:
    """Return the weakest strength of ``knob`` that reaches something, or None when even the strongest does not.

    Args:
        knob: Its ends; ``reaches`` is taken to be monotone between them.
        reaches: Whether a strength is enough.
        steps: Halvings of the interval, in proportion to its ends when both are positive.
    """
    if not reaches(knob.strongest):
        return None
    if reaches(knob.weakest):
        return knob.weakest
    weak, strong = knob.weakest, knob.strongest
    for _ in range(steps):
        middle = _between(weak, strong, knob)
        if middle in (weak, strong):
            break
        if reaches(middle):
            strong = middle
        else:
            weak = middle
    return strong


def _four_digits(value: float, *, up: bool) -> float:
    if value == 0:
        return 0.0
    places = 3 - math.floor(math.log10(abs(value)))
    scaled = value * 10.0**places
    return float(f"{(math.ceil(scaled) if up else math.floor(scaled)) / 10.0**places:.4g}")


def _between(weak: float, strong: float, knob: Knob) -> float:
    geometric = weak > 0 and strong > 0
    middle = math.sqrt(weak * strong) if geometric else (weak + strong) / 2
    if not knob.integer:
        return middle
    low, high = sorted((weak, strong))
    return float(min(max(round(middle), low + 1), high)) if high - low > 1 else strong
