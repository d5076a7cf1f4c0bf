"""Shows the predicted class only. Certificate: none."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.effects import Effect
from labelinf_core.contracts.threat import ThreatModel
from labelinf_outputs.game.effects import TopOne
from labelinf_outputs.game.output import OutputDefence
from labelinf_outputs.game.training import one_hot

__all__ = ["TopOneOnly"]


@attrs.frozen(kw_only=True)
class TopOneOnly(OutputDefence):
    """Releases one-hot rows."""

    def release(self, probabilities: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
        """Keep the top class."""
        return one_hot(np.asarray(probabilities.argmax(axis=1)), probabilities.shape[1])

    def effects(self, threat: ThreatModel) -> tuple[Effect[Any], ...]:
        """The adversary knows it."""
        return (TopOne(),)
