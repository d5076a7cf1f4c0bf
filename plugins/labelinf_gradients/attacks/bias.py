"""Labels from the gradient of a bias, in closed form."""

from __future__ import annotations

import attrs
import numpy as np

from labelinf_core.contracts.components import Guess
from labelinf_core.contracts.errors import InputError
from labelinf_gradients.attacks.common import one_sample_each
from labelinf_gradients.closed_forms import from_hidden_bias, from_last_bias, hidden_bias_misfit
from labelinf_gradients.game.gradient import GradientAttack, GradientGuess, GradientOracle, GradientThreat, Shared

__all__ = ["HiddenBias", "LastBias"]

_MISFIT = 1e-3  # share of a gradient; float32 leaves 1e-5


@attrs.frozen(kw_only=True)
class LastBias(GradientAttack):
    """Divides the last layer's gradient by its bias's (Aono et al., 2017), then reads off the label."""

    def lacks(self, threat: GradientThreat) -> str:
        """It needs the gradient of the last layer's bias."""
        return one_sample_each(threat) or _no_bias(threat)

    def run(self, oracle: GradientOracle, rng: np.random.Generator) -> Guess:
        """Solve every release."""
        gradients = oracle.bias_gradients
        if gradients is None:
            raise ValueError(_no_bias(oracle.threat))
        labels, _ = from_last_bias(oracle.weight_gradients, gradients, oracle.network.classifier)
        return _guess(labels, oracle)


@attrs.frozen(kw_only=True)
class HiddenBias(GradientAttack):
    """Takes the scale of the feature from the last hidden bias's gradient (labelinf theory, closed forms).

    Exact behind a ReLU. Elsewhere (another activation, normalisation, a tied head, noise) its labels are wrong in their
    weights; each gradient shows by itself whether the form holds, and the evidence counts those where it does not.
    """

    def lacks(self, threat: GradientThreat) -> str:
        """It needs gradients of all layers of a network with biases."""
        layers = "needs the gradients of all layers" if threat.shared is Shared.LAST else ""
        return one_sample_each(threat) or layers or _no_bias(threat)

    def run(self, oracle: GradientOracle, rng: np.random.Generator) -> Guess:
        """Solve every release."""
        biases = [name for name in oracle.releases if name.endswith("bias")]
        if len(biases) < 2:
            raise InputError("the hidden-bias attack needs a network with a hidden layer; give the channel 'hidden'.")
        gradients = oracle.releases[biases[-2]]
        labels, _ = from_hidden_bias(oracle.weight_gradients, gradients, oracle.network.classifier)
        misfit = hidden_bias_misfit(oracle.weight_gradients, gradients, oracle.network.classifier)
        guess, unfit = _guess(labels, oracle), int((misfit > _MISFIT).sum())
        return attrs.evolve(guess, evidence={"closed form does not hold": unfit}) if unfit else guess


def _no_bias(threat: GradientThreat) -> str:
    return "" if threat.bias_shared else "needs the gradient of a bias"


def _guess(labels: np.ndarray[tuple[int, ...], np.dtype[np.float64]], oracle: GradientOracle) -> Guess:
    known = np.asarray(np.isfinite(labels).all(axis=1))
    soft = np.where(known[:, None], labels, 1 / oracle.threat.n_classes)
    return GradientGuess(labels=np.where(known, soft.argmax(axis=1), oracle.threat.majority), soft=soft)
