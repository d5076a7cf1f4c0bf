"""Two runs side by side: only what really differs is a change."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import pytest

from labelinf_core.contracts.errors import InputError
from labelinf_core.contracts.guarantees import Interval, Verdict
from labelinf_core.evaluator.results import CellResult, Results
from labelinf_core.report.comparison import answer, as_document, compare_results

Played = Callable[..., Results]


@pytest.fixture
def results(played: Played) -> Results:
    return played(["fake-reader", "fake-constant", "fake-picky"], ["none", "fake-noise(scale=1)"])


def with_cell(results: Results, index: int, change: Callable[[CellResult], CellResult]) -> Results:
    cells = list(results.cells)
    cells[index] = change(cells[index])
    return attrs.evolve(results, cells=tuple(cells))


def accuracy(value: float, half: float) -> Callable[[CellResult], CellResult]:
    return lambda cell: attrs.evolve(cell, accuracy=Interval(value=value, low=value - half, high=value + half))


@pytest.mark.long
def test_a_run_does_not_differ_from_itself(results: Results) -> None:
    comparison = compare_results(results, results)

    assert comparison.changes == ()
    assert comparison.n_same == len(results.cells) == 6


def test_overlapping_intervals_are_no_change(results: Results) -> None:
    before, after = with_cell(results, 0, accuracy(0.5, 0.05)), with_cell(results, 0, accuracy(0.58, 0.05))

    assert compare_results(before, after).changes == ()


def test_disjoint_intervals_are_worse_or_better(results: Results) -> None:
    low, high = with_cell(results, 0, accuracy(0.5, 0.05)), with_cell(results, 0, accuracy(0.7, 0.05))

    (worse,), (better,) = compare_results(low, high).changes, compare_results(high, low).changes
    assert (worse.word, worse.is_worse) == ("worse", True)
    assert (better.word, better.is_worse) == ("better", False)


def test_a_verdict_alone_is_a_change(results: Results) -> None:
    after = with_cell(results, 0, lambda cell: attrs.evolve(cell, verdict=Verdict.CONTRADICTION))

    (change,) = compare_results(results, after).changes
    assert change.word == "verdict"


def test_what_shows_nothing_is_no_better_than_before(results: Results) -> None:
    """Its labels came out before; on a guess at what is there now none did."""

    def doubted(cell: CellResult) -> CellResult:
        tally = attrs.evolve(cell.tally, doubt="it is a guess")
        return accuracy(0.5, 0.05)(attrs.evolve(cell, verdict=Verdict.UNTESTED, tally=tally))

    comparison = compare_results(with_cell(results, 0, accuracy(0.9, 0.05)), with_cell(results, 0, doubted))

    (change,) = comparison.changes
    assert change.word == "verdict"
    assert [pair.after for pair in comparison.silent] == [change.after]
    assert "1 game shows nothing now: fake-reader against none" in answer(comparison).leaks


def test_what_was_played_and_is_not_now_shows_nothing(results: Results) -> None:
    after = with_cell(results, 0, lambda cell: attrs.evolve(cell, accuracy=None, verdict=Verdict.NOT_PLAYED))

    assert len(compare_results(results, after).silent) == 1
    assert compare_results(after, after).silent == ()


def test_cells_without_a_counterpart_are_counted(results: Results) -> None:
    fewer = attrs.evolve(results, cells=results.cells[1:])

    document = as_document(compare_results(results, fewer))

    cell = results.cells[0].cell
    assert document["only_before"] == [[cell.channel, "made", cell.attack, "none"]]
    assert (document["only_after"], document["same"], document["changes"]) == ([], 5, [])


def test_runs_without_a_common_game_cannot_be_compared(results: Results) -> None:
    one, other = (attrs.evolve(results, cells=cells) for cells in (results.cells[:2], results.cells[2:]))

    with pytest.raises(InputError, match="no game in common"):
        compare_results(one, other)
