"""The sum over all labellings at once, against sums of single labellings: NumPy's own, and of the 16-bit formats."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelinf_scores.arithmetic.small import BFLOAT16, FLOAT16, SmallFloat
from labelinf_scores.certificates.summation import (
    Spread,
    SpreadSum,
    adds_pairwise,
    pairwise_total,
    to_fixed,
    to_float,
)

BITS = {"float64": 53, "float32": 24}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_numpy_adds_in_the_assumed_order(dtype: str) -> None:
    sizes = [*range(1, 300), 569, 1372, 2201, 6430, 25_000, 70_000]
    assert all(adds_pairwise(dtype, size) for size in sizes)


def test_another_order_is_noticed() -> None:
    terms = np.random.default_rng(0).random(1000)
    assert float(np.cumsum(terms)[-1]) != float(pairwise_total(terms))


def mean_free_rest(costs: np.ndarray, labels: np.ndarray, steps: np.ndarray) -> int:
    """The curator's float sum minus the part that carries labels, exactly."""
    total = np.add.reduce(costs[np.arange(len(costs)), labels])
    return to_fixed(float(total)) - sum(to_fixed(float(step)) for step in steps[labels == 1])


@st.composite
def designs(draw: st.DrawFn) -> tuple[str, np.ndarray, np.ndarray, int]:
    """Rows at random places among neutral ones: float costs near multiples of a unit, and their steps."""
    dtype = draw(st.sampled_from(["float64", "float32"]))
    n = draw(st.sampled_from([1, 5, 9, 40, 128, 130, 300, 700]))
    m = draw(st.integers(1, min(n, 7)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    coarse = draw(st.integers(0, 12))  # the unit, in last places of the sum of the neutral rows
    unit = 2.0 ** (np.frexp(0.7 * n)[1] - BITS[dtype] + coarse - 6)
    steps = np.zeros(n)
    places = rng.permutation(n)[:m]
    steps[places] = unit * 2.0 ** (rng.permutation(m) + draw(st.integers(0, 8)))
    neutral = draw(st.sampled_from([np.log(2), 2.0**-20, 0.7]))
    costs = np.full((n, 2), neutral, dtype=dtype)
    costs[places, 0] = rng.random(m) * 0.1
    costs[places, 1] = (costs[places, 0] + steps[places]) * (1 + rng.uniform(-1, 1, m) * 2.0 ** -(BITS[dtype] - 2))
    return dtype, costs, steps, to_fixed(unit)


def spread_of(costs: np.ndarray, step: float) -> Spread:
    ends = [to_fixed(float(costs[0])), to_fixed(float(costs[1])) - to_fixed(step)]
    return Spread(low=min(ends), high=max(ends), top=to_fixed(step))


@pytest.mark.long
@settings(max_examples=100)
@given(designs())
def test_every_labelling_stays_within_the_spread(design: tuple[str, np.ndarray, np.ndarray, int]) -> None:
    dtype, costs, steps, unit = design
    places = np.flatnonzero(steps)
    terms = {int(i): spread_of(costs[i], steps[i]) for i in places}

    rest = SpreadSum(unit=unit, bits=BITS[dtype]).total(costs[:, 0], terms)

    for bits in itertools.product((0, 1), repeat=len(places)):
        labels = np.zeros(len(costs), dtype=int)
        labels[places] = bits
        assert rest.low <= mean_free_rest(costs, labels, steps) <= rest.high


def test_multiples_of_the_unit_pass_through_the_rounding_untouched() -> None:
    """Sixty neutral rows and four rows of exact multiples: after all roundings the rest is one single number."""
    unit = 2.0**-46
    terms = {i: spread_of(np.array([0.25, 0.25 + unit * 2**i]), unit * 2**i) for i in range(4)}
    base = np.full(64, np.log(2))

    rest = SpreadSum(unit=to_fixed(unit), bits=53).total(base, terms)

    assert rest.width == 0
    assert rest.top == 15 * to_fixed(unit)


@pytest.mark.parametrize("order", ["numpy", "sequential"])
def test_a_sum_of_known_costs_is_one_number_to_which_no_label_adds(order: str) -> None:
    base = np.random.default_rng(3).random(700)
    told = float(np.add.reduce(base)) if order == "numpy" else float(np.cumsum(base)[-1])
    known = to_fixed(told)
    assert SpreadSum(unit=to_fixed(2.0**-60), bits=53, order=order).total(base, {}) == Spread(known, known, 0)


def test_a_tie_that_labels_decide_is_charged_in_full() -> None:
    """n + 1/2 in last places rounds up or down by the parity of n."""
    place = to_fixed(1.0)
    adder = SpreadSum(unit=place, bits=8)
    odd_or_even = Spread(low=128 * place, high=128 * place, top=3 * place)

    rest = adder.add(odd_or_even, Spread(low=place // 2, high=place // 2, top=0))

    assert rest.width == place


def test_a_tie_that_labels_do_not_decide_costs_nothing() -> None:
    place = to_fixed(1.0)
    adder = SpreadSum(unit=2 * place, bits=8)
    even = Spread(low=128 * place, high=128 * place, top=6 * place)

    assert adder.add(even, Spread(low=place // 2, high=place // 2, top=0)).width == 0


def test_what_is_below_the_fixed_point_is_refused() -> None:
    with pytest.raises(ValueError, match=r"must be a multiple of 2\*\*-320"):
        to_fixed(2.0**-321)
    assert to_float(to_fixed(0.1)) == 0.1


@pytest.mark.parametrize("numbers", [FLOAT16, BFLOAT16], ids=str)
@settings(max_examples=60)
@given(
    n=st.sampled_from([1, 7, 30, 90]),
    m=st.integers(1, 5),
    coarse=st.integers(-2, 4),
    neutral=st.sampled_from([0.6931, 0.001, 2.3]),
    seed=st.integers(0, 2**32 - 1),
)
def test_sixteen_bit_sums_from_first_to_last(
    numbers: SmallFloat, n: int, m: int, coarse: int, neutral: float, seed: int
) -> None:
    """Every labelling, added up by the format itself; the unit from a quarter to 16 last places of the whole sum."""
    rng, m = np.random.default_rng(seed), min(n, m)
    unit = 2.0 ** (np.frexp(neutral * n)[1] - numbers.digits + coarse)
    places, steps = rng.permutation(n)[:m], unit * 2.0 ** rng.permutation(m)
    costs = np.array([[float(x) for x in numbers.convert([neutral])] * 2] * n)
    lower = rng.random(m) * 0.1
    costs[places] = numbers.convert(np.stack([lower, (lower + steps) * (1 + rng.uniform(-1, 1, m) / 64)], 1)).astype(
        float
    )
    terms = {int(i): spread_of(costs[i], step) for i, step in zip(places, steps, strict=True)}

    rest = SpreadSum(unit=to_fixed(unit), bits=numbers.digits, order="sequential").total(costs[:, 0], terms)

    for bits in itertools.product((0, 1), repeat=m):
        labels = np.zeros(n, dtype=int)
        labels[places] = bits
        total = numbers.total(numbers.convert(costs[np.arange(n), labels]))
        carried = sum(to_fixed(float(step)) for bit, step in zip(bits, steps, strict=True) if bit)
        assert rest.low <= to_fixed(float(total)) - carried <= rest.high


def test_an_order_that_is_not_known_is_refused() -> None:
    with pytest.raises(ValueError, match="'order' must be in"):
        SpreadSum(unit=1, bits=53, order="unknown")
