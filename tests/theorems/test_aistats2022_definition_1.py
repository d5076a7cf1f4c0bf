"""S30, AISTATS 2022, Definition 1: Lambda is the least difference of two scores; tau-separable iff Lambda >= tau."""

from __future__ import annotations

from fractions import Fraction

import pytest

from labelinf_papers.certificates.separation import separation as separation_of_gaps
from labelinf_papers.constructions.set_valued import every_value, separation


def weighted(weights: tuple[int, ...]) -> list[int]:
    return every_value(lambda s: sum(w for i, w in enumerate(weights) if s >> i & 1), len(weights))


def test_powers_of_two_are_one_separable_and_no_more() -> None:
    assert separation(weighted((1, 2, 4))) == 1


@pytest.mark.parametrize("weights", [(1, 2, 4), (3, 5, 6, 7), (1, 2, 3), (2, 3, 9, 10, 40)])
def test_the_certificate_of_gaps_is_the_separation_of_their_sums(weights: tuple[int, ...]) -> None:
    assert separation_of_gaps(weights).value == separation(weighted(weights))


def test_a_loss_is_zero_plus_separable_when_all_scores_differ() -> None:
    assert separation(weighted((3, 5, 6, 7))) > 0
    assert separation(weighted((1, 2, 3))) == 0


def test_the_minimum_runs_over_distinct_labellings() -> None:
    """The formula as printed (without "distinct", which the prose has) would always be zero."""
    scores = [Fraction(0), Fraction(1, 3)]
    assert min(abs(a - b) for a in scores for b in scores) == 0
    assert separation(scores) == Fraction(1, 3)
