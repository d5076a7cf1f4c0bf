"""E6: a zero gradient does not tell the label (Wang et al., ICLR 2024, Appendix B.3, first situation)."""

from __future__ import annotations

import numpy as np
import pytest

from labelinf_gradients.game.networks import Layer, Perceptron
from labelinf_gradients.recovery.results import RecoveryStatus
from labelinf_gradients.recovery.solver import recover

NETWORK = Perceptron(layers=(Layer(weights=1000 * np.eye(3)),))


@pytest.mark.parametrize("k", range(3))
@pytest.mark.parametrize("x", ["the class's own input", "zero"])
def test_every_label_can_be_behind_it(k: int, x: str) -> None:
    inputs = np.eye(3)[[k]] if x != "zero" else np.zeros((1, 3))
    gradient = NETWORK.gradients(inputs, np.eye(3)[[k]])["layers.0.weight"]

    assert not gradient.any()
    found = recover(gradient, NETWORK.classifier.weights, family="one-hot")
    assert found.status == (RecoveryStatus.NO_INFORMATION,)
    assert found.hard[0] == -1
