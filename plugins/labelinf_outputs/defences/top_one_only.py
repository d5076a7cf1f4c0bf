"""Shows the predicted class only. Certificate: none."""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_outputs.game.output import OutputDefence, Outputs, OutputThreat
from labelinf_outputs.game.training import one_hot

__all__ = ["TopOneOnly"]


@attrs.frozen(kw_only=True)
class TopOneOnly(OutputDefence):
    """Releases one-hot rows."""

    def release(self, probabilities: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
        """Keep the top class."""
        return one_hot(np.asarray(probabilities.argmax(axis=1)), probabilities.shape[1])

    def effect(self, threat: OutputThreat) -> OutputThreat:
        """The adversary knows it."""
        return attrs.evolve(threat, view=attrs.evolve(threat.view, outputs=Outputs.TOP_ONE))
