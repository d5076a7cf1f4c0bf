"""Ceilings on label accuracy, or the plain statement that there is none."""

from __future__ import annotations

import math
from collections.abc import Iterator

import attrs

from labelinf_core.contracts.components import Bound
from labelinf_core.contracts.guarantees import BoundValue, Ceiling, Direction, PerGame
from labelinf_core.contracts.threat import ThreatModel
from labelinf_gradients import certificates
from labelinf_gradients.finite_pool import best_overlap, counts_bits, shares_moved
from labelinf_gradients.game.effects import NoiseProof
from labelinf_gradients.game.gradient import GradientThreat, LabelFamily, Shared
from labelinf_privacy import label_dp
from labelinf_privacy.noise.gaussian import Gaussian

__all__ = ["GradientCertificate", "KnownFeatureBayes"]

_HIDDEN_FEATURES = (
    "{release}, features private, labels drawn independently from the class shares; where they are drawn from a finite "
    "data set, to know all its other labels is worth more, and the alarm allows for it"
)
_ALONE = _HIDDEN_FEATURES.format(release="one sample per release")
_TOGETHER = _HIDDEN_FEATURES.format(release="batches of {batch}, of which the overlap is counted")


@attrs.frozen(kw_only=True)
class GradientCertificate(Bound):
    """What noise on clipped gradients denies to every attack; says "certificate: none" where nothing does.

    All of it follows from the effects of the pipeline (:mod:`labelinf_gradients.game.effects`). Clipping alone, top-k,
    signs, quantisation, aggregation, soft labels, dropped biases and noise drawn in floats certify nothing.
    """

    def ceilings(self, threat: ThreatModel) -> tuple[Ceiling, ...]:
        """Return one ceiling for every noise whose proof holds: samples with features that the adversary lacks."""
        if not isinstance(threat, GradientThreat) or threat.features_public:
            return ()
        found = _of_batches(threat) if threat.batch > 1 else _of_samples(threat)
        return tuple(item for item in found if item.accuracy < 1)

    def evaluate(self, threat: ThreatModel) -> tuple[BoundValue, ...]:
        """Return one line per certificate, or one that says there is none."""
        if not isinstance(threat, GradientThreat):
            return ()
        lines = [
            _line("label accuracy, any attack", item.accuracy, "see the statement", item.conditions, item.statement)
            for item in self.ceilings(threat)
        ]
        if math.isfinite(threat.label_epsilon) and _hidden(threat):
            lines.append(_of_label_dp(threat))
        if not lines:
            return (_line("certificate: none", 1.0, "none", "any attack", "labelinf theory, certificates"),)
        return tuple(lines)


@attrs.frozen(kw_only=True)
class KnownFeatureBayes(Bound):
    """What the Bayes rule reaches when features are public and normal noise is all there is: no more noise, no less.

    A floor. With noise of real numbers nothing is better; noise drawn in floats leaves low bits to read besides.

    Attributes:
        norm: ``|x|``, the norm of a sample's last-layer feature, more than 0.
    """

    norm: float = attrs.field(default=1.0, validator=attrs.validators.gt(0))

    def evaluate(self, threat: ThreatModel) -> tuple[BoundValue, ...]:
        """Return the Bayes accuracy for features of this norm; nothing where the noise or what it hides is another."""
        if not isinstance(threat, GradientThreat) or not _one_last_layer_gradient(threat):
            return ()
        if not threat.facts.noises or not all(isinstance(noise.model, Gaussian) for noise in threat.facts.noises):
            return ()
        value = certificates.bayes_public(self.norm / threat.noise_std, threat.n_classes)
        return (
            BoundValue(
                title=f"label accuracy, public features of norm {self.norm:g}",
                direction=Direction.FLOOR,
                quantity="accuracy",
                value=value,
                formula="integral phi(u - d) Phi(u)^(K-1) du, d = |x| / sigma",
                conditions="Gaussian noise and nothing else, last layer only, labels drawn evenly whatever the "
                "features; the best attack there is on noise of real numbers",
                statement="labelinf theory, certificates: exact Bayes",
            ),
        )


def _hidden(threat: GradientThreat) -> bool:
    return threat.batch == 1 and not threat.features_public


def _of_samples(threat: GradientThreat) -> Iterator[Ceiling]:
    for proof in (item.noise.proof for item in threat.facts.proved):
        accuracy, bits = proof.accuracy(threat.facts, threat.prior), _known_counts(threat)
        moved = shares_moved(threat.prior, threat.population, n_left=threat.spare + 1) if threat.population else 0.0
        yield Ceiling(
            accuracy=accuracy,
            statement=proof.statement,
            conditions=_ALONE,
            exact=_all_of_them(accuracy, threat.n_records, bits),
            allowance=min(moved, _finite(threat, proof, accuracy)),
            game=PerGame(share=accuracy, bits=bits),  # every release depends on its own sample alone
        )


def _of_batches(threat: GradientThreat) -> Iterator[Ceiling]:
    """Yield what holds of sums of samples on the noise's grid: local steps or a cut in between leave it."""
    for item in threat.facts.proved if threat.steps == 1 else ():
        overlap = item.noise.proof.overlap(threat.facts, threat.baseline) if item.linear else 1.0
        yield Ceiling(
            accuracy=overlap,
            statement="labelinf theory, certificates: batches",
            conditions=_TOGETHER.format(batch=threat.batch),
            exact=_all_of_them(overlap, threat.n_records // threat.batch, _known_counts(threat)),
            allowance=_finite(threat, item.noise.proof, overlap),
        )  # no line for one game: labels of a batch hang together


def _finite(threat: GradientThreat, proof: NoiseProof, ceiling: float) -> float:
    """Return how much more the proof allows where all labels of the data set but those that are left are known."""
    if not threat.population:
        return 0.0
    left = min(threat.population, threat.spare + threat.batch)
    blind = best_overlap(threat.prior, threat.population, n_left=left, batch=threat.batch)
    return max(0.0, proof.overlap(threat.facts, blind) - ceiling)


def _known_counts(threat: GradientThreat) -> float:
    return counts_bits(threat.prior, threat.population) if threat.population else 0.0


def _all_of_them(share: float, releases: int, bits: float) -> float:
    """Return the chance of guessing all releases right, class counts of the data set known."""
    if not share:
        return 0.0
    return min(share, math.exp2(min(0.0, releases * math.log2(share) + bits)))


def _of_label_dp(threat: GradientThreat) -> BoundValue:
    return _line(
        f"label accuracy under label-DP, epsilon = {threat.label_epsilon:g}",
        label_dp.pure_accuracy(threat.label_epsilon, threat.prior),
        "max_j e^eps P_(1..j) / (j - 1 + e^eps)",
        _ALONE,
        "labelinf theory, certificates: label-DP",
    )


def _one_last_layer_gradient(threat: GradientThreat) -> bool:
    """Return whether a release is ``(p - e_k) x'`` of one public x, noise aside."""
    single = threat.batch == 1 and threat.steps == 1 and threat.family is LabelFamily.ONE_HOT
    weights_only = threat.shared is Shared.LAST and not threat.bias_shared
    whole = math.isinf(threat.clip) and not threat.altered
    return threat.features_public and single and weights_only and whole


def _line(title: str, value: float, formula: str, conditions: str, statement: str) -> BoundValue:
    return BoundValue(
        title=title,
        direction=Direction.CEILING,
        quantity="accuracy",
        value=value,
        formula=formula,
        conditions=conditions,
        statement=statement,
    )
