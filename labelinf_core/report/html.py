"""Results as one HTML page that needs nothing else: to mail, to keep, to put on a wall.

It says what the terminal says, with room for every interval and condition, and holds nothing that depends on the
machine.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from labelinf_core.contracts.guarantees import Interval, Verdict
from labelinf_core.evaluator.results import CellResult, Results
from labelinf_core.evaluator.statistics import CONFIDENCE
from labelinf_core.report import asides, words
from labelinf_core.report.boards import Board, baseline, boards, columns, costs, ranked
from labelinf_core.report.published import leaks, published

if TYPE_CHECKING:
    import jinja2

__all__ = ["as_html"]

_TONES = {
    Verdict.BROKEN_CERTIFIED: "broken certified",
    Verdict.BROKEN_OBSERVED: "broken",
    Verdict.HELD_CERTIFIED: "held certified",
    Verdict.HELD_PARTLY: "held",
    Verdict.HELD_SO_FAR: "held",
    Verdict.UNTESTED: "unplayed",
    Verdict.CONTRADICTION: "alarm",
    Verdict.LEAKY: "void",
    Verdict.VIEW_REVEALS: "void",
    Verdict.NOT_PLAYED: "unplayed",
}  # classes of the page's style sheet


def as_html(results: Results, *, full: bool = False) -> str:
    """Return the results as an HTML page."""
    page = _templates().get_template("report.html.jinja")
    told = () if full else tuple(f"this page {leak}" for leak in leaks(results))
    results = results if full else published(results)
    plan = results.plan
    return page.render(
        title=plan.title,
        facts=(words.count(plan.trials, "trial"), f"seed {plan.seed}", f"{CONFIDENCE:.0%} intervals", *told),
        environment=" · ".join(f"{name} {version}" for name, version in plan.environment.items()),
        incomplete=words.incomplete(results),
        alarms=[words.contradiction(result) for result in results.contradictions],
        boards=[_board(results, board) for board in boards(results)],
        legend=[(verdict, _TONES[verdict]) for verdict in Verdict if any(r.verdict is verdict for r in results.cells)],
    )


@functools.cache
def _templates() -> jinja2.Environment:
    import jinja2

    loader = jinja2.PackageLoader("labelinf_core", "report")
    return jinja2.Environment(
        loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )


def _board(results: Results, board: Board) -> dict[str, Any]:
    by_pipeline = columns(board)
    found = {(result.cell.shown.attack, result.cell.shown.pipeline): result for result in board}
    attacks = dict.fromkeys(result.cell.shown.attack for result in board)
    return {
        "title": words.title(results, board[0]),
        "pipelines": list(by_pipeline),
        "blind": [words.percent(baseline(cells)) for cells in by_pipeline.values()],
        "rows": [
            (attack, [_entry(found.get((attack, pipeline))) for pipeline in by_pipeline])
            for attack in attacks
        ],
        "worst": [_entry(ranked(cells)[0]) for cells in by_pipeline.values()],
        "costs": list(costs(by_pipeline).items()),
        "details": [
            (_heading(pipeline, cells), [_detail(result) for result in ranked(cells)], list(_bounds(cells[0])))
            for pipeline, cells in by_pipeline.items()
        ],
    }  # fmt: skip


def _heading(pipeline: str, cells: list[CellResult]) -> str:
    told = "; ".join(filter(None, (asides.stands(cells), str(cells[0].field or ""))))
    return f"{pipeline} ({told})" if told else pipeline


def _entry(result: CellResult | None) -> dict[str, str]:
    if result is None:
        return {"text": "", "tone": "unplayed", "tip": ""}
    tip = f"{words.verdict(result)}; {_interval(result.accuracy)}" if result.accuracy else words.trouble(result)
    return {"text": words.outcome(result), "tone": _TONES[result.verdict], "tip": tip}


def _detail(result: CellResult) -> dict[str, Any]:
    return {
        "attack": result.cell.shown.attack,
        "reference": result.cell.shown.reference,
        "labels": _interval(result.accuracy),
        "exact": _interval(result.exact),
        "queries": "" if result.tally.queries is None else f"{result.tally.queries:.0f}",
        "verdict": words.verdict(result),
        "tone": _TONES[result.verdict],
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
            f"{words.percent(ceiling.exact)} % of games. {ceiling.statement}: {ceiling.conditions}."
        )

    if more := asides.sentence(result):
        yield f"Measured beside: {more}."


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
