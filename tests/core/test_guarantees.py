"""The verdict: observed against implied."""

from __future__ import annotations

import attrs
import pytest

from labelinf_core.contracts.guarantees import BoundValue, Ceiling, Direction, Interval, Promise, Verdict, judge

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
    n_classes: int = 2,
) -> Verdict:
    return judge(
        accuracy=accuracy, exact=exact, baseline=0.63, n_classes=n_classes, promise=promised, ceilings=ceilings
    )


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


def test_above_a_ceiling_is_a_contradiction() -> None:
    assert verdict(EVERYTHING, ALWAYS, None, ceiling(0.731)) is Verdict.CONTRADICTION


def test_exact_recovery_above_its_ceiling_is_a_contradiction() -> None:
    assert verdict(EVERYTHING, ALWAYS, None, ceiling(1.0, exact=0.5)) is Verdict.CONTRADICTION


def test_a_ceiling_is_given_the_wider_interval_of_the_alarm() -> None:
    above = Interval(value=0.74, low=0.735, high=0.745)
    wide = Interval(value=0.74, low=0.72, high=0.76)
    arguments = {"exact": NEVER, "baseline": 0.63, "n_classes": 2, "promise": None, "ceilings": (ceiling(0.731),)}

    assert judge(accuracy=above, **arguments) is Verdict.CONTRADICTION  # type: ignore[arg-type]
    assert judge(accuracy=above, alarm_accuracy=wide, **arguments) is Verdict.HELD_CERTIFIED  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("n_classes", "line"), [pytest.param(2, 0.75, id="two classes"), pytest.param(10, 0.55, id="ten classes")]
)
def test_a_ceiling_certifies_when_it_denies_half_of_what_there_is_to_gain(n_classes: int, line: float) -> None:
    low = Interval(value=0.2, low=0.1, high=0.3)
    assert verdict(low, NEVER, None, ceiling(line), n_classes=n_classes) is Verdict.HELD_CERTIFIED
    assert verdict(low, NEVER, None, ceiling(line + 0.01), n_classes=n_classes) is Verdict.HELD_SO_FAR


def test_the_allowance_of_a_ceiling_counts_against_its_certificate() -> None:
    low = Interval(value=0.2, low=0.1, high=0.3)
    assert verdict(low, NEVER, None, attrs.evolve(ceiling(0.74), allowance=0.01)) is Verdict.HELD_CERTIFIED
    assert verdict(low, NEVER, None, attrs.evolve(ceiling(0.74), allowance=0.02)) is Verdict.HELD_SO_FAR


def test_beating_the_majority_guess_breaks_a_defence_by_observation() -> None:
    better = Interval(value=0.7, low=0.64, high=0.75)
    assert verdict(better, NEVER) is Verdict.BROKEN_OBSERVED
    assert verdict(NOTHING, NEVER) is Verdict.HELD_SO_FAR


def test_what_was_not_played_has_no_verdict() -> None:
    assert verdict(None, None, promise(0.05)) is Verdict.NOT_PLAYED


def test_every_verdict_has_its_own_symbol() -> None:
    assert len({item.symbol for item in Verdict}) == len(Verdict)


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
