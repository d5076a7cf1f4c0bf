"""Every label that explains a gradient, by the exact solver; its evidence says how many labels are certain."""

from __future__ import annotations

from collections import Counter

import attrs
import numpy as np

from labelinf_core.contracts.components import Guess
from labelinf_gradients.attacks.common import one_sample_each
from labelinf_gradients.game.gradient import GradientAttack, GradientGuess, GradientOracle, GradientThreat
from labelinf_gradients.recovery.patterns import BY_FAMILY
from labelinf_gradients.recovery.results import Recovery
from labelinf_gradients.recovery.solver import recover
from labelinf_gradients.recovery.tensors import FORMATS

__all__ = ["ExactSolver", "recovered"]


def recovered(oracle: GradientOracle, family: str = "known", *, scaled: bool = False) -> Recovery:
    """Return what explains every release.

    Args:
        oracle: What is seen.
        family: Of the labels, ``known`` as the threat model says.
        scaled: Whether releases are gradients up to a factor only.
    """
    threat, head = oracle.threat, oracle.network.classifier
    return recover(
        oracle.weight_gradients,
        head.weights,
        family=threat.family.value if family == "known" else family,
        bias=head.bias,
        nonnegative=oracle.nonnegative,
        precision=FORMATS[threat.precision],
        scaled=scaled,
    )


@attrs.frozen(kw_only=True)
class ExactSolver(GradientAttack):
    """Enumerates every scale that solves a sample's gradient (labelinf theory, the exact solver).

    Of a clipped gradient the factor is one more unknown; hard labels need three classes then, others four.

    Attributes:
        family: ``known`` (what the threat model says), ``auto``, ``one-hot``, ``smoothing``, ``mixup`` or
            ``mixup-equal`` (mixup by the paper's variance loss: other entries are only equal).
    """

    family: str = attrs.field(
        default="known",
        validator=attrs.validators.in_(("known", "auto", "one-hot", "smoothing", "mixup", "mixup-equal")),
    )

    def missing_requirement(self, threat: GradientThreat) -> str:
        """It solves gradients of single samples, whole or scaled, of families that leave something to recover."""
        pattern, facts = BY_FAMILY[threat.family], threat.facts
        few = threat.n_classes <= pattern.continuum_classes(scaled=not facts.clean)
        if threat.batch == 1 and facts.proportional and few:
            return f"{threat.n_classes} classes leave a continuum of {pattern.name} labels"
        return one_sample_each(threat) or ("" if facts.proportional else "needs unaltered gradients")

    def run(self, oracle: GradientOracle, rng: np.random.Generator) -> Guess:
        """Solve every release; a zero gradient gets the majority class."""
        threat, found = oracle.threat, recovered(oracle, self.family, scaled=not oracle.threat.clean)
        return GradientGuess(
            labels=np.where(found.hard < 0, threat.majority, found.hard),
            soft=np.nan_to_num(found.labels, nan=1 / threat.n_classes),
            evidence={
                **({"note": found.remark} if found.remark else {}),
                **Counter(status.value for status in found.status),
                **({"condition": found.condition} if found.condition else {}),
                "median confidence": float(np.median(found.confidence)),
            },
        )
