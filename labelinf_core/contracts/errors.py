"""Every exception labelinf raises on purpose.

A message is one clear sentence: what was wrong, where, and what would be right. The command line prints it as it
stands and exits with status 2, with 3 when nothing is understood of what a user gave, or 4 when a component broke;
nothing else is ever shown to a user for a mistake of theirs.
"""

from __future__ import annotations

__all__ = [
    "ComponentError",
    "InconclusiveError",
    "InputError",
    "LabelinfError",
    "NameConflictError",
    "PluginError",
    "QueriesExhaustedError",
    "QueryRefusedError",
    "UnfitError",
    "UnknownNameError",
    "UnwrittenError",
]


class LabelinfError(Exception):
    """Base class, so that a caller can catch everything labelinf raises on purpose."""


class InputError(LabelinfError, ValueError):
    """A file, a suite, a parameter or an array that a user gave cannot be used as it is."""


class UnfitError(InputError):
    """A defence or an attack cannot stand in this setting: it is not played, and says what it lacks."""


class InconclusiveError(InputError):
    """Nothing is understood of what a user gave, so that nothing played on it would tell anything."""


class UnwrittenError(InputError):
    """What was played cannot be kept any more: the disk is full, say. What is kept already stays."""


class PluginError(LabelinfError):
    """A plugin package is at fault; the message names the distribution to report it to."""


class ComponentError(PluginError):
    """A component raised, or returned what its contract does not allow. It loses its own cell.

    Attributes:
        component: The one at fault; None until whoever called it says so.
    """

    def __init__(self, fault: str, component: object = None) -> None:
        super().__init__(fault)
        self.component = component


class NameConflictError(PluginError):
    """Two plugins provide the same kind of component under the same name."""


class UnknownNameError(LabelinfError, LookupError):
    """No loaded plugin provides the requested name.

    Attributes:
        missing: What nobody provides, for example ``"metric 'f7'"``; empty where it is no component.
    """

    def __init__(self, message: str, missing: str = "") -> None:
        super().__init__(message)
        self.missing = missing


class QueryRefusedError(LabelinfError):
    """The curator, or a defence before it, declined to answer one query."""


class QueriesExhaustedError(QueryRefusedError):
    """The adversary has spent every query that the threat model grants."""
