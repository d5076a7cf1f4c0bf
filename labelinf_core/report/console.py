"""The console that reports are printed on, and the one look of their tables."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from typing import Any, Literal

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.table import Table

__all__ = ["fits", "fitting", "make_console", "plain_table", "whole_column"]

_PIPED = "120"  # columns, so that a piped report is the same everywhere


class _Console(Console):
    """A console whose reader may have seen enough, which is no failure."""

    def on_broken_pipe(self) -> None:
        """Leave it to the command; rich would end the program."""
        raise BrokenPipeError


def make_console() -> Console:
    """Return a console on standard output: when it is piped, without colour and as wide as ``COLUMNS`` says, or 120."""
    piped = None if sys.stdout.isatty() else int(os.environ.get("COLUMNS") or _PIPED)
    return _Console(highlight=False, markup=False, emoji=False, width=piped)


def plain_table(*, header_style: str = "dim", show_header: bool = True) -> Table:
    """Return an empty table without lines; two columns stand between its columns."""
    return _Folded(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style=header_style, show_header=show_header)


class _Folded(Table):
    """A table in which what is too long is broken, never cut off."""

    def add_column(self, *given: Any, **how: Any) -> None:
        super().add_column(*given, **{"overflow": "fold", **how})


def whole_column(table: Table, title: str, entries: Iterable[str], justify: Literal["left", "right"] = "left") -> None:
    """Add a column whose entries are neither cut nor broken but where they break themselves."""
    least = max((cell_len(line) for entry in (title, *entries) for line in entry.splitlines()), default=0)
    table.add_column(title, justify=justify, vertical="bottom", no_wrap=True, min_width=least)


def fitting(table: Table, console: Console, otherwise: Callable[[], RenderableType]) -> RenderableType:
    """Return the table where the console has room for every word of it, or else what can be told without one."""
    return table if fits(table, console) else otherwise()


def fits(table: Table, console: Console) -> bool:
    """Whether the console has room for every word of a table."""
    return table.__rich_measure__(console, console.options.update(width=10_000)).minimum <= console.width
