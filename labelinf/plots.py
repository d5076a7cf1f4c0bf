"""Pictures on paper of matplotlib's; imported when somebody plots."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from labelinf_core.contracts.pictures import Picture, Series

__all__ = ["drawn"]

_MARKS = "os^Dv+"
_DASHES = ("--", ":", "-.")


def drawn(pictures: Sequence[Picture]) -> Figure:
    """Return a figure of all pictures, below each other."""
    figure = Figure(figsize=(7, 3.6 * max(1, len(pictures))), layout="constrained")
    every: Any = figure.subplots(len(pictures), 1, squeeze=False)[:, 0] if pictures else []
    for axes, picture in zip(every, pictures, strict=True):
        for at, series in enumerate(picture.series):
            _series(axes, series, at)
        axes.set(title=picture.title, xlabel=picture.x, ylabel=picture.y, xscale="log" if picture.log else "linear")
        if picture.names:
            axes.set_xticks(range(len(picture.names)), picture.names, rotation=20, ha="right")
        axes.legend(fontsize="small")
        axes.grid(alpha=0.3)
    return figure


def _series(axes: Any, series: Series, at: int) -> None:
    xs, ys = zip(*series.points, strict=True)
    line = (_DASHES[at % 3] if series.bound else "-") if series.line and len(xs) > 1 else ""
    mark = "" if line and series.bound else _MARKS[at % 6]
    spans = [[y - low for y, (low, _) in zip(ys, series.spans, strict=True)],
             [high - y for y, (_, high) in zip(ys, series.spans, strict=True)]] if series.spans else None  # fmt: skip
    axes.errorbar(xs, ys, yerr=spans, linestyle=line or "none", marker=mark, capsize=3, label=series.name)
    for (x, y), word in zip(series.points, series.words, strict=False):
        axes.annotate(word, (x, y), textcoords="offset points", xytext=(5, 5), fontsize="x-small")
