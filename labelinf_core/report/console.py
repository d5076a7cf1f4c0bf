"""The console that reports are printed on."""

from __future__ import annotations

import sys

from rich.console import Console

__all__ = ["make_console"]

_PIPED = 120  # columns, so that a piped report is the same everywhere


def make_console() -> Console:
    """Return a console on standard output: without colour, and of fixed width, when it is piped."""
    return Console(highlight=False, markup=False, emoji=False, width=None if sys.stdout.isatty() else _PIPED)
