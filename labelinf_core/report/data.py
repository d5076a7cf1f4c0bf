"""Results as JSON and CSV: the same bytes whenever the same cells were played (on private labels: under the same key).

What was played on private labels is written as :mod:`labelinf_core.report.published` coarsens it, unless ``full`` is
asked for: then it is as private as the labels.

Nothing that depends on the machine enters: no time, no duration, no path. Durations go to a file of their own. The JSON
follows ``docs/schema/results.schema.json``; infinity is the string ``"inf"``.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import attrs

from labelinf_core.contracts.documents import Listed, csv_pieces, csv_text, json_pieces
from labelinf_core.contracts.guarantees import Interval
from labelinf_core.evaluator.cells import LabelFacts
from labelinf_core.evaluator.records import Status, Trial
from labelinf_core.evaluator.results import CellResult, Results
from labelinf_core.report.published import STEP, Leak, leaks, published
from labelinf_core.statistics.proportions import CONFIDENCE

__all__ = ["SCHEMA", "as_csv", "as_json", "json_of", "row", "seconds_of"]

SCHEMA = 1  #: version of the JSON layout; grows only when a reader could break


def as_json(results: Results, *, full: bool = False) -> str:
    """Return the results as JSON text."""
    return "".join(json_of(results, full=full))


def json_of(results: Results, *, full: bool = False) -> Iterator[str]:
    """Yield the same text in pieces, trial by trial."""
    told = {} if full else {f"private-{results.plan.labels.index(leak.labels) + 1}": leak for leak in leaks(results)}
    yield from json_pieces(_document(results if full else published(results), told))
    yield "\n"


def as_csv(results: Results, *, full: bool = False) -> str:
    """Return one row per cell."""
    return _csv(map(row, (results if full else published(results)).cells))


def seconds_of(results: Results, *, full: bool = False) -> Iterator[str]:
    """Yield the wall time of every trial as CSV, row by row; it stays with the run record."""
    rows = (
        (result.cell.id, number, trial.status.value, f"{trial.seconds:.6f}")
        for result in results.cells
        for number, trial in enumerate(result.trials)
    )
    return csv_pieces(("cell", "trial", "status", "seconds"), rows)


def _document(results: Results, told: Mapping[str, Leak]) -> dict[str, Any]:
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
        "labels": [_labels(facts, told.get(facts.digest)) for facts in plan.labels],
        "threats": threats,
        "cells": Listed(
            len(results.cells), lambda: (_cell(result, _situation(result), told) for result in results.cells)
        ),
    }


def _labels(facts: LabelFacts, leak: Leak | None) -> dict[str, Any]:
    known = {
        "title": facts.title,
        "provenance": facts.provenance,
        "n_records": facts.n_records,
        "class_names": facts.class_names,
        "class_counts": facts.class_counts if leak is None else None,
        "digest": facts.digest,
    }
    if leak is None:
        return known
    return {**known, "majority_share": facts.majority_share, "step": STEP, "leak_bits": math.ceil(leak.bits)}


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


def _cell(result: CellResult, threat: str, told: Mapping[str, Leak]) -> dict[str, Any]:
    cell, promise = result.cell, result.implied.promise
    status, message = result.failure or (Status.OK, "")
    failed = ((end.value, n) for end, n in result.tally.ends.items() if end is not Status.OK)
    trials = Listed(result.tally.trials, lambda: itertools.starmap(_outcome, enumerate(result.trials)))
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
        "played": result.tally.played,
        "failed": dict(sorted(failed)),
        "baseline": result.implied.baseline,
        "accuracy": _interval(result.accuracy),
        "exact_recovery": _interval(result.exact),
        "queries": result.tally.queries,
        "beside": dict(sorted(result.tally.told.items())),
        "promise": {**_guarantee(promise), "certified": promise.certified} if promise else None,
        "ceilings": [_guarantee(ceiling) for ceiling in result.implied.ceilings],
        "notes": result.implied.notes,
        "verdict": result.verdict.value,
        "strongest_of": attrs.asdict(result.field) if result.field else None,
        "outcomes": None if cell.digest in told else trials,
        **({"doubt": result.doubt} if result.doubt else {}),
    }


def _outcome(number: int, trial: Trial) -> dict[str, Any]:
    return {
        "trial": number,
        "status": trial.status.value,
        "message": trial.message,
        "n_correct": trial.n_correct,
        "queries": trial.queries,
        "evidence": trial.evidence,
        **({"placebo": attrs.asdict(trial.placebo)} if trial.placebo else {}),
        **({"audited": attrs.asdict(trial.audited)} if trial.audited else {}),
        **({"doubt": trial.doubt} if trial.doubt else {}),
    }


def _interval(interval: Interval | None) -> dict[str, float] | None:
    return attrs.asdict(interval) if interval else None


def _guarantee(item: Any) -> dict[str, Any]:
    return attrs.asdict(item, value_serializer=lambda _, __, value: getattr(value, "value", value))


def row(result: CellResult) -> dict[str, Any]:
    """Return a cell as one row of a table, with every figure: who publishes it coarsens the cell first."""
    cell, promise = result.cell, result.implied.promise
    status, message = result.failure or (Status.OK, "")
    ceiling = min(result.implied.ceilings, key=lambda item: item.reached, default=None)
    return {
        "cell": cell.id,
        "channel": cell.channel,
        "labels": result.labels.title,
        "attack": cell.attack,
        "defences": " + ".join(cell.written),
        "status": status.value,
        "trials_played": result.tally.played,
        "baseline": result.implied.baseline,
        **_columns("accuracy", result.accuracy),
        **_columns("exact_recovery", result.exact),
        "queries": "" if result.tally.queries is None else result.tally.queries,
        "noise_survived": promise.survives if promise else "",
        "noise_present": promise.present if promise else "",
        "promise": promise.statement if promise else "",
        "ceiling": ceiling.reached if ceiling else "",
        "ceiling_source": ceiling.statement if ceiling else "",
        "verdict": result.verdict.value,
        "message": message,
    }


def _columns(name: str, interval: Interval | None) -> dict[str, Any]:
    value, low, high = (interval.value, interval.low, interval.high) if interval else ("", "", "")
    return {name: value, f"{name}_low": low, f"{name}_high": high}


def _csv(rows: Iterable[Mapping[str, Any]]) -> str:
    table = list(rows)
    return csv_text(list(table[0]), (row.values() for row in table)) if table else ""
