"""The smallest strength of a defence that reaches a target, twice: proved, and observed.

*By certificate*: the smallest strength at which a ceiling that holds for every attack meets the target. *By attack*:
the smallest at which the strongest attacks that are known stay within it. The truth lies between the two; where they
meet nothing is left to argue. What is observed in a few games has an interval; where an attack surely exceeds what is
proved, one of the two is wrong, and that is said.

Both are bisections: more strength is taken to protect more. The ends are tried first, so a target that nothing reaches
is reported as such.
"""

from __future__ import annotations

import functools
import logging
import math
from collections.abc import Callable, Iterator, Mapping, Sequence

import attrs
import numpy as np

from labelinf_core.advise.adversarial_search import AdversarialSearch, AdviceQuestion, Stand
from labelinf_core.contracts.components import Defence, Setting, TunableParameter
from labelinf_core.contracts.errors import LabelinfError
from labelinf_core.contracts.gate import unquoted
from labelinf_core.contracts.guarantees import BoundValue, Ceiling, Direction
from labelinf_core.contracts.threat import ThreatModel
from labelinf_core.evaluator.costs import cost
from labelinf_core.evaluator.records import Implied
from labelinf_core.evaluator.survey import strange
from labelinf_core.evaluator.theory import theory
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.records import Registered
from labelinf_core.plugin.worker import apart, watch
from labelinf_core.statistics import proportions

_LOG = logging.getLogger("labelinf")

__all__ = ["Advice", "Advisor", "smallest"]

_STEPS = 30
_OPEN = 2  # settings that games may leave open before the search ends: finer ones cannot be told apart either
_ALARM = 1e-4  # chance that games of their own, on one knob, contradict a proof that is right


@attrs.frozen(kw_only=True)
class Advice:
    """What one knob can do.

    Attributes:
        knob: The knob.
        certified: Smallest strength that reaches the target by certificate; None when none does.
        statement: What proves it.
        forced: Smallest strength that the known attacks leave within the target; None when none does, none was asked
            for or none could be played.
        forced_from: The strongest setting that an attack surely exceeded; None when none was.
        forced_to: The weakest setting that all surely stayed within, and never more than what is proved enough; None
            when neither is known.
        contradiction: What was exceeded although it is proved enough, as a sentence; empty: nothing.
        strongest_attack: The attack that forced it; empty when none exceeded the target at any strength.
        certified_cost: What the certified strength costs honest participants, as named numbers; empty when there is
            none, or the channel cannot say.
        forced_cost: The same for the forced one.
        notes: What failed on the way, one sentence each: attacks that broke, proofs and costs that could not be had.
        cut: Whether questions or time were up before every setting had been played.
        deployment: What the certified defence grants where it is deployed, and the files to do it with, line by line.
    """

    knob: TunableParameter
    certified: float | None = None
    statement: str = ""
    forced: float | None = None
    forced_from: float | None = None
    forced_to: float | None = None
    contradiction: str = ""
    strongest_attack: str = ""
    certified_cost: Mapping[str, float] = attrs.field(factory=dict)
    forced_cost: Mapping[str, float] = attrs.field(factory=dict)
    notes: tuple[str, ...] = ()
    cut: bool = False
    deployment: tuple[str, ...] = ()

    @property
    def setting(self) -> str:
        """The certified defence with :attr:`strength`."""
        return self.knob.spec(self.strength)

    @property
    def strength(self) -> float:
        """The certified strength with four digits, rounded to the stronger side.

        Raises:
            ValueError: Nothing is certified.
        """
        if self.certified is None:
            raise ValueError("no strength is certified, so there is no setting to name")
        return _four_digits(self.certified, up=self.knob.strongest > self.knob.weakest)


