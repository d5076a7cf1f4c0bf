"""A plan holds every cell once, under a name made of its content."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import pytest

from labelinf_core.contracts.errors import InputError
from labelinf_core.evaluator.cells import Plan
from labelinf_core.evaluator.plan import make_plan, only
from labelinf_core.evaluator.suite import Matrix, Suite
from labelinf_core.specs import Builder

PlanOf = Callable[..., Plan]


def test_a_grid_becomes_its_points(plan_of: PlanOf) -> None:
    plan = plan_of(
        ["fake-coin(fails=[0, 0.5])", "fake-constant"],
        ["none", ["fake-noise(scale=[1, 2])", "fake-none"]],
        settings={"scorer": ["float64", "float32"]},
    )

    assert len(plan.cells) == 3 * 3 * 2
    assert {cell.shown.pipeline for cell in plan.cells} == {
        "none",
        "fake-noise(scale=1) + fake-none",
        "fake-noise(scale=2) + fake-none",
    }


def test_a_cell_spells_out_every_parameter(plan_of: PlanOf) -> None:
    (cell,) = plan_of(["fake-reader"], ["fake-noise"]).cells

    assert cell.attack == "fake-reader(confidence=0.75, pause=0)"
    assert cell.defences == ("fake-noise(scale=0.1)",)
    assert cell.channel == "score(loss=log-loss, metric=None, besides=[], scorer='float64', model=None, queries=0)"
    assert set(cell.versions) == {"labelinf", "labelinf-fakes"}


def test_an_empty_pipeline_is_no_defence(plan_of: PlanOf) -> None:
    (cell,) = plan_of(["fake-coin"], [[]]).cells

    assert (cell.defences, cell.shown.pipeline) == ((), "none")


def test_cells_with_the_same_content_are_one(plan_of: PlanOf) -> None:
    assert len(plan_of(["fake-coin", "fake-coin(fails=0.0)", "fake-coin"], ["none"]).cells) == 1


def test_a_name_depends_on_content_not_on_where_labels_come_from(plan_of: PlanOf) -> None:
    (cell,) = plan_of(["fake-coin"], ["none"]).cells

    assert attrs.evolve(cell, labels="somewhere-else").id == cell.id
    assert attrs.evolve(cell, attack="fake-coin(fails=1)").id != cell.id
    assert attrs.evolve(cell, versions={**cell.versions, "labelinf": "9"}).id != cell.id
    assert attrs.evolve(cell, digest="0" * 64).id != cell.id


def test_a_plan_is_another_when_trials_seed_or_libraries_are(plan_of: PlanOf) -> None:
    plan = plan_of(["fake-coin"], ["none"])

    assert plan.digest == plan_of(["fake-coin"], ["none"]).digest
    assert attrs.evolve(plan, title="renamed").digest == plan.digest
    for change in ({"trials": 4}, {"seed": 1}, {"environment": {"python": "2"}}, {"cells": ()}):
        assert attrs.evolve(plan, **change).digest != plan.digest


@pytest.mark.parametrize(
    ("attacks", "defences", "labels", "message"),
    [
        (["no-such"], ["none"], ["fake-labels"], "test.toml: matrix[0].attacks[0]: no attack is called 'no-such'."),
        (["fake-coin(fails='x')"], ["none"], ["fake-labels"], "matrix[0].attacks[0]: fake-coin.fails: expected float"),
        (
            ["fake-coin"],
            ["none", "fake-noise(scale=-1)"],
            ["fake-labels"],
            "matrix[0].defences[1]: fake-noise: scale=-1",
        ),
        (["fake-coin"], [["none", 7]], ["fake-labels"], "matrix[0].defences[0]: expected a name, a call"),
        (["fake-coin"], ["none"], ["fake-bad-labels"], "the label in row 2 must be in 0..1"),
        (["fake-coin"], ["none"], ["fake-bad-labels(how='float')"], "at least one integer, got float64"),
        (["fake-coin"], ["none"], ["fake-bad-labels(how='empty')"], "at least one integer"),
        (["fake-coin"], ["none"], ["fake-bad-labels(how='one-class')"], "one class only; at least two"),
        (["fake-coin"], ["none"], ["fake-bad-labels(how='raises')"], "raised KeyError in labelinf_fakes.labels, line"),
        (["fake-coin"], ["none"], ["fake-bad-labels(how='other')"], "matrix[0].labels[0]: fake-bad-labels"),
    ],
)
def test_a_fault_is_told_with_its_place(
    plan_of: PlanOf, attacks: list[str], defences: list[object], labels: list[str], message: str
) -> None:
    with pytest.raises(InputError) as caught:
        plan_of(attacks, defences, labels=labels)

    assert message in str(caught.value)


def test_a_source_whose_labels_are_no_whole_numbers_costs_its_own_cells(plan_of: PlanOf) -> None:
    plan = plan_of(["fake-coin"], ["none"], labels=["fake-labels", "fake-bad-labels(how='float')"])

    assert len(plan.cells) == 1
    (said,) = plan.left_out
    assert said.endswith("at least one integer, got float64(2,). (its cells are left out)")


def test_all_faults_come_at_once(builder: Builder) -> None:
    bad = Matrix(labels=["nope"], attacks=["nope", "fake-coin(fails='x')"], defences=["fake-noise(scale=[-1, -2])"],
                     settings={"queries": -1})  # fmt: skip
    worse = Matrix(labels=["fake-bad-labels"], attacks=["fake-coin"], defences=["none"], channel="nowhere")

    with pytest.raises(InputError) as caught:
        make_plan(Suite(matrix=[bad, worse]), builder, "s.toml")

    lines = str(caught.value).splitlines()
    assert len(lines) == len(set(lines))
    for place in ("matrix[0].channel", "matrix[0].labels[0]", "matrix[0].attacks[0]", "matrix[0].attacks[1]",
                  "matrix[0].defences[0]", "matrix[1].channel"):  # fmt: skip
        assert any(place in line for line in lines), place


PAIR = "fake-boast + fake-none"


def test_no_defence_is_the_empty_pipeline_however_it_is_written(plan_of: PlanOf) -> None:
    (cell,) = plan_of(["fake-coin"], ["none", [], ["none"]]).cells
    (behind,) = plan_of(["fake-coin"], [["none", "fake-none"], "fake-none"]).cells

    assert (cell.defences, cell.written, cell.shown.pipeline) == ((), ("none",), "none")
    assert cell.game[3:] == ("none",)  # what the attack's randomness has always been derived from
    assert behind.defences == ("fake-none",)


def test_the_channel_is_where_the_attacks_and_defences_belong(plan_of: PlanOf) -> None:
    (cell,) = plan_of(["fake-coin"], ["none"]).cells

    assert cell.channel.startswith("score(")
    with pytest.raises(InputError, match=r"belong to several \(score, gradient\)"):
        plan_of(["fake-coin", "idlg"], ["none"])


def test_only_keeps_what_matches(plan_of: PlanOf) -> None:
    plan = plan_of(["fake-coin", "fake-reader"], ["none", "fake-noise(scale=2)", ["fake-boast", "fake-none"]])

    def kept(*patterns: str) -> set[tuple[str, str]]:
        return {(cell.shown.attack, cell.shown.pipeline) for cell in only(plan, patterns).cells}

    assert kept("fake-coin/none") == {("fake-coin", "none")}
    assert kept("*coin/fake-noise*", "fake-reader/* + *") == {
        ("fake-coin", "fake-noise(scale=2)"),
        ("fake-reader", PAIR),
    }
    assert kept("fake-*/fake-none") == {("fake-coin", PAIR), ("fake-reader", PAIR)}
    assert len(kept("fake-noise")) == 2
    assert len(kept("fake-*")) == 6


def test_only_that_keeps_nothing_says_what_there_is(plan_of: PlanOf) -> None:
    with pytest.raises(InputError, match=r"no cell matches 'x\*'; the suite has fake-coin, none"):
        only(plan_of(["fake-coin"], ["none"]), ["x*"])
