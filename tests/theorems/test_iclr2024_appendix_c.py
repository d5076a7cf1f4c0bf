"""G6: the other losses of Appendix C (Wang et al., ICLR 2024) suit one-hot and mixed labels, not smoothed ones."""

from __future__ import annotations

import attrs
import numpy as np
import pytest

from labelinf_gradients.game.networks import softmax
from labelinf_papers.search.loss import LabelLoss, Objective

SLOPES = np.log([1.0, 2.0, 3.0, 4.0])
SMOOTHED = LabelLoss(
    slopes=SLOPES, ratios=np.array([0, -0.5, 0.2, 0.3]), coefficient=1.0, excluded=1, magnification=1.0
)


@pytest.mark.parametrize("target", [Objective.ZEROS, Objective.NEGATIVES])
@pytest.mark.parametrize("label", [(1.0, 0, 0, 0), (0.25, 0, 0, 0.75)])
def test_both_vanish_at_a_label_whose_other_entries_are_zero(target: Objective, label: tuple[float, ...]) -> None:
    loss = attrs.evolve(SMOOTHED, ratios=softmax(SLOPES) - np.array(label), excluded=2, target=target)

    assert loss.value(np.array([1.0]))[0] == pytest.approx(0, abs=1e-15)


def test_the_mean_square_of_a_smoothed_label_is_smaller_elsewhere() -> None:
    loss = attrs.evolve(SMOOTHED, target=Objective.ZEROS)

    assert loss.value(np.array([1.0]))[0] == pytest.approx(0.01)
    assert loss.value(np.array([15.0]))[0] == pytest.approx(0.00037, abs=5e-6)


def test_the_sum_of_absolute_entries_is_flat_over_the_feasible_interval() -> None:
    loss = attrs.evolve(SMOOTHED, target=Objective.NEGATIVES)

    assert np.abs(loss.value(np.linspace(0.8073, 14.949, 500))).max() < 1e-12
    assert (loss.value(np.array([0.80, 14.96])) > 0).all()
