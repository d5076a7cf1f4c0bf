"""The exhaustive decoder and the one that meets in the middle, against a plain search."""

from __future__ import annotations

import itertools
import time
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelinf_scores.decoders import exhaustive, meet_in_the_middle
from labelinf_scores.decoders.meet_in_the_middle import SumTable

DECODERS = [exhaustive.nearest_labelling, meet_in_the_middle.nearest_labelling]
decoders = pytest.mark.parametrize("decode", DECODERS, ids=["exhaustive", "meet in the middle"])


def distance(costs: list[list[int]], labels: object, target: Fraction) -> Fraction:
    chosen = (row[k] for row, k in zip(costs, labels, strict=True))  # type: ignore[call-overload]
    return abs(sum(chosen, Fraction(0)) - target)


@pytest.mark.long
@decoders
@settings(max_examples=40)
@given(
    st.integers(1, 5).flatmap(lambda n: st.lists(st.lists(st.integers(-50, 50), min_size=3, max_size=3), min_size=n)),
    st.fractions(-200, 200, max_denominator=7),
)
def test_no_labelling_of_three_classes_is_nearer(decode: object, costs: list[list[int]], target: Fraction) -> None:
    costs = costs[:6]
    exact = np.array([[Fraction(cost) for cost in row] for row in costs], dtype=object)

    found = decode(exact, target)  # type: ignore[operator]

    best = min(distance(costs, each, target) for each in itertools.product(range(3), repeat=len(costs)))
    assert distance(costs, found, target) == best


@decoders
def test_twenty_labels_are_found_in_under_a_second(decode: object) -> None:
    rng = np.random.default_rng(0)
    gaps, labels = rng.random(20), rng.integers(0, 2, 20)
    start = time.process_time()

    found = decode(gaps, gaps @ labels + 1e-10)  # type: ignore[operator]

    assert time.process_time() - start < 1.0
    assert np.array_equal(found, labels)


def test_forty_labels_are_found_by_halves() -> None:
    rng = np.random.default_rng(1)
    gaps = np.array([3**i for i in range(30)] + [int(x) for x in rng.integers(2**50, 2**52, 10)])
    labels = rng.integers(0, 2, 40)
    assert int(gaps @ meet_in_the_middle.nearest_labelling(gaps, int(gaps @ labels))) == int(gaps @ labels)


def test_big_integers_are_exact() -> None:
    gaps = np.array([2**200 + 1, 2**200, 1], dtype=object)
    for decode in DECODERS:
        assert decode(gaps, 2**200).tolist() == [0, 1, 0]


def test_a_table_answers_many_targets_at_once() -> None:
    table = SumTable.of([3, 5, 6, 7])
    assert table.decode(np.array([14.2, 0.0, 99.0])).tolist() == [[1, 1, 1, 0], [0, 0, 0, 0], [1, 1, 1, 1]]


def test_one_row_and_no_row_are_served() -> None:
    assert meet_in_the_middle.nearest_labelling([2.0], 1.5).tolist() == [1]
    assert SumTable.of(np.zeros((0, 2))).nearest(np.array([3.0])).tolist() == [0]


def test_tables_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match=r"2\*\*40 labellings must be at most"):
        exhaustive.nearest_labelling(np.ones(40), 3)
    with pytest.raises(ValueError, match="expected"):
        exhaustive.as_costs(np.ones((2, 2, 2)))
