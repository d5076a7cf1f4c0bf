"""The answer stands before any table: what leaks, what stops it, what is not known."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import pytest

from labelinf_core.contracts.guarantees import Ceiling, Interval, Verdict
from labelinf_core.evaluator.results import Results
from labelinf_core.report import words
from labelinf_core.report.headline import LINES, headline

Played = Callable[..., Results]


def said(results: Results, width: int = 100) -> dict[str, str]:
    """The headline's lines by their first word, the board's line left out."""
    return {line.split("  ")[1]: line for line in headline(results, width) if line.startswith("  ")}


@pytest.mark.long
def test_what_leaks_is_said_with_the_attack_and_its_queries(played: Played) -> None:
    lines = list(headline(played(["fake-reader", "fake-constant"], ["none"]), 100))

    assert lines[0] == "score channel, made: a blind guess is right on 50.0 %"
    assert lines[1].split()[:3] == ["leaks", "none:", "100"]
    assert "by fake-reader" in lines[1]
    assert len(lines) == 2


@pytest.mark.long
def test_every_verdict_has_its_line(played: Played) -> None:
    results = played(["fake-reader"], ["none"])
    cell = results.cells[0]
    lines = {verdict: said(attrs.evolve(results, cells=(attrs.evolve(cell, verdict=verdict),))) for verdict in Verdict}

    assert all(len(found) == 1 for found in lines.values())
    assert "leaks" in lines[Verdict.VIEW_REVEALS]
    assert "alarm" in lines[Verdict.CONTRADICTION]
    assert "not tested" in lines[Verdict.LEAKY]
    assert lines[Verdict.UNTESTED] == {"not tested": "  not tested  none"}


def test_how_much_leaks_is_open_where_the_interval_reaches_the_blind_guess(played: Played) -> None:
    """A line said ``leaks ... 66.5 ±42 %`` beside a blind guess of 50 %: that it leaks was sure, and not how much."""
    results = played(["fake-reader"], ["none"])
    (cell,) = results.cells
    few = attrs.evolve(cell, verdict=Verdict.BROKEN_OBSERVED, accuracy=Interval(value=0.8, low=0.16, high=0.99))
    shown = attrs.evolve(cell.cell.shown, defences=("fake-noise(scale=1)",))
    sure = attrs.evolve(few, cell=attrs.evolve(few.cell, shown=shown), accuracy=Interval(value=0.7, low=0.6, high=0.8))

    (line,) = said(attrs.evolve(results, cells=(few, sure)), 200).values()

    assert line.split("leaks")[1].strip() == (
        "fake-noise 1: 70.0 ±10 % by fake-reader in 13 queries; none: how much is open (16 to 99 % in 3 trials)"
    )


def test_a_ceiling_is_said_in_points_over_the_blind_guess(played: Played) -> None:
    results = played(["fake-constant"], ["none"])
    ceiling = Ceiling(accuracy=0.55, exact=1.0, statement="test", conditions="test")
    cell = results.cells[0]
    held = attrs.evolve(
        cell, verdict=Verdict.HELD_CERTIFIED, implied=attrs.evolve(cell.implied, ceilings=(ceiling,), baseline=0.5)
    )

    assert said(attrs.evolve(results, cells=(held,))) == {
        "stopped by": "  stopped by  none: on average at most 5.0 points above it, honest score error 0"
    }


def test_what_is_proved_at_most_is_rounded_up_and_a_whole_tenth_stays() -> None:
    ceiling = Ceiling(accuracy=0.73106, exact=1.0, statement="test", conditions="test")

    assert (words.at_most(0.73106), words.gain(ceiling, 0.5)) == ("73.2", "23.2")
    assert [words.at_most(value) for value in (0.55, 0.1 + 0.2, 0.9999, 1e-5, 1.0, 0.0)] == [
        "55.0", "30.0", "100", "0.1", "100", "0"
    ]  # fmt: skip
    assert words.gain(attrs.evolve(ceiling, accuracy=0.4), 0.5) == "0.0"
    assert words.ceiling(ceiling, 0.5).endswith("23.2 points over the best blind guess at most (73.2 % of labels)")


def test_boards_are_told_apart_by_what_they_have_and_not_by_what_they_lack(played: Played) -> None:
    results = played(["fake-reader"], ["none"])
    (cell,) = results.cells
    metric = attrs.evolve(cell, cell=attrs.evolve(cell.cell, channel="score(metric=fake, loss=None)"))

    lines = [*headline(attrs.evolve(results, cells=(cell, metric)), 100)]
    titles = [line.partition(":")[0] for line in lines if not line.startswith(" ")]

    assert "score channel, made, metric fake" in titles
    assert not any("None" in title for title in titles)


@pytest.mark.parametrize("width", [40, 80, 120])
def test_no_headline_is_longer_than_fifteen_lines_or_wider_than_asked(played: Played, width: int) -> None:
    results = played(["fake-reader"], ["none"])
    (cell,) = results.cells
    shown = [attrs.evolve(cell.cell.shown, defences=(f"fake-noise(scale={scale})",)) for scale in (1, 2, 3, 4, 5, 6)]
    each = [attrs.evolve(cell, cell=attrs.evolve(cell.cell, shown=name)) for name in shown]
    titles = [attrs.evolve(results.cells[0].labels, title=f"set {n}", digest=f"{n}" * 8) for n in range(9)]
    cells = tuple(
        attrs.evolve(result, labels=labels, cell=attrs.evolve(result.cell, digest=labels.digest))
        for labels in titles
        for result in each
    )
    lines = list(headline(attrs.evolve(results, cells=cells), width))

    assert len(lines) <= LINES
    assert max(map(len, lines)) <= width
    assert lines[-1] == "and 2 boards more, below"


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_a_name_is_whole_where_there_is_room_for_it(played: Played, width: int) -> None:
    """The pipeline that stops a leak was cut in the middle of its name, and nobody could type it."""
    results = played(["fake-constant"], ["none"])
    (cell,) = results.cells
    ceiling = Ceiling(accuracy=0.55, exact=1.0, statement="test", conditions="test")
    pipeline = (
        "fake-noise(scale=1)",
        "fake-response(epsilon=0.25)",
        "fake-budget(queries=10)",
        "fake-rounding(decimals=4)",
    )
    held = attrs.evolve(
        cell,
        verdict=Verdict.HELD_CERTIFIED,
        cell=attrs.evolve(cell.cell, shown=attrs.evolve(cell.cell.shown, defences=pipeline)),
        implied=attrs.evolve(cell.implied, ceilings=(ceiling,), baseline=0.5),
    )

    lines = list(headline(attrs.evolve(results, cells=(held,)), width))

    assert max(map(len, lines)) <= width
    told = " ".join(line.strip() for line in lines)
    assert "..." not in told
    assert all(f"fake-{name}" in told for name in ("noise 1", "response 0.25", "budget 10", "rounding 4"))
