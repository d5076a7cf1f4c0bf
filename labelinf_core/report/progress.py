"""Bars with an estimate for whatever takes long: on a terminal's standard error or in a notebook, never with ``-q``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.util import find_spec

from labelinf_core.contracts.doing import heard

__all__ = ["Step", "counting", "is_quiet", "quietly", "steps", "waiting"]

_QUIET: ContextVar[bool] = ContextVar("quiet", default=False)

Step = Callable[[str, int], None]  #: called before a step with its name and how many there are


@contextmanager
def quietly() -> Iterator[None]:
    """Show no bars in between."""
    token = _QUIET.set(True)
    try:
        yield
    finally:
        _QUIET.reset(token)


def is_quiet() -> bool:
    """Whether no bars are shown: the running command was given ``-q``."""
    return _QUIET.get()


@contextmanager
def counting(total: int, doing: str = "playing") -> Iterator[Callable[[int], None]]:
    """Show how much of ``total`` is done, and how long the rest may take; call it with the number done."""
    with _bar(doing) as show:
        show(doing, 0, total)
        yield lambda done: show(doing, done, total)


@contextmanager
def steps(doing: str) -> Iterator[Step]:
    """Show which step is done, of how many, and what it says; call it before each with its name and their number."""
    done, of = -1, 1
    with _bar(doing) as show:

        def step(name: str, total: int) -> None:
            nonlocal done, of
            done, of = done + 1, total
            show(f"{doing}: {name}", done, of)

        with heard(lambda said, at, total: show(f"{said}, {at} of {total}", done, of)):
            yield step


@contextmanager
def waiting(doing: str, estimate: Callable[[], str] = str) -> Iterator[None]:
    """Show that something is under way, for how long, how long it takes as far as anybody knows, and what it says.

    Args:
        doing: What is done.
        estimate: How long that takes; asked where a bar is shown.
    """
    with _bar(doing) as show:
        if _is_shown():
            show(" ".join(filter(None, (doing, estimate()))), 0, None)
        with heard(show):
            yield


def _is_shown() -> bool:
    notebook = "ipykernel" in sys.modules and find_spec("ipywidgets") is not None  # without, rich warns at every step
    return (sys.stderr.isatty() or notebook) and not is_quiet()


@contextmanager
def _bar(doing: str) -> Iterator[Callable[[str, int, int | None], None]]:
    if not _is_shown():
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

    from labelinf_core.contracts.gate import clean

    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn()
    )  # fmt: skip
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(doing, total=None)
        yield lambda said, done, total: bar.update(
            task, description=escape(clean(said, 60)), completed=done, total=total
        )
