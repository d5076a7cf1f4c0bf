"""The known attacks, played against one strength of a defence after another.

An attack that refuses to play is passed over. One that fails, because it breaks or because the curator would not answer
it, has shown nothing: it counts neither for the defence nor against it, and stands beside the advice. A strength at
which no attack could be played to its end has withstood nothing, nor has one at which questions or time were up
before all were.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

import attrs
import numpy as np

from labelinf_core.advise.target import Target
from labelinf_core.contracts.components import Attack, Channel, Defence, LabelSet, Outcome, Setting
from labelinf_core.contracts.errors import PluginError
from labelinf_core.contracts.gate import said, unquoted
from labelinf_core.evaluator.choice import installed, place
from labelinf_core.evaluator.survey import strange
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.worker import apart
from labelinf_core.specs import Builder

__all__ = ["AdversarialSearch", "AdviceQuestion", "Stand"]

_OVER = 100_000  # trials are numbered from here when a contradiction is looked into: games of their own,
_GAMES = 64  # and so many, as even sixteen perfect ones do not contradict a mean of 60 % for certain
_QUERIES = 5_000  # of one attack on one setting, after which no further game begins
_FEWEST = 4  # games that are played all the same


@attrs.frozen(kw_only=True)
class Stand:
    """How a defence stood, beyond what chance can do to so few games.

    Attributes:
        exceeded: The attack that surely exceeded the target; empty when none did.
        within: Whether every attack that was played surely stayed within it.
    """

    exceeded: str = ""
    within: bool = False

    @property
    def open(self) -> bool:
        """Whether so few games leave it open: no finer setting can be told apart from this one."""
        return not self.exceeded and not self.within


@attrs.frozen(kw_only=True)
class AdviceQuestion:
    """One setting of a channel, and what a defence is to reach there.

    Attributes:
        builder: Builds components.
        name: What the channel is called.
        channel: The game.
        data: A label set of the size in question.
        base: Defences that stand already, nearest to the curator.
        target: What is to be reached.
        attacks: Specs of the attacks to withstand in any case.
        strongest: Whether those are to be withstood too that may be the strongest, of all that are installed.
        trials: Most games per attack and strength; fewer where the first ones leave no doubt.
        seed: Of the games.
        questions: After how many no further game begins on one knob: the same on every machine.
        patience: Seconds after which none begins either; it stops what is said not to have been played to its end.
    """

    builder: Builder
    name: str
    channel: Channel
    data: LabelSet
    base: tuple[Defence, ...]
    target: Target
    attacks: Sequence[str]
    trials: int = 16
    seed: int = 0
    strongest: bool = False
    questions: int = 50_000
    patience: float = math.inf


@attrs.define
class AdversarialSearch:
    """Plays attacks and remembers which of them was the strongest, and which failed.

    Attributes:
        asked: What is to be withstood, and where.
        culprit: The last attack that exceeded the target; it is tried before all others. Empty when none has.
        failures: What went wrong, by the spec of the attack or defence that failed; the first time of each.
        stood: How every defence that was tried has stood, by its spec.
        spent: Questions that the games of this knob asked.
        until: When no further game begins, by the monotonic clock.
        cut: Whether questions or time were up before every attack had been played.
    """

    asked: AdviceQuestion
    culprit: str = ""
    failures: dict[str, str] = attrs.field(factory=dict)
    stood: dict[str, Stand] = attrs.field(factory=dict)
    spent: int = 0
    until: float = attrs.field(init=False)
    cut: bool = False

    def __attrs_post_init__(self) -> None:
        self.until = time.monotonic() + self.asked.patience

    @property
    def late(self) -> bool:
        """Whether the time is up."""
        return time.monotonic() >= self.until

    @property
    def over(self) -> str:
        """What is up, so that no further game begins; empty: nothing."""
        if self.spent >= self.asked.questions:
            return f"{self.asked.questions} questions were asked (--questions)"
        return f"{self.asked.patience:g} seconds were up (--timeout)" if self.late else ""

    def withstands(self, defence: str) -> bool:
        """Return whether at least one attack played to its end against ``defence``, and none exceeded the target."""
        try:
            defences = (*self.asked.base, self.asked.builder.build(Kind.DEFENCE, defence, "advise"))
            attackers = self._attackers(defences)
        except (Exception, SystemExit) as error:
            name = defence.partition("(")[0]
            self.failures.setdefault(name, f"{name} cannot stand there: {unquoted(error)}")
            return False
        played, within = 0, True
        for spec in sorted(attackers, key=lambda spec: spec != self.culprit):
            if self.over:
                self.cut = True
                self.stood[defence] = Stand()
                return False
            games = self._games(spec, defences, defence)
            if not games:
                continue
            played += 1
            interval = self.asked.target.interval(games, self.asked.data.n_records)
            within = within and interval.high <= self.asked.target.most
            if not self.asked.target.withstood(*_mean(games)):
                self.culprit = spec
                self.stood[defence] = Stand(exceeded=spec if interval.low > self.asked.target.most else "")
                return False
        self.stood[defence] = Stand(within=within and played > 0)
        return played > 0

    def shares(self, spec: str, defence: str) -> list[float]:
        """Return what an attack recovers against a defence, in games none of which was played before."""
        attack: Attack = self.asked.builder.build(Kind.ATTACK, spec, "advise")
        defences = (*self.asked.base, self.asked.builder.build(Kind.DEFENCE, defence, "advise"))
        setting = Setting(data=self.asked.data, attack=attack, defences=defences)
        return [_won(self._play(setting, _OVER + trial))[0] for trial in range(_GAMES)]

    def _attackers(self, defences: tuple[Defence, ...]) -> list[str]:
        """Return the attacks to play: those that are named, and those that may be the strongest there."""
        if not self.asked.strongest:
            return list(self.asked.attacks)
        threat = self.asked.channel.threat(Setting(data=self.asked.data, defences=defences))
        found = [str(item.spec) for item in installed(self.asked.builder, self.asked.name)]
        best = [spec for spec in found if place(self.asked.builder, self.asked.name, spec, threat) is not None]
        return list(dict.fromkeys([*self.asked.attacks, *best]))

    def _games(self, spec: str, defences: tuple[Defence, ...], written: str) -> list[tuple[float, float]]:
        """Return accuracy and exact recovery, game by game; nothing when an attack refused, or failed unbeaten."""
        if not strange(self.asked.builder.host, [spec, written]):
            games, spent, failure = self._played(spec, defences)
        else:
            try:
                games, spent, failure = apart(f"attack {spec}", lambda: self._played(spec, defences))
            except PluginError as error:
                games, spent, failure = [], 0, str(error)
        self.spent += spent
        if failure:
            self.failures.setdefault(spec, f"{spec} failed against {written}: {failure}")
        return games

    def _played(self, spec: str, defences: tuple[Defence, ...]) -> tuple[list[tuple[float, float]], int, str]:
        """Return the games, the questions that they asked, and why there are no more of them."""
        games: list[tuple[float, float]] = []
        spent, doubt = 0, ""
        try:
            attack: Attack = self.asked.builder.build(Kind.ATTACK, spec, "advise")
            setting = Setting(data=self.asked.data, attack=attack, defences=defences)
            if (attack.blind and self.asked.strongest) or attack.unsupported_reason(self.asked.channel.threat(setting)):
                return [], 0, ""
            while len(games) < self.asked.trials and not self._is_settled(games):
                if (spent >= _QUERIES and len(games) >= _FEWEST) or (games and self.late):
                    break
                outcome = self._play(setting, len(games))
                games.append(_won(outcome))
                spent += outcome.queries
                doubt = doubt or outcome.doubt
        except (Exception, SystemExit) as error:  # an attack may do anything; the others still play
            failure = said(error) if self.asked.data.public is True else unquoted(error)
            return self._lost(games), spent, failure
        return (self._lost(games), spent, f"it shows nothing, as {doubt}") if doubt else (games, spent, "")

    def _lost(self, games: list[tuple[float, float]]) -> list[tuple[float, float]]:
        """Return games that the target did not withstand; none where it did, or nothing is known of the others."""
        return games if games and not self.asked.target.withstood(*_mean(games)) else []

    def _is_settled(self, games: Sequence[tuple[float, float]]) -> bool:
        labels = len(games) * self.asked.data.n_records
        return bool(games) and self.asked.target.is_settled(*_mean(games), labels=labels, games=len(games))

    def _play(self, setting: Setting, trial: int) -> Outcome:
        curator, attack = np.random.default_rng([self.asked.seed, trial]).spawn(2)
        return self.asked.channel.play(setting, curator_rng=curator, attack_rng=attack)


def _won(outcome: Outcome) -> tuple[float, float]:
    """Return accuracy and exact recovery."""
    return outcome.n_correct / outcome.n_records, float(outcome.n_correct == outcome.n_records)


def _mean(games: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return mean accuracy and share of exact recoveries."""
    accuracy, exact = np.mean(games, axis=0)
    return float(accuracy), float(exact)
