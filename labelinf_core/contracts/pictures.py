"""A picture as data: what a page draws as SVG, a notebook with matplotlib, and a reader may take as a table.

Example:
    >>> from labelinf_core.contracts.pictures import Picture, Series
    >>> line = Series(name="ours", points=((1.0, 0.5), (2.0, 0.75)))
    >>> Picture(title="labels recovered", x="queries", y="share", series=(line,)).rows()[1]
    {'series': 'ours', 'queries': 2.0, 'share': 0.75}
"""

from __future__ import annotations

import math
from typing import Any

import attrs

__all__ = ["Picture", "Series"]

Pair = tuple[float, float]


def _are_numbers(instance: object, attribute: attrs.Attribute[Any], value: tuple[Pair, ...]) -> None:
    if not all(math.isfinite(number) for pair in value for number in pair):
        raise ValueError(f"Series.{attribute.name} must hold finite numbers only")


@attrs.frozen(kw_only=True)
class Series:
    """Points that belong together.

    Attributes:
        name: What a legend calls it.
        points: Abscissa and ordinate of each.
        spans: Ends of each ordinate's interval; empty where there is none.
        words: What stands beside each point; empty for nothing.
        line: Whether consecutive points are joined.
        bound: Whether it is proved instead of observed: drawn without marks.
    """

    name: str
    points: tuple[Pair, ...] = attrs.field(validator=_are_numbers)
    spans: tuple[Pair, ...] = attrs.field(default=(), validator=_are_numbers)
    words: tuple[str, ...] = ()
    line: bool = True
    bound: bool = False


@attrs.frozen(kw_only=True)
class Picture:
    """One diagram.

    Attributes:
        title: What it shows, in a sentence.
        x: Title of the abscissa.
        y: Title of the ordinate.
        series: What is drawn.
        log: Whether the abscissa is logarithmic; its values are positive then.
        names: Instead of numbers, what stands below abscissa 0, 1, 2, ...
    """

    title: str
    x: str
    y: str
    series: tuple[Series, ...] = attrs.field(validator=attrs.validators.min_len(1))
    log: bool = False
    names: tuple[str, ...] = ()

    def rows(self) -> list[dict[str, Any]]:
        """Return every point as a row, with the ends of its interval where it has one."""
        found = []
        for series in self.series:
            for at, (x, y) in enumerate(series.points):
                row: dict[str, Any] = {
                    "series": series.name,
                    self.x: self.names[int(x)] if self.names else x,
                    self.y: y,
                }
                if series.spans:
                    row["low"], row["high"] = series.spans[at]
                found.append(row)
        return found
