"""The verdict: observed against implied."""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np
import pytest

from labelinf_core.contracts.guarantees import (
    LITTLE,
    BoundValue,
    Ceiling,
    Direction,
    Interval,
    PerGame,
    Promise,
    Verdict,
    judge,
    left_to_gain,
)

EVERYTHING = Interval(value=1.0, low=0.99, high=1.0)
NOTHING = Interval(value=0.62, low=0.58, high=0.66)
ALWAYS = Interval(value=1.0, low=0.83, high=1.0)
NEVER = Interval(value=0.0, low=0.0, high=0.17)


def promise(present: float, *, proved: bool = True, strict: bool = False) -> Promise:
    return Promise(survives=0.1, present=present, statement="s", conditions="c", proved=proved, strict=strict)


def ceiling(accuracy: float, exact: float = 1.0) -> Ceiling:
    return Ceiling(accuracy=accuracy, exact=exact, statement="s", conditions="c")


def verdict(
    accuracy: Interval | None,
    exact: Interval | None,
    promised: Promise | None = None,
    *ceilings: Ceiling,
    baseline: float = 0.63,
    blind: bool = False,
) -> Verdict:
    return judge(accuracy=accuracy, exact=exact, baseline=baseline, promise=promised, ceilings=ceilings, blind=blind)


def test_a_promise_that_is_kept_breaks_the_defence_for_certain() -> None:
    assert verdict(EVERYTHING, ALWAYS, promise(0.05)) is Verdict.BROKEN_CERTIFIED


def test_a_promise_that_is_not_kept_is_a_contradiction_however_near() -> None:
    almost = Interval(value=0.99, low=0.98, high=1.0)
    assert verdict(almost, Interval(value=0.95, low=0.75, high=1.0), promise(0.05)) is Verdict.CONTRADICTION


@pytest.mark.parametrize("weak", [promise(0.2), promise(0.05, proved=False), promise(0.1, strict=True)])
def test_beyond_its_noise_a_promise_promises_nothing(weak: Promise) -> None:
    assert not weak.certified
    assert verdict(NOTHING, NEVER, weak) is Verdict.HELD_SO_FAR
    assert verdict(EVERYTHING, ALWAYS, weak) is Verdict.BROKEN_OBSERVED


def test_a_promise_holds_at_its_own_noise_unless_it_is_strict() -> None:
    assert promise(0.1).certified
    assert not promise(0.1, strict=True).certified
    assert promise(0.0999, strict=True).certified


def test_above_a_ceiling_is_a_contradiction() -> None:
    assert verdict(EVERYTHING, ALWAYS, None, ceiling(0.731)) is Verdict.CONTRADICTION


def test_exact_recovery_above_its_ceiling_is_a_contradiction() -> None:
    assert verdict(EVERYTHING, ALWAYS, None, ceiling(1.0, exact=0.5)) is Verdict.CONTRADICTION


def test_the_alarm_decides_what_is_a_contradiction_where_it_was_asked() -> None:
    above = Interval(value=0.74, low=0.735, high=0.745)
    arguments = {"exact": NEVER, "baseline": 0.63, "promise": None, "ceilings": (ceiling(0.731),)}

    assert judge(accuracy=above, **arguments) is Verdict.CONTRADICTION  # type: ignore[arg-type]
    assert judge(accuracy=above, contradicted=False, **arguments) is Verdict.BROKEN_OBSERVED  # type: ignore[arg-type]


LOW = Interval(value=0.0, low=0.0, high=0.03)


@pytest.mark.parametrize("baseline", [0.5, 0.1, 0.8])
def test_a_ceiling_is_measured_by_what_it_leaves_to_gain_over_the_best_blind_guess(baseline: float) -> None:
    def left(share: float) -> Verdict:
        return verdict(LOW, NEVER, None, ceiling(max(0.0, baseline + share * (1 - baseline))), baseline=baseline)

    assert left(0.24) is left(-0.1) is Verdict.HELD_CERTIFIED
    assert left(0.26) is left(0.49) is Verdict.HELD_PARTLY
    assert left(0.51) is Verdict.HELD_SO_FAR


