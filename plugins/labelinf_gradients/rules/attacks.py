"""What attacks of the gradient channel are tried on: gradients of a small untrained network.

Six samples and five classes, in the situations that attacks ask for: single samples and batches, with and without
biases, all layers, soft labels, public features, noise of known size.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.effects import Unknown
from labelinf_core.contracts.threat import ThreatModel
from labelinf_core.testing.attacks import Arrays, AttackRules, Situation
from labelinf_gradients.defences.noise import GradientNoise
from labelinf_gradients.game.clients import Client, Samples
from labelinf_gradients.game.effects import Batched, EntriesRounded, LocalSteps, NoiseAdded, NormClipped, Smoothed
from labelinf_gradients.game.gradient import (
    GradientAttack,
    GradientDefence,
    GradientOracle,
    GradientThreat,
    Shared,
)
from labelinf_gradients.game.networks import Perceptron
from labelinf_privacy.noise.gaussian import Gaussian

__all__ = ["RULES"]

_SAMPLES, _CLASSES, _INPUTS, _HIDDEN, _KNOWN = 6, 5, 6, 8, 40
_PRIOR = (1 / _CLASSES,) * _CLASSES
_SITUATIONS: tuple[Mapping[str, Any], ...] = (
    {},
    {"own_effects": (Smoothed(most=0.5),), "shared": Shared.ALL, "has_bias": True},
    {"own_effects": (Batched(size=2),), "has_bias": True},
    {"features_public": True},
)
_NOISY: tuple[GradientDefence, ...] = (GradientNoise(model=Gaussian(scale=1e-4)),)


def _threat(situation: Mapping[str, Any]) -> GradientThreat:
    facts: dict[str, Any] = {"auxiliary": _KNOWN, "precision": "float64", **situation}
    return GradientThreat(n_records=_SAMPLES, n_classes=_CLASSES, prior=_PRIOR, **facts)


def _stage(situation: Mapping[str, Any], defences: tuple[GradientDefence, ...] = ()) -> Situation:
    threat = _threat(situation).through(defences)
    return Situation(threat=threat, set_up=functools.partial(_set_up, threat))


def _set_up(threat: GradientThreat, truth: NDArray[np.intp]) -> tuple[GradientOracle, Arrays]:
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


_STAGES = [*map(_stage, _SITUATIONS), _stage({}, _NOISY)]
_EFFECTS = (
    LocalSteps(steps=3, rate=0.1),
    NormClipped(norm=1.0),
    EntriesRounded(),
    NoiseAdded(std=math.inf),
    Unknown(stage="other"),
)
_HARD = _threat({"auxiliary": 0, "own_effects": _EFFECTS})

RULES = AttackRules(
    base=GradientAttack,
    stages=_STAGES,
    strange=[_HARD, ThreatModel(n_records=_SAMPLES, n_classes=_CLASSES, prior=_PRIOR)],
    extras=["soft", "inputs"],
)  #: what every attack of this channel is held to, beside what holds for all components
