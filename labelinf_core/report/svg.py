"""Pictures as inline SVG: no script, no font, no file from elsewhere, every word of theirs escaped.

Ink is ``currentColor``, and series differ by mark and dash as well as by colour, so that a picture reads in either
theme, in print and without colour.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from typing import Any

from labelinf_core.contracts.pictures import Picture, Series
from labelinf_core.report.templates import templates

__all__ = ["as_svg"]

_WIDTH, _HEIGHT = 640.0, 356.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 62.0, 620.0, 16.0, 286.0  # of the plot itself
_LEGEND = 18.0  # of every line of the legend
_TICKS = 5
_LETTER, _LINE_HEIGHT = 5.6, 13.0  # of a word beside a point
_MARK = 5  # half of what a mark takes
_WORDS = 60  # points beyond which no word beside one could be read
_LINE = 88  # characters of the legend that find room beside each other


def as_svg(picture: Picture, *, name: str = "picture", alone: bool = False) -> str:
    """Return a picture as an SVG element.

    Args:
        picture: What to draw.
        name: Of the element in its page: what its title and description are referred to by.
        alone: Whether it is a file of its own, which carries its colours with it.
    """
    across = _ticks(*_range([x for s in picture.series for x, _ in s.points], picture), log=picture.log)
    heights = [y for s in picture.series for pair in (*s.points, *s.spans) for y in pair[1:]]
    heights += [low for s in picture.series for low, _ in s.spans]
    up = _ticks(min(0.0, *heights), max(heights) or 1.0, log=False)
    x = functools.partial(_place, ends=(across[0], across[-1]), span=(_LEFT + 8, _RIGHT - 8), log=picture.log)
    y = functools.partial(_place, ends=(up[0], up[-1]), span=(_BOTTOM, _TOP), log=False)
    legend = list(_legend(picture.series))
    return templates().get_template("picture.svg.jinja").render(
        picture=picture, name=name, alone=alone, width=_WIDTH, left=_LEFT, right=_RIGHT, top=_TOP, bottom=_BOTTOM,
        height=_HEIGHT + _LEGEND * (legend[-1]["row"] if legend else 0),
        across=[(f"{x(v):.1f}", picture.names[int(v)] if picture.names else _said(v)) for v in across
                if not picture.names or (v == int(v) and 0 <= v < len(picture.names))],
        up=[(f"{y(v):.1f}", _said(v)) for v in up],
        drawn=[_drawn(at, series, x, y) for at, series in enumerate(picture.series)],
        legend=[{**entry, "y": _HEIGHT - 12 + _LEGEND * entry["row"]} for entry in legend],
    )  # fmt: skip


def _range(values: Sequence[float], picture: Picture) -> tuple[float, float]:
    if picture.names:
        return -0.5, len(picture.names) - 0.5
    low, high = min(values), max(values)
    if low == high:
        return (low / 2, high * 2) if picture.log else (low - 1, high + 1)
    return low, high


def _place(value: float, ends: tuple[float, float], span: tuple[float, float], *, log: bool) -> float:
    low, high, at = (math.log(v) for v in (*ends, value)) if log else (*ends, value)
    return span[0] + (span[1] - span[0]) * (at - low) / ((high - low) or 1.0)


def _ticks(low: float, high: float, *, log: bool) -> list[float]:
    """Return round numbers of which the first is at most ``low`` and the last at least ``high``."""
    if log:
        ends = math.floor(math.log10(low) + 1e-9), math.ceil(math.log10(high) - 1e-9)
        jump = max(1, math.ceil((ends[1] - ends[0]) / 7))
        return [10.0**k for k in range(ends[0], max(ends[1], ends[0] + 1) + jump, jump)]
    if low != int(low) and high - low == int(high - low):  # names: one at every whole number
        return [low, *range(math.ceil(low), math.floor(high) + 1), high]
    raw = (high - low) / _TICKS
    unit = 10.0 ** math.floor(math.log10(raw))
    step = next(unit * k for k in (1, 2, 2.5, 5, 10) if unit * k >= raw * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(step * k, 12) for k in range(first, last + 1)]


def _said(value: float) -> str:
    return f"{value:g}"


def _drawn(at: int, series: Series, x: Any, y: Any) -> dict[str, Any]:
    places = [(round(x(a), 1), round(y(b), 1)) for a, b in series.points]
    spans = [
        (px, round(y(low), 1), round(y(high), 1)) for (px, _), (low, high) in zip(places, series.spans, strict=False)
    ]
    return {
        "look": at % 6,
        "series": series,
        "path": "M" + " L".join(f"{px} {py}" for px, py in places) if series.line and len(places) > 1 else "",
        "spans": spans,
        "marks": [] if series.bound and len(places) > 1 else places,
        "words": list(_beside(places, series.words)) if len(places) <= _WORDS else [],
    }


def _beside(places: Sequence[tuple[float, float]], words: Sequence[str]) -> Iterator[tuple[float, float, str, str]]:
    """Yield each word with its place and where it is anchored: the nearest free line below its point."""
    taken = [(x - _MARK, x + _MARK, y + 4) for x, y in places]
    for (x, y), word in zip(places, words, strict=False):
        left = x > (_LEFT + _RIGHT) / 2
        start = x - 7 - _LETTER * len(word) if left else x + 7
        lines = (y + 4 + _LINE_HEIGHT * k for k in range(2 * len(words)))
        free = (at for at in lines if not any(_meet((start, start + _LETTER * len(word), at), box) for box in taken))
        height = next(free, y + 4)
        taken.append((start, start + _LETTER * len(word), height))
        yield (x - 7 if left else x + 7), height, word, "end" if left else "start"


def _meet(one: tuple[float, float, float], other: tuple[float, float, float]) -> bool:
    return abs(one[2] - other[2]) < _LINE_HEIGHT - 1 and one[0] < other[1] and other[0] < one[1]


def _legend(series: Sequence[Series]) -> Iterator[dict[str, Any]]:
    """Yield the entries of the legend, in rows as wide as the picture."""
    row, column = 0, 0
    for at, each in enumerate(series):
        size = len(each.name) + 6
        if column and column + size > _LINE:
            row, column = row + 1, 0
        yield {"look": at % 6, "series": each, "row": row, "x": _LEFT + column * (_RIGHT - _LEFT) / _LINE}
        column += size
