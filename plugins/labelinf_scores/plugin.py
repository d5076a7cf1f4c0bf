"""Registers the score channel's components. Imports nothing numerical."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labelinf_core import Descriptor, Kind, Reference, hookimpl
from labelinf_core.plugin.descriptors import Command, SuitePart
from labelinf_scores.catalogue import blocks, bounds, defences, exact, losses, robust

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labelinf_core import Statement

labelinf_contract = 1

_ALL = (
    *losses.DESCRIPTORS,
    *exact.DESCRIPTORS,
    *blocks.DESCRIPTORS,
    *robust.DESCRIPTORS,
    *defences.DESCRIPTORS,
    *bounds.DESCRIPTORS,
    Descriptor(
        kind=Kind.CHANNEL,
        name="score",
        channel="score",
        summary="a curator answers prediction vectors with a loss",
        reference=Reference(work="Aggarwal et al., ICML 2021", statement="Section 2"),
        target="labelinf_scores.game.channel:ScoreChannel",
    ),
)


def _of(kind: Kind) -> Iterator[Descriptor]:
    return (item for item in _ALL if item.kind is kind)


@hookimpl
def labelinf_losses() -> Iterator[Descriptor]:
    """Yield the losses of both score papers."""
    return _of(Kind.LOSS)


@hookimpl
def labelinf_attacks() -> Iterator[Descriptor]:
    """Yield every construction and decoder of both score papers, and better ones."""
    return _of(Kind.ATTACK)


@hookimpl
def labelinf_defences() -> Iterator[Descriptor]:
    """Yield the defences of the score channel."""
    return _of(Kind.DEFENCE)


@hookimpl
def labelinf_bounds() -> Iterator[Descriptor]:
    """Yield the noise floors and accuracy ceilings."""
    return _of(Kind.BOUND)


@hookimpl
def labelinf_channels() -> Iterator[Descriptor]:
    """Yield the score channel itself."""
    return _of(Kind.CHANNEL)


@hookimpl
def labelinf_statements() -> tuple[Statement, ...]:
    """Yield every statement of the two score papers."""
    from labelinf_scores.statements import STATEMENTS

    return STATEMENTS


@hookimpl
def labelinf_suites() -> Iterator[SuitePart]:
    """Yield what is played on this channel."""
    yield SuitePart(suite="quick", file="labelinf_scores.suites:quick.toml", rank=10)
    yield SuitePart(suite="defences", file="labelinf_scores.suites:defences.toml")


@hookimpl
def labelinf_commands() -> Iterator[Command]:
    """Yield the audit of a user's own system."""
    yield Command(
        group="audit",
        name="scorer",
        summary="Attack your own scoring function.",
        target="labelinf_scores.commands:scorer",
    )
