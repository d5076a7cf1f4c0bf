"""What is known of a threat model before anything is played: all that defences and bounds say, one after another.

One that fails says so in a note and costs nobody else their say; one that does not come with labelinf is asked apart.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Collection, Iterator, Mapping
from types import MappingProxyType
from typing import Any, TypeVar

import attrs

from labelinf_core.contracts import gate
from labelinf_core.contracts.components import Defence
from labelinf_core.contracts.documents import plain
from labelinf_core.contracts.errors import LabelinfError
from labelinf_core.contracts.guarantees import BoundValue, Ceiling, Promise
from labelinf_core.contracts.threat import ThreatModel
from labelinf_core.evaluator.records import Implied
from labelinf_core.plugin.apart import apart
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.watch import watch
from labelinf_core.specs import Builder

__all__ = ["resting", "theory"]

R = TypeVar("R", Promise, Ceiling)
T = TypeVar("T")


def theory(
    builder: Builder,
    channel: str,
    defences: tuple[Defence, ...],
    threat: ThreatModel,
    without: Mapping[str, str] = MappingProxyType({}),
    only: Collection[str] | None = None,
) -> Implied:
    """Collect what defences and bounds say of a threat model, whatever the attack.

    Args:
        builder: Builds the bounds of a host's plugins; those that need parameters are left out and noted.
        channel: Name of the channel.
        defences: What stands between.
        threat: What the adversary knows and may spend.
        without: Bounds that are not asked, by name, and why; noted.
        only: Distributions whose bounds are asked; all when omitted.
    """
    notes: list[str] = []
    bounds = dict(_bounds(builder, channel, without, only, notes))
    stages = {f"defence {type(item).__name__}": _Source(make=functools.partial(_itself, item)) for item in defences}
    asked: dict[str, _Source] = {**({} if threat.unsaid else stages), **(bounds if _may_hold(threat) else {})}
    if threat.unsaid:
        notes.append(
            f"nothing is known of {', '.join(dict.fromkeys(threat.unsaid))}: no claim of another stage counts beside it"
        )
    return Implied(
        baseline=threat.baseline,
        ceilings=tuple(
            resting(item, threat) for item in _gather(asked, lambda source: source.ceilings(threat), Ceiling, notes)
        ),
        bounds=_gather(bounds, lambda bound: bound.evaluate(threat), BoundValue, notes),
        threat=dict(_facts(threat)),
        notes=tuple(dict.fromkeys(notes)),
    )


def resting(item: R, threat: ThreatModel) -> R:
    """Return what is certain with the premise that it rests on among its conditions."""
    return attrs.evolve(item, conditions=f"{item.conditions}; {threat.premise}") if threat.premise else item


def _may_hold(threat: ThreatModel) -> bool:
    """Whether a bound may deny anything: beside an unknown stage, only where the channel's own facts are private."""
    return not threat.unsaid or threat.label_epsilon < math.inf


def _bounds(
    builder: Builder,
    channel: str,
    without: Mapping[str, str],
    only: Collection[str] | None,
    notes: list[str],
) -> Iterator[tuple[str, _Source]]:
    for item in builder.host.catalogue(Kind.BOUND):
        name = item.descriptor.name
        if item.descriptor.channel not in (None, channel) or (only and item.plugin.distribution not in only):
            continue
        if name in without:
            notes.append(f"bound {name} is left out: {without[name]}")
        elif item.plugin.stranger:
            yield f"bound {name}", _Source(make=functools.partial(builder.build, Kind.BOUND, name, "bound"), apart=True)
        else:
            try:
                bound = builder.build(Kind.BOUND, name, "bound")
                yield f"bound {name}", _Source(make=functools.partial(_itself, bound))
            except LabelinfError as error:
                notes.append(str(error))


@attrs.frozen(kw_only=True)
class _Source:
    """Who says something of a threat model: how it is had, and whether it is asked apart."""

    make: Callable[[], Any]
    apart: bool = False


def _itself(component: T) -> T:
    return component


def _gather(
    sources: Mapping[str, _Source],
    ask: Callable[[Any], object],
    expected: type[T],
    notes: list[str],
) -> tuple[T, ...]:
    """Collect what each source says; one that fails is noted and costs nobody else their say."""
    collected: list[T] = []
    for name, source in sources.items():
        found = _answered(name, source, ask, expected)
        if isinstance(found, str):
            notes.append(f"{name} could not be evaluated: {found}")
        else:
            collected.extend(found)
    return tuple(collected)


def _answered(name: str, source: _Source, ask: Callable[[Any], object], expected: type[T]) -> tuple[T, ...] | str:
    """Return what a source says, or why it says nothing: in the same words wherever it is asked."""

    def question() -> tuple[T, ...] | str:
        try:
            return gate.each(ask(source.make()), expected, "answer")
        except (Exception, SystemExit) as error:
            return gate.unquoted(error)

    try:
        with watch.over(name):
            return apart(name, question) if source.apart else question()
    except Exception as error:
        return gate.unquoted(error)


def _facts(threat: ThreatModel) -> Iterator[tuple[str, Any]]:
    """Yield the plain fields of a threat model; components among them stand in the cell already."""
    for field in attrs.fields(type(threat)):
        value = getattr(threat, field.name)
        if value is None or isinstance(value, bool | int | float | str):
            yield field.name, plain(value)
