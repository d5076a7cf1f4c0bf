"""The known attacks, played against one strength of a defence after another.

An attack that refuses to play is passed over. One that fails, because it breaks or because the curator would not answer
it, has shown nothing: it counts neither for the defence nor against it, and stands beside the advice. A strength at
which no attack could be played to its end has withstood nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import numpy as np

from labelinf_core.advise.target import Target
from labelinf_core.contracts.components import Attack, Channel, Defence, LabelSet, Setting
from labelinf_core.evaluator.play import said
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.specs import Builder

__all__ = ["Siege"]


@attrs.define(kw_only=True)
class Siege:
    """Plays attacks and remembers which of them was the strongest, and which failed.

    Attributes:
        builder: Builds attacks and defences.
        channel: The game.
        data: The label set.
        base: Defences that stand already, nearest to the curator.
        target: What is to be withstood.
        attacks: Specs of the attacks.
        trials: Most games per attack and strength.
        seed: Of the games.
        culprit: The last attack that exceeded the target; it is tried before all others. Empty when none has.
        failures: What went wrong, by the spec of the attack or defence that failed; the first time of each.
    """

    builder: Builder
    channel: Channel
    data: LabelSet
    base: tuple[Defence, ...]
    target: Target
    attacks: Sequence[str]
    trials: int
    seed: int
    culprit: str = ""
    failures: dict[str, str] = attrs.field(factory=dict)

    def withstands(self, defence: str) -> bool:
        """Return whether at least one attack played to its end against ``defence``, and none exceeded the target."""
        try:
            defences = (*self.base, self.builder.build(Kind.DEFENCE, defence, "advise"))
        except (Exception, SystemExit) as error:
            self.failures.setdefault(defence, f"{defence} could not be built: {said(error)}")
            return False
        played = 0
        for spec in sorted(self.attacks, key=lambda spec: spec != self.culprit):
            withstood = self._withstood(spec, defences, defence)
            if withstood is False:
                self.culprit = spec
                return False
            played += withstood is True
        return played > 0

    def _withstood(self, spec: str, defences: tuple[Defence, ...], written: str) -> bool | None:
        """Return whether an attack stays within the target; None when it refused or failed and so shows nothing."""
        games: list[tuple[float, float]] = []
        try:
            attack: Attack = self.builder.build(Kind.ATTACK, spec, "advise")
            setting = Setting(data=self.data, attack=attack, defences=defences)
            if attack.refusal(self.channel.threat(setting)):
                return None
            while len(games) < self.trials and not self._is_settled(games):
                games.append(self._play(setting, len(games)))
        except (Exception, SystemExit) as error:  # an attack may do anything; the others still play
            self.failures.setdefault(spec, f"{spec} failed against {written}: {said(error)}")
            return False if games and not self.target.withstood(*_mean(games)) else None
        return self.target.withstood(*_mean(games))

    def _is_settled(self, games: Sequence[tuple[float, float]]) -> bool:
        labels = len(games) * self.data.n_records
        return bool(games) and self.target.is_settled(*_mean(games), labels=labels, games=len(games))

    def _play(self, setting: Setting, trial: int) -> tuple[float, float]:
        curator, attack = np.random.default_rng([self.seed, trial]).spawn(2)
        outcome = self.channel.play(setting, curator_rng=curator, attack_rng=attack)
        return outcome.n_correct / outcome.n_records, float(outcome.n_correct == outcome.n_records)


def _mean(games: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return mean accuracy and share of exact recoveries."""
    accuracy, exact = np.mean(games, axis=0)
    return float(accuracy), float(exact)
