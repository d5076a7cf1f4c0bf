"""The report on a terminal answers at a glance, and hides nothing."""

from __future__ import annotations

import io
from collections.abc import Callable

import attrs
import pytest
from rich.console import Console

from labelinf_core.contracts.guarantees import Interval, Verdict
from labelinf_core.evaluator.records import Implied, Status
from labelinf_core.evaluator.results import CellResult, Results, worst
from labelinf_core.evaluator.tally import Tally
from labelinf_core.report import words
from labelinf_core.report.boards import columns
from labelinf_core.report.comparison import compare_results, print_comparison
from labelinf_core.report.formats import FORMATS
from labelinf_core.report.table import print_report
from labelinf_core.report.worst import games, print_worst

Played = Callable[..., Results]


def printed(results: Results, width: int = 120, *, colour: bool = False) -> str:
    console = Console(
        file=io.StringIO(), width=width, markup=False, highlight=False, force_terminal=colour, no_color=not colour
    )
    print_report(results, console)
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


def lines_of(text: str, start: str) -> list[str]:
    return [line for line in text.splitlines() if line.lstrip().startswith(start)]


@pytest.mark.long
def test_the_matrix_has_attacks_down_and_defences_across(played: Played) -> None:
    text = printed(played(["fake-reader", "fake-constant"], ["none", "fake-noise(scale=1)"]))

    head = next(line for line in text.splitlines() if line.startswith("labels recovered, %"))
    reader = lines_of(text, "fake-reader")[0]
    assert head.split()[3:] == ["none", "fake-noise", "1"]
    assert "▣" in reader.split("100", 1)[1]
    assert lines_of(text, "worst")


def test_the_baseline_stands_first_when_no_attack_plays_it(played: Played) -> None:
    text = printed(played(["fake-reader"], ["none"]))

    assert lines_of(text, "majority guess")[0].split() == ["majority", "guess", "50.0"]


@pytest.mark.long
def test_every_symbol_has_its_words(played: Played) -> None:
    text = printed(played(["fake-reader", "fake-constant", "fake-raises"], ["none", "fake-boast"]))

    for verdict in (Verdict.BROKEN_OBSERVED, Verdict.HELD_SO_FAR, Verdict.CONTRADICTION):
        assert f"{verdict.symbol} {verdict.value}" in text
    assert "error not played" in text  # that word stands in its cells


@pytest.mark.long
def test_a_cell_tells_what_was_spent_and_what_theory_says(played: Played) -> None:
    text = printed(played(["fake-reader"], ["fake-none"]))

    detail = lines_of(text, "fake-reader")[1]
    assert "13" in detail.split()
    assert "> 0.0208" in detail
    assert detail.endswith("▣ broken, observed")
    assert "[1]  labelinf tests, the reader: no noise; proved if" in " ".join(text.split()).replace("[1] ", "[1]  ")
    assert "noise against one label per query" in text


@pytest.mark.long
def test_the_strongest_attack_comes_first_in_its_block(played: Played) -> None:
    text = printed(played(["fake-constant", "fake-reader"], ["none"]))

    first = [line.split()[0] for line in text.splitlines() if line.strip().startswith("fake-")]
    assert first[2:] == ["fake-reader", "fake-constant"]  # below the matrix


@pytest.mark.long
def test_contradictions_come_first_and_last(played: Played) -> None:
    lines = printed(played(["fake-liar"], ["none"])).strip().splitlines()

    alarms = [index for index, line in enumerate(lines) if line.startswith("‼ CONTRADICTION")]
    assert alarms[0] == 0
    assert len(alarms) == 2
    assert len(lines) - alarms[1] <= 5
    assert "promises every label (no noise; proved if" in " ".join(" ".join(lines[:4]).split())


@pytest.mark.long
def test_what_could_not_be_played_says_why(played: Played) -> None:
    text = printed(played(["fake-raises", "fake-picky", "fake-coin(fails=0.6)"], ["none"], trials=6))

    assert lines_of(text, "fake-raises")[0].split() == ["fake-raises", "error"]
    assert lines_of(text, "fake-picky")[0].split() == ["fake-picky", "n/a"]
    assert "fake-raises: error in 6 of 6 trials: attack fake-raises (plugin 'fakes' of labelinf-fakes 1.0)" in text
    assert "fake-picky: n/a: needs a full moon" in text
    assert "the coin fell on its edge" in " ".join(text.split())
    assert "error, n/a not played" in text  # as the cells say it, no sign that stands in none
    assert "–" not in text


