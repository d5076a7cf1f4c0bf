"""Pictures on paper of matplotlib's; imported when somebody plots."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING, Any

from matplotlib import rc_context
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from labelinf_core.contracts.pictures import Picture, Series

__all__ = ["drawn"]

_MARKS = "os^Dv+"
_DASHES = ("--", ":", "-.")


def drawn(pictures: Sequence[Picture], size: tuple[float, float]) -> Figure:
    """Return a figure of all pictures, below each other, of ``size`` inches each, in letters of 7 to 8 points."""
    with rc_context({"font.size": 7, "axes.titlesize": 8, "lines.markersize": 4}):
        figure = Figure(figsize=(size[0], size[1] * max(1, len(pictures))), layout="constrained")
        for part, picture in zip(
            figure.subfigures(max(1, len(pictures)), 1, squeeze=False)[:, 0], pictures, strict=False
        ):
            _panel(part, picture, round(16 * size[0]))
    return figure


def _panel(part: Any, picture: Picture, letters: int) -> None:
    """Draw a picture; what a line of so many letters does not hold goes on in the next."""
    axes = part.subplots()
    for at, series in enumerate(picture.series):
        _series(axes, series, at)
    axes.set(title=fill(picture.title, letters), xlabel=picture.x, ylabel=picture.y)
    axes.set_xscale("log" if picture.log else "linear")
    if picture.names:
        axes.set_xticks(range(len(picture.names)), picture.names, rotation=20, ha="right")
    axes.margins(x=0.08)
    axes.grid(alpha=0.3)
    part.legend(loc="outside lower center", ncols=2, frameon=False)


def _series(axes: Any, series: Series, at: int) -> None:
    xs, ys = zip(*series.points, strict=True)
    line = (_DASHES[at % 3] if series.bound else "-") if series.line and len(xs) > 1 else ""
    mark = "" if line and series.bound else _MARKS[at % 6]
    spans = [[y - low for y, (low, _) in zip(ys, series.spans, strict=True)],
             [high - y for y, (_, high) in zip(ys, series.spans, strict=True)]] if series.spans else None  # fmt: skip
    axes.errorbar(xs, ys, yerr=spans, linestyle=line or "none", marker=mark, capsize=2, label=series.name)
    words: dict[tuple[int, int], list[str]] = {}
    width, height = (max(each) - min(each) or 1 for each in (xs, ys))
    for (x, y), word in zip(series.points, series.words, strict=False):
        words.setdefault((round(20 * (x - min(xs)) / width), round(20 * (y - min(ys)) / height)), []).append(word)
    for (across, up), said in words.items():  # names of near points stand together, towards the middle of the picture
        right = across <= 10
        axes.annotate(
            ", ".join(said),
            (min(xs) + across * width / 20, min(ys) + up * height / 20),
            textcoords="offset points",
            fontsize=6,
            xytext=(4 if right else -4, 3),
            ha="left" if right else "right",
        )
