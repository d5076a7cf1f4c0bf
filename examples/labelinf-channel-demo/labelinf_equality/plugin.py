"""Registers the channel and all that belongs to it. Imports nothing numerical, so that listing plugins stays fast."""

from __future__ import annotations

from collections.abc import Iterator

from labelinf_core import Descriptor, Kind, Reference, hookimpl
from labelinf_core.plugin.descriptors import Command, SuitePart

labelinf_contract = 2


def _own(kind: Kind, name: str, summary: str, target: str) -> Descriptor:
    return Descriptor(
        kind=kind,
        name=name,
        channel="equality",
        summary=summary,
        reference=Reference(work="labelinf-channel-demo", statement="README"),
        target=f"labelinf_equality.{target}",
    )


@hookimpl
def labelinf_components() -> Iterator[Descriptor]:
    """Yield what it provides."""
    yield _own(
        Kind.CHANNEL, "equality", "a curator says whether two records have the same label", "game:EqualityChannel"
    )
    yield _own(Kind.ATTACK, "partition", "sorts records into groups, and names groups by size", "attacks:Partition")
    yield _own(Kind.ATTACK, "most-frequent-class", "asks nothing", "attacks:MostFrequentClass")
    yield _own(Kind.DEFENCE, "randomised-answers", "says the opposite now and then", "defences:RandomisedAnswers")
    yield _own(Kind.BOUND, "equality-label-dp", "posterior odds under label-DP", "bounds:EqualityLabelDp")


@hookimpl
def labelinf_commands() -> Iterator[Command]:
    """Yield the audit of answers that were released."""
    yield Command(
        group="audit",
        name="equality",
        summary="Say what released answers have already given away.",
        target="labelinf_equality.commands:equality",
    )


@hookimpl
def labelinf_suites() -> Iterator[SuitePart]:
    """Yield what joins the shipped suite."""
    yield SuitePart(suite="quick", file="labelinf_equality:quick.toml", rank=60)
