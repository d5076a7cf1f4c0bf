"""G5: the variance of the entries outside S vanishes at the truth (Wang et al., ICLR 2024, equation 5)."""

from __future__ import annotations

import numpy as np
import pytest

from labelinf_gradients.game.networks import softmax
from labelinf_papers.search.loss import LabelLoss


def loss_of(slopes: np.ndarray, label: np.ndarray, excluded: int) -> LabelLoss:
    """In units of the feature's norm: the scalar is t, true at 1."""
    return LabelLoss(slopes=slopes, ratios=softmax(slopes) - label, coefficient=1.0, excluded=excluded)


def test_the_worked_example() -> None:
    slopes, label = np.log([1.0, 2.0, 3.0, 4.0]), np.array([0.1, 0.7, 0.1, 0.1])
    loss = loss_of(slopes, label, 1)

    assert loss.ratios == pytest.approx([0, -0.5, 0.2, 0.3], abs=1e-15)
    assert loss.value(np.array([1.0]))[0] < 1e-28
    grid = np.r_[np.linspace(0.5, 0.98, 200), np.linspace(1.02, 14, 2000)]
    assert loss.value(grid).min() > 1e-2


@pytest.mark.parametrize(("family", "excluded"), [("smoothing", 1), ("mixup", 2)])
def test_it_vanishes_for_every_label_of_the_family_and_size_of_s_matters(family: str, excluded: int) -> None:
    rng = np.random.default_rng(0)
    values, wrong = [], []
    for _ in range(200):
        label, weight = np.full(8, 0.0), rng.uniform(0.2, 0.45)
        first, second = rng.permutation(8)[:2]
        label[first], label[second] = 1 - weight, weight
        if family == "smoothing":
            label = (1 - weight) * np.eye(8)[first] + weight / 8
        slopes = rng.normal(size=8)
        values.append(loss_of(slopes, label, excluded).value(np.array([1.0]))[0])
        wrong.append(loss_of(slopes, label, 1).value(np.array([1.0]))[0])
    assert max(values) < 1e-25
    assert (min(wrong) > 1) == (family == "mixup")
