"""G10: the variance loss vanishes at infinity; times the scalar it does not (Wang et al., ICLR 2024, Appendix B.2)."""

from __future__ import annotations

import numpy as np
import pytest

from labelinf_gradients.recovery.patterns import SMOOTHING
from labelinf_gradients.recovery.problem import Problem
from labelinf_papers.search.loss import LabelLoss

COLUMN, SLOPES = np.array([0, -0.5, 0.2, 0.3]), np.log([1.0, 2.0, 3.0, 4.0])


@pytest.mark.parametrize("side", [1, -1])
def test_the_variance_falls_with_the_square_of_the_scalar(side: int) -> None:
    loss = LabelLoss(slopes=SLOPES, ratios=COLUMN, coefficient=1.0, excluded=1, magnification=1.0)

    value = loss.value(side * np.array([1e3, 1e4, 1e5]))

    assert value[:-1] / value[1:] == pytest.approx([100, 100], rel=1e-6)
    assert side < 0 or value[1] == pytest.approx(8.7e-10, rel=0.01)


@pytest.mark.parametrize("side", [1, -1])
def test_what_is_unexplained_of_the_gradient_does_not_vanish(side: int) -> None:
    scales = side * np.array([1e3, 1e4, 1e5])
    misfit = Problem(column=np.tile(COLUMN, (3, 1)), slopes=np.tile(SLOPES, (3, 1))).misfit(scales, SMOOTHING)

    spread = np.abs(scales) * np.sort(misfit.labels, axis=1)[:, :3].std(axis=1)

    assert spread == pytest.approx(np.full(3, spread[0]), rel=1e-6)
    assert spread[0] > 0.1
    assert side < 0 or spread[0] == pytest.approx(0.294, abs=1e-3)
    assert misfit.share.min() > 0.5
