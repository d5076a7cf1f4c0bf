"""Networks no steeper than honest ones: what a board that looks at submitted models lets through.

A detector that sees the features refuses a network whose outputs jump between neighbours, and every network that names
records jumps. None of that is needed: a small network with random weights is as smooth as one likes, its outputs on
records whose features are public are known to whoever sends it, and every score is one linear equation in the labels
(:mod:`labelinf_scores.attacks.camouflage`). As many gentle networks as there are labels determine them all, if the
scores are exact; the smoother they must be, the more alike the equations, and the sooner rounding hides the rest.

Nothing is promised.

Example::

    labelinf attack gentle-networks --labels breast-cancer --channel 'score(model=rows)' --defence refuse-constructions
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np
from scipy.special import expit

from labelinf_scores.attacks.camouflage import Camouflage
from labelinf_scores.detector import detector
from labelinf_scores.game.models import Run
from labelinf_scores.game.networks import ModelActivation, ModelLayer, MutNet

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from labelinf_scores.detector import Neighbours
    from labelinf_scores.game.oracle import ScoreOracle
    from labelinf_scores.game.scoring import Answer
    from labelinf_scores.game.threat import ScoreThreat

__all__ = ["GentleNetworks"]

_WIDEST = 30.0  # logits beyond are clipped by most boards


@attrs.frozen(kw_only=True)
class GentleNetworks(Camouflage):
    """Submits random networks with one hidden layer, and solves for the labels.

    Attributes:
        spread: Standard deviation of the outputs' logits, where they may be so steep.
        queries_per_label: Queries per unknown when the budget is unlimited, at least 1.
        units: Hidden units; more make networks less alike.
        steepness: Largest change of a logit per standard deviation of the features between nearest neighbours.
    """

    submits = True

    units: int = attrs.field(default=64, validator=attrs.validators.ge(1))
    steepness: float = attrs.field(default=5.0, validator=attrs.validators.gt(0))

    def missing_requirement(self, threat: ScoreThreat) -> str:
        """The sender must know what its networks return."""
        if threat.models is None or threat.models.run is not Run.ROWS:
            return "needs records whose features are public"
        if threat.n_classes != 2:
            return "needs two classes"
        return super().missing_requirement(threat)

    def _ask(self, oracle: ScoreOracle, rng: np.random.Generator) -> tuple[NDArray[np.float64], Answer]:
        models = oracle.threat.models
        if models is None or models.features is None:
            raise ValueError("the features are secret")
        network = self._gentle(models.features, models.neighbours, rng)
        answer = oracle.submit(network)
        shares = models.outputs(network)
        return np.stack([1 - shares, shares], axis=1), answer

    def _gentle(self, features: NDArray[np.float64], neighbours: Neighbours | None, rng: np.random.Generator) -> MutNet:
        """Draw a network and scale its logits until they are no steeper, and no wider, than is wanted."""
        weights = rng.standard_normal((features.shape[1], self.units)) / np.sqrt(features.shape[1])
        hidden = ModelLayer(weights=weights, bias=rng.standard_normal(self.units), activation=ModelActivation.RELU)
        out = rng.standard_normal((self.units, 1))
        seen = hidden(features)
        middle = float(np.median(seen @ out))
        logits = (seen @ out)[:, 0] - middle
        steepest = detector(expit(logits * self.spread / logits.std()), neighbours).steepness
        scale = self.spread / logits.std() * min(1.0, self.steepness / steepest) if steepest > 0 else 1.0
        scale = min(scale, _WIDEST / float(np.abs(logits).max()))
        last = ModelLayer(weights=out * scale, bias=np.array([-middle * scale]), activation=ModelActivation.SIGMOID)
        return MutNet(layers=(hidden, last))
