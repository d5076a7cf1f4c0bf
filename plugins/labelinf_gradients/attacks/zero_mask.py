"""Which entries of a noisy gradient are zero: the low bits of the noise tell, and the pattern tells the label."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import Guess, NoiseModel
from labelinf_gradients.attacks.common import given, one_sample_each
from labelinf_gradients.game.effects import GaussianNoise, LaplaceNoise, NoiseAdded
from labelinf_gradients.game.gradient import GradientAttack, GradientOracle, GradientThreat
from labelinf_gradients.noisy.low_bits import gaussian_evidence, laplace_evidence
from labelinf_privacy.noise.gaussian import Gaussian
from labelinf_privacy.noise.laplace import Laplace

__all__ = ["ZeroMask"]

Floats = NDArray[np.float64]
_EVIDENCE: dict[type, Callable[[Floats, float], Floats]] = {Gaussian: gaussian_evidence, Laplace: laplace_evidence}


@attrs.frozen(kw_only=True)
class ZeroMask(GradientAttack):
    """Reads which inputs of every layer are zero from the low bits of float64 noise, then the label from the pattern.

    A hidden unit that a ReLU has shut, or a pixel that is empty, leaves a column of exact zeros in the gradient: what
    is released there is bare noise, whatever its size. The adversary's own samples say how often each class shuts each
    unit (labelinf theory, corrections, D1).

    Noise on a grid leaves nothing to see. It plays there as well, as certificates rest on that.
    """

    def missing_requirement(self, threat: GradientThreat) -> str:
        """It needs noise drawn in floats as the last thing that happened, kept in all its bits, and own samples."""
        model = _law(threat.facts.noises[-1]) if len(threat.facts.noises) == 1 else None
        if type(model) not in _EVIDENCE or threat.facts.altered or threat.precision != "float64":
            return "needs one Gaussian or Laplace noise, the last thing that happened, released in float64"
        return one_sample_each(threat) or ("" if threat.auxiliary else "needs auxiliary samples")

    def run(self, oracle: GradientOracle, rng: np.random.Generator) -> Guess:
        """Weigh the classes of every release by the zeros that its low bits show."""
        x, classes = given(oracle.auxiliary)
        n_classes = oracle.threat.n_classes
        own = oracle.network.gradients(x, np.eye(n_classes)[classes])
        seen = _evidence_of_zeros(oracle)
        with np.errstate(divide="ignore"):
            score = np.tile(np.log(np.array(oracle.threat.prior)), (len(oracle.weight_gradients), 1))
        for name, evidence in seen.items():
            shut = np.asarray(own[name] == 0).all(axis=1)
            for k in range(n_classes):
                share = (shut[classes == k].sum(axis=0) + 1) / (np.count_nonzero(classes == k) + 2)
                score[:, k] += np.logaddexp(np.log(share) + evidence, np.log1p(-share)).sum(axis=1)
        return Guess(labels=score.argmax(axis=1))


def _law(noise: NoiseAdded) -> NoiseModel | None:
    """Return the law of a noise, as though it had been drawn in floats where it lies on a grid."""
    if isinstance(noise.proof, GaussianNoise):
        return Gaussian(scale=noise.proof.std)
    return Laplace(scale=noise.proof.scale) if isinstance(noise.proof, LaplaceNoise) else noise.model


def _evidence_of_zeros(oracle: GradientOracle) -> Mapping[str, Floats]:
    """Return the evidence that each input of each layer is zero, by its weights' name, shape ``(n, n_in)``.

    Rows of units that are shut themselves say nothing about what enters them; whether they are, the layer after knows.
    """
    model: Any = _law(oracle.threat.facts.noises[-1])
    alive, found = np.ones((len(oracle.weight_gradients), 1)), {}
    for name, release in _weights_from_the_last(oracle):
        if alive.shape[1] not in (1, release.shape[1]):
            break  # no plain chain of linear layers
        evidence = _EVIDENCE[type(model)](release.astype(np.float64), model.scale)
        found[name] = np.asarray((evidence * alive[:, :, None]).sum(axis=1))
        alive = 1 / (1 + np.exp(np.clip(found[name], -50, 50)))
    return found


def _weights_from_the_last(oracle: GradientOracle) -> list[tuple[str, NDArray[Any]]]:
    last = oracle.network.classifier_names[0]
    others = [(name, part) for name, part in oracle.releases.items() if part.ndim == 3 and name != last]
    return [(last, oracle.releases[last]), *reversed(others)]
