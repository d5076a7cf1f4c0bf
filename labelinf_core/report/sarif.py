"""Results as SARIF 2.1.0, so that a code host shows a leak beside the code: one result for every cell that is broken.

The rule is the attack, with the statement that it implements; the message says what was recovered. What was played on
private labels is coarsened as everywhere else, and a result names no file: a leak has no line.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from labelinf_core.contracts.documents import json_text
from labelinf_core.contracts.guarantees import Verdict
from labelinf_core.evaluator.records import Status
from labelinf_core.evaluator.results import CellResult, Results
from labelinf_core.plugin.markers import PROJECT
from labelinf_core.report import words
from labelinf_core.report.published import published

__all__ = ["as_sarif"]

_LEVELS = {
    Verdict.BROKEN_CERTIFIED: "error",
    Verdict.BROKEN_OBSERVED: "error",
    Verdict.CONTRADICTION: "error",
    Verdict.LEAKY: "warning",
    Verdict.VIEW_REVEALS: "warning",
}
_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def as_sarif(results: Results, *, full: bool = False) -> str:
    """Return the results as SARIF text; the same cells give the same bytes."""
    results = results if full else published(results)
    found = [(result, level) for result in results.cells if (level := _level(result))]
    rules = {result.cell.shown.attack.partition("(")[0]: result.cell.shown.reference for result, _ in found}
    document = {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "labelinf",
                        "version": version(PROJECT),
                        "rules": [
                            {"id": name, "shortDescription": {"text": f"{name} ({reference})"}}
                            for name, reference in sorted(rules.items())
                        ],
                    }
                },
                "results": [_result(result, level) for result, level in found],
            }
        ],
    }
    return json_text(document) + "\n"


def _level(result: CellResult) -> str:
    """Return how bad a cell is; empty when there is nothing to report."""
    if result.failure:
        return "" if result.failure[0] in (Status.REFUSED, Status.PENDING) else "note"
    return "note" if result.doubt else _LEVELS.get(result.verdict, "")


def _result(result: CellResult, level: str) -> dict[str, Any]:
    return {
        "ruleId": result.cell.shown.attack.partition("(")[0],
        "level": level,
        "message": {"text": _told(result)},
        "partialFingerprints": {"cell/v1": result.cell.id},
    }


def _told(result: CellResult) -> str:
    where = f"{result.cell.shown.attack} against {result.cell.shown.pipeline} on {result.labels.title}"
    if result.failure or result.accuracy is None:
        return f"{where}: {words.trouble(result) or result.verdict.value}"
    if result.doubt:
        return f"{where}: {result.doubt}"
    if result.verdict is Verdict.CONTRADICTION:
        return f"{where}: {words.contradiction(result)}"
    return f"{where}: {words.told(result.accuracy)} of the labels recovered ({result.verdict.value})"
