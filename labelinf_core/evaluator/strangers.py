"""Which code a suite file would have run: a file from a stranger is data until its reader allows more.

A scorer, a network, a model or a generator may be a program or a function of the user's own. Named on the command line,
the user has named it himself; named in a file, whoever wrote the file has, and what it runs is handed private labels.

Example:
    >>> list(code_in(["sklearn", {"scorer": "board:rate"}, "one(generator='mine:phi', derivative='mine:dphi')"]))
    ['board:rate', 'mine:phi', 'mine:dphi']
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from labelinf_core.contracts.errors import InputError
from labelinf_core.specs import Spec, parse

__all__ = ["code_in", "refusal"]

_CODE = re.compile(r"cmd:.*|[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d][\w.]*", re.DOTALL)


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
    elif isinstance(written, str) and _CODE.fullmatch(written.strip()):
        yield written
    elif isinstance(written, str) and "(" in written:
        yield from code_in(_parsed(written))


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
