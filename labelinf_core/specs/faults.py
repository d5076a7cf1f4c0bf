"""What cattrs found wrong, as sentences with their places; and the converter that finds it."""

from __future__ import annotations

import difflib
import enum
import functools
import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal, TypeVar, get_args, get_origin

import attrs
import cattrs
from cattrs.errors import ClassValidationError, ForbiddenExtraKeysError, IterableValidationError

from labelinf_core.contracts import gate
from labelinf_core.contracts.errors import LabelinfError, PluginError
from labelinf_core.specs.text import Spec

__all__ = ["derives_from", "failure", "faults", "strict_converter"]

T = TypeVar("T")

_EMPTY = re.compile(r"Length of '(\w+)' must be >= 1: 0")
_COMPARISON = re.compile(r"'(\w+)' must be ([<>]=? \S+): (.+)")


def strict_converter() -> cattrs.Converter:
    """Return a converter that forbids unknown keys and silent conversions ("7" into 7, 3.7 into 3)."""
    converter = cattrs.Converter(forbid_extra_keys=True)
    for scalar in (int, float, str, bool):
        converter.register_structure_hook(scalar, functools.partial(_strict, scalar))
    converter.register_structure_hook_func(lambda kind: derives_from(enum.Enum, kind), _member)
    converter.register_structure_hook_func(_is_literal, _literal)
    return converter


def _is_literal(kind: Any) -> bool:
    origin: Any = get_origin(kind)
    return origin is Literal


def _member(value: Any, expected: type[enum.Enum]) -> enum.Enum:
    return _choice(value, {member.value: member for member in expected})


def _literal(value: Any, expected: Any) -> Any:
    return _choice(value, {word: word for word in get_args(expected)})


def _choice(value: Any, known: Mapping[Any, T]) -> T:
    """Return what a word names; on the command line a bare word arrives as a component's name."""
    word = value.name if isinstance(value, Spec) and not value.params else value
    if not isinstance(word, str | int) or word not in known:
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


def failure(error: BaseException) -> BaseException | None:
    """Return what a component raised that is no fault of its parameters, if cattrs found such a thing."""
    if isinstance(error, ClassValidationError | IterableValidationError):
        return next(filter(None, map(failure, error.exceptions)), None)
    user = LabelinfError | TypeError | ValueError | KeyError | ForbiddenExtraKeysError
    told = isinstance(error, user) and not isinstance(error, PluginError)
    return None if told else error


def _say(error: BaseException) -> str:
    if isinstance(error, ForbiddenExtraKeysError):
        known = [field.name for field in attrs.fields(error.cl) if field.init]
        return "; ".join(_unknown(key, known) for key in sorted(error.extra_fields))
    if isinstance(error, KeyError):
        return "is missing."
    text = gate.clean(error.args[0] if error.args else error)
    if match := _COMPARISON.fullmatch(text):  # attrs's own wording of a value out of range
        text = f"{match[1]}={match[3]} must be {match[2]}"
    elif match := _EMPTY.fullmatch(text):
        text = f"{match[1]} must not be empty"
    return text


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


def derives_from(base: type, candidate: Any) -> bool:
    """Return whether ``candidate`` is a class derived from ``base``."""
    return isinstance(candidate, type) and issubclass(candidate, base)
