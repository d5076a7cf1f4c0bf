"""One line per defence: its worst cell, which is what counts for a defender, beside what the defence costs."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator

from rich.console import Console
from rich.table import Table
from rich.text import Text

from labelinf_core.evaluator.results import CellResult, Results
from labelinf_core.report import words
from labelinf_core.report.boards import Board, boards, columns, costs, failed, ranked, unmet
from labelinf_core.report.console import fits, fitting, plain_table, whole_column

__all__ = ["alarm", "games", "legend", "lines", "print_worst"]

_WIDTHS = (24, 19, 15, 12)  # columns for the name of a pipeline, and of an attack: the first for which there is room
_NAMES = ("defence", "strongest\nattack", "verdict")
_VERDICT = 6  # its column
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
        tables = [_table(board, width) for width in _WIDTHS]
        widest = next((table for table in tables if fits(table, console)), tables[-1])
        console.print(fitting(widest, console, functools.partial(lines, board)))
        console.print(legend(board))
        for failure in _failures(board):
            console.print(failure)
        console.print()


def lines(board: Board) -> Text:
    """Return one paragraph per defence, for a terminal that a table does not fit."""
    text, by_pipeline = Text(), columns(board)
    prices = costs(by_pipeline, intervals=False)
    for index, cells in enumerate(by_pipeline.values()):
        worst = ranked(cells)[0]
        text.append(f"{words.pipeline(worst)}\n", style="bold")
        share = f"{words.told(worst.accuracy)} by {words.attack(worst)}, " if worst.accuracy else ""
        text.append(f"  {share}{_verdict(cells)}\n", style=words.STYLES[worst.verdict])
        if told := ", ".join(f"{title} {row[index]}" for title, row in prices.items() if row[index]):
            text.append(f"  {told}\n", style="dim")
    return text


def _failures(board: Board) -> Iterator[Text]:
    """Yield why lines of defences and games were not played: the first of every reason, a few of them."""
    said: dict[str, str] = {}
    for cell in unmet(board):
        said.setdefault(cell.implied.message, words.pipeline(cell))
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


def _table(board: Board, width: int) -> Table:
    by_pipeline = columns(board)
    worst = [ranked(cells)[0] for cells in by_pipeline.values()]
    verdicts = list(map(_verdict, by_pipeline.values()))
    told: dict[str, list[str]] = {
        "defence": [words.heading(words.pipeline(cell), width) for cell in worst],
        "strongest\nattack": [words.heading(words.attack(cell), width) for cell in worst],
        "labels\n%": [words.percent(cell.accuracy.value) if cell.accuracy else "" for cell in worst],
        "95 %\nCI": [f"{100 * ci.low:.0f}-{100 * ci.high:.0f}" if (ci := cell.accuracy) else "" for cell in worst],
        "all in\ngames": [games(cell) for cell in worst],
        "queries": ["" if cell.tally.queries is None else f"{cell.tally.queries:.0f}" for cell in worst],
        "verdict": verdicts,
        **{words.heading(name, 8): row for name, row in costs(by_pipeline, intervals=False).items()},
    }
    table = plain_table(header_style="bold")
    for title, entries in told.items():
        whole_column(table, title, entries, "left" if title in _NAMES else "right")
    for index, cell in enumerate(worst):
        row: list[str | Text] = [entries[index] for entries in told.values()]
        row[_VERDICT] = Text(verdicts[index], style=words.STYLES[cell.verdict])
        table.add_row(*row)
    return table


def games(cell: CellResult) -> str:
    """Write in how many games all labels came out, of how many that were played to the end."""
    return f"{cell.exact.value * cell.tally.played:.0f} of {cell.tally.played}" if cell.exact else ""


def alarm(result: CellResult) -> Text:
    """Say which statement an observation contradicts, so that nobody misses it."""
    return Text(f"‼ CONTRADICTION  {words.contradiction(result)}\n", style="bold red")


def legend(cells: Iterable[CellResult]) -> Text:
    """Say what the signs of the verdicts mean that occur, what the numbers are, and how attacks were chosen."""
    board = list(cells)
    items = [(f"{sign} {verdict.value}", words.STYLES[verdict]) for verdict, sign in words.signs(board).items()]
    text = Text("  ").join(Text(*item) for item in items)
    note = "\n± is half of the 95 % interval (CI)"
    if all(result.tally.trials <= 1 for result in board):
        note += "; one trial shows no spread between trials"
    note += "".join(f"\n{told}" for told in words.choice(board))
    return text.append(note, style="dim")
