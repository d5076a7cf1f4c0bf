"""Counts of a batch's classes, learnt from rehearsed releases: not behind the blind guess nor a published count."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import Guess
from labelinf_gradients.attacks.common import given, spread_counts
from labelinf_gradients.attacks.counts import class_means, features_of_auxiliary
from labelinf_gradients.batches import counts
from labelinf_gradients.batches.rehearsal import ReferenceSamples, chosen_counts
from labelinf_gradients.game.clients import Client, Samples
from labelinf_gradients.game.gradient import GradientAttack, GradientOracle, GradientThreat, LabelFamily
from labelinf_gradients.game.networks import softmax

__all__ = ["RehearsedCounts"]


@attrs.frozen(kw_only=True)
class RehearsedCounts(GradientAttack):
    """Learns counts from releases of batches of its own samples, and plays whichever estimate is best on those.

    The estimates: the blind guess, GradInversion's, LLG's, iLRG's, Dimitrov's, the moments', and two posteriors of
    prior and own moments (:mod:`labelinf_gradients.batches.rehearsal`). Clients with local steps are rehearsed step by
    step: the simulation of Dimitrov et al. (TMLR 2022), on real samples instead of made ones.
    """

    def missing_requirement(self, threat: GradientThreat) -> str:
        """It needs samples of its own, one-hot labels, and means of gradients that nothing but noise has changed."""
        if threat.batch == 1:
            return "needs more than one sample per release"
        if threat.family is not LabelFamily.ONE_HOT:
            return "needs one-hot labels"
        if threat.altered or np.isfinite(threat.clip) or not np.isfinite(threat.noise_std):
            return "needs gradients that are neither clipped nor altered"
        return "" if threat.auxiliary >= threat.n_classes else "needs as many auxiliary samples as classes"

    def run(self, oracle: GradientOracle, rng: np.random.Generator) -> Guess:
        """Rehearse, choose, and count every release."""
        threat, (_, classes) = oracle.threat, given(oracle.auxiliary)
        features, biases = features_of_auxiliary(oracle), oracle.bias_gradients
        errors = softmax(oracle.network.classifier(features)) - np.eye(threat.n_classes)[classes]
        releases = oracle.weight_gradients.astype(np.float64)
        if biases is not None:  # a feature that is always one
            features = np.concatenate([features, np.ones((len(features), 1))], axis=1)
            releases = np.concatenate([releases, biases[:, :, None].astype(np.float64)], axis=2)
        own = ReferenceSamples(errors=errors, features=features, classes=classes, prior=np.array(threat.prior))
        found, name = chosen_counts(
            releases,
            own,
            batch=threat.batch,
            others=_others(oracle, own),
            rng=rng,
            noise=threat.noise_std,
            conduct=_local_steps(oracle) if threat.steps > 1 else None,
        )
        return Guess(labels=spread_counts(found), evidence={"estimate": name})


def _others(oracle: GradientOracle, own: ReferenceSamples) -> Mapping[str, Callable[[NDArray[Any]], NDArray[np.intp]]]:
    """Return the estimates that need no rehearsal, from gradients (the bias's as the last column) to counts."""
    threat, classifier = oracle.threat, oracle.network.classifier
    batch, width = threat.batch, classifier.weights.shape[1]
    found: dict[str, Callable[[NDArray[Any]], NDArray[np.intp]]] = {
        "blind guess": lambda part: np.tile(np.array(threat.best_counts, dtype=np.intp), (len(part), 1)),
        "GradInversion": lambda part: counts.by_yin(part[:, :, :width], batch),
        "LLG": lambda part: counts.by_llg(part[:, :, :width], batch),
    }
    if oracle.bias_gradients is not None:
        means = class_means(softmax(classifier(own.features[:, :width])), own.classes, threat.n_classes)
        found["moments"] = lambda part: counts.by_moments(part[:, :, -1], means, batch)
        found["iLRG"] = lambda part: counts.by_ilrg(part[:, :, :width], part[:, :, -1], classifier, batch)
        found["interpolation"] = lambda part: counts.by_interpolation(
            part[:, :, :width],
            part[:, :, -1],
            classifier,
            own.features[:, :width],
            batch=batch,
            steps=threat.steps,
            rate=threat.rate,
        )
    return found


def _local_steps(oracle: GradientOracle) -> Callable[[NDArray[np.intp]], NDArray[np.float64]]:
    """Return what a client with some of the adversary's own samples would send, the bias's gradient as a column."""
    (x, classes), labels = given(oracle.auxiliary), np.eye(oracle.threat.n_classes)
    client = Client(network=oracle.network, threat=oracle.threat, actives=())

    def sent(rows: NDArray[np.intp]) -> NDArray[np.float64]:
        parts = client.releases(Samples(inputs=x[rows][None], labels=labels[classes[rows]][None]))
        own = [parts[name][0] for name in oracle.network.classifier_names if name in parts]
        return np.concatenate([part.reshape(len(labels), -1) for part in own], axis=1).astype(np.float64)

    return sent
