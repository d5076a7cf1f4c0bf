"""One line per defence: its worst cell, which is what counts for a defender, beside what the defence costs."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator

from rich.console import Console
from rich.table import Table
from rich.text import Text

from labelinf_core.evaluator.results import CellResult, Results
from labelinf_core.report import words
from labelinf_core.report.boards import Board, boards, columns, costs, failed, ranked
from labelinf_core.report.console import fitting, plain_table, whole_column
from labelinf_core.report.legend import alarm, legend

__all__ = ["lines", "print_worst"]

_WIDTH = 24  # columns for the name of a pipeline, and of an attack
_REASONS = 3  # of failures that are told


def print_worst(results: Results, console: Console) -> None:
    """Print the strongest attack on every defence: a table where there is room for it, a paragraph each elsewhere."""
    alarms = [alarm(result) for result in results.contradictions]
    console.print(*alarms, sep="\n") if alarms else None
    if told := words.incomplete(results):
        console.print(Text(f"{told}\n", style="yellow"))
    for board in boards(results):
        console.print(Text(words.title(results, board[0]), style="bold"))
        console.print()
        console.print(fitting(_table(board), console, functools.partial(lines, board)))
        console.print(legend(board))
        console.print(*_failures(board), sep="\n", end="\n\n")


def lines(board: Board) -> Text:
    """Return one paragraph per defence, for a terminal that a table does not fit."""
    text, by_pipeline = Text(), columns(board)
    prices = costs(by_pipeline)
    for index, cells in enumerate(by_pipeline.values()):
        worst = ranked(cells)[0]
        text.append(f"{words.pipeline(worst)}\n", style="bold")
        share = f"{words.share(worst.accuracy)} % by {words.attack(worst)}, " if worst.accuracy else ""
        text.append(f"  {share}{_verdict(cells)}\n", style=words.STYLES[worst.verdict])
        if told := ", ".join(f"{title} {row[index]}" for title, row in prices.items() if row[index]):
            text.append(f"  {told}\n", style="dim")
    return text


def _failures(board: Board) -> Iterator[Text]:
    """Yield why games failed: the first of every reason, a few of them."""
    said: dict[str, str] = {}
    for result in board:
        if failed([result]):
            said.setdefault(words.trouble(result), f"{words.attack(result)} against {words.pipeline(result)}")
    for reason, where in itertools.islice(said.items(), _REASONS):
        yield Text(f"{where}: {reason}", style="dim")
    if len(said) > _REASONS:
        yield Text(f"and {len(said) - _REASONS} more reasons of failures (-v)", style="dim")


def _verdict(cells: list[CellResult]) -> str:
    """Write the verdict of the worst cell, and how many attacks failed where any did."""
    lost = failed(cells)
    return words.verdict(ranked(cells)[0]) + (f"; {lost} of {len(cells)} attacks failed" if lost else "")


def _table(board: Board) -> Table:
    by_pipeline = columns(board)
    prices = costs(by_pipeline)
    table = plain_table(header_style="bold")
    worst_cells = [ranked(cells)[0] for cells in by_pipeline.values()]
    table.add_column("defence", vertical="bottom")
    whole_column(table, "strongest attack", (words.heading(words.attack(worst), _WIDTH) for worst in worst_cells))
    for name in ("labels\n%", "all\n%", "queries"):
        table.add_column(name, justify="right", vertical="bottom")
    whole_column(table, "verdict", map(_verdict, by_pipeline.values()))
    for name in prices:
        table.add_column(words.heading(name, 10), justify="right", vertical="bottom")
    for index, (worst, cells) in enumerate(zip(worst_cells, by_pipeline.values(), strict=True)):
        values = [row[index] for row in prices.values()]
        table.add_row(
            words.heading(words.pipeline(worst), _WIDTH),
            words.heading(words.attack(worst), _WIDTH),
            words.share(worst.accuracy) if worst.accuracy else "",
            words.share(worst.exact) if worst.exact else "",
            "" if worst.tally.queries is None else f"{worst.tally.queries:.0f}",
            Text(_verdict(cells), style=words.STYLES[worst.verdict]),
            *values,
        )
    return table
