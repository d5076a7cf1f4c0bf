"""One trial: what is known before, what is kept after, and where its randomness comes from."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import numpy as np
import pytest

from labelinf_core.contracts.effects import Unknown
from labelinf_core.evaluator.cells import Plan
from labelinf_core.evaluator.play import TrialRunner, attack_rng, curator_rng
from labelinf_core.evaluator.records import Status

PlanOf = Callable[..., Plan]

FAKES = "plugin 'fakes' of labelinf-fakes 1.0"


@pytest.mark.long
def test_a_trial_is_kept_as_it_was(plan_of: PlanOf, bench: TrialRunner) -> None:
    (cell,) = plan_of(["fake-reader"], ["none"]).cells

    trial = bench.play(cell, 0, 0)

    assert (trial.status, trial.n_correct, trial.n_records, trial.queries) == (Status.OK, 12, 12, 13)
    assert trial.evidence == {"labels per query": 1, "margin": 0.5}
    assert trial.seconds > 0


@pytest.mark.long
def test_abstentions_and_wrong_guesses_do_not_count(plan_of: PlanOf, bench: TrialRunner) -> None:
    (cell,) = plan_of(["fake-constant"], ["none"]).cells

    assert bench.play(cell, 0, 0).n_correct == 6


def test_a_component_that_raises_makes_an_error_of_the_trial(plan_of: PlanOf, bench: TrialRunner) -> None:
    (cell,) = plan_of(["fake-raises"], ["none"]).cells

    trial = bench.play(cell, 0, 0)

    assert (trial.status, trial.message) == (
        Status.ERROR,
        f"attack fake-raises ({FAKES}): ZeroDivisionError: this attack divides by zero",
    )


def test_an_exhausted_budget_makes_an_error_of_the_trial(plan_of: PlanOf, bench: TrialRunner) -> None:
    (cell,) = plan_of(["fake-reader"], ["none"], settings={"queries": 5}).cells

    assert (
        bench.play(cell, 0, 0).message
        == f"attack fake-reader ({FAKES}): QueriesExhaustedError: all 5 queries are spent."
    )


def test_labels_that_change_after_planning_are_noticed(plan_of: PlanOf, bench: TrialRunner) -> None:
    (cell,) = plan_of(["fake-constant"], ["none"]).cells

    trial = bench.play(attrs.evolve(cell, labels="fake-labels(n=14)"), 0, 0)

    assert trial.message == "InputError: the labels fake-labels(n=14) changed after the run was planned."


@pytest.mark.long
def test_what_is_known_comes_from_attack_defences_and_bounds(plan_of: PlanOf, bench: TrialRunner) -> None:
    (cell,) = plan_of(["fake-reader"], [["fake-none", "fake-boast"]]).cells

    implied = bench.imply(cell)

    assert implied.status is Status.OK
    assert implied.baseline == 0.5
    assert implied.promise is not None
    assert implied.promise.stated
    assert not implied.promise.certified  # a third party's
    assert any("stage Boast of" in ceiling.conditions for ceiling in implied.ceilings)
    assert "labelinf tests, bound" in {bound.statement for bound in implied.bounds}
    assert implied.threat["n_records"] == 12
    assert "loss" not in implied.threat


@pytest.mark.long
def test_behind_a_stage_that_says_nothing_no_attack_promises_and_no_stage_denies(
    plan_of: PlanOf, bench: TrialRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    (cell,) = plan_of(["fake-reader"], [["fake-none", "fake-boast"]]).cells
    monkeypatch.setattr("labelinf_fakes.defences.Open.does", lambda self, threat: (Unknown(stage="mine"),))

    implied = bench.imply(cell)

    assert implied.status is Status.OK
    assert implied.promise is None
    assert all("a boast" not in ceiling.conditions and ceiling.vouched for ceiling in implied.ceilings)
    assert "nothing is known of mine: of what is behind it, the worst" in implied.notes


@pytest.mark.long
def test_a_bound_that_raises_is_noted_and_costs_nothing_else(plan_of: PlanOf, bench: TrialRunner) -> None:
    (cell,) = plan_of(["fake-constant"], ["none"]).cells

    implied = bench.imply(cell)

    assert (
        "bound fake-broken-bound could not be evaluated: OverflowError in labelinf_fakes.bounds, line 35"
        in implied.notes
    )
    assert implied.status is Status.OK


@pytest.mark.long
def test_a_refusal_is_kept_with_its_reason(plan_of: PlanOf, bench: TrialRunner) -> None:
    (cell,) = plan_of(["fake-picky"], ["none"]).cells

    implied = bench.imply(cell)

    assert (implied.status, implied.message, implied.promise) == (Status.REFUSED, "needs a full moon", None)


@pytest.mark.long
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"scorer": "float65"}, "float65"),
        ({"scorer": "no_such_module:f"}, "cannot be imported"),
        ({"scorer": "math:pi"}, "is not a function"),
        ({"scorer": "math:fsum"}, "raised TypeError"),
        ({"scorer": "builtins:print"}, "returned NoneType, expected one number"),
        ({"loss": "squared-euclidean", "scorer": "sklearn"}, "computes the log-loss"),
    ],
)
def test_settings_that_do_not_work_are_found_before_anything_is_played(
    plan_of: PlanOf, bench: TrialRunner, settings: dict[str, str], message: str
) -> None:
    (cell,) = plan_of(["fake-constant"], ["none"], settings=settings).cells

    implied = bench.imply(cell)

    assert implied.status is Status.INVALID
    assert message in implied.message


def draws(rng: np.random.Generator) -> tuple[int, ...]:
    return tuple(rng.integers(0, 2**62, 4))


def test_the_curators_randomness_depends_on_labels_seed_and_trial_alone() -> None:
    one = draws(curator_rng("a", 0, 0))

    assert one == draws(curator_rng("a", 0, 0))
    assert len({one, draws(curator_rng("b", 0, 0)), draws(curator_rng("a", 1, 0)), draws(curator_rng("a", 0, 1))}) == 4


def test_the_attacks_randomness_depends_on_the_whole_game_and_not_on_versions(plan_of: PlanOf) -> None:
    plan = plan_of(["fake-coin", "fake-constant"], ["none", "fake-noise"])
    upgraded = [attrs.evolve(cell, versions={"labelinf": "99"}) for cell in plan.cells]

    streams = [draws(attack_rng(cell, 0, 0)) for cell in plan.cells]

    assert len({*streams, draws(curator_rng(plan.cells[0].digest, 0, 0))}) == 5
    assert streams == [draws(attack_rng(cell, 0, 0)) for cell in upgraded]
    assert streams[0] != draws(attack_rng(plan.cells[0], 0, 1)) != draws(attack_rng(plan.cells[0], 1, 0))


@pytest.mark.long
def test_every_attack_meets_the_same_order_of_labels(plan_of: PlanOf, bench: TrialRunner) -> None:
    """The reader recovers what the curator holds: its guess, before it is put back in order, is the order itself."""
    plan = plan_of(["fake-reader", "fake-reader(confidence=0.9)"], ["none", "fake-none"])

    correct = [[bench.play(cell, 0, trial).n_correct for trial in range(2)] for cell in plan.cells]
    orders = {draws(curator_rng(cell.digest, 0, 0)) for cell in plan.cells}

    assert correct == [[12, 12]] * 4
    assert len(orders) == 1