@attrs.frozen(kw_only=True)
class Advisor(AdviceQuestion):
    """Answers for one setting of a channel."""

    def tunable_parameters(self) -> list[TunableParameter]:
        """Return every knob of every defence of the channel.

        A defence that cannot say what its knobs are is named, and left out.
        """
        threat = self._threat(())
        found: list[TunableParameter] = []
        for item in self._catalogue(Kind.DEFENCE):
            try:
                found.extend(item.ask(lambda cls: tuple(cls.tunable_parameters(threat))))
            except Exception as error:
                _LOG.warning("labelinf: %s cannot say what its knobs are: %s", item.descriptor, unquoted(error))
        return found

    def advise(self, knob: TunableParameter) -> Advice:
        """Turn one knob. What a component raises is noted, and never counts as protection.

        Raises:
            PluginError: A stranger's defence ended the process that it was tried in, or took longer than its games may
                and any part of a plugin besides.
        """
        if strange(self.builder.host, knob.template):
            limit = watch.patience + self.patience
            return apart(f"defence {knob.title}", lambda: self._advise(knob), patience=limit)
        return self._advise(knob)

    def _advise(self, knob: TunableParameter) -> Advice:
        notes: dict[str, str] = {}
        certified = smallest(knob, lambda strength: self._proof(knob, strength, notes) is not None)
        proof = None if certified is None else self._proof(knob, certified, notes)
        if proof is None:
            self._if_stated(knob, notes)
        elif isinstance(proof, BoundValue):  # of those alone, perhaps, who know no class counts
            notes["proved"] = f"proved of this: {proof.conditions}"
        adversarial_search = AdversarialSearch(self)
        shown = self.target.epsilon is None and self.target.points is None  # no play shows an epsilon, or has a model
        played = shown and (self.attacks or self.strongest)
        tried: dict[str, float] = {}

        def withstands(strength: float) -> bool:
            tried[knob.spec(strength)] = strength
            return adversarial_search.withstands(knob.spec(strength))

        def undecided() -> bool:
            return (
                bool(adversarial_search.over) or sum(stand.open for stand in adversarial_search.stood.values()) >= _OPEN
            )

        open_still = knob if certified is None else attrs.evolve(knob, strongest=certified)
        forced = smallest(open_still, withstands, steps=10, enough=undecided) if played else None
        cut = adversarial_search.cut or bool(played and adversarial_search.over)
        if cut:
            notes["cut"] = f"not every setting was played: {adversarial_search.over}; attacks may force more"
        stands = [(tried[spec], stand) for spec, stand in adversarial_search.stood.items()]
        contradiction = self._crossing(knob, adversarial_search, stands, certified, proof)
        low, high = _interval(knob, stands)
        if certified is not None and played and not contradiction:
            high = _weaker(knob, high, certified)
            forced = certified if forced is None and adversarial_search.culprit else forced
        costs = [self._cost(knob, strength, notes) for strength in (certified, forced)]
        found = Advice(
            knob=knob,
            certified=certified,
            statement=proof.statement if proof else "",
            forced=forced,
            forced_from=low,
            forced_to=high,
            contradiction=contradiction,
            strongest_attack=adversarial_search.culprit,
            certified_cost=costs[0],
            forced_cost=costs[1],
            notes=(*adversarial_search.failures.values(), *notes.values()),
            cut=cut,
        )
        return found if certified is None else self._deployed(found)

    def _deployed(self, found: Advice) -> Advice:
        """Add what the certified setting, as it is printed, grants where it is deployed."""
        try:
            lines = self._defences(found.knob, found.strength)[-1].deployment(self._threat(self.base))
        except Exception as error:
            note = f"what {found.setting} grants where it is deployed is not known: {unquoted(error)}"
            return attrs.evolve(found, notes=(*found.notes, note))
        return attrs.evolve(found, deployment=lines)

    def _crossing(
        self,
        knob: TunableParameter,
        adversarial_search: AdversarialSearch,
        stands: Sequence[tuple[float, Stand]],
        certified: float | None,
        proof: Ceiling | BoundValue | None,
    ) -> str:
        """Look at every setting that is proved enough and was exceeded; games of their own decide."""
        if certified is None or not isinstance(proof, Ceiling) or self.target.accuracy is None:
            return ""
        for strength, stand in stands:
            defence = knob.spec(strength)
            if not stand.exceeded or not knob.at_least(strength, certified):
                continue
            shares, most = adversarial_search.shares(stand.exceeded, defence), max(proof.reached, self.target.accuracy)
            surely = proportions.alarm_accuracy(shares, self.data.n_records, 1 - 2 * _ALARM).low > most
            if surely or proportions.betting_p_value(shares, most) <= _ALARM:
                return (
                    f"{stand.exceeded} recovers {np.mean(shares):.1%} of the labels against {defence}, and "
                    f"{proof.statement} allows {most:.1%} at most ({proof.conditions}). One of the two is wrong: a "
                    f"bug, or an erratum."
                )
        return ""

    def _catalogue(self, kind: Kind) -> Iterator[Registered]:
        """Yield the components of the channel, and those that serve all."""
        for item in self.builder.host.catalogue(kind):
            if item.descriptor.channel in (None, self.name):
                yield item

    def _cost(self, knob: TunableParameter, strength: float | None, notes: dict[str, str]) -> Mapping[str, float]:
        """Return what a strength costs honest participants, with the same draws for every knob."""
        if strength is None:
            return {}
        try:
            return cost(self.channel, self.data, self._defences(knob, strength), np.random.default_rng(self.seed))
        except Exception as error:  # a user's scorer need not take other records than its own
            notes["cost"] = f"what {knob.spec(strength)} costs honest users could not be measured: {unquoted(error)}"
            return {}

    def _if_stated(self, knob: TunableParameter, notes: dict[str, str]) -> None:
        """Note the smallest strength that is enough if what does not come with labelinf does what it states."""
        enough = smallest(knob, lambda strength: self._proof(knob, strength, {}, vouched=True) is not None)
        stated = None if enough is None else self._proof(knob, enough, {}, vouched=True)
        if enough is not None and stated is not None:
            spec = knob.spec(_four_digits(enough, up=knob.strongest > knob.weakest))
            who = " and ".join(stated.vouched)
            notes["stated"] = (
                f"{spec} is enough if {who} do what they state ({stated.statement}): nobody has checked it"
            )

    def _proof(
        self, knob: TunableParameter, strength: float, notes: dict[str, str], *, vouched: bool = False
    ) -> Ceiling | BoundValue | None:
        """Return a ceiling, or a limit of the gain over a perfect model, that reaches the target; None: none does.

        Nothing that rests on others' statements counts, unless ``vouched``.
        """
        try:
            threat = self._threat(self._defences(knob, strength))
        except LabelinfError:
            return None
        if self.target.points is not None:
            enough = [item for item in _gains(self._theory(threat, notes)) if item.value <= self.target.points]
            return min(enough, key=lambda item: item.value, default=None)
        ceilings = [item for item in self._theory(threat, notes).ceilings if vouched or not item.vouched]
        for ceiling in sorted(ceilings, key=lambda item: (item.reached, item.exact)):
            if self.target.certified(threat, (ceiling,)):
                return ceiling
        return None

    def _defences(self, knob: TunableParameter, strength: float) -> tuple[Defence, ...]:
        return (*self.base, self.builder.build(Kind.DEFENCE, knob.spec(strength), "advise"))

    def _threat(self, defences: tuple[Defence, ...]) -> ThreatModel:
        found: ThreatModel = self.channel.threat(Setting(data=self.data, defences=defences or self.base))
        return found

    def _theory(self, threat: ThreatModel, notes: dict[str, str]) -> Implied:
        """Return what the bounds say; one that fails proves nothing, and is noted once."""
        found = theory(self.builder, self.name, threat)
        notes.update((note, note) for note in found.notes)
        return found


