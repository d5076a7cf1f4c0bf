"""What stands beside a point of a picture covers neither another word nor another point."""

from __future__ import annotations

import re
from itertools import combinations

from labelinf_core.contracts.pictures import Picture, Series
from labelinf_core.report.pictures import _numbers
from labelinf_core.report.svg import as_svg
from labelinf_core.specs import Spec, parse

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


def test_a_number_of_a_component_within_a_defence_can_be_turned_too() -> None:
    """The scale of a noise model was no strength, so that the most common grid had no picture."""
    written = "score-noise(model=noise(scale=0.1, step=0.5), sticky=false, decimals=3)"

    found = {(stage, name): (str(Spec("", rest)), value) for stage, name, rest, value in _numbers(parse(written, "x"))}

    assert found == {
        ("score-noise noise", "scale"): ("(sticky=false, decimals=3, model=(step=0.5))", 0.1),
        ("score-noise noise", "step"): ("(sticky=false, decimals=3, model=(scale=0.1))", 0.5),
        ("score-noise", "decimals"): ("(model=noise(scale=0.1, step=0.5), sticky=false)", 3.0),
    }