def test_a_game_that_failed_is_not_counted_as_won(played: Played) -> None:
    """Of six games some break off; all labels came out of the others, and of no more than these."""
    (cell,) = played(["fake-coin(fails=0.6)"], ["none"], trials=6).cells
    assert 0 < cell.tally.played < cell.tally.trials == 6
    assert games(cell).endswith(f" of {cell.tally.played}")


@pytest.mark.long
def test_a_narrow_terminal_gets_blocks_that_fit(played: Played) -> None:
    text = printed(played(["fake-reader", "fake-constant"], ["none", "fake-boast"]), width=80)

    assert "labels recovered, %" not in text
    assert max(map(len, text.splitlines())) <= 80
    assert "‼ CONTRADICTION" in text
    assert "fake-reader: noise > 0.0208 needed, 0 present" in text


@pytest.mark.long
@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
def test_no_verdict_is_cut_off_at_any_width(played: Played, width: int) -> None:
    results = played(["fake-reader", "fake-constant"], ["none", "fake-boast", ["fake-noise(scale=1)", "fake-boast"]])
    shown = {
        "every attack": lambda console: print_report(results, console),
        "the strongest": lambda console: print_worst(results, console),
        "a comparison": lambda console: print_comparison(compare_results(results, _broken(results)), console),
    }
    for what, show in shown.items():
        console = Console(file=io.StringIO(), width=width, markup=False, highlight=False)
        show(console)
        text = console.file.getvalue()  # type: ignore[attr-defined]

        said = {words.verdict(result) for result in results.cells}
        whole = " ".join(text.split())
        assert "…" not in text, what
        assert max(map(len, text.splitlines())) <= width, what
        wanted = said if what == "every attack" else {words.verdict(worst(cells)) for cells in _pipelines(results)}
        assert all(verdict in whole for verdict in wanted), what


def _pipelines(results: Results) -> list[list[CellResult]]:
    return list(columns(results.cells).values())


def _broken(results: Results) -> Results:
    """The same run with every verdict changed."""
    return attrs.evolve(
        results,
        cells=tuple(attrs.evolve(cell, verdict=Verdict.UNTESTED, accuracy=cell.accuracy) for cell in results.cells),
    )


@pytest.mark.long
def test_more_defences_than_fit_are_shown_in_parts(played: Played) -> None:
    results = played(["fake-reader"], ["fake-noise(scale=1)"])
    (cell,) = results.cells
    scales = [(k + 1) / 10 for k in range(15)]
    shown = (attrs.evolve(cell.cell.shown, defences=(f"fake-noise(scale={scale})",)) for scale in scales)
    cells = tuple(attrs.evolve(cell, cell=attrs.evolve(cell.cell, shown=name)) for name in shown)
    text = printed(attrs.evolve(results, cells=cells), width=120)

    worst = lines_of(text, "worst")
    assert len(worst) == text.count("labels recovered, %") == 2
    assert max(map(len, text.splitlines())) <= 120
    assert sum(line.count("■") + line.count("▣") + line.count("?") for line in worst) == len(scales)


def test_columns_that_nobody_fills_are_left_out(played: Played) -> None:
    text = printed(played(["fake-constant"], ["none"]))

    assert "queries" in text
    assert "present" not in text
    assert "ceiling" not in text


@pytest.mark.long
def test_nothing_is_coloured_unless_the_terminal_is(played: Played) -> None:
    results = played(["fake-reader", "fake-liar"], ["none"])

    assert "\x1b" not in printed(results)
    assert "\x1b" in printed(results, colour=True)


@pytest.mark.long
def test_every_setting_of_the_channel_has_a_board(played: Played) -> None:
    text = printed(played(["fake-constant"], ["none"], scorers=("float64", "float32")))

    assert text.count("score channel · made (12 labels, made, 50.0 % one class)") == 2
    assert "scorer float32" in text


