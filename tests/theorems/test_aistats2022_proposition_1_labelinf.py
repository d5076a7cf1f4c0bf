"""S32, AISTATS 2022, Proposition 1, LabelInf: robust to open noise iff Lambda >= 2 tau, by the nearest labelling."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from labelinf_papers.set_valued import separation
from labelinf_scores.decoders.exhaustive import nearest_labelling
from labelinf_scores.decoders.meet_in_the_middle import nearest_labelling as nearest_by_halves
from labelinf_scores.limits import is_robust

ALMOST = Fraction(999, 1000)


def sums(costs: list[list[Fraction]]) -> dict[tuple[int, ...], Fraction]:
    labellings = itertools.product(*(range(len(row)) for row in costs))
    return {x: sum(row[k] for row, k in zip(costs, x, strict=True)) for x in labellings}


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_nearest_labelling_is_right_exactly_up_to_half_the_separation(n_classes: int) -> None:
    rng = np.random.default_rng(n_classes)
    for _ in range(40):
        n = int(rng.integers(1, 4))
        costs = [[Fraction(int(x)) for x in row] for row in rng.integers(0, 60, size=(n, n_classes))]
        totals = sums(costs)
        tau = separation(list(totals.values())) / 2
        if not tau:
            continue
        assert is_robust(2 * tau, tau, closed=False)
        table = np.array(costs, dtype=object)
        for labels, total in totals.items():
            for noise in (-tau * ALMOST, tau * ALMOST):
                assert tuple(nearest_labelling(table, total + noise)) == labels
                assert tuple(nearest_by_halves(table, total + noise)) == labels


def test_below_two_tau_one_answer_fits_two_labellings() -> None:
    totals = sorted(sums([[Fraction(0), Fraction(3)], [Fraction(0), Fraction(5)]]).values())
    tau = Fraction(101, 100)
    assert not is_robust(separation(totals), tau, closed=False)
    assert any(other - one < 2 * tau for one, other in itertools.pairwise(totals))
