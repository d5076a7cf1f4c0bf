"""S50, AISTATS 2022, Theorem 9: a loss of range R separates K**N labellings by at most R / (K**N - 1)."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from labelinf_papers.set_valued import separation
from labelinf_scores.limits import pigeonhole_tau, separation_ceiling, sperner_tau


@pytest.mark.parametrize(("n", "k"), [(1, 2), (3, 2), (2, 3), (3, 3), (2, 5)])
def test_mixed_radix_attains_it(n: int, k: int) -> None:
    labellings = itertools.product(range(k), repeat=n)
    values = [sum(label * k**row for row, label in enumerate(labels)) for labels in labellings]
    assert separation(values) == pytest.approx(separation_ceiling(max(values) - min(values), n, k))


def test_no_values_whatever_beat_it() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        n, k = int(rng.integers(1, 5)), int(rng.integers(2, 4))
        values = rng.uniform(0, 1, k**n).tolist()
        assert separation(values) <= separation_ceiling(max(values) - min(values), n, k) + 1e-12


def test_the_printed_threshold_is_true_but_loose() -> None:
    """Erratum A-13: N = 2, values 0..3: separation 1, printed threshold 3/2."""
    assert separation([0, 1, 2, 3]) == 1
    assert separation_ceiling(3, 2) == pytest.approx(1)
    assert separation_ceiling(3, 2) < 3 / 2


def test_for_two_classes_and_a_clip_the_binomial_bound_is_sharper() -> None:
    for m in range(1, 20):
        assert sperner_tau(m, n_records=50, span=4.6) <= pigeonhole_tau(m, n_records=50, span=4.6) * (1 + 1e-12)


def test_no_overflow_for_many_records() -> None:
    assert separation_ceiling(1.0, 100_000, 10) == 0.0
    assert pigeonhole_tau(1, n_records=7, span=1.0) == pytest.approx(1 / 14)
