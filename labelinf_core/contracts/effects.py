"""What defences do, as data; what is known of a pipeline is the fold of its effects.

A defence says what it does as a tuple of small frozen **effects**, from the curator outward. An effect knows one thing:
how it changes the *facts* of its channel (how far a released value may be off, how far one label can move it, whether
asking again helps, which share of the records counts, what is private). Nobody declares a fact: every fact that an
attack or a bound asks for is computed by folding the effects, in one place, so that a stage cannot know less than it
must about the stages around it.

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
import functools
from collections.abc import Iterable
from typing import Any, Generic, Protocol, Self, TypeVar

import attrs

__all__ = ["Effect", "Facts", "Unknown", "fold", "heard"]


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


def heard(said: object, words: Iterable[type[Effect[Any]]], stage: str) -> tuple[Effect[Any], ...]:
    """Return the effects that a stage says it has; what is none of a channel's own is unknown.

    An effect computes facts: one of somebody else's making could compute any, and so could a subclass.

    Args:
        said: What the stage returned.
        words: The effects of the channel.
        stage: Its name.

    Raises:
        TypeError: It returned something else than a tuple of effects.
    """
    if not isinstance(said, tuple) or not all(isinstance(effect, Effect) for effect in said):
        raise TypeError(f"effects of {stage} must be a tuple of effects, got {type(said).__name__}")
    known = frozenset((*words, Unknown))
    return tuple(effect if type(effect) in known else Unknown(stage=stage) for effect in said)
