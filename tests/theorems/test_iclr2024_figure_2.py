"""G8, G14: a range of scalars gives valid labels (Wang et al., ICLR 2024, Figure 2): one interval on a half line."""

from __future__ import annotations

import numpy as np
import pytest

from labelinf_gradients.recovery.problem import Problem
from labelinf_papers.search.feasible import feasible_interval

COLUMN, SLOPES = np.array([[0, -0.5, 0.2, 0.3]]), np.log([[1.0, 2.0, 3.0, 4.0]])


def test_the_worked_interval_and_its_ends_are_labels_with_a_zero() -> None:
    low, high = (ends[0] for ends in feasible_interval(COLUMN, SLOPES))

    assert (low, high) == pytest.approx((0.807244920, 14.949101334), abs=1e-8)
    for end in (low, high):
        assert Problem(column=COLUMN, slopes=SLOPES).labels(np.array([end])).min() == pytest.approx(0, abs=1e-9)
    assert np.isnan(feasible_interval(-COLUMN, -SLOPES)[0][0])


def test_all_of_them_give_the_same_gradient() -> None:
    problem = Problem(column=COLUMN, slopes=SLOPES)
    for scale in (0.9, 1.0, 3.0, 14.0):
        label = problem.labels(np.array([scale]))
        assert label.min() >= 0
        assert scale * (problem.probabilities(np.array([scale])) - label) == pytest.approx(COLUMN, abs=1e-12)
