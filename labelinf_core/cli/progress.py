"""Bars with an estimate for whatever takes long: on a terminal's standard error, and nothing elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["counting", "steps", "waiting"]


@contextmanager
def counting(total: int, doing: str = "playing") -> Iterator[Callable[[int], None]]:
    """Show how much of ``total`` is done, and how long the rest may take; call it with the number done."""
    with _bar(doing) as show:
        show(doing, 0, total)
        yield lambda done: show(doing, done, total)


@contextmanager
def steps(doing: str) -> Iterator[Callable[[str, int], None]]:
    """Show which step is done, of how many; call it before each with its name and their number."""
    done = -1
    with _bar(doing) as show:

        def step(name: str, total: int) -> None:
            nonlocal done
            done += 1
            show(f"{doing}: {name}", done, total)

        yield step


@contextmanager
def waiting(doing: str) -> Iterator[None]:
    """Show that something is under way whose length nobody knows, and for how long it has been."""
    with _bar(doing):
        yield


@contextmanager
def _bar(doing: str) -> Iterator[Callable[[str, int, int], None]]:
    if not sys.stderr.isatty():
        yield lambda said, done, total: None
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn()
    )  # fmt: skip
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(doing, total=None)
        yield lambda said, done, total: bar.update(task, description=escape(said[:40]), completed=done, total=total)
