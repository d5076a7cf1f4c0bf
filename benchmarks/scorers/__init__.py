"""The scorers that an attack which knows no metric is measured on: a list fixed before the attack was written."""

from __future__ import annotations

from . import boards, classes, confusion, groups, noise, probabilities, ranks, unreadable, values
from .contract import FAMILIES, Opaque, Scored
from .drawn import drawn

__all__ = ["FAMILIES", "SCORERS", "Opaque", "Scored", "drawn"]

_MODULES = (ranks, probabilities, confusion, classes, values, groups, boards, noise, unreadable)

SCORERS: tuple[Scored, ...] = tuple(
    value for module in _MODULES for value in vars(module).values() if isinstance(value, Scored)
)
