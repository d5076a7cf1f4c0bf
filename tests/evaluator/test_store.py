"""The run record keeps every trial, goes on where it stopped, and refuses another plan."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path

import attrs
import pytest

from labelinf_core.contracts.errors import InputError
from labelinf_core.contracts.guarantees import BoundValue, Ceiling, Direction, Promise
from labelinf_core.evaluator.cells import Plan
from labelinf_core.evaluator.records import Implied, Status, Trial
from labelinf_core.evaluator.store import RECORD, Store, find_run

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
    assert again.trials(cell) == (trial,)
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


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_directory_without_permission_is_told(tmp_path: Path, plan: Plan) -> None:
    tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)

    with pytest.raises(InputError, match="Permission denied"):
        Store.open(tmp_path / "run", plan)


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
