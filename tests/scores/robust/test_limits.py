"""Negative results as numbers: the worked values, brute force at small sizes, and what they forbid."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest

from labelinf_scores import limits
from labelinf_scores.bounds.worst_case import hideable, hiding_noise

VECTORS = json.loads((Path(__file__).parents[2] / "theorems" / "vectors.json").read_text())


@pytest.mark.parametrize("name", VECTORS["pigeonhole_tau_all"])
def test_worked_numbers_of_all_labels_in_one_query(name: str) -> None:
    n, span = (float(part.split("=")[1]) for part in name.split(","))
    worked = VECTORS["pigeonhole_tau_all"][name]
    assert limits.sperner_tau(int(n), n_records=int(n), span=span) == pytest.approx(worked["sufficient"], rel=1e-9)
    assert span / (n * 2**n) == pytest.approx(worked["necessary_pow2"], rel=1e-9)


def test_worked_numbers_of_a_single_label() -> None:
    span = 36.04365338911715
    for n, tau in ((306, 0.0589), (2201, 0.00819), (25_000, 0.000721), (70_000, 0.000257)):
        assert hiding_noise(span, n, 1) == pytest.approx(tau, rel=2e-3)


def test_no_real_weights_beat_the_binomial_bound() -> None:
    rng = np.random.default_rng(0)
    for _ in range(300):
        weights = rng.uniform(0, 1, int(rng.integers(1, 7)))
        sums = sorted(float(weights @ bits) for bits in itertools.product((0, 1), repeat=len(weights)))
        apart = min(high - low for low, high in itertools.pairwise(sums))
        assert limits.least_widest_gap(len(weights), apart) <= weights.max() + 1e-12
        assert limits.variance_widest_gap(len(weights), apart) <= weights.max() + 1e-12


def test_hidden_labels_can_indeed_be_averaged_out() -> None:
    """N = 10, tau = 3.2 L / 2N: the mean of both labels of three records is never off by more than tau."""
    n, span = 10, 4.0
    tau = 3.2 * span / (2 * n)
    hidden = hideable(span, n, tau)
    assert hidden == 3
    assert hidden * (span / 2) / n <= tau < (hidden + 1) * (span / 2) / n
    assert hideable(span, n, 1e9) == n


@pytest.mark.parametrize(("bits", "labels"), [(53, 53), (24, 24), (11, 11), (8, 8), (2, 2)])
def test_a_floating_point_answer_tells_no_more_labels_than_it_has_bits(bits: int, labels: int) -> None:
    assert limits.labels_in_one_answer(bits) == labels


def test_a_tiny_float_format_cannot_tell_one_label_more() -> None:
    """p = 3 significant bits: no four gaps in half steps give sixteen different answers."""
    numbers = sorted(m * 2.0**e for e in range(-6, 8) for m in (4, 5, 6, 7))

    def read(total: float) -> float:
        return min(numbers, key=lambda x: abs(x - total))

    for gaps in itertools.combinations_with_replacement(np.arange(1, 9) / 2, 4):
        for base in (0.0, 1.0, 3.5):
            sums = {read(base + float(np.dot(gaps, bits))) for bits in itertools.product((0, 1), repeat=4)}
            assert len(sums) < 16 == 2 ** (limits.labels_in_one_answer(3) + 1)


def test_the_entropy_of_a_rounded_answer_stays_below_its_bound() -> None:
    """All labellings of 12 records with gaps of full span, every step size: brute force."""
    n, span = 12, 4.0
    counts = np.array([math.comb(n, k) for k in range(n + 1)], dtype=float) / 2**n
    for step in (0.001, 0.05, 0.3, 1.0):
        answers = np.round(span * np.arange(n + 1) / n / step)
        shares = np.array([counts[answers == value].sum() for value in np.unique(answers)])
        entropy = -float(shares @ np.log2(shares))
        assert entropy <= limits.answer_entropy(n_records=n, span=span, step=step)
    assert limits.answer_entropy(n_records=1000, span=1.0, step=0.001) < math.log2(1.0 / 0.001 + 2)
