"""What a channel measures in every trial beside the share of labels recovered, in words.

A channel names it in :meth:`Channel.measures` with ``of="trial"`` and puts it into a trial's evidence: a share, a
number, or a text that says what a line of defences certifies.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from typing import Any

from labelinf_core.contracts.components import Measure
from labelinf_core.evaluator.results import CellResult
from labelinf_core.report import words

__all__ = ["measured", "sentence", "stands"]

_WIDTH = 8  # columns of a heading


def measured(cells: Sequence[CellResult]) -> dict[str, list[str]]:
    """Return more columns for a table of ``cells``: an entry for each, under the heading; none in most channels."""
    columns = {
        words.heading(f"{measure.title} %" if measure.unit == "share" else measure.title, _WIDTH): [
            _entry(result, measure).removesuffix(" %") for result in cells
        ]
        for measure in _of_trials(cells[0])
        if measure.unit != "text"
    }
    return {heading: entries for heading, entries in columns.items() if any(entries)}


def sentence(result: CellResult) -> str:
    """Say the same of one cell; empty in most channels."""
    told = [(measure.title, _entry(result, measure)) for measure in _of_trials(result) if measure.unit != "text"]
    return ", ".join(f"{title} {entry}" for title, entry in told if entry)


def stands(cells: Sequence[CellResult]) -> str:
    """Say in words what a line of defences is worth, where its channel does."""
    texts = [(measure, result) for measure in _of_trials(cells[0]) if measure.unit == "text" for result in cells]
    said = {measure.title: value for measure, result in reversed(texts) for value in _values(result, measure)[:1]}
    return " · ".join(f"{title}: {value}" for title, value in said.items())


def _of_trials(result: CellResult) -> Iterator[Measure]:
    return (measure for measure in result.measures if measure.of == "trial")


def _values(result: CellResult, measure: Measure) -> list[Any]:
    found = (trial.evidence.get(measure.key) for trial in result.played)
    return [value for value in found if value is not None]


def _entry(result: CellResult, measure: Measure) -> str:
    """Return the mean of a share, the median of anything else; empty where nothing was measured."""
    values = [float(value) for value in _values(result, measure)]
    middle = statistics.fmean if measure.unit == "share" else statistics.median
    return words.measured(measure, middle(values)) if values else ""
