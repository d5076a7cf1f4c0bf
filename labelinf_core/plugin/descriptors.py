"""What a plugin hands to the host: light descriptors, so that listing a hundred components imports no numerics.

A descriptor says what a component is called, which channel it plays on, what it does in one line and which published
statement it implements. The component itself is a frozen, keyword-only attrs class; it is imported from
``target`` when it is first used.

Example:
    >>> described = Descriptor(
    ...     kind=Kind.ATTACK,
    ...     name="my-attack",
    ...     channel="my-channel",
    ...     summary="guesses the most frequent class for every record",
    ...     reference=Reference(work="folklore", statement="baseline"),
    ...     target="my_package.attack:MyAttack",
    ... )
    >>> str(described)
    "attack 'my-attack'"
"""

from __future__ import annotations

import enum
import importlib
import re
from typing import Any

import attrs

from labelinf_core.contracts.errors import PluginError

__all__ = ["NO_DEFENCE", "Command", "Descriptor", "Kind", "Reference", "SuitePart"]

NO_DEFENCE = "none"  #: how the empty pipeline of defences is written; no defence can be called so

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_TARGET = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


class Kind(enum.Enum):
    """The kinds of component a plugin can provide."""

    LOSS = "loss"
    METRIC = "metric"
    ATTACK = "attack"
    NOISE = "noise"
    DEFENCE = "defence"
    BOUND = "bound"
    LABELS = "labels"
    CHANNEL = "channel"

    @property
    def noun(self) -> str:
        """How a sentence names one of this kind."""
        return _NOUNS.get(self, self.value)

    @property
    def plural(self) -> str:
        """How a heading names many of this kind."""
        return "losses" if self is Kind.LOSS else f"{self.noun}s"


_NOUNS = {Kind.NOISE: "noise model", Kind.LABELS: "label source"}


def _matches(pattern: re.Pattern[str], example: str) -> Any:
    def check(instance: object, attribute: attrs.Attribute[str], value: str) -> None:
        if not isinstance(value, str) or not pattern.fullmatch(value):
            raise ValueError(f"{type(instance).__name__}.{attribute.name}={value!r} must look like {example}.")

    return check


@attrs.frozen(kw_only=True)
class Reference:
    """Where a component comes from, exactly enough to check the code against it.

    Attributes:
        work: Authors or short title, venue, year; for example ``"Aggarwal et al., ICML 2021"``.
        statement: The statement implemented, for example ``"Theorem 1, Algorithm 1"``.
    """

    work: str
    statement: str

    def __str__(self) -> str:
        return f"{self.work}, {self.statement}" if self.statement else self.work


@attrs.frozen(kw_only=True)
class Descriptor:
    """One component that a plugin provides.

    Attributes:
        kind: What it is.
        name: How a user selects it; lower-case words joined by ``-``, unique within its kind.
        summary: One line for ``labelinf plugins``.
        reference: The statement it implements.
        target: ``module:Class`` of the attrs class; imported on first use.
        channel: Name of the channel it belongs to, or None when it serves all of them.

    Raises:
        ValueError: ``name`` or ``target`` is malformed, or the name is taken by what has none.
    """

    kind: Kind = attrs.field(validator=attrs.validators.instance_of(Kind))
    name: str = attrs.field(validator=_matches(_NAME, "lower-case words joined by '-', for example 'label-flip'"))
    summary: str = attrs.field(validator=attrs.validators.min_len(1))
    reference: Reference = attrs.field(validator=attrs.validators.instance_of(Reference))
    target: str = attrs.field(validator=_matches(_TARGET, "'module:Class', for example 'mypackage.attacks:MyAttack'"))
    channel: str | None = None

    def __attrs_post_init__(self) -> None:
        if self.kind is Kind.DEFENCE and self.name == NO_DEFENCE:
            raise ValueError(f"no defence can be called {NO_DEFENCE!r}: it is how suites write that there is none.")

    def __str__(self) -> str:
        return f"{self.kind.noun} {self.name!r}"


@attrs.frozen(kw_only=True)
class Command:
    """A command that a plugin adds to the command line; imported when it is first used.

    Attributes:
        group: Name of the group it joins (``"audit"``), or empty for a command of its own. Of the group ``"check"`` it
            is one kind of thing that ``labelinf check`` takes.
        name: How a user calls it, unique within its group.
        summary: One line for ``--help``.
        target: ``module:object`` of a ``click.Command``; in the group ``"check"`` ``module:Class`` of a
            ``labelinf_core.contracts.checked.Checker``.

    Raises:
        ValueError: ``name`` or ``target`` is malformed.
    """

    group: str = ""
    name: str = attrs.field(validator=_matches(_NAME, "lower-case words joined by '-', for example 'scorer'"))
    summary: str = attrs.field(validator=attrs.validators.min_len(1))
    target: str = attrs.field(validator=_matches(_TARGET, "'module:object', for example 'mypackage.commands:scorer'"))

    def load(self) -> Any:
        """Import and return the object.

        Raises:
            PluginError: It cannot be imported.
        """
        module, _, name = self.target.partition(":")
        try:
            return getattr(importlib.import_module(module), name)
        except Exception as error:  # a plugin's module may raise anything
            raise PluginError(
                f"command {self.name!r} cannot be imported from {self.target!r}: {type(error).__name__}."
            ) from error


@attrs.frozen(kw_only=True)
class SuitePart:
    """Tables that a plugin adds to a suite under a name that ``labelinf matrix`` knows.

    A suite that several plugins contribute to has the tables of all of them, by rank and then by the plugin's name.

    Attributes:
        suite: Name of the suite.
        file: ``package:file`` of the TOML.
        rank: Where the part stands among the others, smaller first.

    Raises:
        ValueError: ``suite`` is malformed.
    """

    suite: str = attrs.field(validator=_matches(_NAME, "lower-case words joined by '-', for example 'quick'"))
    file: str
    rank: int = 50
