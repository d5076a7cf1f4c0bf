"""What a client can have computed, in NumPy, so that what it sent can be compared: a gradient, or local training."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_gradients.game.networks import Network

__all__ = ["Optimiser", "Training", "flat", "gradient"]

Named = Mapping[str, NDArray[Any]]
_HEAVY, _SECOND, _TINY, _DECAY = 0.9, 0.999, 1e-8, 0.01  # momentum, Adam's second moment, its epsilon, AdamW's decay


class Optimiser(enum.Enum):
    """Local optimisers, at their usual constants."""

    SGD = "SGD"
    MOMENTUM = "SGD with momentum 0.9"
    NESTEROV = "SGD with Nesterov's momentum 0.9"
    ADAM = "Adam"
    ADAMW = "AdamW"

    @property
    def adaptive(self) -> bool:
        """Whether the length of its steps is not that of the gradients."""
        return self in (Optimiser.ADAM, Optimiser.ADAMW)


def flat(parts: Named) -> NDArray[np.float64]:
    """Return all entries in one row."""
    return np.concatenate([np.asarray(part, dtype=np.float64).ravel() for part in parts.values()])


def gradient(
    network: Network, x: NDArray[Any], labels: NDArray[np.float64], like: tuple[str, ...]
) -> NDArray[np.float64]:
    """Return the mean gradient of some records with soft labels, of the parameters ``like``."""
    found = network.mean_gradient(x, labels)
    return flat({name: found[name] for name in like})


@attrs.frozen(kw_only=True)
class Training:
    """Steps on one batch.

    Attributes:
        optimiser: What takes them.
        steps: How many.
        rate: Their length.
        decay: Share of the parameters that is added to every gradient.
    """

    optimiser: Optimiser
    steps: int
    rate: float
    decay: float = 0.0

    def moved(
        self, network: Network, x: NDArray[Any], labels: NDArray[np.float64], like: tuple[str, ...]
    ) -> NDArray[np.float64]:
        """Return what the parameters ``like`` move by."""
        start = network.parameters
        now, first = dict(start), {name: np.zeros_like(part) for name, part in start.items()}
        second = dict(first)
        for number in range(1, self.steps + 1):
            for name, slope in network.mean_gradient(x, labels, now).items():
                slope = slope + self.decay * now[name] if self.decay else slope
                if self.optimiser.adaptive:
                    first[name] = _HEAVY * first[name] + (1 - _HEAVY) * slope
                    second[name] = _SECOND * second[name] + (1 - _SECOND) * slope**2
                    size = np.sqrt(second[name] / (1 - _SECOND**number)) + _TINY
                    step = first[name] / (1 - _HEAVY**number) / size
                    step = step + _DECAY * now[name] if self.optimiser is Optimiser.ADAMW else step
                else:
                    step = first[name] = _HEAVY * first[name] + slope if self.optimiser is not Optimiser.SGD else slope
                    step = slope + _HEAVY * step if self.optimiser is Optimiser.NESTEROV else step
                now[name] = now[name] - (self.rate * step).astype(now[name].dtype)
        return flat({name: now[name].astype(np.float64) - start[name] for name in like})

    @property
    def reach(self) -> float:
        """How many gradients, or steps of an adaptive optimiser, such steps add up to."""
        if self.optimiser in (Optimiser.MOMENTUM, Optimiser.NESTEROV):
            late = 1 if self.optimiser is Optimiser.NESTEROV else 0
            return sum((1 - _HEAVY ** (n + 1 + late)) / (1 - _HEAVY) for n in range(self.steps))
        return float(self.steps)
