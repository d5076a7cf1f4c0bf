"""Encrypted cuts: gradients of single records come out of mean gradients of the party's own weights (V7)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from labelinf_core.contracts.components import LabelSet
from labelinf_split.attacks.solved import CutParameters, unmixed
from labelinf_split.game.training import SplitNetwork
from labelinf_split.game.view import Side


def of_batch(n: int, inputs: int, hidden: int, width: int, seed: int = 0) -> tuple[Any, Any, Any, Any]:
    """Return features, gradients at the cut, weights and their mean gradient."""
    rng = np.random.default_rng(seed)
    network = SplitNetwork((inputs, *((hidden,) if hidden else ()), width), rng, np.float64)
    x, g = rng.standard_normal((n, inputs)), rng.standard_normal((n, width))
    network.forward(x)
    mean, _ = network.backward(g / n)
    return x, g, *(np.concatenate([part.ravel() for part in parts]) for parts in (network.weights, mean))


@pytest.mark.parametrize(
    ("n", "inputs", "hidden", "width"), [(9, 8, 0, 3), (32, 15, 32, 10), (32, 32, 32, 16), (20, 10, 16, 4)]
)
def test_every_gradient_of_a_batch_comes_out(n: int, inputs: int, hidden: int, width: int) -> None:
    x, g, weights, mean = of_batch(n, inputs, hidden, width)
    found = unmixed(x, weights, mean, hidden, width)
    assert found is not None
    assert np.abs(found[0] - g).max() < 1e-10 * found[1]


def test_units_with_rectified_output_say_less_than_they_seem_to() -> None:
    """15 inputs, 32 units, 16 entries: 1 040 equations of rank 1 008; of two equal records only the sum is seen."""
    x, _, weights, mean = of_batch(9, 8, 0, 3)
    assert unmixed(np.append(x, x[:1], axis=0)[1:], weights, mean, 0, 3) is not None
    x[1] = x[0]
    assert unmixed(x, weights, mean, 0, 3) is None
    x, _, weights, mean = of_batch(63, 15, 32, 16)  # 1 040 equations, 1 008 unknowns, rank 1 008 at most
    x2, _, weights2, mean2 = of_batch(64, 15, 32, 16)  # 1 024 unknowns
    assert unmixed(x2, weights2, mean2, 32, 16) is None
    assert unmixed(of_batch(66, 15, 32, 16)[0], weights, mean, 32, 16) is None


@pytest.mark.parametrize("top", [Side.NONE, Side.LINEAR])
def test_encryption_hides_no_label_below_the_rank(share: Callable[..., float], four: LabelSet, top: Side) -> None:
    settings = {"top": top, "encrypted": True, "epochs": 3, "batch": 16, "width": 4, "precision": "double"}
    assert share(CutParameters(), four, **settings) == 1


def test_above_the_rank_the_attack_solves_nothing(played: Any, two: LabelSet) -> None:
    run, _ = played(two, encrypted=True, batch=160, width=16)
    guess = CutParameters().run(run.view, np.random.default_rng(0))
    assert guess.evidence["solved"] == 0
    assert run.view.gradients is None
