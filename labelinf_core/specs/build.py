"""From specs to components, and back."""

from __future__ import annotations

import enum
import functools
import inspect
import itertools
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs
import cattrs
from cattrs.errors import ClassValidationError
from cattrs.gen import make_dict_structure_fn

from labelinf_core.contracts.components import BASES
from labelinf_core.contracts.errors import InputError, LabelinfError, PluginError
from labelinf_core.contracts.gate import unquoted
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.worker import watch
from labelinf_core.specs.faults import derives_from, failure, faults, strict_converter
from labelinf_core.specs.text import Spec, parse, show, stages

if TYPE_CHECKING:
    from labelinf_core.plugin.host import Host
    from labelinf_core.plugin.records import PluginRecord

__all__ = ["Builder", "Parameter"]


@attrs.define
class Builder:
    """Turns specs into components of a host's plugins, and components back into specs.

    Attributes:
        host: Where names are looked up.
        channel: On which channel what is built is played; empty where that is not known.
    """

    host: Host
    channel: str = ""
    _converter: cattrs.Converter = attrs.field(init=False, repr=False)
    _makers: dict[type[Any], Callable[..., Any]] = attrs.field(init=False, repr=False, factory=dict)
    _others: dict[str, Builder] = attrs.field(init=False, repr=False, factory=dict)

    @_converter.default
    def _make_converter(self) -> cattrs.Converter:
        converter = strict_converter()
        for kind, base in BASES.items():
            converter.register_structure_hook_func(
                functools.partial(derives_from, base),
                functools.partial(self._structure, kind),
            )
        return converter

    def on(self, channel: str) -> Builder:
        """Return the builder of what is played on one channel."""
        if self.channel == channel:
            return self
        if channel not in self._others:
            self._others[channel] = Builder(self.host, channel)
        return self._others[channel]

    def build(self, kind: Kind, written: object, where: str) -> Any:
        """Return the component of ``kind`` that ``written`` describes.

        Raises:
            InputError: A parameter is unknown, missing, of the wrong type or out of range. All faults come at once.
            UnknownNameError: No loaded plugin provides it.
            PluginError: Its class cannot be imported.
        """
        spec = parse(written, where)
        cls = self._class(kind, spec)
        try:
            return self._structure(kind, spec, cls)
        except (ClassValidationError, ValueError, TypeError) as error:
            if (raised := failure(error)) is not None:
                raise PluginError(f"{kind.value} {spec.name} could not be built: {unquoted(raised)}") from raised
            raise InputError("\n".join(faults(error, f"{where}: {spec.name}"))) from error
        except LabelinfError:
            raise
        except Exception as error:
            raise PluginError(f"{kind.value} {spec.name} could not be built: {unquoted(error)}") from error

    def pipeline(self, written: Sequence[object], where: str) -> tuple[Any, ...]:
        """Return the defences that ``written`` names, from the curator outward; none for the empty pipeline.

        Raises:
            LabelinfError: As :meth:`build`.
        """
        return tuple(self.build(Kind.DEFENCE, stage, where) for stage in stages(written, where))

    def expand(self, kind: Kind, written: object, where: str) -> Iterator[Spec]:
        """Yield the points of a grid: a list where the parameter is a single value stands for each of its items.

        Raises:
            InputError: ``written`` is not a component.
            UnknownNameError: No loaded plugin provides it.
        """
        spec = parse(written, where)
        hints = _hints(self._class(kind, spec))
        choices = [self._options(hints.get(key), value, f"{where}.{key}") for key, value in spec.params.items()]
        for combination in itertools.product(*choices):
            yield Spec(spec.name, dict(zip(spec.params, combination, strict=True)))

    def full(self, kind: Kind, written: object, where: str) -> Spec:
        """Return a spec with every parameter spelled out, defaults included: what a run record keeps."""
        spec = parse(written, where)
        return self._spell(spec.name, self.build(kind, spec, where), spec.params)

    def spelled(self, name: str, component: Any) -> Spec:
        """Return the spec of a component that somebody built: its parameters, written out under a name."""
        return self._spell(name, component, {})

    def owners(self, kind: Kind, written: object, where: str) -> Iterator[PluginRecord]:
        """Yield the plugins that provide a component and the components among its parameters."""
        spec = parse(written, where)
        item = self.host.find(kind, spec.name, self.channel)
        yield item.plugin
        hints = _hints(item.load())
        for key, value in spec.params.items():
            inner_kind = _kind_of(hints.get(key))
            for inner in value if isinstance(value, list) else [value]:
                if inner_kind is not None and inner is not None:
                    yield from self.owners(inner_kind, inner, f"{where}.{key}")

    def parameters(self, cls: type[Any]) -> tuple[Parameter, ...]:
        """Return the parameters of a component's class, with defaults as a user would write them."""
        hints = _hints(cls)
        return tuple(
            Parameter(
                name=field.name,
                type=_type(hints[field.name]),
                default=None if field.default is attrs.NOTHING else self._written(hints[field.name], _default(field)),
            )
            for field in attrs.fields(cls)
            if field.init
        )

    def _written(self, hint: Any, default: Any) -> str:
        return show(default if isinstance(default, enum.Enum) else self._plain(hint, default, None))

    def _class(self, kind: Kind, spec: Spec) -> type[Any]:
        return self.host.find(kind, spec.name, self.channel).load()

    def _structure(self, kind: Kind, value: Any, expected: type) -> Any:
        """Build one component, top-level or nested; faults stay cattrs's, so that they carry their place."""
        spec = parse(value, f"{kind.value} {value!r}")
        cls = self._class(kind, spec)
        if not issubclass(cls, expected):
            raise TypeError(f"{kind.value} {spec.name!r} is not a {expected.__name__}")
        if cls not in self._makers:
            _hints(cls)
            self._makers[cls] = make_dict_structure_fn(cls, self._converter, _cattrs_forbid_extra_keys=True)
        with watch.over(f"{kind.value} {spec}"):
            return self._makers[cls](dict(spec.params), cls)

    def _options(self, hint: Any, value: Any, where: str) -> list[Any]:
        kind = _kind_of(hint)
        if not _is_sequence(hint):
            items = value if isinstance(value, list) else [value]
            return items if kind is None else [point for item in items for point in self.expand(kind, item, where)]
        if kind is None or not isinstance(value, list):
            return [value]
        choices = [list(self.expand(kind, item, f"{where}[{i}]")) for i, item in enumerate(value)]
        return [list(combination) for combination in itertools.product(*choices)]

    def _spell(self, name: str, component: Any, given: Mapping[str, Any]) -> Spec:
        hints = _hints(type(component))
        return Spec(
            name,
            {
                field.name: self._plain(hints[field.name], getattr(component, field.name), given.get(field.name))
                for field in attrs.fields(type(component))
                if field.init
            },
        )

    def _plain(self, hint: Any, value: Any, given: Any) -> Any:
        kind = _kind_of(hint)
        if isinstance(value, list | tuple):
            givens = given if isinstance(given, list) else itertools.repeat(None)
            return [
                self._plain(None if kind is None else BASES[kind], *pair) for pair in zip(value, givens, strict=False)
            ]
        if kind is not None and value is not None:
            spec = Spec(self._name_of(kind, value)) if given is None else parse(given, kind.value)
            return self._spell(spec.name, value, spec.params)
        return value.value if isinstance(value, enum.Enum) else value

    def _name_of(self, kind: Kind, component: Any) -> str:
        """Return the name of a component that was built as somebody's default."""
        target = f"{type(component).__module__}:{type(component).__qualname__}"
        for item in self.host.catalogue(kind):
            if item.descriptor.target == target:
                return item.descriptor.name
        raise InputError(
            f"no loaded plugin provides {target}, which is somebody's default {kind.noun}.{self.host.left_out}"
        )


