"""What defences do, as data; what is known of a pipeline is the fold of its effects.

A defence says what it does as a tuple of small frozen **effects**, from the curator outward. An effect knows one thing:
how it changes the *facts* of its channel (how far a released value may be off, how far one label can move it, whether
asking again helps, which share of the records counts, what is private). Nobody declares a fact: every fact that an
attack or a bound asks for is computed by folding the effects, in one place, so that a stage cannot know less than it
must about the stages around it. The core folds, in every channel; only effects of the exact types that a channel lists
are understood.

A stage that does not say what it does has the effect :class:`Unknown`, and **unknown means unsafe**: whatever is folded
over it has the worst value of every fact. Attacks still play there; nothing is promised and nothing is certified.

Example:
    >>> import attrs
    >>> from labelinf_core.contracts.effects import Effect, Unknown, fold
    >>> @attrs.frozen
    ... class Off:
    ...     by: float = 0.0
    ...
    ...     def unknown(self) -> "Off":
    ...         return Off(by=float("inf"))
    >>> @attrs.frozen
    ... class Rounded(Effect[Off]):
    ...     step: float
    ...
    ...     def after(self, facts: Off) -> Off:
    ...         return Off(by=facts.by + self.step / 2)
    >>> fold([Rounded(step=0.1), Rounded(step=1.0)], Off())
    Off(by=0.55)
    >>> fold([Rounded(step=0.1), Unknown(stage="mine")], Off())
    Off(by=inf)
"""

from __future__ import annotations

import abc
import enum
import functools
import importlib
import sys
from collections.abc import Container, Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any, Generic, Protocol, Self, TypeVar

import attrs

from labelinf_core.contracts.gate import own_packages

__all__ = ["Effect", "Facts", "TypesByName", "Unknown", "closed", "fold", "stated", "understood"]


class Facts(Protocol):
    """What is known in a channel; every channel has its own, frozen."""

    def unknown(self) -> Self:
        """Return these facts after a stage of which nothing is known: each at its worst."""


F = TypeVar("F", bound=Facts)


class Effect(abc.ABC, Generic[F]):
    """Something that a stage does to what is released. Frozen and comparable."""

    @abc.abstractmethod
    def after(self, facts: F) -> F:
        """Return what is known behind a stage with this effect.

        Args:
            facts: What is known of the stages nearer to the curator.
        """


@attrs.frozen(kw_only=True)
class Unknown(Effect[Any]):
    """Nobody has said what a stage does.

    Attributes:
        stage: What a sentence calls it.
    """

    stage: str

    def after(self, facts: F) -> F:
        """Return the worst value of every fact."""
        return facts.unknown()


def fold(effects: Iterable[Effect[F]], facts: F) -> F:
    """Return what is known behind all of ``effects``, the first of which stands nearest to the curator."""
    return functools.reduce(lambda known, effect: effect.after(known), effects, facts)


@attrs.frozen
class TypesByName(Container[type]):
    """Exact types, each by the module and the name under which it is found: listing them imports none.

    Attributes:
        names: As ``module:Class``.

    Example:
        >>> from fractions import Fraction
        >>> from labelinf_core.contracts.effects import TypesByName
        >>> listed = TypesByName.of("fractions", {"": ("Fraction",)})
        >>> Fraction in listed, type("Fraction", (Fraction,), {"__module__": "fractions"}) in listed
        (True, False)
    """

    names: frozenset[str]

    @classmethod
    def of(cls, package: str, modules: Mapping[str, tuple[str, ...]]) -> TypesByName:
        """List classes of a package by the modules within it that hold them; an empty name is the package itself."""
        homes = {f"{package}.{module}".rstrip("."): listed for module, listed in modules.items()}
        return cls(frozenset(f"{home}:{name}" for home, listed in homes.items() for name in listed))

    def __contains__(self, kind: object) -> bool:
        """Whether this very class is listed: one that only bears the name of one is not."""
        if not isinstance(kind, type) or f"{kind.__module__}:{kind.__qualname__}" not in self.names:
            return False
        return getattr(sys.modules.get(kind.__module__), kind.__qualname__, None) is kind

    def __or__(self, other: TypesByName | Iterable[type]) -> TypesByName:
        """Return what either lists."""
        more = other.names if isinstance(other, TypesByName) else {f"{k.__module__}:{k.__qualname__}" for k in other}
        return TypesByName(self.names | more)

    def imported(self) -> tuple[type, ...]:
        """Import all of them, ordered by their names.

        Raises:
            AttributeError: A module has no class of that name any more.
        """
        split = (name.split(":") for name in sorted(self.names))
        return tuple(getattr(importlib.import_module(module), name) for module, name in split)


_PLAIN = (bool, int, float, str, Fraction, type(None))


def closed(value: object, known: Container[type]) -> bool:
    """Whether a value is of an exact type that is listed, and so is all that it holds.

    What derives from a listed type can compute anything, and so can a listed one that holds somebody's own code. Plain
    numbers, texts, enumerations and tuples of what is closed are always.

    Args:
        value: A component, an effect, or what one of them holds.
        known: Types that are ours and closed.
    """
    kind = type(value)
    if kind in _PLAIN or (isinstance(value, enum.Enum) and kind.__module__.partition(".")[0] in own_packages()):
        return True
    if isinstance(value, tuple) and kind is tuple:
        return all(closed(item, known) for item in value)
    if kind not in known:
        return False
    return all(closed(getattr(value, field.name), known) for field in attrs.fields(kind))  # type: ignore[arg-type]


def stated(effects: object, stage: str) -> tuple[Effect[Any], ...]:
    """Return what a stage says that it does.

    Args:
        effects: What the stage returned.
        stage: Its name.

    Raises:
        TypeError: It returned something else than a tuple of effects.
    """
    if not isinstance(effects, tuple) or not all(isinstance(effect, Effect) for effect in effects):
        raise TypeError(f"effects of {stage} must be a tuple of effects, got {type(effects).__name__}")
    return effects


def understood(effects: Iterable[Effect[Any]], known: Container[type]) -> Iterator[Effect[Any]]:
    """Yield effects as they are folded: what is not closed is unknown, in every channel."""
    for effect in effects:
        foreign = type(effect) is not Unknown and not closed(effect, known)
        yield Unknown(stage=type(effect).__name__) if foreign else effect
