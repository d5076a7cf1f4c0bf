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
from labelinf_core.evaluator.choice import installed, place
from labelinf_core.evaluator.play import said
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.specs import Builder

__all__ = ["Siege", "Stand"]

_OVER = 100_000  # trials are numbered from here when a contradiction is looked into: games of their own,
_GAMES = 64  # and so many, as even sixteen perfect ones do not contradict a mean of 60 % for certain


@attrs.frozen(kw_only=True)
class Stand:
    """How a defence stood, beyond what chance can do to so few games.

    Attributes:
        exceeded: The attack that surely exceeded the target; empty when none did.
        within: Whether every attack that was played surely stayed within it.
    """

    exceeded: str = ""
    within: bool = False


@attrs.define(kw_only=True)
class Siege:
    """Plays attacks and remembers which of them was the strongest, and which failed.

    Attributes:
        builder: Builds attacks and defences.
        name: What the channel is called.
        channel: The game.
        data: The label set.
        base: Defences that stand already, nearest to the curator.
        target: What is to be withstood.
        attacks: Specs of the attacks that are played in any case.
        strongest: Whether those are played too that may be the strongest, of all that are installed.
        trials: Most games per attack and strength.
        seed: Of the games.
        culprit: The last attack that exceeded the target; it is tried before all others. Empty when none has.
        failures: What went wrong, by the spec of the attack or defence that failed; the first time of each.
        stood: How every defence that was tried has stood, by its spec.
    """

    builder: Builder
    name: str
    channel: Channel
    data: LabelSet
    base: tuple[Defence, ...]
    target: Target
    attacks: Sequence[str]
    trials: int
    seed: int
    culprit: str = ""
    failures: dict[str, str] = attrs.field(factory=dict)
    stood: dict[str, Stand] = attrs.field(factory=dict)
    strongest: bool = False

    def withstands(self, defence: str) -> bool:
        """Return whether at least one attack played to its end against ``defence``, and none exceeded the target."""
        try:
            defences = (*self.base, self.builder.build(Kind.DEFENCE, defence, "advise"))
        except (Exception, SystemExit) as error:
            self.failures.setdefault(defence, f"{defence} could not be built: {said(error)}")
            return False
        played, within = 0, True
        for spec in sorted(self._attackers(defences), key=lambda spec: spec != self.culprit):
            games = self._games(spec, defences, defence)
            if not games:
                continue
            played += 1
            interval = self.target.interval(games, self.data.n_records)
            within = within and interval.high <= self.target.most
            if not self.target.withstood(*_mean(games)):
                self.culprit = spec
                self.stood[defence] = Stand(exceeded=spec if interval.low > self.target.most else "")
                return False
        self.stood[defence] = Stand(within=within and played > 0)
        return played > 0

    def shares(self, spec: str, defence: str) -> list[float]:
        """Return what an attack recovers against a defence, in games none of which was played before."""
        attack: Attack = self.builder.build(Kind.ATTACK, spec, "advise")
        defences = (*self.base, self.builder.build(Kind.DEFENCE, defence, "advise"))
        setting = Setting(data=self.data, attack=attack, defences=defences)
        return [self._play(setting, _OVER + trial)[0] for trial in range(_GAMES)]

    def _attackers(self, defences: tuple[Defence, ...]) -> list[str]:
        """Return the attacks to play: those that are named, and those that may be the strongest there."""
        if not self.strongest:
            return list(self.attacks)
        threat = self.channel.threat(Setting(data=self.data, defences=defences))
        found = [str(spec) for spec in installed(self.builder, self.name)]
        best = [spec for spec in found if place(self.builder, self.name, spec, threat) is not None]
        return list(dict.fromkeys([*self.attacks, *best]))

    def _games(self, spec: str, defences: tuple[Defence, ...], written: str) -> list[tuple[float, float]]:
        """Return accuracy and exact recovery, game by game; nothing when an attack refused, or failed unbeaten."""
        games: list[tuple[float, float]] = []
        try:
            attack: Attack = self.builder.build(Kind.ATTACK, spec, "advise")
            setting = Setting(data=self.data, attack=attack, defences=defences)
            if (attack.blind and self.strongest) or attack.refusal(self.channel.threat(setting)):
                return []
            while len(games) < self.trials and not self._is_settled(games):
                games.append(self._play(setting, len(games)))
        except (Exception, SystemExit) as error:  # an attack may do anything; the others still play
            self.failures.setdefault(spec, f"{spec} failed against {written}: {said(error)}")
            return games if games and not self.target.withstood(*_mean(games)) else []
        return games

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