@attrs.frozen(kw_only=True)
class Parameter:
    """One parameter of a component, for a reader.

    Attributes:
        name: How it is written in a spec.
        type: Its type, or the kind of component it takes.
        default: Its default as it would be written; None when it must be given.
    """

    name: str
    type: str
    default: str | None


def _type(hint: Any) -> str:
    """Write what a parameter takes: a kind of component, one of a few words, or a type."""
    if kind := _kind_of(hint):
        return kind.noun
    for words in (hint, *typing.get_args(hint)):
        if derives_from(enum.Enum, words):
            return f"one of {', '.join(str(member.value) for member in words)}"
    return inspect.formatannotation(hint)


def _hints(cls: type[Any]) -> dict[str, Any]:
    """Return the types of a component's parameters."""
    try:
        attrs.resolve_types(cls)
    except NameError as error:
        raise PluginError(
            f"the parameters of {cls.__module__}:{cls.__qualname__} cannot be read ({error}); import their types at "
            f"run time, not under TYPE_CHECKING."
        ) from error
    return {field.name: field.type for field in attrs.fields(cls)}


def _default(field: attrs.Attribute[Any]) -> Any:
    factory: Callable[[], Any] | None = getattr(field.default, "factory", None)
    return factory() if factory else field.default


def _is_sequence(hint: Any) -> bool:
    origin = typing.get_origin(hint)
    listed = isinstance(origin, type) and issubclass(origin, tuple | list)
    return listed or any(map(_is_sequence, typing.get_args(hint)))


def _kind_of(hint: Any) -> Kind | None:
    for kind, base in BASES.items():
        if derives_from(base, hint):
            return kind
    return next(filter(None, map(_kind_of, typing.get_args(hint))), None)
