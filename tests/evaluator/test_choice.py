"""Who plays is settled before anything is played: the strongest that fit, of all that are installed."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import attrs
import pytest

from labelinf_core.contracts.guarantees import Promise
from labelinf_core.evaluator.cells import Cell, Plan, Role
from labelinf_core.evaluator.choice import choose
from labelinf_core.evaluator.executors import InProcess
from labelinf_core.evaluator.plan import only
from labelinf_core.evaluator.play import TrialRunner
from labelinf_core.evaluator.records import Implied, Status
from labelinf_core.evaluator.results import Results, summarise
from labelinf_core.evaluator.run import is_complete, run
from labelinf_core.evaluator.store import Store
from labelinf_core.report import words
from labelinf_core.specs import parse

PlanOf = Callable[..., Plan]

CERTAIN = Promise(survives=1, present=0, statement="a theorem", conditions="none")
REFUSED = Implied(status=Status.REFUSED, message="it does not fit")


def names(plan: Plan, chosen: object) -> list[str]:
    return [parse(cell.shown.attack, "test").name for cell in plan.cells if cell.id in chosen]  # type: ignore[operator]


def at(plan: Plan, **known: Implied) -> dict[str, Implied]:
    """Return what is known of the cells whose attack is named; the others refuse."""
    wanted = {name.replace("_", "-"): implied for name, implied in known.items()}
    return {cell.id: wanted.get(parse(cell.shown.attack, "test").name, REFUSED) for cell in plan.cells}


@pytest.fixture
def plan(plan_of: PlanOf) -> Plan:
    return plan_of(["strongest"], ["none"], channel="score")


@pytest.mark.long
def test_one_that_is_certain_of_every_label_plays_alone(plan: Plan) -> None:
    implied = at(plan, fake_coin=Implied(place=9), hybrid=Implied(promise=CERTAIN, place=0), hadamard=Implied(place=1))

    chosen = choose(plan, implied)

    assert names(plan, chosen) == ["hybrid"]
    assert "none can do better" in str(next(iter(chosen.values())))


@pytest.mark.long
def test_without_certainty_all_play_that_may_be_the_strongest(plan: Plan) -> None:
    implied = at(
        plan,
        hadamard=Implied(place=0),
        fake_coin=Implied(place=9),
        doubling=Implied(),
        majority=Implied(blind=True),
        powers_blocks=Implied(status=Status.ERROR, message="it raised"),
    )

    chosen = choose(plan, implied)

    assert sorted(names(plan, chosen)) == ["fake-coin", "hadamard", "powers-blocks"]
    assert {str(field) for field in chosen.values()} == {"strongest of 3 of 5 that fit"}


@pytest.mark.long
@pytest.mark.parametrize(
    ("known", "played"),
    [
        ({"doubling": Implied(), "majority": Implied(blind=True)}, ["doubling"]),
        ({"majority": Implied(blind=True)}, ["majority"]),
        ({}, ["hybrid"]),
    ],
    ids=["nobody who is known", "only a blind guess", "nobody, so that one says why"],
)
def test_who_plays_where_none_of_the_strongest_fits(plan: Plan, known: dict[str, Implied], played: list[str]) -> None:
    assert names(plan, choose(plan, at(plan, **known))) == played


@pytest.mark.long
def test_a_list_is_a_restriction_and_is_said_to_be_one(plan_of: PlanOf) -> None:
    plan = plan_of(["fake-coin", "majority"], ["none"])

    (field,) = set(choose(plan, at(plan, fake_coin=Implied(), majority=REFUSED)).values())

    assert str(field) == f"strongest of 1, named by the suite, of {plan.installed['score']} installed"
    assert plan.installed["score"] >= 26


@pytest.mark.long
def test_all_is_every_one_and_a_name_beside_the_strongest_is_played_in_any_case(plan_of: PlanOf) -> None:
    every, beside = (
        plan_of(["all"], ["none"], channel="score"),
        plan_of(["strongest", "fake-coin(fails=0.5)"], ["none"]),
    )

    assert 26 <= len(every.cells) <= every.installed["score"]
    assert {cell.role for cell in every.cells} == {Role.NAMED}
    named = [cell.shown.attack for cell in beside.cells if cell.role is Role.NAMED]
    assert named == ["fake-coin(fails=0.5)"]
    assert len(beside.cells) == len(every.cells) + 1
    assert {cell.role for cell in only(beside, ["hadamard"]).cells} == {Role.NAMED}


def summary(directory: Path, plan: Plan, executor: object) -> tuple[Results, int]:
    store = Store.open(directory, plan)
    run(plan, store, executor)  # type: ignore[arg-type]
    assert is_complete(plan, store)
    asked = sum(store.knows(cell.id) for cell in plan.cells)
    results = summarise(store)
    store.close()
    return results, asked


@pytest.mark.long
def test_who_cannot_do_better_is_not_asked_and_a_stranger_always_plays(
    tmp_path: Path, plan_of: PlanOf, bench: TrialRunner
) -> None:
    defences = ["none", "score-noise(model=gaussian(scale=0.05))"]
    plan = plan_of(["strongest"], defences, trials=1, channel="score", settings={"queries": 40})
    plan = attrs.evolve(plan, cells=tuple(cell for cell in plan.cells if _quick(cell)))

    results, asked = summary(tmp_path / "one", plan, InProcess(bench))

    by_defence = {
        defence: [result.cell.shown.attack for result in results.cells if result.cell.shown.pipeline == defence]
        for defence in defences
    }
    assert by_defence["none"] == ["hybrid"]
    assert {"hadamard", "fake-coin"} <= set(by_defence[defences[1]])
    assert "doubling" not in by_defence[defences[1]]
    assert asked < len(plan.cells)
    assert list(words.choice(results.cells)) == [
        f"attacks: the strongest that fit, chosen for every line of defences from {plan.installed['score']} installed"
    ]


def _quick(cell: Cell) -> bool:
    """Keep those fakes that neither crash nor hang."""
    name = parse(cell.shown.attack, "test").name
    return name in ("hybrid", "binary-weights", "hadamard", "fake-coin", "majority", "doubling", "ulp-grid")


@pytest.mark.long
def test_the_order_of_answers_does_not_change_who_plays(plan: Plan) -> None:
    """Whatever is asked beyond what was needed changes nothing: the first in order that is certain plays."""
    certain = [cell.id for cell in plan.cells][2:6]
    known = {cell.id: REFUSED for cell in plan.cells} | {name: Implied(promise=CERTAIN) for name in certain}

    for seed in range(5):
        asked = [certain[0], *random.Random(seed).sample(certain[1:], seed % 3)]
        before = [cell.id for cell in plan.cells][:2]
        assert list(choose(plan, {name: known[name] for name in [*before, *asked]})) == [certain[0]]
