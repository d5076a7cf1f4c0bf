"""Results say what was seen, beside what was implied."""

from __future__ import annotations

import sqlite3
import tracemalloc
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import attrs
import pytest

from labelinf_core.contracts.errors import InputError
from labelinf_core.contracts.guarantees import Ceiling, Interval, Verdict
from labelinf_core.evaluator.cells import Plan
from labelinf_core.evaluator.executors import InProcess
from labelinf_core.evaluator.play import TrialRunner
from labelinf_core.evaluator.records import Implied, Status, Trial
from labelinf_core.evaluator.results import Results, result_of, summarise, worst
from labelinf_core.evaluator.run import run
from labelinf_core.evaluator.store import Store
from labelinf_core.evaluator.tally import tallied
from labelinf_core.report.formats import write_all

PlanOf = Callable[..., Plan]


_PLAYED: list[Results] = []  # once: nobody can change it


@pytest.fixture
def results(tmp_path: Path, plan_of: PlanOf, bench: TrialRunner) -> Results:
    if _PLAYED:
        return _PLAYED[0]
    attacks = ["fake-reader", "fake-constant", "fake-coin(fails=0.5)", "fake-raises", "fake-picky", "fake-liar"]
    plan = plan_of(attacks, ["none", "fake-noise(scale=0.004)", "fake-boast"], trials=20)
    store = Store.open(tmp_path, plan)
    run(plan, store, InProcess(bench))
    _PLAYED.append(summarise(store))
    store.close()
    return _PLAYED[0]


def verdicts(results: Results, defence: str) -> dict[str, Verdict]:
    return {r.cell.shown.attack: r.verdict for r in results.cells if r.cell.shown.pipeline == defence}


def test_a_third_partys_kept_promise_is_observed_and_a_broken_one_a_contradiction(results: Results) -> None:
    found = verdicts(results, "none")

    assert found["fake-reader"] is Verdict.BROKEN_OBSERVED
    assert found["fake-liar"] is Verdict.CONTRADICTION
    assert found["fake-constant"] is Verdict.HELD_SO_FAR
    assert found["fake-raises"] is found["fake-picky"] is Verdict.NOT_PLAYED


def test_without_a_promise_a_success_is_observed(results: Results) -> None:
    assert verdicts(results, "fake-noise(scale=0.004)")["fake-reader"] is Verdict.BROKEN_OBSERVED


@pytest.mark.long
def test_one_trial_is_enough_to_see_a_leak(tmp_path: Path, plan_of: PlanOf, bench: TrialRunner) -> None:
    plan = plan_of(["fake-reader", "fake-constant"], ["fake-noise(scale=1e-9)"], labels=["fake-labels(n=40)"], trials=1)
    store = Store.open(tmp_path / "one", plan)
    run(plan, store, InProcess(bench))

    assert [result.verdict for result in summarise(store).cells] == [Verdict.BROKEN_OBSERVED, Verdict.HELD_SO_FAR]
    store.close()


@pytest.mark.long
def test_a_result_above_a_ceiling_is_a_contradiction(results: Results) -> None:
    found = verdicts(results, "fake-boast")

    assert found["fake-reader"] is Verdict.CONTRADICTION
    assert found["fake-constant"] is Verdict.HELD_IF_STATED
    assert {r.cell.shown.attack for r in results.contradictions} == {"fake-reader", "fake-liar"}


def test_trials_that_fail_are_left_out_of_the_proportions_and_told(results: Results) -> None:
    (result,) = (r for r in results.cells if r.cell.attack.startswith("fake-coin") and r.cell.shown.pipeline == "none")

    assert 0 < result.tally.played < len(result.trials) == result.tally.trials == 20
    assert result.accuracy is not None
    assert 0 < result.accuracy.low < result.accuracy.value < result.accuracy.high < 1
    assert result.failure == (
        Status.ERROR,
        "attack fake-coin (plugin 'fakes' of labelinf-fakes 1.0): RuntimeError: the coin fell on its edge",
    )


