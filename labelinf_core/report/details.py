"""One block per defence: what every attack did against it, and which statement decided the cell."""

from __future__ import annotations

import attrs
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from labelinf_core.evaluator.results import CellResult
from labelinf_core.report import asides, words
from labelinf_core.report.boards import Board
from labelinf_core.report.console import fitting, plain_table, whole_column
from labelinf_core.report.worst import games

__all__ = ["NARROW", "Sources", "block"]

NARROW = 100  #: columns of a terminal below which tables give up their alignment

_ATTACK = 20  # columns for an attack's name
_COLUMNS = {"labels\n%": 6, "95 %\nCI": 6, "all in\ngames": 7, "queries": 7}  # least widths, so that blocks align
_WIDE = {"seconds": 7, "noise\nneeded": 9, "noise\npresent": 7, "ceiling\n%": 7}


@attrs.define
class Sources:
    """Numbers statements as they are cited, so that a table needs no room for them."""

    lines: dict[str, int] = attrs.field(factory=dict)

    def cite(self, statement: str, conditions: str) -> str:
        """Return the mark of a statement."""
        return f"[{self.lines.setdefault(f'{statement}: {conditions}', len(self.lines) + 1)}]"

    def listed(self) -> RenderableType:
        """Return every statement that was cited, with its conditions."""
        table = plain_table(show_header=False)
        for line, mark in self.lines.items():
            table.add_row(f"[{mark}]", Text(line))
        return Group(Text("sources", style="bold underline"), Padding(table, (0, 0, 0, 2), expand=False))


def block(cells: list[CellResult], board: Board, sources: Sources, console: Console) -> RenderableType:
    """Return a table of ``cells``, or a paragraph each; below it what does not fit, and what went wrong in any of them.

    Args:
        cells: One line of defences, in the order of the rows.
        board: Every cell of the same board: a column that none of them fills is left out.
        sources: Where statements are numbered.
        console: Where it is to be printed.
    """
    wide, beside = console.width >= NARROW, asides.measured(cells)
    columns = _columns(board, wide)
    table = plain_table()
    table.add_column("attack", min_width=_ATTACK if wide else None)
    for name, least in columns.items():
        table.add_column(name, justify="right", min_width=least)
    table.add_column("source", min_width=6, style="dim")
    whole_column(table, "verdict", map(words.verdict, cells))
    notes, paragraphs = [], Text()
    for place, result in enumerate(cells):
        theory, marks = _theory(result, sources)
        entries = {**_played(result), **theory, **{name: told[place] for name, told in beside.items()}}
        attack = words.attack(result)
        verdict = Text(words.verdict(result), style=words.STYLES[result.verdict])
        table.add_row(words.heading(attack, _ATTACK), *(entries.get(name, "") for name in columns), marks, verdict)
        told = (f"{name.replace(chr(10), ' ')} {entries[name]}" for name in columns if entries.get(name))
        paragraphs.append(f"{attack}: {', '.join(told)} {marks}\n").append(f"  {verdict}\n", style=verdict.style)
        if wide and (rests := asides.rests_on(result)):
            notes.append(Text(f"{attack}: {rests}", style="dim"))
        if not wide:
            below = filter(None, (_narrow(theory), asides.sentence(result)))
            notes += [Text(f"{attack}: {line}", style="dim") for line in below]
        if trouble := words.trouble(result):
            notes.append(Text(f"{result.cell.shown.attack}: {trouble}", style="yellow"))
    shown = fitting(table, Console(width=console.width - 2), lambda: paragraphs)
    return Padding(Group(shown, *notes), (0, 0, 0, 2), expand=False)


def _columns(board: Board, wide: bool) -> dict[str, int]:
    """Return the headings that somebody on the board has an entry for, with their least widths."""
    if not wide:
        return _COLUMNS
    filled = {name for result in board for name, text in _theory(result, Sources())[0].items() if text}
    columns = {**_COLUMNS, **{name: least for name, least in _WIDE.items() if name == "seconds" or name in filled}}
    return {**columns, **dict.fromkeys(asides.measured(board), 7)}


def _played(result: CellResult) -> dict[str, str]:
    return {
        "labels\n%": words.percent(result.accuracy.value) if result.accuracy else "",
        "95 %\nCI": f"{100 * ci.low:.0f}-{100 * ci.high:.0f}" if (ci := result.accuracy) else "",
        "all in\ngames": games(result),
        "queries": "" if result.tally.queries is None else f"{result.tally.queries:.0f}",
        "seconds": "" if result.tally.seconds is None else words.duration(result.tally.seconds),
    }


def _theory(result: CellResult, sources: Sources) -> tuple[dict[str, str], str]:
    """Return the noise needed, the noise present and the ceiling, by heading, and the marks of their sources."""
    promise, ceiling = result.implied.promise, min(result.implied.ceilings, key=lambda one: one.reached, default=None)
    if promise is not None and not promise.proved:  # what was only sized by measurement is no floor
        promise = None
    marks = [sources.cite(item.statement, item.conditions) for item in (promise, ceiling) if item is not None]
    return {
        "noise\nneeded": f"{'≥' if promise.strict else '>'} {words.number(promise.survives)}" if promise else "",
        "noise\npresent": words.number(promise.present) if promise else "",
        "ceiling\n%": words.at_most(ceiling.reached) if ceiling else "",
    }, " ".join(marks)


def _narrow(theory: dict[str, str]) -> str:
    needed, present, ceiling = theory.values()
    noise = f"noise {needed} needed, {present} present" if needed else ""
    limit = f"ceiling {ceiling} % (conditions below)" if ceiling else ""
    return "; ".join(filter(None, (noise, limit)))
