"""Labels from the gradient of a bias, in closed form."""

from __future__ import annotations

import attrs
import numpy as np

from labelinf_core.contracts.components import Guess
from labelinf_core.contracts.errors import UnfitError
from labelinf_gradients.attacks.common import given, no_bias, one_sample_each, soft_guess
from labelinf_gradients.closed_forms import from_hidden_bias, from_last_bias
from labelinf_gradients.game.gradient import GradientAttack, GradientOracle, GradientThreat, Shared
from labelinf_gradients.recovery.tensors import FORMATS

__all__ = ["HiddenBias", "LastBias"]

_MISFIT = 1e-3  # share of a gradient; float32 leaves 1e-5
_HALVES = 8  # roundings of a half that such a share may hold


@attrs.frozen(kw_only=True)
class LastBias(GradientAttack):
    """Divides the last layer's gradient by its bias's (Aono et al., 2017), then reads off the label."""

    def missing_requirement(self, threat: GradientThreat) -> str:
        """It needs the gradient of the last layer's bias."""
        return one_sample_each(threat) or no_bias(threat)

    def run(self, oracle: GradientOracle, rng: np.random.Generator) -> Guess:
        """Solve every release."""
        gradients = given(oracle.bias_gradients)
        labels, _, misfit = from_last_bias(oracle.weight_gradients, gradients, oracle.network.classifier)
        unfit = misfit > _misfit(oracle)
        plain = np.eye(labels.shape[1])[gradients.argmin(axis=1)]  # p - y is negative for a hard label alone
        return _said(soft_guess(np.where(unfit[:, None], plain, labels), oracle.threat), unfit)


@attrs.frozen(kw_only=True)
class HiddenBias(GradientAttack):
    """Takes the scale of the feature from the last hidden bias's gradient (labelinf theory, closed forms).

    Exact behind a ReLU, whether the last layer has a bias or not. Elsewhere (another activation, normalisation, a tied
    head, noise) its labels are wrong in their weights; each gradient shows by itself whether the form holds, and the
    evidence counts those where it does not.
    """

    def missing_requirement(self, threat: GradientThreat) -> str:
        """It needs gradients of all layers of a network with biases."""
        layers = "needs the gradients of all layers" if threat.shared is Shared.LAST else ""
        return one_sample_each(threat) or layers or ("" if threat.biases_shared else "needs gradients of biases")

    def run(self, oracle: GradientOracle, rng: np.random.Generator) -> Guess:
        """Solve every release."""
        own, classifier = oracle.network.classifier_names, oracle.network.classifier
        width = oracle.weight_gradients.shape[2:]
        others = [part for name, part in oracle.releases.items() if name.endswith("bias") and name not in own]
        tried = [
            from_hidden_bias(oracle.weight_gradients, part, classifier) for part in others if part.shape[1:] == width
        ]
        if not tried:
            raise UnfitError("the hidden-bias attack needs a hidden layer with a bias in front of the last layer.")
        labels, _, misfit = min(tried, key=lambda each: float(np.median(each[2])))
        return _said(soft_guess(labels, oracle.threat), misfit > _misfit(oracle))


def _misfit(oracle: GradientOracle) -> float:
    return max(_MISFIT, _HALVES * FORMATS[oracle.threat.precision].rounding)


def _said(guess: Guess, unfit: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> Guess:
    """Return the guess, which says of how many gradients the closed form is wrong."""
    return attrs.evolve(guess, evidence={"closed form does not hold": int(unfit.sum())}) if unfit.any() else guess
