"""The same mechanism gets the same verdict by every road that leads to it."""

from __future__ import annotations

import pytest

import labelinf as li
from labelinf_core.contracts.guarantees import LITTLE, MUCH, left_to_gain

CLIP = "clip(epsilon=0.01)"
SPAN = 4.59511985013459  # of the clipped log-loss, ln 99
N, Q = 200, 20


def left(*defences: str) -> tuple[float, bool]:
    """Return what ceilings leave to gain, and whether any stands."""
    implied = li.bounds(records=N, queries=Q, defences=[CLIP, *defences])
    return left_to_gain(implied.ceilings, implied.baseline), bool(implied.ceilings)


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 5.0])
def test_laplace_noise_on_a_grid_is_certified_by_either_road(epsilon: float) -> None:
    """A budget of epsilon over q answers is noise of scale q L / (N epsilon), whoever computes the scale."""
    scale = Q * SPAN / N / epsilon
    budget, scaled = (
        left(f"laplace-dp(epsilon={epsilon}, queries={Q})"),
        left(f"score-noise(model=grid-laplace(scale={scale}))"),
    )

    assert budget[1]
    assert scaled[1]
    assert budget[0] == pytest.approx(scaled[0], abs=0.02)
    assert _verdict(budget[0]) == _verdict(scaled[0])


@pytest.mark.parametrize("model", ["laplace(scale=0.5)", "gaussian(scale=0.5)"])
def test_the_same_noise_in_floats_is_certified_by_no_road(model: str) -> None:
    assert not left(f"score-noise(model={model})")[1]


def _verdict(share: float) -> str:
    return "held" if share <= LITTLE else "partly" if share <= MUCH else "nothing"
