"""What stands beside a point of a picture covers neither another word nor another point."""

from __future__ import annotations

import re
from itertools import combinations

from labelinf_core.contracts.pictures import Picture, Series
from labelinf_core.report.svg import as_svg

LETTER = 5.6


def test_words_cover_neither_words_nor_marks() -> None:
    """*none* was written through the point of its neighbour, which lies a little to the right."""
    words = ("none", "clip 0.01", "laplace 0.05", "round 4", "far away")
    points = ((0.0, 100.0), (0.008, 100.0), (0.05, 100.0), (0.0, 100.0), (1.0, 60.0))
    series = Series(name="observed", points=points, words=words, line=False)

    svg = as_svg(Picture(title="t", x="cost", y="%", series=(series,)), alone=True)

    placed = {}
    for attributes, word in re.findall(r"<text([^>]*)>([^<]*)</text>", svg):
        if word in words:
            x, y = (float(re.search(rf'{name}="([-\d.]+)"', attributes)[1]) for name in "xy")  # type: ignore[index]
            end = "end" in attributes
            placed[word] = (x - LETTER * len(word) if end else x, x if end else x + LETTER * len(word), y)
    marks = [(float(x), float(y)) for x, y in re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)"', svg)]
    assert set(placed) == set(words)
    assert len(marks) >= len(points)
    for (left, right, y), (other, far, line) in combinations(placed.values(), 2):
        assert abs(y - line) >= 11 or right <= other or far <= left
    for left, right, y in placed.values():
        assert not any(left < x < right and abs(y - 4 - at) < 8 for x, at in marks)
