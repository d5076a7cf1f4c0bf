"""The inputs behind recovered labels: layer by layer in closed form, or by matching gradients."""

from __future__ import annotations

import enum
import math

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import Guess
from labelinf_gradients.attacks.common import one_sample_each, soft_guess
from labelinf_gradients.attacks.exact import recovered
from labelinf_gradients.attacks.idlg import odd_one_out
from labelinf_gradients.game.gradient import GradientAttack, GradientGuess, GradientOracle, GradientThreat, Shared
from labelinf_gradients.game.networks import Activation, Perceptron, softmax
from labelinf_gradients.reconstruction.chain import as_printed
from labelinf_gradients.reconstruction.inputs import reconstruct, reconstruct_noisy
from labelinf_gradients.reconstruction.matching import Distance, Matching
from labelinf_gradients.recovery.tensors import FORMATS

__all__ = ["GradientMatching", "InputRecursion", "Start"]


def _lacks(threat: GradientThreat) -> str:
    if threat.shared is not Shared.ALL:
        return "needs the gradients of all layers (shared=all)"
    return one_sample_each(threat)


def _answer(
    labels: NDArray[np.float64], inputs: NDArray[np.float64] | None, threat: GradientThreat, note: str = ""
) -> GradientGuess:
    return attrs.evolve(soft_guess(labels, threat), inputs=inputs, evidence={"note": note} if note else {})


@attrs.frozen(kw_only=True)
class InputRecursion(GradientAttack):
    """Recovers the label, then the input of one fully connected layer after the other.

    Where noise hides the exact label, the likeliest one and the layers' own directions take its place.

    Attributes:
        as_printed: Equations 6 and 7 of Wang et al. as they are printed, without the slope of the activation and with
            one row of a gradient instead of all: a baseline.
    """

    as_printed: bool = False

    def missing_requirement(self, threat: GradientThreat) -> str:
        """It needs all layers' gradients of single samples, whole or in noise."""
        if self.as_printed:
            return _lacks(threat) or ("" if threat.clean else "needs unaltered gradients")
        whole = math.isfinite(threat.noise_std) and not threat.altered and threat.steps == 1 and math.isinf(threat.clip)
        return _lacks(threat) or ("" if whole else "needs gradients that are whole")

    def run(self, oracle: GradientOracle, rng: np.random.Generator) -> Guess:
        """Rebuild every release of a fully connected network; elsewhere take the label only."""
        network, threat = oracle.network, oracle.threat
        if not isinstance(network, Perceptron):
            labels = recovered(oracle).labels
            return _answer(labels, None, threat, note="no inputs: it takes a fully connected network")
        if threat.clean:
            family, precision = threat.family.value, FORMATS[threat.precision]
            whole = reconstruct(network, oracle.releases, family=family, precision=precision)
            labels, inputs = whole.labels, _printed(oracle, network) if self.as_printed else whole.inputs
        elif network.activation is Activation.RELU and all(layer.bias is None for layer in network.layers):
            noisy = reconstruct_noisy(network, oracle.releases, family=threat.family.value)
            labels, inputs = noisy.labels, noisy.inputs
        else:
            labels = recovered(oracle).labels
            return _answer(labels, None, threat, note="no inputs: behind noise it takes ReLUs without biases")
        return _answer(labels, inputs, threat)


def _printed(oracle: GradientOracle, network: Perceptron) -> NDArray[np.float64]:
    found = recovered(oracle)
    errors = softmax(network.classifier(found.features)) - found.labels
    return as_printed(network, oracle.releases, errors)


class Start(enum.Enum):
    """What gradient matching is told of the label."""

    RECOVERED = "recovered"
    """The exact solver's label."""

    SIGN = "sign"
    """The hard label of the sign rule (iDLG)."""

    NOTHING = "nothing"
    """Nothing: it is sought with the input (DLG)."""


@attrs.frozen(kw_only=True)
class GradientMatching(GradientAttack):
    """Finds an input whose gradient is the released one, on any PyTorch module that takes numbers.

    Attributes:
        label: What is known of the label: ``recovered``, ``sign`` or ``nothing``.
        distance: Of gradients: ``squared`` or ``cosine``.
        samples: How many of the first samples are rebuilt; it takes seconds each.
        iterations: Steps of Adam for each.
    """

    label: Start = Start.RECOVERED
    distance: Distance = Distance.SQUARED
    samples: int = attrs.field(default=4, validator=attrs.validators.ge(1))
    iterations: int = attrs.field(default=600, validator=attrs.validators.ge(1))

    def missing_requirement(self, threat: GradientThreat) -> str:
        """It needs all layers' gradients of single samples, unaltered."""
        return _lacks(threat) or (
            "needs unaltered gradients" if not threat.clean else "" if threat.auxiliary else "needs a record of its own"
        )

    def run(self, oracle: GradientOracle, rng: np.random.Generator) -> Guess:
        """Take every label from the last layer, and rebuild the first inputs, if the network is such a module."""
        from labelinf_gradients.game.torch_network import TorchNetwork

        network, threat = oracle.network, oracle.threat
        labels = (
            recovered(oracle).labels
            if self.label is Start.RECOVERED
            else np.eye(threat.n_classes)[odd_one_out(oracle.weight_gradients)]
        )
        if not isinstance(network, TorchNetwork) or network.vocabulary:
            return _answer(labels, None, threat, note="no inputs: it takes a PyTorch module of numbers")
        joint = self.label is Start.NOTHING
        matching = Matching(distance=self.distance, joint=joint, iterations=self.iterations)
        shape, inputs = oracle.auxiliary[0].shape[1:] if oracle.auxiliary else (), []
        for row in range(min(self.samples, len(labels))):
            released = {name: part[row] for name, part in oracle.releases.items()}
            given = None if joint else np.nan_to_num(labels[row], nan=1 / threat.n_classes)
            done = matching.run(network, released, shape, rng, label=given)
            inputs.append(done.inputs)
            if joint:
                labels[row] = done.label
        return _answer(labels, np.array(inputs), threat)
