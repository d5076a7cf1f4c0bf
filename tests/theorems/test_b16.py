"""E16: success above one half does not show that randomised response fails (Khan et al., BLIA, 2025, section 3.3).

The paper: "Even with Label DP, a success ratio above 50% conclusively demonstrates label memorization, as the
privacy-preserving mechanism fails to prevent memorization of random labels."
"""

from __future__ import annotations

import numpy as np
import pytest

from labelinf_core.auditing import label_dp_ceiling
from labelinf_privacy.randomised_response import perturb


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.0])
def test_a_mechanism_that_works_as_specified_lets_an_attack_reach_its_ceiling(epsilon: float) -> None:
    """The attack that guesses the response: 50 000 labels lie within 5 standard deviations of the ceiling."""
    labels = np.random.default_rng(0).integers(0, 2, 50_000)
    responses = perturb(labels, epsilon, 2, np.random.default_rng(1))
    ceiling = label_dp_ceiling(epsilon, 2)

    success = float((responses == labels).mean())

    assert success > 0.5
    assert abs(success - ceiling) < 5 * np.sqrt(ceiling * (1 - ceiling) / labels.size)


def test_the_label_that_was_trained_on_and_the_one_that_is_protected_are_two_questions() -> None:
    labels = np.random.default_rng(2).integers(0, 2, 10_000)
    trained = perturb(labels, 0.3, 2, np.random.default_rng(3))
    remembered = trained  # by a model that memorises everything

    assert (remembered == trained).all()
    assert (remembered == labels).mean() < 0.61
