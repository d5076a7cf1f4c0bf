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
from labelinf_core.report.words import heading

__all__ = ["as_svg"]

_WIDTH, _HEIGHT = 640.0, 356.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 62.0, 620.0, 16.0, 286.0  # of the plot itself
_LEGEND = 18.0  # of every line of the legend
_TICKS = 5
_LETTER, _LINE_HEIGHT = 5.6, 13.0  # of a word beside a point
_NAME = 6.2  # of a letter below the axis
_NARROW = 8  # letters of a name's line at least
_MARK = 5  # half of what a mark takes
_GAP = 10  # between two words on a line
_LEVEL = 11  # half of the dash that stands for what is proved of one point
_NEAR, _FAR = 13, 18  # of a word from its point: beside it, and with a line that joins them
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
    named = _named(picture.names)
    deep = max((row for name in named for row, _ in enumerate(name)), default=0) * _LINE_HEIGHT
    return templates().get_template("picture.svg.jinja").render(
        picture=picture, name=name, alone=alone, width=_WIDTH, left=_LEFT, right=_RIGHT, top=_TOP, bottom=_BOTTOM,
        deep=deep, line=_LINE_HEIGHT, height=_HEIGHT + deep + _LEGEND * (legend[-1]["row"] if legend else 0),
        across=[(f"{x(v):.1f}", named[int(v)] if named else [_said(v)]) for v in across
                if not named or (v == int(v) and 0 <= v < len(named))],
        up=[(f"{y(v):.1f}", _said(v)) for v in up],
        drawn=[_drawn(at, series, x, y) for at, series in enumerate(picture.series)],
        legend=[{**entry, "y": _HEIGHT + deep - 12 + _LEGEND * entry["row"]} for entry in legend],
    )  # fmt: skip


def _named(names: Sequence[str]) -> list[list[str]]:
    """Break what stands below the axis into lines that do not meet their neighbours'."""
    wide = int((_RIGHT - _LEFT) / (max(len(names), 1) * _NAME)) - 1
    return [heading(name, max(wide, _NARROW)).splitlines() for name in names]


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
    if series.line and len(places) > 1:
        path = "M" + " L".join(f"{px} {py}" for px, py in places)
    else:
        path = " ".join(f"M{px - _LEVEL:.1f} {py} h{2 * _LEVEL}" for px, py in places) if series.bound else ""
    return {
        "look": at % 6,
        "series": series,
        "path": path,
        "spans": spans,
        "marks": [] if series.bound else places,
        "words": list(_beside(places, series.words)) if len(places) <= _WORDS else [],
    }


def _beside(places: Sequence[tuple[float, float]], words: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield each word with its place and where it is anchored: the free line that is nearest to its point.

    A word that stands further off is joined to its point by a thin line.
    """
    taken = [(x - _MARK, x + _MARK, y + 4) for x, y in places]
    for (x, y), word in zip(places, words, strict=False):
        spots = [spot for line in range(len(words) + 1) for spot in _spots(x, y, _LETTER * len(word), line)]
        free = (spot for spot in spots if not any(_meet(spot, box) for box in taken))
        left, right, at = next(free, spots[0] if spots else (x + _NEAR, x + _NEAR + _LETTER * len(word), y + 4))
        taken.append((left - _GAP, right + _GAP, at))
        end = right < x
        anchor = right if end else left
        yield {
            "x": anchor, "y": at, "word": word, "anchor": "end" if end else "start",
            "leader": "" if at == y + 4 else f"M{x} {y} L{anchor + (2 if end else -2):.1f} {at - 4:.1f}",
        }  # fmt: skip


def _spots(x: float, y: float, wide: float, line: int) -> Iterator[tuple[float, float, float]]:
    """Yield where a word may stand so many lines below or above its point, inside the plot."""
    away = _FAR if line else _NEAR
    sides = [(x + away, x + away + wide), (x - away - wide, x - away)]
    for at in dict.fromkeys((y + 4 + _LINE_HEIGHT * line, y + 4 - _LINE_HEIGHT * line)):
        for left, right in sides if x <= (_LEFT + _RIGHT) / 2 else reversed(sides):
            if left > _LEFT and right < _WIDTH and _TOP <= at <= _BOTTOM - 4:
                yield left, right, at


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
