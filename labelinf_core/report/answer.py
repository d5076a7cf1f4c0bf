"""The answer of one game."""

from __future__ import annotations

from collections.abc import Iterable

from labelinf_core.contracts.answer import Answer
from labelinf_core.contracts.guarantees import Verdict
from labelinf_core.evaluator.results import CellResult
from labelinf_core.report import words
from labelinf_core.report.boards import columns, costs

__all__ = ["of_bout"]


def of_bout(result: CellResult) -> Answer:
    """Return the answer of one game."""
    return Answer(leaks=_leaks(result), stopped=_stopped(result), costs=_costs([result]))


def _leaks(result: CellResult) -> str:
    if result.accuracy is None:
        return f"not known: {words.trouble(result)}"
    trial = result.trials[0]
    blind = words.percent(result.implied.baseline)
    said = f"{trial.n_correct} of {trial.n_records} labels, {words.percent(trial.n_correct / trial.n_records)} %"
    return f"{said} (a blind guess: {blind} %), {words.count(trial.queries, 'query')}; {result.verdict.value}"


def _stopped(result: CellResult) -> str:
    promise, ceiling = result.implied.promise, result.ceiling
    if ceiling is not None and result.verdict in (Verdict.HELD_CERTIFIED, Verdict.HELD_PARTLY):
        return f"{words.pipeline(result)}: {words.ceiling(ceiling, result.implied.baseline)}, proved"
    if promise is not None and promise.proved:
        return (
            f"noise above {words.number(promise.survives)} on every score, which this attack survives otherwise "
            f"({words.number(promise.present)} can be present); labelinf advise finds settings"
        )
    return "nothing that stands here; labelinf advise finds settings"


def _costs(cells: Iterable[CellResult]) -> str:
    """Say what the first line of defences costs honest users."""
    rows = costs(columns(cells))
    return ", ".join(f"{title} {values[0]}" for title, values in rows.items() if values[0])
