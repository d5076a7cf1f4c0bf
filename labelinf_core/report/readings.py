"""What a file that a run has written tells of the labels: every count and every mean, in whatever format it is."""

from __future__ import annotations

import csv
import html
import io
import json
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from labelinf_core.evaluator.cells import Cell
from labelinf_core.report.published import STEP

__all__ = ["CellReading", "readings"]


@attrs.frozen(kw_only=True)
class CellReading:
    """What a file tells of the labels that were guessed correctly in a cell.

    Attributes:
        cell: The cell.
        trial: The trial; None for the mean over all of them.
        low: At least so large a share of the labels.
        high: At most so large.
    """

    cell: Cell
    trial: int | None
    low: float
    high: float


def readings(name: str, text: str, cells: Sequence[Cell], title: str) -> list[CellReading]:
    """Return every count and every mean that a file tells about ``cells``.

    Args:
        name: Of the file: what follows its last point is the format.
        text: What is in it.
        cells: Those that were played on one set of labels.
        title: What a report calls these labels.

    Raises:
        ValueError: A figure is no finite number, or of no such trial. Whatever else its parser raises, too.
    """
    found = _read(name, text, cells, title)
    if not all(math.isfinite(item.low) and math.isfinite(item.high) for item in found):
        raise ValueError("a figure is no finite number")
    return found


def _read(name: str, text: str, cells: Sequence[Cell], title: str) -> list[CellReading]:
    form = name.rpartition(".")[2]
    if form == "json":
        return list(_of_json(json.loads(text), cells, title))
    if form == "csv":
        by_spec = {(cell.channel, cell.attack, " + ".join(cell.written)): cell for cell in cells}
        rows = (row for row in csv.DictReader(io.StringIO(text)) if row["labels"] == title and row["accuracy"])
        keyed = [((row["channel"], row["attack"], row["defences"]), float(row["accuracy"])) for row in rows]
        return _means([(by_spec[key], value) for key, value in keyed if key in by_spec], 1e-9)
    shown = {(cell.shown.attack, cell.shown.pipeline): cell for cell in cells}
    told = _TEXTS[form](text)
    return _means([(shown[where], share) for where, share in told if where in shown], 5e-4)


def _of_json(document: Any, cells: Sequence[Cell], title: str) -> Iterator[CellReading]:
    names = {item["digest"] for item in document["labels"] if item["title"] == title}
    by_spec = {(cell.channel, cell.attack, cell.written): cell for cell in cells}
    means: list[tuple[Cell, float]] = []
    for item in document["cells"]:
        cell = by_spec.get((item["channel"], item["attack"], tuple(item["defences"])))
        if cell is None or item["labels"] not in names:
            continue
        for outcome in item["outcomes"] or ():
            if outcome["status"] == "ok":
                count = float(outcome["n_correct"])
                yield CellReading(cell=cell, trial=outcome["trial"], low=count, high=count)
        if not item["outcomes"] and item["accuracy"]:
            means.append((cell, item["accuracy"]["value"]))
    yield from _means(means, 1e-9)


def _means(found: Sequence[tuple[Cell, float]], exact: float) -> list[CellReading]:
    """Read shares: those that all stand on the grid of published ones are as coarse as it is."""
    coarse = all(abs(value / STEP - round(value / STEP)) < 1e-6 for _, value in found)
    half = STEP if coarse else exact  # at the ends, a whole step
    return [CellReading(cell=cell, trial=None, low=value - half, high=value + half) for cell, value in found]


def _of_page(text: str) -> Iterator[tuple[tuple[str, str], float]]:
    for table in re.findall(r'<table class="matrix">.*?</table>', text, re.DOTALL):
        head = re.findall(r'<th scope="col" title="(.*?)">', table.partition("</thead>")[0])
        pipelines = list(map(html.unescape, head))
        for attack, row in re.findall(r'<tr><th scope="row">(.*?)</th>(.*?)</tr>', table.partition("<tbody>")[2]):
            tips = re.findall(r'<td class="[^"]*" title="([^"]*)"', row)
            for pipeline, tip in zip(pipelines, tips, strict=False):
                if share := re.search(r"; ([\d.]+) % \(", tip):
                    yield (html.unescape(attack), pipeline), float(share[1]) / 100


def _of_junit(text: str) -> Iterator[tuple[tuple[str, str], float]]:
    for pipeline, attack, share in re.findall(
        r'<testcase classname="(.*?)" name="(.*?)"[^>]*>\s*<failure[^>]*message="([\d.]+)', text
    ):
        yield (html.unescape(attack), html.unescape(pipeline)), float(share) / 100


def _of_sarif(text: str) -> Iterator[tuple[tuple[str, str], float]]:
    for item in json.loads(text)["runs"][0]["results"]:
        if found := re.match(r"(.*?) against (.*) on .*?: ([\d.]+).* % of the labels", item["message"]["text"]):
            yield (found[1], found[2]), float(found[3]) / 100


_TEXTS = {"html": _of_page, "xml": _of_junit, "sarif": _of_sarif}
