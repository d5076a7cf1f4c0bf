"""Results as JSON and CSV: the same bytes whenever the same cells were played.

Nothing that depends on the machine enters: no time, no duration, no path. Durations go to a file of their own. The JSON
follows ``docs/schema/results.schema.json``; infinity is the string ``"inf"``.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from labelinf_core.contracts.guarantees import Interval
from labelinf_core.evaluator.records import Status, plain
from labelinf_core.evaluator.results import CellResult, Results
from labelinf_core.evaluator.statistics import CONFIDENCE

__all__ = ["SCHEMA", "as_csv", "as_json", "seconds_csv"]

SCHEMA = 1  #: version of the JSON layout; grows only when a reader could break


def as_json(results: Results) -> str:
    """Return the results as JSON text."""
    return json.dumps(plain(_document(results)), indent=1, ensure_ascii=False) + "\n"


def as_csv(results: Results) -> str:
    """Return one row per cell."""
    return _csv(map(_row, results.cells))


def seconds_csv(results: Results) -> str:
    """Return the wall time of every trial."""
    return _csv(
        {"cell": result.cell.id, "trial": number, "status": trial.status.value, "seconds": f"{trial.seconds:.6f}"}
        for result in results.cells
        for number, trial in enumerate(result.trials)
    )


def _document(results: Results) -> dict[str, Any]:
    plan = results.plan
    threats = list(_threats(results))
    return {
        "schema": SCHEMA,
        "title": plan.title,
        "seed": plan.seed,
        "trials": plan.trials,
        "confidence": CONFIDENCE,
        "plan": plan.digest,
        "environment": plan.environment,
        "labels": [attrs.asdict(facts) for facts in plan.labels],
        "threats": threats,
        "cells": [_cell(result, _situation(result)) for result in results.cells],
    }


def _situation(result: CellResult) -> str:
    """Name the threat model that a cell shares with every attack on the same defences."""
    cell = result.cell
    return " | ".join((cell.channel, cell.digest[:12], *cell.written))


def _threats(results: Results) -> Iterator[dict[str, Any]]:
    seen = set()
    for result in results.cells:
        name = _situation(result)
        if name not in seen:
            seen.add(name)
            yield {
                "id": name,
                "facts": result.implied.threat,
                "bounds": [_guarantee(bound) for bound in result.implied.bounds],
                "utility": result.implied.utility,
            }


def _cell(result: CellResult, threat: str) -> dict[str, Any]:
    cell, promise = result.cell, result.implied.promise
    status, message = result.failure or (Status.OK, "")
    return {
        "id": cell.id,
        "channel": cell.channel,
        "labels": cell.digest,
        "attack": cell.attack,
        "reference": cell.shown.reference,
        "defences": cell.written,
        "versions": dict(sorted(cell.versions.items())),
        "threat": threat,
        "status": status.value,
        "message": message,
        "played": len(result.played),
        "failed": dict(sorted(_failures(result).items())),
        "baseline": result.implied.baseline,
        "accuracy": _interval(result.accuracy),
        "exact_recovery": _interval(result.exact),
        "queries": result.queries,
        "promise": {**_guarantee(promise), "certified": promise.certified} if promise else None,
        "ceilings": [_guarantee(ceiling) for ceiling in result.implied.ceilings],
        "notes": result.implied.notes,
        "verdict": result.verdict.value,
        "outcomes": [_outcome(result, number) for number in range(len(result.trials))],
    }


def _outcome(result: CellResult, number: int) -> dict[str, Any]:
    trial = result.trials[number]
    return {
        "trial": number,
        "status": trial.status.value,
        "message": trial.message,
        "n_correct": trial.n_correct,
        "queries": trial.queries,
        "evidence": trial.evidence,
    }


def _failures(result: CellResult) -> Counter[str]:
    return Counter(trial.status.value for trial in result.trials if trial.status is not Status.OK)


def _interval(interval: Interval | None) -> dict[str, float] | None:
    return attrs.asdict(interval) if interval else None


def _guarantee(item: Any) -> dict[str, Any]:
    return attrs.asdict(item, value_serializer=lambda _, __, value: getattr(value, "value", value))


def _row(result: CellResult) -> dict[str, Any]:
    cell, promise = result.cell, result.implied.promise
    status, message = result.failure or (Status.OK, "")
    ceiling = min(result.implied.ceilings, key=lambda item: item.accuracy, default=None)
    return {
        "cell": cell.id,
        "channel": cell.channel,
        "labels": result.labels.title,
        "attack": cell.attack,
        "defences": " + ".join(cell.written),
        "status": status.value,
        "trials_played": len(result.played),
        "baseline": result.implied.baseline,
        **_columns("accuracy", result.accuracy),
        **_columns("exact_recovery", result.exact),
        "queries": "" if result.queries is None else result.queries,
        "noise_survived": promise.survives if promise else "",
        "noise_present": promise.present if promise else "",
        "promise": promise.statement if promise else "",
        "ceiling": ceiling.accuracy if ceiling else "",
        "ceiling_source": ceiling.statement if ceiling else "",
        "verdict": result.verdict.value,
        "message": message,
    }


def _columns(name: str, interval: Interval | None) -> dict[str, Any]:
    value, low, high = (interval.value, interval.low, interval.high) if interval else ("", "", "")
    return {name: value, f"{name}_low": low, f"{name}_high": high}


def _csv(rows: Iterator[Mapping[str, Any]]) -> str:
    text = io.StringIO()
    writer: csv.DictWriter[str] | None = None
    for row in rows:
        if writer is None:
            writer = csv.DictWriter(text, fieldnames=list(row), lineterminator="\n")
            writer.writeheader()
        writer.writerow(row)
    return text.getvalue()