def test_queries_and_seconds_are_means_over_what_was_played(results: Results) -> None:
    first = results.cells[0]

    assert first.tally.queries == 13
    assert first.tally.seconds == sum(trial.seconds for trial in first.trials) / 20
    assert next(r for r in results.cells if r.cell.shown.attack == "fake-raises").tally.seconds is None


def test_a_record_without_anything_still_has_results(tmp_path: Path, plan_of: PlanOf) -> None:
    store = Store.open(tmp_path / "empty", plan_of(["fake-coin"], ["none"]))

    (result,) = summarise(store).cells

    assert (result.verdict, result.accuracy, tuple(result.trials)) == (Verdict.NOT_PLAYED, None, ())
    store.close()


@pytest.mark.long
def test_labels_read_from_memory_without_a_query_are_void(plan_of: PlanOf, bench: TrialRunner) -> None:
    plan = plan_of(["fake-reader"], ["fake-noise(scale=1)"], labels=["fake-labels(n=40)"])
    implied = attrs.evolve(bench.imply(plan.cells[0]), promise=None)

    def verdict(queries: int) -> Verdict:
        trial = Trial(n_correct=40, n_records=40, queries=queries)
        return result_of(plan.cells[0], plan.labels[0], implied, (trial,), 50).verdict

    assert verdict(0) is Verdict.LEAKY
    assert verdict(1) is Verdict.BROKEN_OBSERVED


def test_the_worst_cell_decides_and_a_blind_guess_alone_leaves_a_defence_untested(results: Results) -> None:
    cells = [cell for cell in results.cells if cell.cell.shown.pipeline == "none"]
    assert worst(cells).verdict is Verdict.CONTRADICTION
    blind = attrs.evolve(cells[1], verdict=Verdict.UNTESTED)
    unplayed = next(cell for cell in cells if cell.verdict is Verdict.NOT_PLAYED)
    assert worst([unplayed, blind]) is blind


def test_between_equal_verdicts_the_most_that_was_recovered_decides(results: Results) -> None:
    none, low, high = (
        attrs.evolve(results.cells[0], accuracy=share and Interval(value=share, low=0, high=1))
        for share in (None, 0.2, 0.9)
    )
    assert worst([low, high, none]) is worst([none, high, low]) is high
    assert worst([none, low]) is worst([low, none]) is low


def test_among_equals_the_attack_that_needs_fewest_queries_decides(results: Results) -> None:
    """A headline named an attack of 114 queries where the table named one of 12."""
    cell = next(cell for cell in results.cells if cell.accuracy)
    slow, fast = (attrs.evolve(cell, tally=attrs.evolve(cell.tally, queries=queries)) for queries in (114.0, 12.0))

    assert worst([slow, fast]) is worst([fast, slow]) is fast


def test_games_are_left_where_a_cell_is_neither_played_out_nor_given_up(results: Results) -> None:
    first = results.cells[0]

    trials = tuple(first.trials)

    def left(**change: object) -> int:
        if "trials" in change:
            change = {**change, "tally": tallied(change["trials"])[0]}  # type: ignore[arg-type]
        return attrs.evolve(results, cells=(attrs.evolve(first, **change), *results.cells[1:])).left

    assert results.left == 0
    assert left(trials=trials[:13]) == 7
    assert left(trials=2 * trials) == 0
    assert left(trials=(), implied=Implied(status=Status.PENDING)) == 20
    assert left(trials=(), implied=Implied(status=Status.REFUSED)) == 0
    assert left(trials=(attrs.evolve(trials[0], status=Status.TIMEOUT),)) == 0


