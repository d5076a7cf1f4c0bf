"""S30, AISTATS 2022, Definition 1: Lambda is the least difference of two scores; tau-separable iff Lambda >= tau."""

from __future__ import annotations

from fractions import Fraction

from labelinf_papers.set_valued import every_value, separation


def weighted(weights: tuple[int, ...]) -> list[int]:
    return every_value(lambda s: sum(w for i, w in enumerate(weights) if s >> i & 1), len(weights))


def test_powers_of_two_are_one_separable_and_no_more() -> None:
    assert separation(weighted((1, 2, 4))) == 1


def test_a_loss_is_zero_plus_separable_when_all_scores_differ() -> None:
    assert separation(weighted((3, 5, 6, 7))) > 0
    assert separation(weighted((1, 2, 3))) == 0


def test_the_minimum_runs_over_distinct_labellings() -> None:
    """The formula as printed (without "distinct", which the prose has) would always be zero."""
    scores = [Fraction(0), Fraction(1, 3)]
    assert min(abs(a - b) for a in scores for b in scores) == 0
    assert separation(scores) == Fraction(1, 3)
