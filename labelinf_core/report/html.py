"""Results as one HTML page that needs nothing else: to mail, to keep, to put on a wall.

The answer, the matrix as a heat map, leakage against strength and against cost, and a section a cell with every
interval and condition. It runs no script: what filters is a style sheet. All of it, the pictures too, is drawn from
what may be published, unless ``full`` is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from labelinf_core.contracts.guarantees import Interval, Verdict
from labelinf_core.evaluator.results import CellResult, Results
from labelinf_core.report import asides, pictures, words
from labelinf_core.report.boards import Board, baseline, boards, columns, costs, ranked
from labelinf_core.report.headline import answers
from labelinf_core.report.published import leaks, published
from labelinf_core.report.svg import as_svg
from labelinf_core.report.templates import templates
from labelinf_core.statistics.proportions import CONFIDENCE

__all__ = ["as_html"]

_TONES = {
    Verdict.BROKEN_CERTIFIED: "broken certified",
    Verdict.BROKEN_OBSERVED: "broken",
    Verdict.HELD_CERTIFIED: "held certified",
    Verdict.HELD_PARTLY: "held",
    Verdict.HELD_IF_STATED: "luck",
    Verdict.HELD_SO_FAR: "luck",
    Verdict.UNTESTED: "unplayed untested",
    Verdict.CONTRADICTION: "alarm",
    Verdict.LEAKY: "void",
    Verdict.VIEW_REVEALS: "void",
    Verdict.NOT_PLAYED: "unplayed",
}  # classes of the page's style sheet


def as_html(results: Results, *, full: bool = False) -> str:
    """Return the results as an HTML page."""
    told = () if full else tuple(f"this page {leak}" for leak in leaks(results))
    results = results if full else published(results)
    plan, shown = results.plan, list(enumerate(boards(results)))
    names = {id(cell): f"cell-{number}" for number, cell in enumerate(results.cells, 1)}
    pipelines = list(dict.fromkeys(cell.cell.shown.pipeline for cell in results.cells))
    return (
        templates()
        .get_template("report.html.jinja")
        .render(
            title=plan.title,
            made=results.made,
            facts=(words.count(plan.trials, "trial"), f"seed {plan.seed}", f"{CONFIDENCE:.0%} intervals", *told),
            versions=" · ".join(f"{name} {number}" for name, number in {**_own(), **plan.environment}.items()),
            incomplete=words.incomplete(results),
            alarms=[words.contradiction(result) for result in results.contradictions],
            answers=list(answers(results)),
            boards=[_board(results, number, board, names, pipelines) for number, board in shown],
            legend=[(item, _TONES[item], sign) for item, sign in words.signs(results.cells).items()],
            pipelines=pipelines,
        )
    )


def _own() -> dict[str, str]:
    try:
        return {"labelinf": version("labelinf")}
    except PackageNotFoundError:
        return {}


def _board(results: Results, number: int, board: Board, names: dict[int, str], pipelines: list[str]) -> dict[str, Any]:
    by_pipeline = columns(board)
    found = {(result.cell.shown.attack, result.cell.shown.pipeline): result for result in board}
    attacks = dict.fromkeys(result.cell.shown.attack for result in board)
    drawn = [*pictures.strengths(board), *pictures.costs(board)]
    return {
        "title": words.title(results, board[0]),
        "pipelines": [(pipeline, words.pipeline(cells[0])) for pipeline, cells in by_pipeline.items()],
        "blind": [words.percent(baseline(cells)) for cells in by_pipeline.values()],
        "rows": [(attack, [_entry(found.get((attack, p)), names) for p in by_pipeline]) for attack in attacks],
        "worst": [_entry(ranked(cells)[0], names) for cells in by_pipeline.values()],
        "costs": list(costs(by_pipeline).items()),
        "pictures": [(item, as_svg(item, name=f"picture-{number}-{at}")) for at, item in enumerate(drawn)],
        "details": [
            {
                "name": pipeline,
                "number": pipelines.index(pipeline),
                "stands": asides.stands(cells),
                "field": str(cells[0].field or ""),
                "cells": [_detail(result, names) for result in ranked(cells)],
                "bounds": list(_bounds(cells[0])),
                "images": list(_images(cells)),
            }
            for pipeline, cells in by_pipeline.items()
        ],
    }


def _entry(result: CellResult | None, names: dict[int, str]) -> dict[str, str]:
    if result is None:
        return {"text": "", "tone": "unplayed", "tip": "", "to": "", "heat": "0"}
    tip = f"{words.verdict(result)}; {_interval(result.accuracy)}" if result.accuracy else words.trouble(result)
    heat = f"{100 * result.accuracy.value:.0f}" if result.accuracy else "0"
    entry = {"text": words.outcome(result), "tone": _TONES[result.verdict], "tip": tip}
    return {**entry, "to": names[id(result)], "heat": heat}


def _detail(result: CellResult, names: dict[int, str]) -> dict[str, Any]:
    return {
        "id": names[id(result)],
        "attack": result.cell.shown.attack,
        "asked": (result.cell.channel, result.cell.attack, " + ".join(result.cell.written)),
        "reference": result.cell.shown.reference,
        "labels": _interval(result.accuracy),
        "exact": _interval(result.exact),
        "queries": "" if result.tally.queries is None else f"{result.tally.queries:.0f}",
        "verdict": words.verdict(result),
        "tone": _TONES[result.verdict],
        "kind": result.verdict.name,
        "implied": list(_implied(result)),
        "trouble": words.trouble(result),
    }


def _implied(result: CellResult) -> Iterator[str]:
    if promise := result.implied.promise:
        yield (
            f"Recovers every label while the error is {'below' if promise.strict else 'at most'} "
            f"{words.number(promise.survives)}; {words.number(promise.present)} can be present. {promise.statement}: "
            f"{promise.conditions}."
        )
    for ceiling in result.implied.ceilings:
        yield (
            f"Ceiling: {words.ceiling(ceiling, result.implied.baseline)}, all of them in at most "
            f"{words.at_most(ceiling.exact)} % of games. {ceiling.statement}: {ceiling.conditions}."
        )

    if more := asides.sentence(result):
        yield f"Measured beside: {more}."


def _images(cells: Sequence[CellResult]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield what each attack rebuilt below the true inputs that it is of; nothing of what may not be published."""
    true: tuple[str, ...] = ()
    for result in cells:
        trial = next(iter(result.trials), None)
        if trial is None or trial.gallery is None:
            continue
        if trial.gallery.true != true:
            true = trial.gallery.true
            yield "true", true
        yield f"{result.cell.shown.attack}: {trial.gallery.says}", trial.gallery.rebuilt


def _bounds(result: CellResult) -> Iterator[dict[str, str]]:
    for bound in result.implied.bounds:
        yield {
            "title": bound.title,
            "direction": bound.direction.value,
            "quantity": bound.quantity,
            "value": words.number(bound.value),
            "formula": bound.formula,
            "source": f"{bound.statement}: {bound.conditions}",
        }


def _interval(interval: Interval | None) -> str:
    if interval is None:
        return ""
    low, high = words.percent(interval.low), words.percent(interval.high)
    return f"{words.percent(interval.value)} % ({low} to {high})"
