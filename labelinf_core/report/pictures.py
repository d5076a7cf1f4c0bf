"""What a run shows as diagrams: leakage against strength, leakage against cost, and the worst of every defence.

*Leakage* is the share of labels that the strongest attack recovered. Whoever publishes draws from published results, so
that a picture tells nothing that the table beside it does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from labelinf_core.contracts.guarantees import Direction
from labelinf_core.contracts.pictures import Picture, Series
from labelinf_core.evaluator.results import CellResult
from labelinf_core.report import words
from labelinf_core.report.boards import Board, baseline, columns, ranked
from labelinf_core.specs import Spec, parse

__all__ = ["costs", "strengths", "worst"]

_Y = "labels recovered, %"
_FEW = 3  # points of a logarithmic axis at least


def worst(board: Board) -> Picture:
    """Draw the strongest attack on every line of defences, with blind guess and ceiling."""
    found = [cells for cells in columns(board).values() if ranked(cells)[0].accuracy]
    names = tuple(words.pipeline(cells[0]) for cells in found) or ("nothing was played",)
    at = [float(index) for index in range(len(names))]
    return Picture(
        title=f"What the strongest attack recovers, {board[0].labels.title}",
        x="defence",
        y=_Y,
        series=tuple(_observed_and_implied(list(zip(at, found, strict=False)), board, joined=False)),
        names=names,
    )


def strengths(board: Board) -> Iterator[Picture]:
    """Draw leakage against strength for every grid of a defence: pipelines that differ in one number only."""
    grids: dict[tuple[str, str, str], list[tuple[float, list[CellResult]]]] = {}
    for cells in columns(board).values():
        if any(cell.accuracy for cell in cells):
            for key, value in _turned(cells[0]):
                grids.setdefault(key, []).append((value, cells))
    for (stage, parameter, others), points in grids.items():
        if len({value for value, _ in points}) > 1:
            ordered = sorted(points, key=lambda point: point[0])
            beside = f" beside {others}" if others else ""
            yield Picture(
                title=f"Leakage against strength: {stage}{beside}",
                x=f"{parameter} of {stage}",
                y=_Y,
                series=tuple(_observed_and_implied(ordered, board, joined=True)),
                log=len(ordered) >= _FEW and ordered[0][0] > 0 and ordered[-1][0] >= 30 * ordered[0][0],
            )


def costs(board: Board) -> Iterator[Picture]:
    """Draw leakage against every cost to honest users, one point a line of defences."""
    by_pipeline = columns(board)
    measures = {item.key: item for cells in by_pipeline.values() for item in cells[0].measures if item.of == "defences"}
    for key, measure in measures.items():
        scale = 100 if measure.unit == "share" else 1
        found = [
            (scale * float(cells[0].implied.utility[key]), cells)
            for cells in by_pipeline.values()
            if key in cells[0].implied.utility and ranked(cells)[0].accuracy
        ]
        if len({value for value, _ in found}) > 1:
            unit = "%" if measure.unit == "share" else measure.unit
            yield Picture(
                title=f"Leakage against cost: {measure.title} ({measure.better} is better)",
                x=f"{measure.title}{', ' * bool(unit)}{unit}",
                y=_Y,
                series=(
                    _observed(found, joined=False, words=tuple(words.pipeline(cells[0]) for _, cells in found)),
                    *_ceilings(found, joined=False),
                ),
            )


def _turned(result: CellResult) -> Iterator[tuple[tuple[str, str, str], float]]:
    """Yield every number of a pipeline as what could have been turned: its stage and name, all others, its value."""
    stages = [parse(stage, "picture") for stage in result.cell.shown.defences]
    for at, stage in enumerate(stages):
        for turned, name, rest, value in _numbers(stage):
            others = [*map(str, stages[:at]), *([str(Spec("", rest))] if rest else []), *map(str, stages[at + 1 :])]
            yield (turned, name, " + ".join(others)), value


def _numbers(stage: Spec) -> Iterator[tuple[str, str, dict[str, Any], float]]:
    """Yield every number of a component: whose and which it is, all other parameters, its value.

    A number of a component within it (the scale of a noise model) is one, too.
    """
    for name, value in stage.params.items():
        rest = {key: other for key, other in stage.params.items() if key != name}
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield stage.name, name, rest, float(value)
        elif isinstance(value, Spec):
            for inner, parameter, beside, found in _numbers(value):
                yield f"{stage.name} {inner}", parameter, rest | ({name: Spec("", beside)} if beside else {}), found


Points = list[tuple[float, list[CellResult]]]


def _observed_and_implied(points: Points, board: Board, *, joined: bool) -> Iterator[Series]:
    if not points:
        yield Series(name="nothing was played", points=((0.0, 0.0),), line=False)
        return
    yield _observed(points, joined=joined)
    yield from _ceilings(points, joined=joined)
    blind = tuple((x, 100 * baseline(cells)) for x, cells in points)
    yield Series(name="floor: a blind guess", points=blind, bound=True, line=joined)
    floors = tuple((x, 100 * floor) for x, cells in points if (floor := _floor(cells)) is not None)
    if floors:
        yield Series(name="floor: proved to come out", points=floors, bound=True, line=joined)


def _observed(points: Points, *, joined: bool, words: tuple[str, ...] = ()) -> Series:
    shown = [(x, interval) for x, cells in points if (interval := ranked(cells)[0].accuracy) is not None]
    return Series(
        name="strongest attack, observed",
        points=tuple((x, 100 * interval.value) for x, interval in shown),
        spans=tuple((100 * interval.low, 100 * interval.high) for _, interval in shown),
        words=words,
        line=joined,
    )


def _ceilings(points: Points, *, joined: bool) -> Iterator[Series]:
    lowest = [
        (x, min((c.reached for cell in cells for c in cell.implied.ceilings), default=1.0)) for x, cells in points
    ]
    if proved := tuple((x, 100 * value) for x, value in lowest if value < 1):
        yield Series(name="ceiling, proved", points=proved, bound=True, line=joined)


def _floor(cells: Iterable[CellResult]) -> float | None:
    """Return what is proved to come out: every label where an attack is certain of it, or a floor of the theory."""
    found = list(cells)
    if any(cell.implied.promise is not None and cell.implied.promise.certified for cell in found):
        return 1.0
    known = (bound for bound in found[0].implied.bounds if bound.quantity == "accuracy")
    return max((bound.value for bound in known if bound.direction is Direction.FLOOR), default=None)
