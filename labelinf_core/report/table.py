"""The report on a terminal: the matrix, what decided each cell, the noise this curator needs.

Three parts, each answering one question of a defender. *Am I leaking?* The matrix: attacks down, defences across, the
share of labels recovered with the verdict's symbol. *How sure is that, and what decided it?* One block per defence,
strongest attack first. *How much noise would do?* What the theory says before anything is played. A terminal of
fewer than 100 columns gets the worst cell of every defence instead of the matrix. Contradictions come first and last.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from labelinf_core.evaluator.results import CellResult, Results
from labelinf_core.report import asides, words
from labelinf_core.report.boards import Board, baseline, boards, columns, costs, failed, ranked
from labelinf_core.report.bounds import by_quantity, value_columns, value_headers
from labelinf_core.report.console import fits, plain_table
from labelinf_core.report.details import NARROW, Sources, block
from labelinf_core.report.worst import alarm, legend, lines

__all__ = ["print_report"]

_CORNER = "labels recovered, %"
_COLUMN = 8  # the least width of a column of the matrix


def print_report(results: Results, console: Console, *, details: bool = True) -> None:
    """Print every attack against every defence, and all that there is to say about each.

    Args:
        results: What came of a run.
        console: Where to print.
        details: Whether to say what decided each cell, and what noise the curator needs.
    """
    alarms = [alarm(result) for result in results.contradictions]
    console.print(*alarms, sep="\n") if alarms else None
    if told := words.incomplete(results):
        console.print(Text(f"{told}\n", style="yellow"))
    for board in boards(results):
        _print_board(results, board, console, details=details)
    console.print(*alarms, sep="\n") if alarms else None


def _print_board(results: Results, board: Board, console: Console, *, details: bool) -> None:
    console.print(Text(words.title(results, board[0]), style="bold"))
    console.print()
    matrices = list(_matrices(board, console.width)) if console.width >= NARROW else []
    if matrices and all(fits(matrix, console) for matrix in matrices):
        for matrix in matrices:
            console.print(matrix)
            console.print()
    else:
        console.print(lines(board))
    console.print(legend(board))
    console.print()
    if details:
        _print_details(board, console)


def _print_details(board: Board, console: Console) -> None:
    sources = Sources()
    for pipeline, cells in columns(board).items():
        console.print(Text(pipeline, style="bold underline"))
        if told := asides.stands(cells):
            console.print(Text(f"  {told}", style="dim"))
        if cells[0].field is not None:
            console.print(Text(f"  {cells[0].field}", style="dim"))
        console.print(block(ranked(cells), board, sources, console))
        console.print()
    if needs := _noise(board, sources):
        console.print(needs)
        console.print()
    if sources.lines:
        console.print(sources.listed())
        console.print()


def _matrices(board: Board, width: int) -> Iterator[Table]:
    """Yield the table of attacks against defences, in as many parts as it takes to fit."""
    by_pipeline = columns(board)
    attacks = {result.cell.shown.attack: words.attack(result) for result in board}
    first = min(max(len(_CORNER), *map(len, attacks.values())), width // 3)
    parts = -(-len(by_pipeline) // ((width - first) // (_COLUMN + 2)))
    size = -(-len(by_pipeline) // parts)
    pipelines = list(by_pipeline)
    for start in range(0, len(pipelines), size):
        part = {pipeline: by_pipeline[pipeline] for pipeline in pipelines[start : start + size]}
        yield _matrix(part, attacks, first, (width - first) // size - 2)


def _matrix(by_pipeline: dict[str, list[CellResult]], attacks: Mapping[str, str], first: int, each: int) -> Table:
    table = plain_table()
    table.add_column(Text(_CORNER, style="bold"), vertical="bottom", max_width=first, no_wrap=False)
    for cells in by_pipeline.values():
        heading = Text(words.heading(words.pipeline(cells[0]), each), style="bold")
        table.add_column(heading, justify="right", vertical="bottom")
    rows = {
        name: [next((r for r in cells if r.cell.shown.attack == name), None) for cells in by_pipeline.values()]
        for name in attacks
    }
    if not any(map(_is_blind, rows.values())):
        table.add_row("majority guess", *(words.percent(baseline(cells)) for cells in by_pipeline.values()))
    for name, row in rows.items():
        table.add_row(words.heading(attacks[name], first), *(_entry(result) for result in row))
    table.add_section()
    table.add_row("worst known", *(_entry(ranked(cells)[0]) for cells in by_pipeline.values()), style="bold")
    if any(failures := [failed(cells) for cells in by_pipeline.values()]):
        table.add_row("attacks that failed", *(str(number or "") for number in failures), style="yellow")
    table.add_section()
    for title, values in costs(by_pipeline, intervals=False).items():
        table.add_row(title, *values)
    return table


def _is_blind(row: Iterable[CellResult | None]) -> bool:
    """Whether a blind guess was played everywhere: it shows the baseline already."""
    return all(
        result is not None and result.implied.blind and result.accuracy is not None
        and math.isclose(result.accuracy.value, result.implied.baseline)
        for result in row
    )  # fmt: skip


def _entry(result: CellResult | None) -> Text:
    if result is None:
        return Text("")
    return Text(words.outcome(result), style=words.STYLES[result.verdict])


def _noise(board: Board, sources: Sources) -> RenderableType | None:
    """Return the noise that the theory asks for, under the first defence of the board."""
    lines = sorted((b for b in board[0].implied.bounds if b.quantity == "noise"), key=by_quantity)
    if not lines:
        return None
    table = plain_table()
    for name in value_headers(lines):
        table.add_column(name, justify="right", min_width=8)
    table.add_column("source", style="dim")
    table.add_column("")
    for bound in lines:
        table.add_row(*value_columns(bound), sources.cite(bound.statement, bound.conditions), bound.title)
    heading = Text(f"noise this curator needs ({board[0].cell.shown.pipeline})", style="bold underline")
    return Group(heading, Padding(table, (0, 0, 0, 2), expand=False))
