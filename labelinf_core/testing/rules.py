"""How a rule says that it is broken, or that it does not apply."""

from __future__ import annotations

from unittest import SkipTest

__all__ = ["NotApplicableError", "require"]


class NotApplicableError(SkipTest):
    """A rule does not apply to this component; pytest reports it as skipped."""


def require(condition: object, otherwise: str) -> None:
    """Check one thing a rule asks for; unlike ``assert`` it is never optimised away.

    Raises:
        AssertionError: ``condition`` is false; ``otherwise`` says how the rule is broken.
    """
    if not condition:
        raise AssertionError(otherwise)
