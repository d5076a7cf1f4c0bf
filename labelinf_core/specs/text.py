"""A component as text: parsing what a user wrote, and writing it down again."""

from __future__ import annotations

import ast
import enum
import functools
import re
from collections.abc import Mapping
from typing import Any

import attrs

from labelinf_core.contracts.errors import InputError
from labelinf_core.plugin.descriptors import NO_DEFENCE

__all__ = ["Spec", "parse", "show", "stages"]

_TEXT_OR_NAME = re.compile(r"""('(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")|(?<![\w.])[a-z][a-z0-9]*(?:-[a-z0-9]+)+""")
_STAND_IN = "ⵧ"  # a letter to Python and in nobody's name: keeps 'a-b' one identifier while the text is parsed
_CONSTANTS = {"true": True, "false": False, "inf": float("inf")}


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
        inside = ", ".join(f"{key}={show(value)}" for key, value in self.params.items())
        return f"{self.name}({inside})"

    @property
    def compact(self) -> str:
        """How a heading names it: ``my-defence 4``, ``noisy even 0.01``; for reading only."""
        words = {key: _compact(value) for key, value in self.params.items()}
        only_one = len(words) == 1
        return " ".join([self.name, *(word if only_one else f"{key}={word}" for key, word in words.items())])


def parse(written: object, where: str) -> Spec:
    """Read a component from text or from a table.

    Args:
        written: ``"my-defence(decimals=4)"``, ``{"name": "my-defence", "decimals": 4}`` or a :class:`Spec`.
        where: Its place, for the message: ``"suite.toml: defences[2]"``.

    Raises:
        InputError: It is neither.
    """
    if isinstance(written, Spec):
        return written
    if isinstance(written, str):
        return _parse_text(written, where)
    if not isinstance(written, Mapping):
        raise InputError(f"{where}: expected a name, a call such as 'name(parameter=4)' or a table, got {written!r}.")
    name = written.get("name")
    if not isinstance(name, str):
        raise InputError(f"{where}: a table must have a 'name', for example {{ name = \"...\", parameter = 4 }}.")
    given = {key: value for key, value in written.items() if key != "name"}
    nested = {key: parse(value, f"{where}.{key}") for key, value in given.items() if isinstance(value, Mapping)}
    return Spec(name, {**given, **nested})


def stages(written: object, where: str) -> list[object]:
    """Return the stages of a pipeline of defences: of one, of a list of them, or of none.

    Raises:
        InputError: A stage is not a component.
    """
    items = written if isinstance(written, list | tuple) else [written]
    return [item for item in items if parse(item, where) != Spec(NO_DEFENCE)]


def _parse_text(text: str, where: str) -> Spec:
    guarded = _TEXT_OR_NAME.sub(lambda match: match[1] or match[0].replace("-", _STAND_IN), text.strip())
    try:
        return _from_node(_parsed(guarded))
    except (SyntaxError, ValueError) as error:
        raise InputError(
            f"{where}: {text!r} is not a component; write a name or a call such as 'name(parameter=4)'."
        ) from error


@functools.lru_cache(maxsize=4096)
def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


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


def show(value: Any) -> str:
    """Return a parameter as a user would write it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(show, value))}]"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, enum.Enum):
        return str(value.value)
    return str(value) if isinstance(value, Spec) else repr(value)


def _compact(value: Any) -> str:
    if isinstance(value, Spec):
        return value.compact
    return value if isinstance(value, str) else show(value)