def test_a_ceiling_exactly_on_a_line_is_on_its_safe_side() -> None:
    """A quarter and a half of what there is to gain over one half are exact in binary."""
    assert verdict(LOW, NEVER, None, ceiling(0.625), baseline=0.5) is Verdict.HELD_CERTIFIED
    assert verdict(LOW, NEVER, None, ceiling(0.75), baseline=0.5) is Verdict.HELD_PARTLY


def test_what_only_reaches_a_ceiling_does_not_deny_it() -> None:
    assert not ceiling(0.75, exact=0.5).denies(0.75, 0.5)


def test_half_an_observation_is_none() -> None:
    assert verdict(None, ALWAYS) is verdict(EVERYTHING, None) is verdict(None, None) is Verdict.NOT_PLAYED


def test_an_attack_looks_and_an_answer_costs_no_doubt_unless_it_is_said() -> None:
    played = judge(accuracy=NOTHING, exact=NEVER, baseline=0.63, promise=None, ceilings=())
    assert played is Verdict.HELD_SO_FAR
    assert PerGame(share=0.5).bits == 0


def test_what_only_reaches_the_blind_guess_leaks_nothing() -> None:
    assert verdict(NOTHING, NEVER, baseline=NOTHING.low) is Verdict.HELD_SO_FAR


def test_just_below_a_ceiling_half_way_up_is_not_safety() -> None:
    found = Interval(value=0.73, low=0.72, high=0.74)
    assert verdict(found, NEVER, None, ceiling(0.731), baseline=0.5) is Verdict.HELD_PARTLY


def test_nothing_is_called_certified_that_the_observation_exceeds() -> None:
    above = Interval(value=0.8, low=0.75, high=0.85)
    arguments = {"exact": NEVER, "baseline": 0.63, "promise": None, "ceilings": (ceiling(0.65),)}
    found = judge(accuracy=above, contradicted=False, **arguments)  # type: ignore[arg-type]
    assert found is Verdict.BROKEN_OBSERVED


def test_the_allowance_of_a_ceiling_counts_against_its_certificate() -> None:
    line = 0.63 + LITTLE * 0.37
    assert verdict(LOW, NEVER, None, attrs.evolve(ceiling(line - 0.02), allowance=0.01)) is Verdict.HELD_CERTIFIED
    assert verdict(LOW, NEVER, None, attrs.evolve(ceiling(line - 0.02), allowance=0.03)) is Verdict.HELD_PARTLY


def test_a_ceiling_allows_an_exact_recovery_what_it_allows_an_accuracy() -> None:
    often = Interval(value=0.5, low=0.2, high=0.8)
    assert verdict(LOW, often, None, attrs.evolve(ceiling(1.0, exact=0.15), allowance=0.1)) is Verdict.HELD_SO_FAR
    assert verdict(LOW, often, None, attrs.evolve(ceiling(1.0, exact=0.15), allowance=0.01)) is Verdict.CONTRADICTION


def test_a_blind_guess_tests_nothing_but_leaves_a_proof_as_it_is() -> None:
    assert verdict(NOTHING, NEVER, blind=True) is Verdict.UNTESTED
    assert verdict(NOTHING, NEVER, None, ceiling(0.65), blind=True) is Verdict.HELD_CERTIFIED
    assert verdict(EVERYTHING, ALWAYS, blind=True) is Verdict.BROKEN_OBSERVED


def test_beating_the_majority_guess_breaks_a_defence_by_observation() -> None:
    better = Interval(value=0.7, low=0.64, high=0.75)
    assert verdict(better, NEVER) is Verdict.BROKEN_OBSERVED
    assert verdict(NOTHING, NEVER) is Verdict.HELD_SO_FAR


def test_what_was_not_played_has_no_verdict() -> None:
    assert verdict(None, None, promise(0.05)) is Verdict.NOT_PLAYED


def test_every_verdict_has_its_own_sign_in_ascii_too() -> None:
    assert len({item.symbol for item in Verdict}) == len({item.letter for item in Verdict}) == len(Verdict)
    assert all(item.letter.isascii() for item in Verdict)
    assert sorted(item.severity for item in Verdict) == list(range(len(Verdict)))


