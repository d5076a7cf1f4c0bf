"""What every component of the score channel is held to, beside what holds for all components of its kind."""

from collections.abc import Mapping, Sequence

from labelinf_core.contracts.components import Rule
from labelinf_core.plugin.descriptors import Kind
from labelinf_scores.rules import attacks, bounds, defences, losses, metrics

__all__ = ["RULES"]

RULES: Mapping[Kind, Sequence[Rule]] = {
    Kind.ATTACK: (*attacks.RULES.named, ("keeps-its-promise", attacks.keeps_its_promise)),
    Kind.DEFENCE: defences.RULES,
    Kind.LOSS: losses.RULES,
    Kind.METRIC: metrics.RULES,
    Kind.BOUND: bounds.RULES,
}  #: by kind of component
