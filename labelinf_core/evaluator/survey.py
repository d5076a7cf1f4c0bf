"""What a plan has to know of components: asked of their classes, answered in plain data.

What may reach a third party's code is asked in a worker (:mod:`labelinf_core.plugin.worker`). One that takes it along
loses its own answer: what was asked together is then asked again one by one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import attrs

from labelinf_core.contracts import gate
from labelinf_core.contracts.components import Channel, Measure
from labelinf_core.contracts.errors import LabelinfError, NameConflictError, PluginError, UnknownNameError
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.plugin.records import PluginRecord
from labelinf_core.plugin.worker import apart, watch
from labelinf_core.specs import Builder, Spec, parse

__all__ = ["ChannelFacts", "Fault", "Point", "channel_facts", "points", "strange"]


@attrs.frozen(kw_only=True)
class Point:
    """One point of a grid, looked up.

    Attributes:
        spec: As written.
        full: With every parameter spelled out; as written where its component is lost.
        plugins: Who provides it and the components among its parameters.
        lost: Why a plugin's part of it cannot be had; empty when it can.
    """

    spec: Spec
    full: str
    plugins: tuple[PluginRecord, ...]
    lost: str = ""


@attrs.frozen(kw_only=True)
class Fault:
    """What is wrong with something written, which its user can mend.

    Attributes:
        text: A sentence.
        missing: What no loaded plugin provides, where that is the fault.
    """

    text: str
    missing: str = ""


@attrs.frozen(kw_only=True)
class ChannelFacts:
    """What a plan keeps of a channel: attributes as in :class:`~labelinf_core.contracts.components.Channel`."""

    measures: tuple[Measure, ...]
    counts_only: bool
    fresh_order: bool


def strange(host: Host, written: object) -> bool:
    """Whether to build what is written may run a stranger's code: it names one of a stranger's components."""
    words = re.findall(r"[\w-]+", str(written))
    return not host.third_parties.isdisjoint(words)


def points(builder: Builder, kind: Kind, written: Sequence[object], where: Sequence[str]) -> list[list[Point] | Fault]:
    """Look up what is written, every grid expanded.

    Args:
        builder: Builds the components of a host's plugins.
        kind: Of all of them.
        written: The components.
        where: The place of each, for messages.

    Returns:
        For each its points, or what is wrong with it.
    """
    found: dict[int, list[Point] | Fault] = {}
    foreign = [index for index, item in enumerate(written) if strange(builder.host, item)]
    for index in set(range(len(written))).difference(foreign):
        found[index] = _points(builder, kind, written[index], where[index])
    if foreign:
        found |= zip(foreign, _apart(builder, kind, [(written[i], where[i]) for i in foreign]), strict=True)
    return [found[index] for index in range(len(written))]


def _apart(builder: Builder, kind: Kind, items: Sequence[tuple[object, str]]) -> list[list[Point] | Fault]:
    """Look up what may run third parties' code."""
    try:
        name = f"{kind.plural} {', '.join(str(written) for written, _ in items)}"
        return apart(name, lambda: [_points(builder, kind, *item) for item in items])
    except PluginError:
        return [_one(builder, kind, *item) for item in items]


def _one(builder: Builder, kind: Kind, written: object, where: str) -> list[Point] | Fault:
    """Look up one component apart; what is written stands for itself where that takes its process."""
    spec = parse(written, where)
    try:
        return apart(f"{kind.value} {spec}", lambda: _points(builder, kind, written, where))
    except PluginError as error:
        return [_lost(builder, kind, spec, error)]


def _points(builder: Builder, kind: Kind, written: object, where: str) -> list[Point] | Fault:
    try:
        try:
            specs = list(builder.expand(kind, written, where))
        except NameConflictError:
            raise
        except PluginError:
            specs = [parse(written, where)]
        return [_point(builder, kind, spec, where) for spec in specs]
    except LabelinfError as error:
        text, missing = str(error), error.missing if isinstance(error, UnknownNameError) else ""
        return Fault(text=text if text.startswith(where) else f"{where}: {text}", missing=missing)


def _point(builder: Builder, kind: Kind, spec: Spec, where: str) -> Point:
    try:
        full = str(builder.full(kind, spec, where))
        return Point(spec=spec, full=full, plugins=tuple(builder.owners(kind, spec, where)))
    except NameConflictError:
        raise
    except PluginError as error:
        return _lost(builder, kind, spec, error)


def _lost(builder: Builder, kind: Kind, spec: Spec, error: PluginError) -> Point:
    return Point(
        spec=spec,
        full=str(spec),
        plugins=(builder.host.find(kind, spec.name, builder.channel).plugin,),
        lost=str(error),
    )


def channel_facts(host: Host, name: str) -> ChannelFacts:
    """Return what a plan keeps of a channel.

    Raises:
        LabelinfError: There is none of that name, or it failed to answer.
    """

    def question(channel: type[Channel]) -> ChannelFacts:
        with watch.over(f"measures of channel {name}"), gate.attribute_errors(channel):
            measures = gate.each(channel.measures(), Measure, "measures")
        return ChannelFacts(
            measures=measures,
            counts_only=channel.counts_only is True,
            fresh_order=channel.fresh_order is True,
        )

    return host.find(Kind.CHANNEL, name).ask(question)
