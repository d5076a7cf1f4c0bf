"""S31, AISTATS 2022, Definition 2: tau-robust inference under *open* noise, ``|noise| < tau``."""

from __future__ import annotations

from fractions import Fraction

import pytest

from labelinf_scores.decoders.exhaustive import nearest_labelling
from labelinf_scores.limits import is_robust

TAU = Fraction(1)


@pytest.mark.parametrize("noise", [Fraction(-99, 100), Fraction(0), Fraction(99, 100)])
@pytest.mark.parametrize("label", [0, 1])
def test_open_noise_below_half_the_separation_is_decoded(noise: Fraction, label: int) -> None:
    assert is_robust(2, 1, closed=False)
    assert nearest_labelling([Fraction(2)], 2 * label + noise * TAU).tolist() == [label]


def test_noise_of_exactly_tau_is_not_part_of_the_definition() -> None:
    """Scores 0 and 2 with noise 1: the answer 1 belongs to both."""
    assert 0 + TAU == 2 - TAU
    assert not is_robust(2, 1, closed=True)
