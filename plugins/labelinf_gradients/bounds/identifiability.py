"""Which settings are ambiguous for any attack that knows the family of a label and nothing else about it.

The gradient without biases has C - 1 free entries; a label of the family with its scale has as many unknowns as its
free weights plus one. By counting, zero families (one-hot, mixup) have one answer from ``C >= |S| + 2`` classes on,
families whose other entries are merely equal from ``C >= |S| + 3``; with fewer there are several answers or a continuum
(labelinf theory, identifiability: counting and simulation, no proof that exceptions have measure zero). Two classes are
always ambiguous without the features' sign: ``(x, e_k)`` and ``(-x, e_l)`` give the same gradient.

Three things end recovery elsewhere: a zero gradient; saturated probabilities, where soft labels keep only an interval;
and a head whose logits do not depend on the feature. The gradient of the last layer's bias makes every label unique.
"""

from __future__ import annotations

import attrs

from labelinf_core.contracts.components import Bound
from labelinf_core.contracts.guarantees import BoundValue, Direction
from labelinf_core.contracts.threat import ThreatModel
from labelinf_gradients.game.gradient import GradientThreat
from labelinf_gradients.recovery.patterns import BY_FAMILY, Pattern

__all__ = ["Identifiability"]


@attrs.frozen(kw_only=True)
class Identifiability(Bound):
    """Classes it takes until one label explains a sample's gradient."""

    def evaluate(self, threat: ThreatModel) -> tuple[BoundValue, ...]:
        """Return the fewest classes for one answer, and what is left with as many as there are."""
        if not isinstance(threat, GradientThreat) or threat.batch > 1:
            return ()
        pattern = BY_FAMILY[threat.family]
        least, why = pattern.least_classes, _what_is_left(threat, pattern)
        if threat.bias_shared:
            least, why = 2, "a bias gradient gives it in closed form"
        return (
            BoundValue(
                title="classes until a sample's label is unique",
                direction=Direction.FLOOR,
                quantity="classes",
                value=least,
                formula="C >= |S| + 2 when other entries are zero, |S| + 3 when merely equal",
                conditions=why,
                statement="labelinf theory, identifiability",
            ),
        )


def _what_is_left(threat: GradientThreat, pattern: Pattern) -> str:
    if threat.n_classes >= pattern.least_classes:
        return f"{pattern.name} labels: one answer for generic gradients that are not saturated"
    if threat.n_classes <= pattern.continuum_classes():
        return f"{pattern.name} labels: with {threat.n_classes} classes a continuum of answers"
    if threat.n_classes == 2:
        return "two classes: always ambiguous unless the features' sign is known"
    return f"{pattern.name} labels: with {threat.n_classes} classes often several answers"