def _gains(implied: Implied) -> list[BoundValue]:
    """Return every limit of the gain over a perfect model that rests on nothing but ours."""
    limits = (item for item in implied.bounds if item.quantity == "gain" and not item.vouched)
    return [item for item in limits if item.direction is Direction.CEILING]


def smallest(
    knob: TunableParameter,
    reaches: Callable[[float], bool],
    steps: int = _STEPS,
    enough: Callable[[], bool] = lambda: False,
) -> float | None:
    """Return the weakest strength of ``knob`` that reaches something, or None when even the strongest does not.

    Args:
        knob: Its ends; ``reaches`` is taken to be monotone between them.
        reaches: Whether a strength is enough.
        steps: Halvings of the interval, in proportion to its ends when both are positive.
        enough: Whether to stop before that.
    """
    if not reaches(knob.strongest):
        return None
    if knob.weakest == knob.strongest or reaches(knob.weakest):
        return knob.weakest
    weak, strong = knob.weakest, knob.strongest
    for _ in range(steps):
        middle = _between(weak, strong, knob)
        if middle in (weak, strong) or enough():
            break
        if reaches(middle):
            strong = middle
        else:
            weak = middle
    return strong


def _interval(knob: TunableParameter, stands: Sequence[tuple[float, Stand]]) -> tuple[float | None, float | None]:
    """Return the strongest setting that was surely exceeded and the weakest beyond it that surely was not."""
    lows = [strength for strength, stand in stands if stand.exceeded]
    low = functools.reduce(lambda one, two: one if knob.at_least(one, two) else two, lows) if lows else None
    highs = [s for s, stand in stands if stand.within and (low is None or knob.at_least(s, low))]
    return low, functools.reduce(lambda one, two: two if knob.at_least(one, two) else one, highs) if highs else None


def _weaker(knob: TunableParameter, found: float | None, certified: float) -> float:
    """Return the weaker of two settings: what is proved enough is enough, whatever so few games seem to show."""
    return certified if found is None or knob.at_least(found, certified) else found


def _four_digits(value: float, *, up: bool) -> float:
    if value == 0:
        return 0.0
    places = 3 - math.floor(math.log10(abs(value)))
    scaled = value * 10.0**places
    return float(f"{(math.ceil(scaled) if up else math.floor(scaled)) / 10.0**places:.4g}")


def _between(weak: float, strong: float, knob: TunableParameter) -> float:
    geometric = weak > 0 and strong > 0
    middle = math.sqrt(weak * strong) if geometric else (weak + strong) / 2
    if not knob.integer:
        return middle
    low, high = sorted((weak, strong))
    return float(min(max(round(middle), low + 1), high)) if high - low > 1 else strong
