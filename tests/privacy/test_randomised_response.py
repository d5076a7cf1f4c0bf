"""K-ary randomised response."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
from diffprivlib.mechanisms import Binary

from labelinf_privacy.randomised_response import keep_probability, perturb

SIZE = 60_000


@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_labels_are_kept_as_often_as_stated_and_lost_evenly(n_classes: int) -> None:
    """Chi-square over all (label, answer) pairs; a correct sampler fails with probability 1e-4."""
    rng = np.random.default_rng(1)
    labels = rng.integers(0, n_classes, SIZE)
    moved = (perturb(labels, 1.0, n_classes, rng) - labels) % n_classes
    keep = keep_probability(1.0, n_classes)
    expected = SIZE * np.array([keep] + [(1 - keep) / (n_classes - 1)] * (n_classes - 1))
    assert scipy.stats.chisquare(np.bincount(moved, minlength=n_classes), expected).pvalue > 1e-4


def test_the_ratio_of_any_two_labels_is_e_to_the_epsilon() -> None:
    for epsilon in (0.1, 1.0, 8.0):
        for n_classes in (2, 5):
            keep = keep_probability(epsilon, n_classes)
            assert keep / ((1 - keep) / (n_classes - 1)) == pytest.approx(math.exp(epsilon), rel=1e-9)


def test_two_classes_agree_with_diffprivlib() -> None:
    mechanism = Binary(epsilon=1.0, value0="0", value1="1", random_state=1)
    kept = sum(mechanism.randomise("1") == "1" for _ in range(20_000))
    # Five standard errors.
    assert kept / 20_000 == pytest.approx(keep_probability(1.0, 2), abs=5 * math.sqrt(0.2 / 20_000))


def test_a_huge_epsilon_keeps_everything() -> None:
    labels = np.arange(10) % 3
    assert np.array_equal(perturb(labels, 1000.0, 3, np.random.default_rng(0)), labels)
