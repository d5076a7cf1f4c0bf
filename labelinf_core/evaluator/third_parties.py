"""Which code a suite file would have run: a file from a stranger is data until its reader allows more.

A scorer, a network, a model or a generator may be a program or a function of the user's own. Named on the command line,
the user has named it himself; named in a file, whoever wrote the file has, and what it runs is handed private labels.

Example:
    >>> list(code_in(["sklearn", {"scorer": "board:rate"}, "one(generator='mine:phi', derivative='mine:dphi')"]))
    ['board:rate', 'mine:phi', 'mine:dphi']
"""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Iterator, Mapping, Sequence
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from labelinf_core.contracts.errors import InputError
from labelinf_core.specs import Spec, parse
from labelinf_core.specs.own_code import FUNCTION, PROGRAMS, parts_of

__all__ = ["code_in", "content_of", "refusal"]


def code_in(written: Any) -> Iterator[str]:
    """Yield the programs and functions that a part of a suite names.

    Args:
        written: Text, numbers, lists and tables, as a suite file holds them.
    """
    if isinstance(written, Mapping):
        for value in written.values():
            yield from code_in(value)
    elif isinstance(written, list | tuple):
        for value in written:
            yield from code_in(value)
    elif isinstance(written, Spec):
        yield from code_in(written.params)
    elif isinstance(written, str) and _is_code(written.strip()):
        yield written
    elif isinstance(written, str) and "(" in written:
        yield from code_in(_parsed(written))


def _is_code(name: str) -> bool:
    return name.startswith(PROGRAMS) or bool(FUNCTION.fullmatch(parts_of(name)[0]))


def content_of(code: str) -> str:
    """Return the SHA-256 of the files in which a program or function stands, without running any of them.

    What it imports in turn is not looked at; of a function that stands in no file, such as one of a notebook, it is the
    digest of nothing.

    Args:
        code: As :func:`code_in` yields it.
    """
    files = _words(code) if code.startswith(PROGRAMS) else _modules(code)
    return hashlib.sha256(b"".join(file.read_bytes() for file in files if file.is_file())).hexdigest()


def _words(code: str) -> list[Path]:
    try:
        return [Path(word) for word in shlex.split(parts_of(code)[0].partition(":")[2])]
    except ValueError:  # told where it is started
        return []


def _modules(code: str) -> Iterator[Path]:
    """Yield the files of a module and of the packages around it."""
    where, name = None, ""
    for part in code.partition(":")[0].split("."):
        name = f"{name}.{part}" if name else part
        spec = PathFinder.find_spec(name, where)
        if spec is None:
            return
        yield Path(spec.origin or "")
        where = spec.submodule_search_locations


def refusal(code: Sequence[str], place: str) -> InputError:
    """Say that a suite names code, and why that is asked."""
    return InputError(
        f"{place} would run {', '.join(map(repr, code))} and hand it the labels. Read that code; if you trust it, "
        f"--allow-code runs it."
    )


def _parsed(text: str) -> Spec | None:
    try:
        return parse(text, "suite")
    except InputError:
        return None  # told, with its place, where the component is built
