"""How results are laid out whatever they are printed on: boards, their columns, what a column costs honest users."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping

from labelinf_core.contracts.guarantees import Verdict
from labelinf_core.evaluator.records import Status
from labelinf_core.evaluator.results import CellResult, Results
from labelinf_core.report import words

__all__ = ["Board", "baseline", "boards", "columns", "costs", "failed", "ranked", "unmet", "untried"]

Board = tuple[CellResult, ...]  #: the cells that share a channel and a label set


def boards(results: Results) -> Iterator[Board]:
    """Yield the cells that share a channel and a label set, in the order of the plan."""

    def key(result: CellResult) -> tuple[str, str]:
        return result.cell.channel, result.cell.digest

    order = {name: index for index, name in enumerate(dict.fromkeys(map(key, results.cells)))}
    ordered = sorted(results.cells, key=lambda result: order[key(result)])
    for _, cells in itertools.groupby(ordered, key):
        yield tuple(cells)


def columns(board: Iterable[CellResult]) -> dict[str, list[CellResult]]:
    """Return the cells of every pipeline of defences, by its name."""
    found: dict[str, list[CellResult]] = {}
    for result in board:
        found.setdefault(result.cell.shown.pipeline, []).append(result)
    return found


def ranked(cells: Iterable[CellResult]) -> list[CellResult]:
    """Order cells by what they recovered, the strongest first, and among equals by the queries it took.

    A contradiction comes before everything, what is void or was not played after it.
    """

    def strength(result: CellResult) -> tuple[bool, float, float]:
        if result.accuracy is None or result.verdict is Verdict.LEAKY:
            return False, -1.0, 0.0
        return result.verdict is Verdict.CONTRADICTION, result.accuracy.value, -(result.tally.queries or 0.0)

    return sorted(cells, key=strength, reverse=True)


def failed(cells: Iterable[CellResult]) -> int:
    """Return how many cells an error, a time limit or a crash kept from being played to the end.

    What they would have recovered is not known, so that the rest of a column says less than it seems to.
    """
    faults = (Status.ERROR, Status.TIMEOUT, Status.CRASHED)
    return sum(result.failure is not None and result.failure[0] in faults for result in cells)


def unmet(board: Iterable[CellResult]) -> list[CellResult]:
    """Return the first cell of every line of defences that nothing could be played against, and that says why."""
    lines = columns(board).values()
    return [cells[0] for cells in lines if all(cell.failure and cell.failure[0] is Status.REFUSED for cell in cells)]


def untried(board: Iterable[CellResult]) -> list[CellResult]:
    """Return the first cell of every line of defences against which nothing was tried that shows anything."""
    nothing = {Verdict.UNTESTED, Verdict.NOT_PLAYED, Verdict.LEAKY, Verdict.VIEW_REVEALS}
    return [cells[0] for cells in columns(board).values() if all(cell.verdict in nothing for cell in cells)]


def baseline(cells: Iterable[CellResult]) -> float:
    """Return the accuracy of the majority guess; channels may ask for other labels than those of the label set."""
    found = list(cells)
    known = [result.implied.baseline for result in found if result.implied.baseline > 0]
    return known[0] if known else found[0].labels.majority_share


def costs(by_pipeline: Mapping[str, list[CellResult]], *, intervals: bool = True) -> dict[str, list[str]]:
    """Return what every pipeline costs honest users: an entry for each, under each measure's name.

    ``intervals`` are left out where there is no room for them.

    A measure that no pipeline has is left out, and a share that none of them raises above zero; where only some have
    it, the others hold empty text.
    """
    found = list(by_pipeline.values())
    measures = {measure.key: measure for cells in found for measure in cells[0].measures if measure.of == "defences"}
    rows = {}
    for key, measure in measures.items():
        values = [cells[0].implied.utility.get(key) for cells in found]
        if any(value is not None and (value or measure.unit != "share") for value in values):
            rows[measure.title] = [
                words.measured_of(measure, cells[0].implied.utility, interval=intervals) for cells in found
            ]
    return rows
