"""One block per defence: what every attack did against it, and which statement decided the cell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import attrs
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from labelinf_core.evaluator.results import CellResult
from labelinf_core.guarantees import Ceiling
from labelinf_core.report import words

__all__ = ["NARROW", "Sources", "block"]

NARROW = 100  #: columns of a terminal below which tables give up their alignment

_ATTACK = 20  # columns for an attack's name
_PLAYED = {"labels\n%": 9, "all\n%": 9, "queries": 7}  # least width of every column, so that blocks align
_THEORY = {"seconds": 7, "noise\nneeded": 9, "noise\npresent": 7, "ceiling\n%": 7}


@attrs.define
class Sources:
    """Numbers statements as they are cited, so that a table needs no room for them."""

    lines: dict[str, int] = attrs.field(factory=dict)

    def cite(self, statement: str, conditions: str) -> str:
        """Return the mark of a statement."""
        return f"[{self.lines.setdefault(f'{statement}: {conditions}', len(self.lines) + 1)}]"

    def listed(self) -> RenderableType:
        """Return every statement that was cited, with its conditions."""
        table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=False)
        for line, mark in self.lines.items():
            table.add_row(f"[{mark}]", Text(line))
        return Group(Text("sources", style="bold underline"), Padding(table, (0, 0, 0, 2), expand=False))


def block(cells: list[CellResult], sources: Sources, width: int) -> RenderableType:
    """Return a table of ``cells``; below it what does not fit, and what went wrong in any of them."""
    wide = width >= NARROW
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    table.add_column("attack", min_width=_ATTACK if wide else None)
    for name, least in {**_PLAYED, **(_THEORY if wide else {})}.items():
        table.add_column(name, justify="right", min_width=least)
    table.add_column("source", min_width=6, style="dim")
    table.add_column("verdict")
    notes = []
    for result in cells:
        numbers, marks = _theory(result, sources)
        verdict = Text(words.verdict(result), style=words.STYLES[result.verdict])
        seconds = "" if result.seconds is None else words.duration(result.seconds)
        table.add_row(*_played(result), *((seconds, *numbers) if wide else ()), marks, verdict)
        if not wide and any(numbers):
            notes.append(Text(_narrow(result, *numbers), style="dim"))
        if told := words.trouble(result):
            notes.append(Text(f"{result.cell.shown.attack}: {told}", style="yellow"))
    return Padding(Group(table, *notes), (0, 0, 0, 2), expand=False)


def _played(result: CellResult) -> Iterator[str]:
    yield words.heading(words.compact(result.cell.shown.attack), _ATTACK)
    yield words.share(result.accuracy) if result.accuracy else ""
    yield words.share(result.exact) if result.exact else ""
    yield "" if result.queries is None else f"{result.queries:.0f}"


def _theory(result: CellResult, sources: Sources) -> tuple[tuple[str, str, str], str]:
    """Return the noise needed, the noise present, the ceiling, and the marks of their sources."""
    promise, ceiling = result.implied.promise, _lowest(result.implied.ceilings)
    needed = f"{'≥' if promise.strict else '>'} {words.number(promise.survives)}" if promise else ""
    present = words.number(promise.present) if promise else ""
    marks = [sources.cite(item.statement, item.conditions) for item in (promise, ceiling) if item is not None]
    return (needed, present, words.percent(ceiling.accuracy) if ceiling else ""), " ".join(marks)


def _narrow(result: CellResult, needed: str, present: str, ceiling: str) -> str:
    noise = f"noise {needed} needed, {present} present" if needed else ""
    limit = f"no attack above {ceiling} %" if ceiling else ""
    return f"{words.compact(result.cell.shown.attack)}: {'; '.join(filter(None, (noise, limit)))}"


def _lowest(ceilings: Iterable[Ceiling]) -> Ceiling | None:
    return min(ceilings, key=lambda item: item.accuracy, default=None)
