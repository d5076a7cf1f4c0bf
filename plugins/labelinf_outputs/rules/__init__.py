"""What every attack and defence of the model-output channel is held to."""

from labelinf_core.plugin.descriptors import Kind
from labelinf_outputs.rules import attacks, defences

__all__ = ["RULES"]

RULES = {Kind.ATTACK: attacks.RULES.named, Kind.DEFENCE: defences.RULES}  #: by kind of component
