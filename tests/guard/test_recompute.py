"""What ``verify`` computes in whole numbers is what the certificate says, of every policy there is."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from labelinf_core.contracts.errors import InputError
from labelinf_guard.begin import rules_of
from labelinf_guard.certificate.noise import StepNoise
from labelinf_guard.certificate.statement import certify
from labelinf_guard.commitment import claims_of, whole_terms
from labelinf_guard.ledger.recompute import gains_again, line_again
from labelinf_guard.ledger.whole import POWER, lattice_above, log_above, log_below, tail_above
from labelinf_guard.metrics import metric_named
from labelinf_guard.policy import BoardPart, BudgetPart, FinalPart, Policy, PublicPart, ReleasePart, TargetPart
from labelinf_guard.terms import Sizes, budget_of, terms_of


@st.composite
def policies(draw: st.DrawFn) -> tuple[Policy, Sizes]:
    """Any policy on accuracy, and any numbers of labels."""
    classes = draw(st.sampled_from([2, 2, 3, 7]))
    public, sealed = draw(st.integers(1, 30_000)), draw(st.sampled_from([0, 1, 500, 40_000]))
    show = draw(st.sampled_from(["scores", "records", "ranks"]))
    grouped = draw(st.booleans())
    names, group = [str(k) for k in range(classes)], "patients" if grouped else ""
    policy = Policy(
        board=BoardPart(labels="l", id="i", label="y", classes=names, metric="accuracy", group=group),
        public=PublicPart(share=0.5, flip=draw(st.sampled_from([0.0, 0.001, 0.2, 0.4]))),
        release=ReleasePart(show=show, decimals=2, noise=draw(st.sampled_from([0.0, 0.01])) * (show == "scores")),
        budget=BudgetPart(
            bits=draw(st.sampled_from([-1.0, 0.0, 12.5, 700.0])), per_board=draw(st.sampled_from([1, 30, 3000]))
        ),
        final=FinalPart(
            scores=draw(st.sampled_from([0, 3, 200])) * (sealed > 0),
            ranks=draw(st.integers(0, 12)) * (sealed > 0),
            noise=draw(st.sampled_from([0.0, 0.05])),
        ),
        target=TargetPart(
            perfect=draw(st.sampled_from([-1.0, 0.5, 0.86, 1.0])),
            counts_known=draw(st.booleans()),
            doubt=draw(st.sampled_from([1e-6, 0.01])),
            accept_void=True,
        ),
    )
    sizes = Sizes(public=public, sealed=sealed, form=draw(st.sampled_from([1, 2])))
    if grouped:
        few = Fraction(max(1, public // 3))
        sizes = attrs.evolve(
            sizes, public_effective=few, sealed_effective=few, largest=4, public_groups=-(-public // 3)
        )
    return policy, sizes


@pytest.mark.long
@given(policies())
@settings(max_examples=60)
def test_whole_numbers_say_the_same_of_every_policy(asked: tuple[Policy, Sizes]) -> None:
    """Never below the first computation, and hardly above it; the line that is printed is proved."""
    policy, sizes = asked
    metric = metric_named("accuracy", {}, ["0", "1"])
    bits = budget_of(policy, metric, sizes)
    found = certify(terms_of(policy, metric, sizes, bits))
    rules: dict[str, Any] = {
        "budget": math.floor(1024 * bits) if math.isfinite(bits) else -1,
        "rule": policy.rule,
        "per_board": policy.budget.per_board,
    }
    terms = whole_terms(policy, metric, sizes)
    now, after = gains_again(terms, rules)
    assert -1e-9 <= now / 1e6 - found.now <= 2e-5
    assert (after is None) == (found.after is None)
    if after is not None and found.after is not None:
        assert -1e-9 <= after / 1e6 - found.after <= 2e-5
    claims = claims_of(found)
    if "line" in claims:
        assert line_again(terms, rules, claims["line"])
        narrower = math.floor(1000 * found.line) - 3  # type: ignore[operator]
        assert not line_again(terms, rules, narrower) or sizes.public + sizes.sealed < 2000


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("grouped", [True, False])
@pytest.mark.parametrize("kind", ["noise", "labels", "final"])
def test_each_kind_of_noise_is_computed_again(known: bool, classes: int, grouped: bool, kind: str) -> None:
    """Where noise is all that limits, it is what the second computation finds too."""
    part = BoardPart(
        labels="l", id="i", label="y", classes=list("012"[:classes]), metric="accuracy", group="g" if grouped else ""
    )
    policy = Policy(
        board=part,
        public=PublicPart(flip=0.45 * (kind == "labels")),
        release=ReleasePart(noise=0.05 * (kind == "noise")),
        budget=BudgetPart(per_board=20_000),
        final=FinalPart(scores=300 * (kind == "final"), ranks=5, noise=0.02),
        target=TargetPart(counts_known=known, accept_void=True, perfect=0.8),
    )
    sizes = Sizes(public=9000, sealed=9000)
    if grouped:
        three = Fraction(3000)
        sizes = attrs.evolve(sizes, public_effective=three, sealed_effective=three, largest=3, public_groups=3000)
    metric, bits = metric_named("accuracy", {}, ["0", "1"]), math.inf
    found = certify(terms_of(policy, metric, sizes, bits))
    rules = {"budget": -1, "rule": policy.rule, "per_board": policy.budget.per_board}
    now, after = gains_again(whole_terms(policy, metric, sizes), rules)
    assert -1e-9 <= now / 1e6 - found.now <= 2e-5
    assert after is None or -1e-9 <= after / 1e6 - (found.after or 0) <= 2e-5
    if not grouped and (classes == 2 or not known):
        without = attrs.evolve(policy, public=PublicPart(), release=ReleasePart())
        assert kind == "final" or found.now < certify(terms_of(without, metric, sizes, bits)).now - 0.01


@given(st.integers(1, 10**30), st.integers(1, 10**12))
def test_logarithms_are_bounded_from_both_sides(value: int, more: int) -> None:
    assert log_below(value) <= POWER * math.log2(value) + 2 * POWER * 1e-13 * 100
    assert log_above(value) - log_below(value) <= 2
    assert log_below(value + more) >= log_below(value) - 2


@pytest.mark.parametrize("shift", [1, 2, 17, 1000, 30_000, 10**8])
@pytest.mark.parametrize("variance", [Fraction(25), Fraction(10**6, 7), Fraction(10**8), Fraction(10**15)])
def test_both_sums_over_the_lattice_are_one_number(shift: int, variance: Fraction) -> None:
    first = 1e6 * StepNoise(moved=shift, answers=1, variance=variance).distance()
    assert -0.01 <= lattice_above(shift, variance.numerator, variance.denominator) - first <= 2.2
    if variance == 25 and shift < 100:  # as they stand in the definition
        cells = np.exp(-(np.arange(-400, 401) ** 2) / 50)
        exact = cells[400 - shift // 2 : 401 + (shift - 1) // 2].sum() / cells.sum()
        assert 0 <= first - 1e6 * exact <= 0.01
        assert first == pytest.approx(1e6 * np.maximum(cells - np.roll(cells, shift), 0).sum() / cells.sum(), abs=0.01)


@pytest.mark.parametrize(("count", "labels", "share"), [(13_000, 25_000, (1, 2)), (90, 100, (43, 50)), (5, 5, (1, 3))])
def test_the_tail_is_that_of_the_binomial_law(count: int, labels: int, share: tuple[int, int]) -> None:
    exact = binom.logsf(count - 1, labels, share[0] / share[1]) / math.log(2)
    assert 0 <= tail_above(count, labels, share) / POWER - exact + 1e-7 <= 1e-4


def test_a_policy_that_cannot_be_is_refused() -> None:
    part = BoardPart(labels="l", id="i", label="y", classes=["0", "1"], metric="accuracy")
    for wrong, sentence in (
        ({"public": PublicPart(flip=0.5)}, "leaves nothing of the labels"),
        ({"public": PublicPart(flip=1e-12)}, "nine decimals"),
        ({"release": ReleasePart(show="ranks", noise=0.1)}, "noise is for scores"),
    ):
        with pytest.raises(ValueError, match=sentence):
            Policy(board=part, **wrong)  # type: ignore[arg-type]
    sizes = Sizes(public=100, sealed=100)
    for wrong, sentence in (
        ({"release": ReleasePart(low=1.0)}, "low must be below high"),
        ({"release": ReleasePart(noise=1e300)}, "out of all proportion"),
        ({"release": ReleasePart(noise=1e-300)}, "out of all proportion"),
        ({"release": ReleasePart(show="ranks"), "budget": BudgetPart(per_board=10**6)}, "ranks are for boards of"),
    ):
        with pytest.raises(InputError, match=sentence):
            rules_of(Policy(board=part, **wrong), metric_named("accuracy", {}, ["0", "1"]), sizes)  # type: ignore[arg-type]