def test_the_more_cells_are_looked_at_the_more_it_takes_to_see_a_leak(results: Results) -> None:
    """Of a million cells played by a coin, thousands look like a leak at the confidence of one."""
    (one,) = (r for r in results.cells if r.cell.attack == "fake-constant" and r.cell.shown.pipeline == "none")
    implied, n = attrs.evolve(one.implied, promise=None), one.trials[0].n_records

    def verdict(n_correct: int, n_cells: int) -> Verdict:
        trial = attrs.evolve(one.trials[0], n_correct=n_correct, n_records=n, queries=1)
        return result_of(one.cell, one.labels, implied, (trial,) * 20, n_cells).verdict

    denied = attrs.evolve(implied, ceilings=(Ceiling(accuracy=0.7, statement="s", conditions="c"),))

    def contradicted(n_correct: int, n_cells: int) -> bool:
        trial = attrs.evolve(one.trials[0], n_correct=n_correct, n_records=n, queries=1)
        return result_of(one.cell, one.labels, denied, (trial,) * 20, n_cells).verdict is Verdict.CONTRADICTION

    alarming = next(count for count in range(n + 1) if contradicted(count, 1))
    assert not contradicted(alarming, 10**6)

    least = next(count for count in range(n + 1) if verdict(count, 1) is Verdict.BROKEN_OBSERVED)
    assert verdict(least, 10**6) is Verdict.HELD_SO_FAR
    assert verdict(n, 10**6) is Verdict.BROKEN_OBSERVED


def peak(folder: Path, plan: Plan, trials: int) -> int:
    """Return the bytes that it takes to open a record of so many trials, sum it up and write all files."""
    plan = attrs.evolve(plan, trials=trials)
    store = Store.open(folder, plan)
    evidence = {"words": "x" * 200, "numbers": list(range(20))}
    for cell in plan.cells:
        store.keep_implied(cell.id, Implied(baseline=0.5))
        for number in range(trials):
            kept = Trial(n_correct=number % 13, n_records=12 + number % 2, queries=number % 7, evidence=evidence)
            store.keep_trial(cell.id, number, kept)
    store.close()
    tracemalloc.start()
    store = Store.reopen(folder)
    write_all(summarise(store), folder)
    found = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    store.close()
    return found


@pytest.mark.long
def test_memory_does_not_grow_with_trials(tmp_path: Path, plan_of: PlanOf) -> None:
    """But for three whole numbers a trial, of one cell at a time; a trial of this record has 400 bytes of JSON."""
    plan = plan_of(["fake-coin"], ["none", "fake-noise"])
    peak(tmp_path / "first", plan, 3)  # what is imported and compiled once

    few, many = peak(tmp_path / "few", plan, 60), peak(tmp_path / "many", plan, 600)

    assert (tmp_path / "many" / "results.json").stat().st_size > 8 * (tmp_path / "few" / "results.json").stat().st_size
    assert many - few < 100 * 540


@pytest.mark.long
def test_what_is_written_is_what_was_counted_whatever_becomes_of_the_record(
    tmp_path: Path, plan_of: PlanOf, bench: TrialRunner
) -> None:
    """Trials are read again when they are written: of a record that grew or shrank, there were other trials than were
    counted, and nobody said so.
    """
    plan = plan_of(["fake-constant"], ["none"], trials=6)
    store = Store.open(tmp_path, plan)
    run(plan, store, InProcess(bench))
    store.close()

    def change(statement: str) -> None:
        with closing(sqlite3.connect(tmp_path / "run.sqlite")) as record, record:
            record.execute(statement)

    change("CREATE TABLE aside AS SELECT * FROM trials WHERE trial > 3")
    change("DELETE FROM trials WHERE trial > 3")
    change("DELETE FROM meta WHERE key = 'seal'")
    reader = Store.reopen(tmp_path)
    found = summarise(reader).cells[0]
    reader.close()
    change("INSERT INTO trials SELECT * FROM aside")
    assert (found.tally.trials, len(found.trials)) == (4, 4)
    change("DELETE FROM trials WHERE trial > 1")
    with pytest.raises(InputError, match="trials that were read before are gone"):
        list(found.trials)
