"""Who is attacked in the reproductions: real digits, and a network trained on the other half of them."""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_data.bundled import load_bunch
from labelinf_gradients.game.clients import train
from labelinf_gradients.game.networks import Perceptron

__all__ = ["SIZES", "Victims", "fully_connected", "halves"]

SIZES = (64, 256, 128, 64, 10)  #: widths of the network's layers


@attrs.frozen(kw_only=True, eq=False)
class Victims:
    """Samples whose gradients are released.

    Attributes:
        inputs: Shape ``(n, d)``, in [0, 1].
        labels: Soft labels, shape ``(n, C)``.
    """

    inputs: NDArray[np.float64]
    labels: NDArray[np.float64]

    @classmethod
    def draw(cls, n: int, family: str, *, seed: int = 1) -> Victims:
        """Draw digits that no network here was trained on; smoothing factors from U(0, .5), weights from U(0, 1)."""
        x, classes = halves()[1]
        rng = np.random.default_rng(seed)
        rows = rng.permutation(len(x))[:n]
        x, y = x[rows], np.eye(SIZES[-1])[classes[rows]]
        if family == "smoothing":
            factor = rng.uniform(0, 0.5, (n, 1))
            y = (1 - factor) * y + factor / y.shape[1]
        elif family == "mixup":
            weight, other = rng.uniform(0, 1, (n, 1)), np.roll(np.arange(n), 1)
            x, y = weight * x + (1 - weight) * x[other], weight * y + (1 - weight) * y[other]
        return cls(inputs=x, labels=y)


def fully_connected(epochs: int) -> Perceptron:
    """Return the network after some epochs on one half of the digits."""
    x, classes = halves()[0]
    rng = np.random.default_rng(0)
    start = Perceptron.random(SIZES, rng, bias=False)
    return train(start, x, np.eye(SIZES[-1])[classes], epochs=epochs, rng=rng)


def halves() -> tuple[tuple[NDArray[np.float64], NDArray[np.intp]], tuple[NDArray[np.float64], NDArray[np.intp]]]:
    """Return the digits for training and those that are attacked, inputs and classes each."""
    data = load_bunch("digits")
    order = np.random.default_rng(0).permutation(len(data.target))
    half = len(order) // 2
    one, other = order[:half], order[half:]
    return (data.data[one] / 16, data.target[one]), (data.data[other] / 16, data.target[other])
