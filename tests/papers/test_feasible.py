"""The interval of scales that give a label without negative entries, against a scan."""

from __future__ import annotations

import numpy as np
import pytest

from labelinf_gradients.game.networks import softmax
from labelinf_papers.search.feasible import feasible_interval


@pytest.mark.parametrize("with_bias", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_the_ends_are_where_the_first_entry_turns_negative(seed: int, with_bias: bool) -> None:
    rng = np.random.default_rng(seed)
    slopes, label = rng.normal(size=6), rng.dirichlet(np.ones(6))
    bias = rng.normal(size=6) if with_bias else None
    shift = np.zeros(6) if bias is None else bias
    column = 2.0 * (softmax(2.0 * slopes + shift) - label)

    low, high = (ends[0] for ends in feasible_interval(column[None], slopes[None], bias))

    grid = np.geomspace(1e-3, 1e4, 20001)
    inside = (softmax(grid[:, None] * slopes + shift) - column / grid[:, None]).min(axis=1) >= 0
    assert low <= 2.0 <= high
    assert grid[inside].min() == pytest.approx(low, rel=2e-3)
    assert grid[inside].max() == pytest.approx(min(high, 1e4), rel=2e-3)
    assert np.ptp(np.flatnonzero(inside)) + 1 == inside.sum()


def test_no_scale_is_feasible_where_entries_exclude_one_another() -> None:
    low, high = feasible_interval(np.array([[5.0, 5.0, -10.0]]), np.array([[10.0, -10.0, 0.0]]))

    assert np.isnan(low[0])
    assert np.isnan(high[0])