@pytest.mark.long
def test_a_parameter_may_hold_anything_that_a_report_writes_itself(played: Played) -> None:
    results = played([f"""fake-says(words={'"[bold]a-b[/]" (c) + '!r})"""], ["none", ["fake-boast", "fake-noise"]])

    assert len(printed(results).splitlines()) > 10
    for width in (60, 120):
        assert "fake-boast + fake-noise" in " ".join(printed(results, width=width).split())
    assert all("".join(write(results)) for write in FORMATS.values())
    assert not compare_results(results, results).changes


@pytest.mark.long
def test_names_in_brackets_are_no_markup(played: Played) -> None:
    text = printed(played(["fake-reader(confidence=0.9)"], [["fake-boast", "fake-none"]]))

    assert "fake-boast + fake-none" in text
    assert "fake-reader 0.9" in text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (0.0317, "0.0317"), (2.3e-13, "2.3e-13"), (569.0, "569"), (36.0437, "36"), (1e7, "1.0e+07"),
     (12345.6, "12346"), (float("inf"), "∞")],
)  # fmt: skip
def test_numbers_are_short(value: float, text: str) -> None:
    assert words.number(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (1.0, "100"),
        (0.99999, "99.9"),
        (0.00001, "0.1"),
        (0.6274, "62.7"),
        (-0.14, "-14.0"),
        (1.25, "125.0"),
    ],
)
def test_a_proportion_is_never_rounded_to_certainty(value: float, text: str) -> None:
    assert words.percent(value) == text


@pytest.mark.parametrize(
    ("interval", "text"),
    [
        ((0.627, 0.62, 0.634), "62.7"),
        ((0.6, 0.5, 0.7), "60.0 ±10"),
        ((1.0, 0.83, 1.0), "100 (at least 83)"),
        ((0, 0, 0.17), "0 (at most 17)"),
        ((0.994, 0.41, 1.0), "99.4 (at least 41)"),
        ((0.006, 0.0, 0.59), "0.6 (at most 59)"),
    ],
)
def test_an_interval_shows_where_it_is_wide(interval: tuple[float, float, float], text: str) -> None:
    value, low, high = interval

    assert words.share(Interval(value=value, low=low, high=high)) == text


@pytest.mark.parametrize(
    ("interval", "text"),
    [
        ((0.627, 0.62, 0.634), "62.7 %"),
        ((0.6, 0.5, 0.7), "60.0 ±10 %"),
        ((0.994, 0.985, 1.0), "99.4 %"),
        ((0.994, 0.96, 1.0), "99.4 % (at least 96)"),
        ((0, 0, 0.17), "0 % (at most 17)"),
    ],
)
def test_a_sentence_says_an_end_in_words(interval: tuple[float, float, float], text: str) -> None:
    value, low, high = interval

    assert words.told(Interval(value=value, low=low, high=high)) == text


def test_a_heading_is_broken_where_words_end() -> None:
    assert words.heading("randomised-response 1", 12) == "randomised-\nresponse 1"
    assert words.heading("none", 12) == "none"
    assert words.heading("unbreakableword", 8) == "unbreakableword"


def test_a_contradiction_is_the_worst_there_is(played: Played) -> None:
    text = printed(played(["fake-reader", "fake-liar"], ["none"]))

    assert "‼" in lines_of(text, "worst")[0]


@pytest.mark.long
def test_attacks_that_failed_are_counted_under_the_worst(played: Played) -> None:
    results = played(["fake-constant", "fake-raises"], ["none"])

    assert lines_of(printed(results), "attacks that failed")[0].split()[-1] == "1"
    assert "attacks that failed" not in printed(played(["fake-constant", "fake-picky"], ["none"]))


@pytest.mark.long
def test_an_unfinished_run_says_so_and_blames_nobody(played: Played) -> None:
    results = played(["fake-reader", "fake-constant", "fake-picky"], ["none"])
    cell = results.cells[1]
    waiting = attrs.evolve(
        cell,
        implied=Implied(status=Status.PENDING),
        tally=Tally(),
        trials=(),
        accuracy=None,
        verdict=Verdict.NOT_PLAYED,
    )
    unfinished = attrs.evolve(results, cells=(results.cells[0], waiting, results.cells[2]))

    text = printed(unfinished)

    assert text.startswith("incomplete: 3 of 9 games are still to be played")
    assert "not yet" in lines_of(text, "fake-constant")[0]
    assert "error:" not in text
    assert "incomplete" not in printed(results)
