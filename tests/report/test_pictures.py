"""What stands beside a point of a picture covers neither another word nor another point."""

from __future__ import annotations

import itertools
import re

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
    for (left, right, y), (other, far, line) in itertools.combinations(placed.values(), 2):
        assert abs(y - line) >= 11 or right <= other or far <= left
    for left, right, y in placed.values():
        assert not any(left < x < right and abs(y - 4 - at) < 8 for x, at in marks)


def test_a_word_away_from_its_point_is_joined_to_it_and_stays_inside() -> None:
    """Five points in a corner had their names in a column below, and nothing said whose each was."""
    words = tuple(f"a defence of number {n}" for n in range(5))
    series = Series(name="observed", points=((1.0, 100.0),) * 5 + ((0.0, 0.0),), words=(*words, "origin"), line=False)

    svg = as_svg(Picture(title="t", x="cost", y="%", series=(series,)))

    ends = [float(x) for x in re.findall(r'<path d="M612\.0 16\.0 L([\d.]+)', svg)]
    places = {word: float(x) for x, word in re.findall(r'<text x="([\d.]+)"[^>]*class="said">([^<]*)<', svg)}
    assert len(ends) == 4
    assert set(places) == {*words, "origin"}
    assert all(x - LETTER * len(words[0]) > 62 and x < 612 for word, x in places.items() if word in words)


def test_what_is_proved_of_single_points_is_drawn() -> None:
    """A ceiling stood in the legend, and nowhere in the picture: README's own, too."""
    observed = Series(name="observed", points=((0.0, 70.0), (1.0, 60.0)), line=False)
    proved = Series(name="ceiling, proved", points=((0.0, 75.0), (1.0, 65.0)), line=False, bound=True)

    svg = as_svg(Picture(title="t", x="defence", y="%", series=(observed, proved), names=("a", "b")))

    group = svg.split('<g class="s1"')[1].split("</g>")[0]
    assert len(re.findall(r"M[\d.]+ [\d.]+ h22", group)) == 2
    assert "stroke-dasharray" in group


def test_names_below_the_axis_do_not_run_into_each_other() -> None:
    """README's own picture had eight names written over one another."""
    names = (
        "none",
        "score-noise uniform 0.01",
        "randomised-response 1",
        "clip 0.01 + query-limit 10 + score-noise 1",
    ) * 2
    series = Series(name="observed", points=tuple((float(n), 70.0) for n in range(8)), line=False)

    svg = as_svg(Picture(title="t", x="defence", y="%", series=(series,), names=names))

    said = re.findall(r'<text x="([\d.]+)" y="([\d.]+)" text-anchor="middle" font-size="11">([^<]*)<', svg)
    lines: dict[str, list[tuple[float, str]]] = {}
    for x, y, text in said:
        lines.setdefault(y, []).append((float(x), text))
    assert sum(len(text.replace("-", "").replace(" ", "")) for _, _, text in said) == sum(
        len(name.replace("-", "").replace(" ", "")) for name in names
    )
    for row in lines.values():
        for (one, left), (other, right) in itertools.pairwise(sorted(row)):
            assert other - one >= LETTER * (len(left) + len(right)) / 2
    title = re.search(r'y="([\d.]+)" text-anchor="middle">defence<', svg)
    assert title
    assert float(title[1]) > max(map(float, lines))


def test_a_number_of_a_component_within_a_defence_can_be_turned_too() -> None:
    """The scale of a noise model was no strength, so that the most common grid had no picture."""
    written = "score-noise(model=noise(scale=0.1, step=0.5), sticky=false, decimals=3)"

    found = {(stage, name): (str(Spec("", rest)), value) for stage, name, rest, value in _numbers(parse(written, "x"))}

    assert found == {
        ("score-noise noise", "scale"): ("(sticky=false, decimals=3, model=(step=0.5))", 0.1),
        ("score-noise noise", "step"): ("(sticky=false, decimals=3, model=(scale=0.1))", 0.5),
        ("score-noise", "decimals"): ("(model=noise(scale=0.1, step=0.5), sticky=false)", 3.0),
    }
