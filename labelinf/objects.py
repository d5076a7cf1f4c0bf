"""Components as objects: an attack or a defence that no plugin provides yet, passed as it is.

An object is turned into its spec, as a suite file would write it, and its class can then be found by that name. So a
run keeps all its parameters, and a class that breaks loses its own cells, as a plugin's does.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable
from typing import Any

import attrs

from labelinf_core.contracts.components import BASES, LabelSet, LabelSource
from labelinf_core.contracts.errors import InputError, LabelinfError
from labelinf_core.plugin.descriptors import Descriptor, Kind, Reference
from labelinf_core.plugin.records import PluginRecord, PluginStatus, Registered
from labelinf_core.specs import Builder, Spec

__all__ = ["handed", "written"]

_WORDS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")


@attrs.frozen(kw_only=True)
class _Given(Registered):
    """A class that somebody passed."""

    cls: type[Any]

    def load(self) -> type[Any]:
        """Return the class."""
        return self.cls


def written(builder: Builder, kind: Kind, items: Iterable[Any]) -> list[Any]:
    """Return every item as a suite would write it; classes of objects join the builder's host.

    Args:
        builder: Whose host has to find them.
        kind: Of all of them.
        items: Specs as text, tables or objects, or one text; a list among them is a pipeline.

    Raises:
        InputError: An object is no component of that kind.
    """
    return [_one(builder, kind, item) for item in ([items] if isinstance(items, str) else items)]


def handed(builder: Builder, data: LabelSet) -> Spec:
    """Return the spec of labels that are here already: a source of them joins the builder's host.

    Its name is drawn, so that a run that was kept does not go on with other labels, and says nothing of them.
    """

    def load(source: LabelSource) -> LabelSet:
        return data

    name = f"y-{secrets.token_hex(4)}"
    cls = attrs.make_class("HandedLabels", [], bases=(LabelSource,), class_body={"load": load}, frozen=True)
    reference = Reference(work="passed to a function", statement="")
    descriptor = Descriptor(
        kind=Kind.LABELS, name=name, summary="labels that were passed", reference=reference, target=_target(cls)
    )
    ours = next(record for record in builder.host.records.values() if not record.third_party)
    builder.host.add(_Given(descriptor=descriptor, plugin=ours, cls=cls))
    return Spec(name, {})


def _one(builder: Builder, kind: Kind, item: Any) -> Any:
    if isinstance(item, list | tuple):
        return [_one(builder, kind, stage) for stage in item]
    if isinstance(item, str | dict | Spec):
        return item
    if not isinstance(item, BASES[kind]) or not attrs.has(type(item)):
        raise InputError(
            f"{type(item).__name__} is no {kind.noun}: pass a name, or an object of an attrs class that derives from "
            f"{BASES[kind].__module__}.{BASES[kind].__name__}."
        )
    return builder.spelled(_named(builder, kind, type(item)), item)


def _named(builder: Builder, kind: Kind, cls: type[Any]) -> str:
    """Return what a class is called: as its plugin calls it, or else in words of its own name."""
    for item in builder.host.catalogue(kind):
        if (isinstance(item, _Given) and item.cls is cls) or item.descriptor.target == _target(cls):
            return item.descriptor.name
    name = "-".join(_WORDS.findall(cls.__name__)).lower()
    if _known(builder, kind, name):
        name = f"{name}-given"
    describe = (cls.__doc__ or cls.__name__).strip().splitlines()[0]
    descriptor = Descriptor(
        kind=kind,
        name=name,
        summary=describe,
        reference=Reference(work="passed as an object", statement=""),
        target=f"{cls.__module__}:{cls.__name__}",
        channel=_home(builder, cls),
    )
    owner = PluginRecord(name="objects", distribution="objects", version="0", status=PluginStatus.LOADED)
    builder.host.add(_Given(descriptor=descriptor, plugin=owner, cls=cls))
    return name


def _known(builder: Builder, kind: Kind, name: str) -> bool:
    try:
        builder.host.find(kind, name)
    except LabelinfError:
        return False
    return True


def _home(builder: Builder, cls: type[Any]) -> str | None:
    """Return the channel in whose room a class it derives from is defined; None for one that serves all."""
    rooms = {
        item.descriptor.target.partition(".")[0]: item.descriptor.name for item in builder.host.catalogue(Kind.CHANNEL)
    }
    return next((rooms[room] for base in cls.__mro__ if (room := base.__module__.partition(".")[0]) in rooms), None)


def _target(cls: type[Any]) -> str:
    return f"{cls.__module__}:{cls.__qualname__}"
