"""How a user writes a component down, and how it becomes an object.

A component is written as a call, on the command line as in a suite file:

    round(decimals=4)
    score-noise(model=uniform(tau=0.01))

or as a TOML table ``{ name = "round", decimals = 4 }``. A list where one value is expected is a **grid**:
``round(decimals=[3, 4])`` stands for two components. Values are TOML's and Python's literals; nothing is evaluated.

Data flow: text or table -> :class:`Spec` -> grid expansion -> component, with every fault named by its place.

Example:
    >>> print(parse("score-noise(model=uniform(tau=0.010))", "example"))
    score-noise(model=uniform(tau=0.01))
"""

from __future__ import annotations

import ast
import difflib
import enum
import functools
import inspect
import itertools
import re
import typing
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import attrs
import cattrs
from cattrs.errors import ClassValidationError, ForbiddenExtraKeysError, IterableValidationError
from cattrs.gen import make_dict_structure_fn

from labelinf_core.components import BASES
from labelinf_core.errors import InputError, LabelinfError, PluginError

if TYPE_CHECKING:
    from labelinf_core.descriptors import Kind
    from labelinf_core.host import Host, PluginRecord

__all__ = ["Builder", "Parameter", "Spec", "faults", "parameters", "parse", "strict_converter"]

_TEXT_OR_NAME = re.compile(r"""('(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")|(?<![\w.])[a-z][a-z0-9]*(?:-[a-z0-9]+)+""")
_STAND_IN = "ⵧ"  # a letter to Python and in nobody's name: keeps 'a-b' one identifier while the text is parsed
_CONSTANTS = {"true": True, "false": False, "inf": float("inf")}
_EMPTY = re.compile(r"Length of '(\w+)' must be >= 1: 0")
_COMPARISON = re.compile(r"'(\w+)' must be ([<>]=? \S+): (.+)")


@attrs.frozen
class Spec:
    """A component as written: its name and the parameters that were given.

    Attributes:
        name: Name of the component.
        params: Given parameters; a value is a scalar, a string, a list or another :class:`Spec`.
    """

    name: str
    params: Mapping[str, Any] = attrs.field(factory=dict)

    def __str__(self) -> str:
        if not self.params:
            return self.name
        inside = ", ".join(f"{key}={_show(value)}" for key, value in self.params.items())
        return f"{self.name}({inside})"

    @property
    def compact(self) -> str:
        """How a heading names it: ``round 4``, ``score-noise uniform 0.01``; for reading only."""
        words = {key: _compact(value) for key, value in self.params.items()}
        only_one = len(words) == 1
        return " ".join([self.name, *(word if only_one else f"{key}={word}" for key, word in words.items())])


def parse(written: object, where: str) -> Spec:
    """Read a component from text or from a table.

    Args:
        written: ``"round(decimals=4)"``, ``{"name": "round", "decimals": 4}`` or a :class:`Spec`.
        where: Its place, for the message: ``"suite.toml: defences[2]"``.

    Raises:
        InputError: It is neither.
    """
    if isinstance(written, Spec):
        return written
    if isinstance(written, str):
        return _parse_text(written, where)
    if not isinstance(written, Mapping):
        raise InputError(f"{where}: expected a name, a call such as 'round(decimals=4)' or a table, got {written!r}.")
    name = written.get("name")
    if not isinstance(name, str):
        raise InputError(f"{where}: a table must have a 'name', for example {{ name = \"round\", decimals = 4 }}.")
    given = {key: value for key, value in written.items() if key != "name"}
    nested = {key: parse(value, f"{where}.{key}") for key, value in given.items() if isinstance(value, Mapping)}
    return Spec(name, {**given, **nested})


def _parse_text(text: str, where: str) -> Spec:
    guarded = _TEXT_OR_NAME.sub(lambda match: match[1] or match[0].replace("-", _STAND_IN), text.strip())
    try:
        return _from_node(ast.parse(guarded, mode="eval").body)
    except (SyntaxError, ValueError) as error:
        raise InputError(
            f"{where}: {text!r} is not a component; write a name or a call such as 'round(decimals=4)'."
        ) from error


def _from_node(node: ast.expr) -> Spec:
    if isinstance(node, ast.Name):
        return Spec(node.id.replace(_STAND_IN, "-"))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.args:
        params = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                raise ValueError("** is not a parameter")
            params[keyword.arg] = _value(keyword.value)
        return Spec(node.func.id.replace(_STAND_IN, "-"), params)
    raise ValueError("neither a name nor a call with keywords")


def _value(node: ast.expr) -> Any:
    if isinstance(node, ast.Name) and node.id in _CONSTANTS:
        return _CONSTANTS[node.id]
    if isinstance(node, ast.Name | ast.Call):
        return _from_node(node)
    if isinstance(node, ast.List | ast.Tuple):
        return [_value(item) for item in node.elts]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand)
    return ast.literal_eval(node)


def _show(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_show, value))}]"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, enum.Enum):
        return str(value.value)
    return str(value) if isinstance(value, Spec) else repr(value)


def _compact(value: Any) -> str:
    if isinstance(value, Spec):
        return value.compact
    return value if isinstance(value, str) else _show(value)


