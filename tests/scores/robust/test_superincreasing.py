"""The greedy decoder against all labellings, exactly, up to the margin it promises."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelinf_scores.decoders.exhaustive import nearest_labelling
from labelinf_scores.decoders.superincreasing import greedy_decode, margin

ALMOST = Fraction(10**9 - 1, 10**9)


@st.composite
def superincreasing_rows(draw: st.DrawFn) -> list[list[Fraction]]:
    """Rows of two to four labels in any order, spaced wider than everything before them."""
    rows: list[list[Fraction]] = []
    below = Fraction(0)
    for _ in range(draw(st.integers(1, 4))):
        spacings = draw(st.lists(st.integers(1, 5), min_size=1, max_size=3))
        levels = list(itertools.accumulate((below + extra for extra in spacings), initial=Fraction(0)))
        shift = draw(st.integers(-20, 20))
        rows.append([level + shift for level in draw(st.permutations(levels))])
        below += levels[-1]
    return rows


@pytest.mark.long
@settings(max_examples=80)
@given(superincreasing_rows(), st.sampled_from([-1, 1]))
def test_it_is_right_for_every_labelling_up_to_its_margin(rows: list[list[Fraction]], side: int) -> None:
    room = margin(rows)
    assert room > 0
    for labels in itertools.product(*(range(len(row)) for row in rows)):
        total = sum(row[k] for row, k in zip(rows, labels, strict=True))
        assert greedy_decode(rows, total + side * room * ALMOST) == list(labels)


def test_the_margin_of_binary_gaps_is_half_the_separation() -> None:
    assert margin([[0, 1], [0, 2], [0, 4]]) == Fraction(1, 2)
    assert margin([[0, -1], [0, 2]]) == Fraction(1, 2)


def test_gaps_that_do_not_grow_fast_enough_have_no_margin() -> None:
    assert margin([[0, 3], [0, 3]]) == 0
    assert margin([[0, 5], [0, 3]]) < 0


def test_it_agrees_with_the_search_of_all_labellings() -> None:
    rng = np.random.default_rng(0)
    gaps = 2.0 ** np.arange(8)
    for _ in range(200):
        total = float(rng.uniform(-3, 260))
        nearest = nearest_labelling(gaps, total)
        greedy = greedy_decode([[0.0, gap] for gap in gaps], total)
        assert abs(gaps @ greedy - total) == pytest.approx(abs(gaps @ nearest - total))


def test_no_rows_have_no_margin() -> None:
    with pytest.raises(ValueError, match="at least one row"):
        margin([])
    assert greedy_decode([], 1.0) == []
