"""What a component is at, for whoever shows it: an attack that takes minutes says how far it is, and nothing else.

It says so to nobody unless somebody listens; a listener in another process hears nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["Listener", "heard", "say"]

Listener = Callable[[str, int, int], None]  #: called with what is done, how much of it, and of how many


def _nobody(what: str, done: int, total: int) -> None:
    """Take no notice."""


_LISTENER: ContextVar[Listener] = ContextVar("listener", default=_nobody)


def say(what: str, done: int, total: int) -> None:
    """Say that ``done`` of ``total`` steps are over, in words that hold nothing private."""
    _LISTENER.get()(what, done, total)


@contextmanager
def heard(by: Listener) -> Iterator[None]:
    """Have everything that is said in between heard by a listener."""
    token = _LISTENER.set(by)
    try:
        yield
    finally:
        _LISTENER.reset(token)
