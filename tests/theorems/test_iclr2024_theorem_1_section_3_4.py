"""G7: every pseudo label sums to one (Wang et al., ICLR 2024, Theorem 1)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelinf_gradients.game.networks import softmax
from labelinf_gradients.recovery.problem import Problem


def test_the_worked_example() -> None:
    problem = Problem(column=np.array([[0, -0.5, 0.2, 0.3]]), slopes=np.log([[1.0, 2.0, 3.0, 4.0]]))

    assert problem.labels(np.array([2.0]))[0] * 30 == pytest.approx([1, 11.5, 6, 11.5], abs=1e-12)


@given(
    seed=st.integers(0, 2**32 - 1),
    n_classes=st.integers(2, 12),
    scale=st.floats(0.05, 100).flatmap(lambda t: st.sampled_from([t, -t])),
)
def test_for_any_scalar_and_label_that_sums_to_one(seed: int, n_classes: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    slopes = rng.normal(size=(1, n_classes))
    column = softmax(slopes) - rng.dirichlet(np.ones(n_classes))

    assert Problem(column=column, slopes=slopes).labels(np.array([scale])).sum() == pytest.approx(1, abs=1e-12)