def test_without_a_ceiling_all_is_left_to_gain() -> None:
    assert left_to_gain((), 0.5) == left_to_gain((), 1.0) == 1.0
    assert left_to_gain((ceiling(1.0),), 1.0) == 0.0


@pytest.mark.parametrize("value", [math.nan, 1.7, -0.1, math.inf, "0.5", None, True, np.array([0.1])])
def test_a_share_is_a_number_from_0_to_1(value: Any) -> None:
    with pytest.raises(ValueError, match=r"accuracy=.* must be a number from 0 to 1"):
        ceiling(value)
    with pytest.raises(ValueError, match=r"exact=.* must be a number from 0 to 1"):
        ceiling(0.5, value)
    with pytest.raises(ValueError, match=r"share=.* must be a number from 0 to 1"):
        PerGame(share=value)


@pytest.mark.parametrize("value", [math.nan, -1e-9, "0.1"])
def test_what_a_promise_survives_and_meets_is_no_less_than_nothing(value: Any) -> None:
    with pytest.raises(ValueError, match=r"present=.* must be a number from 0 to inf"):
        promise(value)


def test_a_guarantee_is_one_printable_line_and_never_without_its_conditions() -> None:
    found = Ceiling(accuracy=0.5, statement="a\x1b[31m\nb" + "c" * 999, conditions="\ud800d")
    assert found.statement.startswith("a [31m b")
    assert len(found.statement) == 600
    assert found.conditions == "d"
    with pytest.raises(ValueError, match="conditions"):
        Ceiling(accuracy=0.5, statement="s", conditions="")


def test_a_bound_must_be_a_number() -> None:
    with pytest.raises(ValueError, match="the bound 'noise' is not a number"):
        BoundValue(
            title="noise",
            direction=Direction.FLOOR,
            quantity="noise",
            value=float("nan"),
            formula="f",
            conditions="c",
            statement="s",
        )


@pytest.mark.parametrize(("present", "plain", "strict"), [(0.9, True, True), (1.0, True, False), (1.1, False, False)])
def test_a_promise_is_not_strict_unless_it_says_so(present: float, plain: bool, strict: bool) -> None:
    said: dict[str, Any] = {"survives": 1.0, "present": present, "statement": "s", "conditions": "c"}

    assert Promise(**said).certified is plain
    assert Promise(**said, strict=True).certified is strict
    assert not Promise(**said, proved=False).certified


def test_a_ceiling_with_its_allowance_is_no_more_than_everything() -> None:
    said: dict[str, Any] = {"statement": "s", "conditions": "c"}

    assert Ceiling(accuracy=0.9, allowance=0.3, **said).reached == 1.0
    assert Ceiling(accuracy=0.6, allowance=0.3, **said).reached == pytest.approx(0.9)
    assert Ceiling(accuracy=0.6, **said).reached == 0.6


def test_a_ceiling_is_a_line_of_what_no_attack_exceeds() -> None:
    line = Ceiling(accuracy=0.5, allowance=0.25, statement="s", conditions="c").line("told", "a + b")

    assert (line.title, line.formula, line.value, line.statement, line.conditions) == ("told", "a + b", 0.75, "s", "c")
    assert (line.direction, line.quantity) == (Direction.CEILING, "accuracy")


def test_the_lowest_ceiling_says_what_is_left_to_gain() -> None:
    said: dict[str, Any] = {"statement": "s", "conditions": "c"}
    ceilings = [Ceiling(accuracy=0.9, **said), Ceiling(accuracy=0.7, **said)]

    assert left_to_gain(ceilings, 0.6) == pytest.approx(0.25)
    assert left_to_gain(ceilings, 0.8) == 0.0
    assert left_to_gain([Ceiling(accuracy=1.0, **said)], 1.0) == 0.0
    assert left_to_gain(ceilings, 1.0) == 1.0  # no blind guess is above a ceiling: this one was chosen afterwards
    assert left_to_gain([], 0.6) == 1.0
