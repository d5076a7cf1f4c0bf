"""What a channel measures beside the share of labels recovered, in words.

A model that is audited with planted labels gives more than one number: the share of the labels it was *trained* on
(memorisation, which no label-DP is meant to lower), the share of redrawn labels (the placebo), the epsilon that one
model proves; and of every line of defences what it leaves of the accuracy and what it certifies.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from typing import Any

from labelinf_core.evaluator.results import CellResult
from labelinf_core.report import words

__all__ = ["measured", "sentence", "stands"]


def measured(cells: Sequence[CellResult]) -> dict[str, list[str]]:
    """Return more columns for a table of ``cells``: an entry for each, under the heading; none in most channels."""
    columns = {
        "trained\n%": [_mean(result, "training_label_accuracy") for result in cells],
        "placebo\n%": [_placebo(result) for result in cells],
        "epsilon\nproved": [_median(result, "epsilon_at_least") for result in cells],
    }
    return {heading: entries for heading, entries in columns.items() if any(entries)}


def sentence(result: CellResult) -> str:
    """Say the same of one cell; empty in most channels."""
    trained, placebo = _mean(result, "training_label_accuracy"), _placebo(result)
    proved, best = _median(result, "epsilon_at_least"), _median(result, "epsilon_provable")
    parts = [
        f"{trained} % of the labels trained on" if trained else "",
        f"{placebo} % of redrawn labels (placebo)" if placebo else "",
        f"one model proves epsilon ≥ {proved}, of {best} at best" if proved else "",
    ]
    return ", ".join(filter(None, parts))


def stands(cells: Iterable[CellResult]) -> str:
    """Say what a line of defences leaves and certifies, where a channel measures it."""
    for result in cells:
        for text in _values(result, "certificate"):
            accuracy = result.implied.utility.get("test_accuracy")
            left = [] if accuracy is None else [f"test accuracy {words.number(accuracy)}"]
            return " · ".join([*left, f"certificate: {text}"])
    return ""


def _values(result: CellResult, key: str) -> list[Any]:
    return [trial.evidence[key] for trial in result.played if trial.evidence.get(key) is not None]


def _mean(result: CellResult, key: str) -> str:
    values = _values(result, key)
    return words.percent(statistics.fmean(values)) if values else ""


def _median(result: CellResult, key: str) -> str:
    values = _values(result, key)
    return words.number(statistics.median(values)) if values else ""


def _placebo(result: CellResult) -> str:
    played = [trial.placebo for trial in result.played if trial.placebo is not None]
    return words.percent(sum(p.n_correct for p in played) / sum(p.n_records for p in played)) if played else ""
