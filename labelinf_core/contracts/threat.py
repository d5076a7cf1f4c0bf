"""What the adversary knows and may spend, and how what stages state becomes what is known: in one place."""

from __future__ import annotations

import functools
import importlib.metadata
import itertools
import math
import sys
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Any, ClassVar, Protocol, Self

import attrs

from labelinf_core.contracts.effects import Effect, Unknown, fold, stated, understood
from labelinf_core.contracts.gate import own_packages

__all__ = ["NothingPrivate", "Stating", "ThreatModel", "third_party", "vouching"]


class Stating(Protocol):
    """A stage between, as far as a threat model is concerned: it states what it does."""

    def effects(self, threat: Any) -> tuple[Effect[Any], ...]:
        """Return its effects, from the curator outward."""


@attrs.frozen(kw_only=True)
class NothingPrivate:
    """Facts of a channel that lists none: nothing is private, whatever its stages state.

    Attributes:
        label_epsilon: Label-DP of everything released: none.
        label_delta: The delta that goes with it.
    """

    label_epsilon: float = math.inf
    label_delta: float = 0.0

    def unknown(self) -> NothingPrivate:
        """Return the same."""
        return self


@attrs.frozen(kw_only=True)
class ThreatModel:
    """What is public in every channel. Channels add their own facts.

    Stages state effects; :meth:`behind` keeps them as they are stated, and ``facts`` is their fold. A channel says
    which types it understands and what is known before any stage, and nothing else.

    Attributes:
        vocabulary: Exact types of the effects of this channel, and of what they may hold. Anything else is unknown.
        n_records: N, the number of private labels, at least 1.
        n_classes: K, at least 2.
        prior: Share of every class, length K, sums to one. Treated as public: a defender should assume so.
        own_effects: What the game itself does, before any stage; ``Unknown`` where what is said of it is assumed.
        effects: What the stages between state, from the curator outward.
        defences: The stages themselves, with their parameters and without their random draws.
        members: What is known of every score, where several are published of one submission. Empty: one is.
        groups: How many groups there are of every size, as pairs (records, groups), small ones first: labels of one
            group may depend on each other. Empty: not known.
        game: Who vouches for the game, in words: the core names a channel that does not come with labelinf, and one
            that does names what is not its own and could undo what is proved.
        perfect: Share of the labels that a perfect model, which knows all else that tells of them, is right on; None:
            nothing is assumed.
    """

    vocabulary: ClassVar[Container[type]] = frozenset()

    n_records: int = attrs.field(validator=attrs.validators.ge(1))
    n_classes: int = attrs.field(validator=attrs.validators.ge(2))
    prior: tuple[float, ...] = attrs.field()
    own_effects: tuple[Effect[Any], ...] = ()
    effects: tuple[Effect[Any], ...] = ()
    defences: tuple[Any, ...] = ()
    members: tuple[Any, ...] = ()
    game: str = ""
    groups: tuple[tuple[int, int], ...] = attrs.field(default=())
    perfect: float | None = attrs.field(
        default=None, validator=attrs.validators.optional([attrs.validators.ge(0), attrs.validators.le(1)])
    )

    @groups.validator
    def _are_of_all_records(self, attribute: attrs.Attribute[Any], value: tuple[tuple[int, int], ...]) -> None:
        if value and (min(map(min, value)) < 1 or sum(size * count for size, count in value) != self.n_records):
            raise ValueError(f"groups={value} must hold {self.n_records} records in all, each group at least one.")

    @prior.validator
    def _is_a_distribution(self, attribute: attrs.Attribute[tuple[float, ...]], value: tuple[float, ...]) -> None:
        if len(value) != self.n_classes or min(value) < 0 or abs(sum(value) - 1) > 1e-9:
            raise ValueError(f"prior={value} must be {self.n_classes} shares that are not negative and sum to one.")

    def start(self) -> Any:
        """Return what is known before any stage: the facts of this channel."""
        return NothingPrivate()

    @property
    def shows_labels(self) -> bool:
        """Whether it is declared that what is shown contains the labels: then a placebo may be read. Seldom."""
        return False

    def foreign(self) -> Iterable[str]:
        """Return what the game itself is made of that is not ours and closed, by name: nothing is known of it."""
        return ()

    @functools.cached_property
    def facts(self) -> Any:
        """What is known behind all stages: the fold of what they state."""
        return fold(self._understood(), self.start())

    def _understood(self) -> Iterator[Effect[Any]]:
        if not self.members:
            yield from (Unknown(stage=name) for name in self.foreign())
            yield from understood((*self.own_effects, *self.effects), self.vocabulary)

    @property
    def label_epsilon(self) -> float:
        """Label-DP of everything released (two label vectors that differ in one record); infinity without."""
        return float(self.facts.label_epsilon)

    @property
    def label_delta(self) -> float:
        """The delta that goes with it."""
        return float(self.facts.label_delta)

    def behind(self, defence: Stating) -> Self:
        """Return what is known behind one more stage, of every member if there are several.

        Raises:
            InputError: The stage does not fit behind the others.
            TypeError: It does not say what it does as a tuple of effects.
        """
        if self.members:
            joined = self.together([member.behind(defence) for member in self.members])
            return attrs.evolve(joined, perfect=self.perfect)
        effects = stated(defence.effects(self), type(defence).__name__)
        return attrs.evolve(self, effects=(*self.effects, *effects), defences=(*self.defences, defence))

    def through(self, pipeline: Iterable[Stating]) -> Self:
        """Return what is known behind all stages of ``pipeline``, the first of which stands nearest to the curator."""
        return functools.reduce(type(self).behind, pipeline, self)

    @property
    def bare(self) -> Self:
        """What would be known if nothing stood between."""
        return attrs.evolve(self, effects=(), defences=()) if self.effects or self.defences else self

    @functools.cached_property
    def before(self) -> tuple[Self, ...]:
        """What is known in front of every stage, which is what the stage itself is told."""
        if not self.defences:
            return ()
        return tuple(itertools.accumulate(self.defences[:-1], type(self).behind, initial=self.bare))

    @classmethod
    def together(cls, members: Sequence[Self]) -> Self:
        """Return what is known where all ``members`` are published of one submission."""
        return attrs.evolve(members[0], members=tuple(members))

    @property
    def undeclared(self) -> tuple[str, ...]:
        """Stages that do not say what they do, in words that are understood: nothing is promised behind them."""
        if self.members:
            return tuple(dict.fromkeys(name for member in self.members for name in member.undeclared))
        return tuple(effect.stage for effect in self._understood() if isinstance(effect, Unknown))

    @property
    def majority(self) -> int:
        """The most frequent class."""
        return max(range(self.n_classes), key=lambda k: self.prior[k])

    @property
    def baseline(self) -> float:
        """Accuracy of the majority guess, the most that is known before anything is released."""
        return self.prior[self.majority]


def vouching(threat: ThreatModel) -> tuple[str, ...]:
    """Return who vouches for what is stated: the game and the stages that do not come with labelinf, each in words."""
    parts = [("the game", threat), *(("stage", defence) for defence in threat.defences)]
    said = (third_party(part, role) for role, part in parts)
    return tuple(dict.fromkeys(filter(None, (threat.game, *said))))


def third_party(component: object, role: str) -> str:
    """Say of a component that does not come with labelinf what it is and where it comes from; nothing of ours.

    >>> from fractions import Fraction
    >>> from labelinf_core.contracts.threat import third_party
    >>> third_party(Fraction(1, 2), "stage")
    'stage Fraction of fractions'
    """
    package = type(component).__module__.partition(".")[0]
    if package in own_packages():
        return ""
    return f"{role} {type(component).__name__} of {_distribution(package, tuple(sys.path))}"


@functools.lru_cache(maxsize=64)
def _distribution(package: str, path: tuple[str, ...]) -> str:
    """Return what a package was installed as: every installed file is read for it, once for a search path."""
    return importlib.metadata.packages_distributions().get(package, [package])[0]
