"""The run record keeps every trial, goes on where it stopped, and refuses another plan."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Callable
from pathlib import Path

import attrs
import numpy as np
import pytest

from labelinf_core.contracts.errors import InputError
from labelinf_core.contracts.guarantees import BoundValue, Ceiling, Direction, Promise
from labelinf_core.evaluator.cells import Plan
from labelinf_core.evaluator.layout import RECORD
from labelinf_core.evaluator.records import Implied, Status, Trial
from labelinf_core.evaluator.runs import find_run, key_of
from labelinf_core.evaluator.store import Store

PlanOf = Callable[..., Plan]
INF = float("inf")


@pytest.fixture
def plan(plan_of: PlanOf) -> Plan:
    return plan_of(["fake-coin"], ["none"])


@pytest.fixture
def cell(plan: Plan) -> str:
    return plan.cells[0].id


def test_what_was_kept_is_there_when_the_record_is_opened_again(tmp_path: Path, plan: Plan, cell: str) -> None:
    implied = Implied(
        baseline=0.5,
        promise=Promise(survives=INF, present=0.1, statement="s", conditions="c"),
        ceilings=(Ceiling(accuracy=0.6, statement="s", conditions="c"),),
        bounds=(
            BoundValue(title="t", direction=Direction.FLOOR, quantity="noise", value=INF, formula="f", conditions="c",
                       statement="s"),
        ),
        threat={"clip": 1e-16},
        notes=("n",),
    )  # fmt: skip
    trial = Trial(n_correct=3, n_records=12, queries=7, seconds=0.1, evidence={"a": [1, "b"]})
    first = Store.open(tmp_path, plan)
    first.keep_implied(cell, implied)
    first.keep_trial(cell, 0, trial)
    first.close()

    again = Store.open(tmp_path, plan)

    assert again.implied(cell) == implied
    assert tuple(again.trials(cell)) == (trial,)
    assert (again.wants(cell, 0), again.wants(cell, 1)) == (False, True)
    assert again.plan == plan
    again.close()


def test_nothing_after_a_timeout_or_crash_counts_or_is_wanted(tmp_path: Path, plan: Plan, cell: str) -> None:
    store = Store.open(tmp_path, plan)
    for number, status in ((0, Status.OK), (1, Status.CRASHED), (2, Status.OK), (3, Status.TIMEOUT)):
        store.keep_trial(cell, number, Trial(status=status))

    assert [trial.status for trial in store.trials(cell)] == [Status.OK, Status.CRASHED]
    assert not store.wants(cell, 4)
    store.close()


def test_an_error_does_not_give_a_cell_up(tmp_path: Path, plan: Plan, cell: str) -> None:
    store = Store.open(tmp_path, plan)
    store.keep_trial(cell, 0, Trial(status=Status.ERROR))

    assert store.wants(cell, 1)
    store.close()


def test_a_cell_that_cannot_be_played_wants_no_trial(tmp_path: Path, plan: Plan, cell: str) -> None:
    store = Store.open(tmp_path, plan)
    store.keep_implied(cell, Implied(status=Status.REFUSED))

    assert not store.wants(cell, 0)
    store.close()


def test_another_plan_is_refused_in_one_sentence(tmp_path: Path, plan: Plan) -> None:
    Store.open(tmp_path, plan).close()

    with pytest.raises(InputError, match=r"holds another run \(its seed is 0, not 9\); choose another dir"):
        Store.open(tmp_path, attrs.evolve(plan, seed=9))


def test_a_record_of_another_layout_is_refused(tmp_path: Path, plan: Plan) -> None:
    Store.open(tmp_path, plan).close()
    with sqlite3.connect(tmp_path / RECORD) as connection:
        connection.execute("UPDATE meta SET value = '99' WHERE key = 'schema'")
    connection.close()

    with pytest.raises(InputError, match="another version of labelinf"):
        Store.open(tmp_path, plan)


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path, plan: Plan) -> None:
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(InputError, match=r"--out .*file: a run record cannot be kept there \(File exists\)"):
        Store.open(tmp_path / "file", plan)


def unprivileged(act: Callable[[], object]) -> str:
    """Return what somebody who is not root is told, in a copy of this process."""
    ours, theirs = os.pipe()
    child = os.fork()
    if not child:
        try:
            if os.geteuid() == 0:
                os.setgid(65534)
                os.setuid(65534)
            told = str(act())
        except InputError as error:
            told = str(error)
        os.write(theirs, told.encode())
        os._exit(0)
    os.close(theirs)
    os.waitpid(child, 0)
    with os.fdopen(ours) as file:
        return file.read()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_run_that_cannot_be_written_is_told_and_can_still_be_read(plan: Plan) -> None:
    """Also one that was killed, beside whose record there is a log."""
    with tempfile.TemporaryDirectory() as folder:  # everybody may look into it, unlike pytest's own
        run, killed = Path(folder) / "run", os.fork()
        os.chmod(folder, 0o755)
        if not killed:
            store = Store.open(run, plan)
            store.keep_trial(plan.cells[0].id, 0, Trial(n_correct=1, n_records=2))
            store.commit()
            os._exit(0)
        os.waitpid(killed, 0)
        assert (run / f"{RECORD}-wal").exists()
        for path in (*run.iterdir(), run):
            path.chmod(0o555 if path.is_dir() else 0o444)

        assert unprivileged(lambda: Store.open(run, plan)).endswith("cannot be kept there (Permission denied).")
        assert unprivileged(lambda: Store.open(run / "new", plan)).endswith("cannot be kept there (Permission denied).")
        assert unprivileged(lambda: len(Store.reopen(run).trials(plan.cells[0].id))) == "1"
        run.chmod(0o755)


def test_a_file_that_is_no_record_is_told(tmp_path: Path, plan: Plan) -> None:
    (tmp_path / RECORD).write_text("not a database, and long enough to be read as one" * 50)

    with pytest.raises(InputError, match="a run record cannot be kept there"):
        Store.open(tmp_path, plan)


def test_the_newest_run_of_a_plan_is_found(tmp_path: Path, plan: Plan) -> None:
    other = attrs.evolve(plan, seed=5)
    for name, which in (("2026-01", plan), ("2026-02", plan), ("2026-03", other)):
        Store.open(tmp_path / name, which).close()
    (tmp_path / "2026-04").mkdir()
    (tmp_path / "2026-04" / RECORD).write_text("broken" * 500)

    assert find_run(tmp_path, plan) == tmp_path / "2026-02"
    assert find_run(tmp_path, attrs.evolve(plan, seed=6)) is None
    assert find_run(tmp_path / "nowhere", plan) is None


def trials_of(store: Store, cell: str) -> list[int]:
    return [trial.n_correct for trial in store.trials(cell)]


def kept(directory: Path, plan: Plan, cell: str, *corrects: int) -> None:
    store = Store.open(directory, plan)
    store.keep_implied(cell, Implied())
    for number, correct in enumerate(corrects):
        store.keep_trial(cell, number, Trial(n_correct=correct, n_records=12))
    store.close()


def test_a_run_that_ended_leaves_one_plain_file(tmp_path: Path, plan: Plan, cell: str) -> None:
    kept(tmp_path, plan, cell, 3)

    assert {path.name for path in tmp_path.iterdir()} == {RECORD, "run.lock"}
    with sqlite3.connect(tmp_path / RECORD) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    connection.close()


def test_a_changed_row_is_told_and_played_again_but_never_a_result(tmp_path: Path, plan: Plan, cell: str) -> None:
    kept(tmp_path, plan, cell, 3, 4, 5)
    with sqlite3.connect(tmp_path / RECORD) as connection:
        connection.execute("UPDATE trials SET record = replace(record, '\"n_correct\":4', '\"n_correct\":9')")
    connection.close()

    with pytest.raises(InputError, match=r"run\.sqlite is damaged \(rows .* gone or changed.*plays again"):
        Store.reopen(tmp_path)
    again = Store.open(tmp_path, plan)
    assert trials_of(again, cell) == [3, 5]
    assert [again.wants(cell, number) for number in range(3)] == [False, True, False]
    assert again.notes == ("1 damaged rows of the record are left out and played again",)
    again.close()


def test_a_row_that_is_gone_is_told(tmp_path: Path, plan: Plan, cell: str) -> None:
    kept(tmp_path, plan, cell, 3, 4)
    with sqlite3.connect(tmp_path / RECORD) as connection:
        connection.execute("DELETE FROM trials WHERE trial = 1")
    connection.close()

    with pytest.raises(InputError, match="rows that were written to it are gone"):
        Store.reopen(tmp_path)


@pytest.mark.long
def test_damage_anywhere_is_a_sentence_or_changes_nothing(tmp_path: Path, plan: Plan, cell: str) -> None:
    """200 places drawn at random, eight bytes at each: read back are the same trials, or one sentence says why not."""
    kept(tmp_path, plan, cell, *range(3))
    whole = (tmp_path / RECORD).read_bytes()
    rng = np.random.default_rng(0)
    told = 0
    for _ in range(200):
        at = int(rng.integers(len(whole) - 8))
        (tmp_path / RECORD).write_bytes(whole[:at] + rng.bytes(8) + whole[at + 8 :])
        try:
            store = Store.reopen(tmp_path)
        except InputError:
            told += 1
            continue
        try:
            assert trials_of(store, cell) == [0, 1, 2]
            assert store.implied(cell) == Implied()
            assert store.plan == plan
        except InputError:
            told += 1
        finally:
            store.close()
    assert 0 < told < 200


def test_a_second_process_is_told_who_writes(tmp_path: Path, plan: Plan, cell: str) -> None:
    first = Store.open(tmp_path, plan)
    first.keep_implied(cell, Implied())
    first.commit()

    with pytest.raises(InputError, match=rf"is being written by process {os.getpid()} on .*labelinf report"):
        Store.open(tmp_path, plan)
    watching = Store.reopen(tmp_path)
    assert watching.implied(cell) == Implied()
    watching.close()
    first.close()
    Store.open(tmp_path, plan).close()


def test_what_failed_can_be_played_again(tmp_path: Path, plan: Plan, cell: str) -> None:
    store = Store.open(tmp_path, plan)
    store.keep_implied(cell, Implied())
    for number, status in enumerate((Status.OK, Status.CRASHED)):
        store.keep_trial(cell, number, Trial(status=status))
    assert not store.wants(cell, 2)

    assert store.forget_failed() == 1

    assert [store.wants(cell, number) for number in range(3)] == [False, True, True]
    assert store.knows(cell)
    store.close()


def test_a_changed_plugin_plays_its_own_cells_again_and_says_so(tmp_path: Path, plan_of: PlanOf) -> None:
    plan = plan_of(["fake-coin", "majority"], ["none"])
    coin, majority = plan.cells
    store = Store.open(tmp_path, plan)
    for cell in plan.cells:
        store.keep_trial(cell.id, 0, Trial(n_correct=1, n_records=12))
    store.close()
    newer = attrs.evolve(coin, versions={**coin.versions, "labelinf-fakes": "2.0"})

    again = Store.open(tmp_path, attrs.evolve(plan, cells=(newer, majority)))

    assert (again.wants(newer.id, 0), again.wants(majority.id, 0)) == (True, False)
    assert again.notes == ("labelinf-fakes was 1.0 and is 2.0: fake-coin/none played again",)
    again.close()


def test_another_library_plays_everything_again(tmp_path: Path, plan: Plan, cell: str) -> None:
    kept(tmp_path, plan, cell, 3)

    again = Store.open(tmp_path, attrs.evolve(plan, environment={**plan.environment, "numpy": "9.9"}))

    assert again.wants(cell, 0)
    assert f"numpy was {plan.environment['numpy']} and is 9.9: all 1 cells are played again" in again.notes
    again.close()


def test_more_trials_keep_those_there_are(tmp_path: Path, plan: Plan, cell: str) -> None:
    kept(tmp_path, plan, cell, 3, 4, 5)

    more = Store.open(tmp_path, attrs.evolve(plan, trials=5))
    assert [more.wants(cell, number) for number in range(5)] == [False, False, False, True, True]
    more.close()
    fewer = Store.open(tmp_path, attrs.evolve(plan, trials=2))
    assert trials_of(fewer, cell) == [3, 4]
    fewer.close()


@pytest.mark.fresh_key
def test_a_private_run_goes_on_under_its_own_key(tmp_path: Path, plan_of: PlanOf) -> None:
    labels = ["fake-labels(private=true)"]
    plan, again = plan_of(["fake-coin"], ["none"], labels=labels), plan_of(["fake-coin"], ["none"], labels=labels)
    Store.open(tmp_path / "a", plan).close()

    store = Store.open(tmp_path / "a", again)

    assert again.key != plan.key
    assert store.plan == plan
    assert store.notes == ()
    assert find_run(tmp_path, again) == tmp_path / "a"
    assert key_of(tmp_path / "a") == plan.key
    store.close()
