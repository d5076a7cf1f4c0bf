"""Ceilings on label accuracy, or the plain statement that there is none."""

from __future__ import annotations

import math

import attrs

from labelinf_core.channels.gradient import GradientThreat
from labelinf_core.components import Bound
from labelinf_core.guarantees import BoundValue, Direction
from labelinf_core.threat import ThreatModel
from labelinf_gradients import certificates

__all__ = ["GradientCertificate", "KnownFeatureBayes"]


@attrs.frozen(kw_only=True)
class GradientCertificate(Bound):
    """Repeats what the defences certify; says "certificate: none" where nothing does.

    Clipping alone, top-k, signs, quantisation, aggregation, soft labels and dropped biases certify nothing.
    """

    def evaluate(self, threat: ThreatModel) -> tuple[BoundValue, ...]:
        """Return one line per certificate, or one that says there is none."""
        if not isinstance(threat, GradientThreat):
            return ()
        found = [ceiling for defence in threat.defences for ceiling in defence.ceilings(threat)]
        if not found:
            return (_line("certificate: none", 1.0, "none", "any attack", "labelinf theory, certificates"),)
        return tuple(
            _line("label accuracy, any attack", item.accuracy, "see the statement", item.conditions, item.statement)
            for item in found
        )


@attrs.frozen(kw_only=True)
class KnownFeatureBayes(Bound):
    """The best accuracy when features are public and noise is Gaussian without clipping: exact, not only a ceiling.

    Attributes:
        norm: ``|x|``, the norm of a sample's last-layer feature, more than 0.
    """

    norm: float = attrs.field(default=1.0, validator=attrs.validators.gt(0))

    def evaluate(self, threat: ThreatModel) -> tuple[BoundValue, ...]:
        """Return the Bayes accuracy for features of this norm."""
        if not isinstance(threat, GradientThreat) or not threat.features_public or threat.batch > 1:
            return ()
        if threat.noise_std == 0 or math.isfinite(threat.clip):
            return ()
        value = certificates.bayes_public(self.norm / threat.noise_std, threat.n_classes)
        return (
            _line(
                f"label accuracy, public features of norm {self.norm:g}",
                value,
                "integral phi(u - d) Phi(u)^(K-1) du, d = |x| / sigma",
                "Gaussian noise, last layer only, equal class shares",
                "labelinf theory, certificates: exact Bayes",
            ),
        )


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
