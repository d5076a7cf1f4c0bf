"""T10: label-DP ceilings to the printed digits, and against every mechanism small enough to enumerate."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import optimize

from labelinf_core.statistics.epsilon_bounds import label_dp_ceiling
from labelinf_privacy.label_noise.resampled_response import effective_epsilon
from labelinf_privacy.randomised_response import keep_probability


@pytest.mark.parametrize(
    ("epsilon", "ceiling"), [(4, 0.98201), (2, 0.88080), (1, 0.73106), (0.8, 0.68997), (0.5, 0.62246), (0.3, 0.57444)]
)
def test_the_ceilings_of_the_published_budgets(epsilon: float, ceiling: float) -> None:
    assert round(label_dp_ceiling(epsilon, 2), 5) == ceiling


@pytest.mark.parametrize(
    ("nominal", "effective"), [(4, 4.70), (2, 2.76), (1, 1.86), (0.8, 1.70), (0.5, 1.46), (0.3, 1.31)]
)
def test_what_budgets_are_worth_when_labels_are_resampled(nominal: float, effective: float) -> None:
    assert round(effective_epsilon(nominal, 2), 2) == effective
    assert round(effective_epsilon(0.3, 2), 5) == 1.30826


@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.3, 0.0), (1.0, 0.0), (1.0, 0.05)])
def test_no_mechanism_beats_the_ceiling_and_one_attains_it(n_classes: int, epsilon: float, delta: float) -> None:
    """A linear program over all mechanisms with K answers: post-processing never helps, so K answers are enough."""
    size = n_classes * n_classes  # x[y, a] = P(answer a | label y)
    gain = np.zeros(size)
    gain[:: n_classes + 1] = -1 / n_classes
    rows, limits = [], []
    for one, other in itertools.permutations(range(n_classes), 2):
        for events in itertools.product((0, 1), repeat=n_classes):
            row = np.zeros(size)
            row[one * n_classes : (one + 1) * n_classes] = events
            row[other * n_classes : (other + 1) * n_classes] = -math.exp(epsilon) * np.array(events)
            rows.append(row)
            limits.append(delta)
    equal = np.kron(np.eye(n_classes), np.ones(n_classes))

    best = optimize.linprog(gain, rows, limits, equal, np.ones(n_classes))

    assert -best.fun == pytest.approx(label_dp_ceiling(epsilon, n_classes, delta), abs=1e-8)


def test_randomised_response_attains_the_ceiling() -> None:
    for epsilon, n_classes in itertools.product((0.1, 1.0, 3.0), (2, 5, 10)):
        assert keep_probability(epsilon, n_classes) == pytest.approx(label_dp_ceiling(epsilon, n_classes), rel=1e-15)
