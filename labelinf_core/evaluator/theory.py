"""What is known of a threat model before anything is played: all that bounds say, one after another.

One that fails says so in a note and costs nobody else their say; one that does not come with labelinf is asked apart.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar

import attrs

from labelinf_core.contracts import gate
from labelinf_core.contracts.components import Bound
from labelinf_core.contracts.documents import plain
from labelinf_core.contracts.errors import LabelinfError
from labelinf_core.contracts.guarantees import BoundValue, Ceiling, Promise
from labelinf_core.contracts.threat import ThreatModel, third_party, vouching
from labelinf_core.evaluator.records import Implied
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.worker import apart, watch
from labelinf_core.specs import Builder

__all__ = ["theory", "vouched"]

R = TypeVar("R", Promise, Ceiling, BoundValue)
T = TypeVar("T")


def theory(
    builder: Builder,
    channel: str,
    threat: ThreatModel,
    without: Mapping[str, str] = MappingProxyType({}),
) -> Implied:
    """Collect what bounds say of a threat model, whatever the attack. Nothing else issues a ceiling.

    Args:
        builder: Builds the bounds of a host's plugins; those that need parameters are left out and noted.
        channel: Name of the channel.
        threat: What the adversary knows and may spend, the stages between folded.
        without: Bounds that are not asked, by name, and why; noted.
    """
    notes: list[str] = []
    bounds = dict(_bounds(builder.on(channel), channel, without, notes))
    if threat.undeclared:
        notes.append(
            f"nothing is known of {', '.join(dict.fromkeys(threat.undeclared))}: of what is behind it, the worst"
        )
    ceilings = _gather(bounds, threat, lambda bound: bound.ceilings(threat), Ceiling, notes)
    return Implied(
        baseline=threat.baseline,
        ceilings=ceilings if _may_hold(threat) else (),
        bounds=_gather(bounds, threat, lambda bound: bound.evaluate(threat), BoundValue, notes),
        threat=dict(_facts(threat)),
        notes=tuple(dict.fromkeys(notes)),
    )


def vouched(item: R, parties: Sequence[str]) -> R:
    """Return what is certain, with whose statements it rests on; as it is where all of it is ours."""
    if not parties:
        return item
    whose = " and ".join(parties)
    does = "do what they state" if len(parties) > 1 else "does what it states"
    return attrs.evolve(item, vouched=tuple(parties), conditions=f"{item.conditions}; proved if {whose} {does}")


def _may_hold(threat: ThreatModel) -> bool:
    """Whether a bound may deny anything: a third party's channel may forget what is unknown; ours fold the worst."""
    return not threat.undeclared or not third_party(threat, "the game")


def _bounds(
    builder: Builder,
    channel: str,
    without: Mapping[str, str],
    notes: list[str],
) -> Iterator[tuple[str, _Source]]:
    for item in builder.host.catalogue(Kind.BOUND):
        name = item.descriptor.name
        if item.descriptor.channel not in (None, channel):
            continue
        if name in without:
            notes.append(f"bound {name} is left out: {without[name]}")
        elif item.plugin.third_party:
            make = functools.partial(builder.build, Kind.BOUND, name, "bound")
            yield f"bound {name}", _Source(make=make, party=item.plugin.distribution)
        else:
            try:
                bound = builder.build(Kind.BOUND, name, "bound")
                yield f"bound {name}", _Source(make=functools.partial(_itself, bound))
            except LabelinfError as error:
                notes.append(str(error))


@attrs.frozen(kw_only=True)
class _Source:
    """A bound that is asked: how it is had, and the distribution that vouches for it; empty: it is ours."""

    make: Callable[[], Bound]
    party: str = ""


def _itself(component: T) -> T:
    return component


def _gather(
    sources: Mapping[str, _Source],
    threat: ThreatModel,
    ask: Callable[[Bound], object],
    expected: type[R],
    notes: list[str],
) -> tuple[R, ...]:
    """Collect what each bound says; one that fails is noted and costs nobody else their say."""
    collected: list[R] = []
    for name, source in sources.items():
        found = _answered(name, source, threat, ask, expected)
        if isinstance(found, str):
            notes.append(f"{name} could not be evaluated: {found}")
        else:
            collected.extend(found)
    return tuple(collected)


def _answered(
    name: str, source: _Source, threat: ThreatModel, ask: Callable[[Bound], object], expected: type[R]
) -> tuple[R, ...] | str:
    """Return what a bound says, or why it says nothing: in the same words wherever it is asked.

    A board of several metrics is no board of one: only bounds that were made for it are asked.
    """
    parties = [*vouching(threat), *([f"{name} of {source.party}"] if source.party else [])]

    def question() -> tuple[R, ...] | str:
        try:
            bound = source.make()
            if threat.members and vars(type(bound)).get("several_metrics") is not True:
                return ()
            return tuple(vouched(item, parties) for item in gate.each(ask(bound), expected, "answer"))
        except (Exception, SystemExit) as error:
            return gate.unquoted(error)

    try:
        with watch.over(name):
            return apart(name, question) if source.party else question()
    except Exception as error:
        return gate.unquoted(error)


def _facts(threat: ThreatModel) -> Iterator[tuple[str, Any]]:
    """Yield the plain fields of a threat model; components among them stand in the cell already."""
    for field in attrs.fields(type(threat)):
        value = getattr(threat, field.name)
        if value is None or isinstance(value, bool | int | float | str):
            yield field.name, plain(value)
    yield "label_epsilon", plain(threat.label_epsilon)
    yield "label_delta", plain(threat.label_delta)
