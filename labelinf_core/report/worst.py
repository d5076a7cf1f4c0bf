"""One line per defence: its worst cell, which is what counts for a defender, beside what the defence costs."""

from __future__ import annotations

import functools

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
        console.print()


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


def _verdict(cells: list[CellResult]) -> str:
    """Write the verdict of the worst cell, and how many attacks failed where any did."""
    lost = failed(cells)
    return words.verdict(ranked(cells)[0]) + (f"; {lost} of {len(cells)} attacks failed" if lost else "")


def _table(board: Board) -> Table:
    by_pipeline = columns(board)
    prices = costs(by_pipeline)
    table = plain_table(header_style="bold")
    for name in ("defence", "strongest attack"):
        table.add_column(name, vertical="bottom")
    for name in ("labels\n%", "all\n%", "queries"):
        table.add_column(name, justify="right", vertical="bottom")
    whole_column(table, "verdict", map(_verdict, by_pipeline.values()))
    for name in prices:
        table.add_column(words.heading(name, 10), justify="right", vertical="bottom")
    for index, cells in enumerate(by_pipeline.values()):
        values = [row[index] for row in prices.values()]
        worst = ranked(cells)[0]
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
