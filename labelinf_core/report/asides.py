"""What a channel, and the core, measures in every trial beside the share of labels recovered, in words.

A channel names it in :meth:`Channel.measures` with ``of="trial"`` and puts it into a trial's evidence: a share, a
number, or a text that says what a line of defences certifies. The core measures how the placebo fared and which epsilon
the trials prove, in every channel that has them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from labelinf_core.contracts.components import Measure
from labelinf_core.evaluator.results import CellResult
from labelinf_core.evaluator.tally import AUDITED, PLACEBO
from labelinf_core.report import words

__all__ = ["measured", "rests_on", "sentence", "stands"]

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
    return ", ".join([*(f"{title} {entry}" for title, entry in told if entry), *filter(None, (rests_on(result),))])


def rests_on(result: CellResult) -> str:
    """Say whose word a proved epsilon rests on, as a clause: that of whoever draws what is planted, if not ours."""
    game = result.implied.threat.get("game", "")
    return f"the epsilon if {game} draws as it says" if game and AUDITED.key in result.tally.told else ""


def stands(cells: Sequence[CellResult]) -> str:
    """Say in words what a line of defences is worth, where its channel does."""
    texts = [measure for measure in _of_trials(cells[0]) if measure.unit == "text"]
    said = {
        measure.title: result.tally.told[measure.key]
        for measure in reversed(texts)
        for result in reversed(cells)
        if measure.key in result.tally.told
    }
    return " · ".join(f"{title}: {value}" for title, value in said.items())


def _of_trials(result: CellResult) -> Iterator[Measure]:
    own = (PLACEBO, AUDITED)
    yield from (item for item in result.measures if item.of == "trial" and item.key not in {each.key for each in own})
    yield from own


def _entry(result: CellResult, measure: Measure) -> str:
    """Return the mean of a share, the median of anything else; empty where nothing was measured."""
    told = result.tally.told.get(measure.key)
    return "" if told is None else words.measured(measure, float(told))
