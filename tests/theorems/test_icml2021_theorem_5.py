"""S14, ICML 2021, Theorem 5: largest element of a set with distinct subset sums. Open as printed; what is proved."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from labelinf_papers.set_valued import every_value, separation
from labelinf_scores.limits import least_widest_gap, variance_widest_gap

VECTORS = json.loads((Path(__file__).parent / "vectors.json").read_text())


def least_difference(items: tuple[Fraction, ...] | tuple[int, ...]) -> Fraction:
    return Fraction(separation(every_value(lambda s: sum(x for i, x in enumerate(items) if s >> i & 1), len(items))))


@pytest.mark.parametrize(("n", "largest"), [(1, 4), (2, 6), (3, 9), (4, 13), (5, 16)])
def test_both_bounds_hold_for_every_small_set_of_integers(n: int, largest: int) -> None:
    found = 0
    for items in itertools.combinations(range(1, largest + 1), n):
        mu = least_difference(items)
        assert max(items) >= least_widest_gap(n, float(mu))
        assert max(items) >= variance_widest_gap(n, float(mu)) - 1e-12
        found += mu > 0
    assert found


def test_both_bounds_hold_for_rational_sets_of_either_sign() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        n = int(rng.integers(1, 7))
        items = tuple(Fraction(int(a), int(b)) for a, b in rng.integers(1, 200, size=(n, 2)))
        items = tuple(x * int(s) for x, s in zip(items, rng.choice([-1, 1], n), strict=True))
        mu = least_difference(items)
        assert max(map(abs, items)) >= mu * math.comb(n, n // 2)
        assert max(map(abs, items)) ** 2 * 3 * n >= mu**2 * (4**n - 1)


@pytest.mark.parametrize("items", VECTORS["conway_guy"]["sets"].values(), ids=str)
def test_conway_guy_sets_stay_below_the_powers_of_two(items: list[int]) -> None:
    """The constant of the printed bound is at most 0.35 at n = 7: powers of two are not optimal, and how far down
    the constant goes is Erdős's problem."""
    n = len(items)
    assert least_difference(tuple(items)) == 1
    assert least_widest_gap(n) <= max(items) <= 2 ** (n - 1)


def test_the_last_step_of_the_printed_proof_says_nothing_below_one() -> None:
    """Erratum I-10: it passes from lambda to floor(lambda)."""
    assert math.floor(0.5) * 2**10 == 0
    assert least_widest_gap(10, 0.5) == 126


def test_the_worked_number() -> None:
    assert least_widest_gap(4) == 6
    assert variance_widest_gap(4) == pytest.approx(math.sqrt(255 / 12))
