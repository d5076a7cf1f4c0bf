"""What attacks of the gradient channel are tried on: gradients of a small untrained network.

Six samples and five classes, in the situations that attacks ask for: single samples and batches, with and without
biases, all layers, soft labels, public features, noise of known size.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.threat import ThreatModel
from labelinf_core.testing.attacks import Arrays, AttackRules, Stage
from labelinf_gradients.game.clients import Client, Samples
from labelinf_gradients.game.gradient import (
    GradientAttack,
    GradientDefence,
    GradientOracle,
    GradientThreat,
    Guard,
    LabelFamily,
    Layout,
    Shared,
)
from labelinf_gradients.game.networks import Perceptron

__all__ = ["RULES"]

_SAMPLES, _CLASSES, _INPUTS, _HIDDEN, _KNOWN = 6, 5, 6, 8, 40
_PRIOR = (1 / _CLASSES,) * _CLASSES
_NOISE = 1e-4
_BIAS = {"has_bias": True, "bias_shared": True}
_SITUATIONS: tuple[Mapping[str, Any], ...] = (
    {},
    {"family": LabelFamily.SMOOTHING, "shared": Shared.ALL, **_BIAS},
    {"batch": 2, **_BIAS},
    {"noise_std": _NOISE},
    {"features_public": True},
)


class _Noise(Guard):
    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def release(self, gradient: NDArray[np.float64], layout: Layout) -> NDArray[np.float64]:
        return gradient + self._rng.normal(0, _NOISE, gradient.size)


@attrs.frozen(kw_only=True)
class _Noisy(GradientDefence):
    """Adds the noise that a situation declares."""

    def start(self, threat: GradientThreat, rng: np.random.Generator) -> Guard:
        return _Noise(rng)


def _threat(situation: Mapping[str, Any]) -> GradientThreat:
    defences = (_Noisy(),) if "noise_std" in situation else ()
    facts: dict[str, Any] = {"auxiliary": _KNOWN, "precision": "float64", "defences": defences, **situation}
    return GradientThreat(n_records=_SAMPLES, n_classes=_CLASSES, prior=_PRIOR, **facts)


def _set_up(threat: GradientThreat) -> tuple[GradientOracle, Arrays]:
    rng = np.random.default_rng(0)
    network = Perceptron.random((_INPUTS, _HIDDEN, _CLASSES), rng, bias=threat.has_bias)
    x = rng.uniform(0, 1, (_KNOWN + 2 * _SAMPLES, _INPUTS))
    classes = np.arange(len(x)) % _CLASSES
    samples = Samples.draw(x[_KNOWN:], classes[_KNOWN:], threat, rng)
    releases = Client.start(network, threat, rng).releases(samples)
    known = (x[:_KNOWN], classes[:_KNOWN])
    inputs = samples.inputs if threat.features_public else None
    weights = {f"weights of layer {place}": layer.weights for place, layer in enumerate(network.layers)}
    arrays: Arrays = {**releases, **weights, "samples": known[0], "classes": known[1], "inputs": inputs}
    return GradientOracle(threat, network, releases, auxiliary=known, inputs=inputs), arrays


_THREATS = [_threat(situation) for situation in _SITUATIONS]
_HARD = attrs.evolve(_threat({}), steps=3, rate=0.1, auxiliary=0, clip=1.0, noise_std=math.inf, altered=True)

RULES = AttackRules(
    base=GradientAttack,
    stages=[Stage(threat=threat, set_up=functools.partial(_set_up, threat)) for threat in _THREATS],
    strange=[_HARD, ThreatModel(n_records=_SAMPLES, n_classes=_CLASSES, prior=_PRIOR)],
    extras=["soft"],
)  #: what every attack of this channel is held to, beside what holds for all components
