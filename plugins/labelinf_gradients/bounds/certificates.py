"""Ceilings on label accuracy, or the plain statement that there is none."""

from __future__ import annotations

import math

import attrs

from labelinf_core.contracts.components import Bound, Defence
from labelinf_core.contracts.guarantees import BoundValue, Direction
from labelinf_core.contracts.threat import ThreatModel
from labelinf_gradients import certificates
from labelinf_gradients.defences.common import HIDDEN_FEATURES
from labelinf_gradients.defences.noise import GradientNoise
from labelinf_gradients.game.gradient import GradientDefence, GradientThreat, LabelFamily, Shared
from labelinf_privacy import label_dp
from labelinf_privacy.noise.gaussian import Gaussian

__all__ = ["GradientCertificate", "KnownFeatureBayes"]


@attrs.frozen(kw_only=True)
class GradientCertificate(Bound):
    """Repeats what the defences certify, and what label-DP does; says "certificate: none" where nothing does.

    Clipping alone, top-k, signs, quantisation, aggregation, soft labels and dropped biases certify nothing.
    """

    def evaluate(self, threat: ThreatModel) -> tuple[BoundValue, ...]:
        """Return one line per certificate, or one that says there is none."""
        if not isinstance(threat, GradientThreat):
            return ()
        found = [ceiling for defence in threat.defences for ceiling in defence.ceilings(threat)]
        lines = [
            _line("label accuracy, any attack", item.accuracy, "see the statement", item.conditions, item.statement)
            for item in found
        ]
        if math.isfinite(threat.label_epsilon) and threat.batch == 1 and not threat.features_public:
            lines.append(_of_label_dp(threat))
        if not lines:
            return (_line("certificate: none", 1.0, "none", "any attack", "labelinf theory, certificates"),)
        return tuple(lines)


@attrs.frozen(kw_only=True)
class KnownFeatureBayes(Bound):
    """The best accuracy when features are public and noise is Gaussian without clipping: exact, not only a ceiling.

    Attributes:
        norm: ``|x|``, the norm of a sample's last-layer feature, more than 0.
    """

    norm: float = attrs.field(default=1.0, validator=attrs.validators.gt(0))

    def evaluate(self, threat: ThreatModel) -> tuple[BoundValue, ...]:
        """Return the Bayes accuracy for features of this norm; nothing where the noise or what it hides is another."""
        if not isinstance(threat, GradientThreat) or not _one_last_layer_gradient(threat):
            return ()
        noise = _gaussian_std(threat.defences)
        if not noise:
            return ()
        value = certificates.bayes_public(self.norm / noise, threat.n_classes)
        return (
            _line(
                f"label accuracy, public features of norm {self.norm:g}",
                value,
                "integral phi(u - d) Phi(u)^(K-1) du, d = |x| / sigma",
                "Gaussian noise and nothing else, last layer only, labels drawn evenly whatever the features",
                "labelinf theory, certificates: exact Bayes",
            ),
        )


def _of_label_dp(threat: GradientThreat) -> BoundValue:
    epsilon, delta = threat.label_epsilon, threat.label_delta
    pure = delta == 0
    return _line(
        f"label accuracy under label-DP, epsilon = {epsilon:g}" + ("" if pure else f", delta = {delta:g}"),
        label_dp.pure_accuracy(epsilon, threat.prior)
        if pure
        else label_dp.approximate_accuracy(epsilon, delta, threat.prior),
        "max_j e^eps P_(1..j) / (j - 1 + e^eps)" if pure else "(e^eps + (K-1) delta) / (e^eps + K - 1), equal shares",
        HIDDEN_FEATURES,
        "labelinf theory, certificates: label-DP",
    )


def _one_last_layer_gradient(threat: GradientThreat) -> bool:
    """Return whether a release is ``(p - e_k) x'`` of one public x, noise aside."""
    single = threat.batch == 1 and threat.steps == 1 and threat.family is LabelFamily.ONE_HOT
    weights_only = threat.shared is Shared.LAST and not threat.bias_shared
    whole = math.isinf(threat.clip) and not threat.altered
    return threat.features_public and single and weights_only and whole


def _gaussian_std(defences: tuple[Defence, ...]) -> float | None:
    """Return the deviation of all noise together, 0 without; None where a defence does more than add Gaussian noise."""
    total = 0.0
    for item in defences:
        if isinstance(item, GradientNoise) and isinstance(item.model, Gaussian):
            total = math.hypot(total, item.model.scale)
        elif not isinstance(item, GradientDefence) or type(item).start is not GradientDefence.start:
            return None
    return total


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