@attrs.define
class Builder:
    """Turns specs into components of a host's plugins, and components back into specs.

    Attributes:
        host: Where names are looked up.
    """

    host: Host
    _converter: cattrs.Converter = attrs.field(init=False, repr=False)
    _makers: dict[type[Any], Callable[..., Any]] = attrs.field(init=False, repr=False, factory=dict)

    @_converter.default
    def _make_converter(self) -> cattrs.Converter:
        converter = strict_converter()
        for kind, base in BASES.items():
            converter.register_structure_hook_func(
                functools.partial(_derives_from, base),
                functools.partial(self._structure, kind),
            )
        return converter

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
            raise InputError("\n".join(faults(error, f"{where}: {spec.name}"))) from error

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

    def owners(self, kind: Kind, written: object, where: str) -> Iterator[PluginRecord]:
        """Yield the plugins that provide a component and the components among its parameters."""
        spec = parse(written, where)
        item = self.host.find(kind, spec.name)
        yield item.plugin
        hints = _hints(item.load())
        for key, value in spec.params.items():
            inner_kind = _kind_of(hints.get(key))
            for inner in value if isinstance(value, list) else [value]:
                if inner_kind is not None and inner is not None:
                    yield from self.owners(inner_kind, inner, f"{where}.{key}")

    def _class(self, kind: Kind, spec: Spec) -> type[Any]:
        return self.host.find(kind, spec.name).load()

    def _structure(self, kind: Kind, value: Any, expected: type) -> Any:
        """Build one component, top-level or nested; faults stay cattrs's, so that they carry their place."""
        spec = parse(value, f"{kind.value} {value!r}")
        cls = self._class(kind, spec)
        if not issubclass(cls, expected):
            raise TypeError(f"{kind.value} {spec.name!r} is not a {expected.__name__}")
        if cls not in self._makers:
            _hints(cls)
            self._makers[cls] = make_dict_structure_fn(cls, self._converter, _cattrs_forbid_extra_keys=True)
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
        raise InputError(f"no loaded plugin provides {target}, which is somebody's default {kind.noun}.")


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


def parameters(cls: type[Any]) -> tuple[Parameter, ...]:
    """Return the parameters of a component's class."""
    hints = _hints(cls)
    return tuple(
        Parameter(
            name=field.name,
            type=_type(hints[field.name]),
            default=None if field.default is attrs.NOTHING else _show(_default(field)),
        )
        for field in attrs.fields(cls)
        if field.init
    )


def _type(hint: Any) -> str:
    """Write what a parameter takes: a kind of component, one of a few words, or a type."""
    if kind := _kind_of(hint):
        return kind.noun
    if _derives_from(enum.Enum, hint):
        return f"one of {', '.join(str(member.value) for member in hint)}"
    return inspect.formatannotation(hint)


def strict_converter() -> cattrs.Converter:
    """Return a converter that forbids unknown keys and silent conversions ("7" into 7, 3.7 into 3)."""
    converter = cattrs.Converter(forbid_extra_keys=True)
    for scalar in (int, float, str, bool):
        converter.register_structure_hook(scalar, functools.partial(_strict, scalar))
    converter.register_structure_hook_func(lambda kind: _derives_from(enum.Enum, kind), _choice)
    return converter


def _choice(value: Any, expected: type[enum.Enum]) -> enum.Enum:
    """Return the member that a word names; on the command line a bare word arrives as a component's name."""
    word = value.name if isinstance(value, Spec) and not value.params else value
    known = {member.value: member for member in expected}
    if not isinstance(word, str) or word not in known:
        raise ValueError(f"{str(value)!r} must be one of {', '.join(map(str, known))}")
    return known[word]


def faults(error: BaseException, place: str) -> Iterator[str]:
    """Yield every fault that cattrs found, one sentence each, with its place."""
    if not isinstance(error, ClassValidationError | IterableValidationError):
        yield f"{place}: {_say(error)}"
        return
    noted, bare = error.group_exceptions()
    for inner, note in noted:
        step = f".{note.name}" if hasattr(note, "name") else f"[{note.index}]"
        yield from faults(inner, place + step)
    for inner in bare:
        yield from faults(inner, place)


def _say(error: BaseException) -> str:
    if isinstance(error, ForbiddenExtraKeysError):
        known = [field.name for field in attrs.fields(error.cl) if field.init]
        return "; ".join(_unknown(key, known) for key in sorted(error.extra_fields))
    if isinstance(error, KeyError):
        return "is missing."
    text = str(error.args[0]) if error.args else repr(error)
    if match := _COMPARISON.fullmatch(text):  # attrs's own wording of a value out of range
        text = f"{match[1]}={match[3]} must be {match[2]}"
    elif match := _EMPTY.fullmatch(text):
        text = f"{match[1]} must not be empty"
    return text if isinstance(error, LabelinfError | TypeError | ValueError) else f"{type(error).__name__}: {text}"


def _unknown(key: str, known: list[str]) -> str:
    near = difflib.get_close_matches(key, known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"known parameters are {', '.join(known) or 'none'}."
    return f"unknown parameter {key!r}; {hint}"


def _strict(expected: type, value: Any, _: type) -> Any:
    if type(value) is expected:
        return value
    if expected is float and type(value) is int:
        return float(value)
    if expected is str and isinstance(value, Spec) and not value.params:
        return value.name
    shown = str(value) if isinstance(value, Spec) else repr(value)
    raise TypeError(f"expected {expected.__name__}, got {shown}")


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


def _derives_from(base: type, candidate: Any) -> bool:
    return isinstance(candidate, type) and issubclass(candidate, base)


def _is_sequence(hint: Any) -> bool:
    origin = typing.get_origin(hint)
    listed = isinstance(origin, type) and issubclass(origin, tuple | list)
    return listed or any(map(_is_sequence, typing.get_args(hint)))


def _kind_of(hint: Any) -> Kind | None:
    for kind, base in BASES.items():
        if _derives_from(base, hint):
            return kind
    return next(filter(None, map(_kind_of, typing.get_args(hint))), None)
