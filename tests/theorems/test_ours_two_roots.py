"""G11, G13: strictly concave logarithms have at most two roots a side; entries outside S keep the slopes' order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelinf_gradients.game.networks import softmax
from labelinf_gradients.recovery.equations import Equations, roots

GRID = np.geomspace(1e-3, 1e3, 4001)


def left_sides(slopes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """log(tau p_i), and log(tau (p_i - p_j)) for the first two classes in the order of slopes, on a uniform grid."""
    tau = np.linspace(0.05, 30, 3001)
    p = softmax(tau[:, None] * slopes)
    high, low = np.argsort(slopes)[[-2, 0]]
    return np.log(tau * p[:, low]), np.log(tau * (p[:, high] - p[:, low]))


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32 - 1), n_classes=st.integers(3, 12))
def test_both_left_sides_are_strictly_concave(seed: int, n_classes: int) -> None:
    slopes = np.random.default_rng(seed).normal(size=n_classes)

    for side in left_sides(slopes):
        assert np.diff(side, 2).max() < 1e-12


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32 - 1), n_classes=st.integers(2, 9), pair=st.booleans())
def test_all_roots_are_found_and_there_are_at_most_two(seed: int, n_classes: int, pair: bool) -> None:
    rng = np.random.default_rng(seed)
    slopes = rng.normal(size=n_classes)
    order = np.argsort(slopes)
    first, second = order[-1 if pair else 0], order[0]
    tau = rng.uniform(0.2, 8)
    p = softmax(tau * slopes)
    level = tau * (p[first] - p[second]) if pair else tau * p[first]
    equations = Equations(
        slopes=slopes[None],
        offsets=None,
        first=np.array([first]),
        second=np.array([second]) if pair else None,
        level=np.array([level]),
    )

    low, high = roots(equations)

    q = softmax(GRID[:, None] * slopes)
    side = GRID * (q[:, first] - q[:, second] if pair else q[:, first]) - level
    crossings = GRID[:-1][np.diff(np.sign(side)) != 0]
    assert len(crossings) <= (1 if pair else 2)  # the pair's first class has the largest slope: increasing
    found = np.array([low[0], high[0]])
    assert np.nanmin(np.abs(found - tau)) < 1e-5 * tau
    for crossing in crossings:
        assert np.nanmin(np.abs(found - crossing)) < 4e-3 * crossing


def test_the_worked_roots() -> None:
    for sign in (1.0, -1.0):
        slopes = sign * np.log([[1.0, 3.0]])
        # a_0 = 1/4 for t > 0; for t < 0, a_1 = -1/4 and the slopes turn round.
        first = 0 if sign > 0 else 1
        equation = Equations(slopes=slopes, offsets=None, first=np.array([first]), second=None, level=np.array([0.25]))
        low, high = roots(equation)
        assert (low[0], high[0]) == pytest.approx((1, 1.341822454747), abs=1e-9)


def test_entries_outside_s_are_ordered_as_the_slopes_for_both_signs() -> None:
    rng = np.random.default_rng(0)
    for _ in range(300):
        slopes, scale = rng.normal(size=7), rng.uniform(0.2, 5) * rng.choice([-1, 1])
        factor, k = rng.uniform(0.01, 0.5), rng.integers(7)
        label = (1 - factor) * np.eye(7)[k] + factor / 7
        column = scale * (softmax(scale * slopes) - label)
        others = np.delete(np.arange(7), k)
        assert (np.argsort(column[others]) == np.argsort(slopes[others])).all()
