"""What every attack, defence and bound of the gradient channel is held to."""

from labelinf_core.plugin.descriptors import Kind
from labelinf_gradients.rules import attacks, bounds, defences

__all__ = ["RULES"]

RULES = {
    Kind.ATTACK: attacks.RULES.named,
    Kind.DEFENCE: defences.RULES,
    Kind.BOUND: bounds.RULES,
}  #: by kind of component
