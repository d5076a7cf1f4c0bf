"""What a command says with its exit status; one table for every command, a plugin's included."""

from __future__ import annotations

import enum

__all__ = ["TABLE", "Exit"]


class Exit(enum.IntEnum):
    """The exit statuses. Where several apply, a finding comes before what is missing."""

    DONE = 0
    """Done, and nothing was found that the user asked to be stopped by."""

    FOUND = 1
    """A leak, a refuted claim, a broken rule: whatever the command looks for, or the user gates on."""

    INPUT = 2
    """A mistake of the user's or of a plugin's, told in one sentence; nothing was played."""

    INCONCLUSIVE = 3
    """Nothing was found, and nothing that was tried can stand for it."""

    INCOMPLETE = 4
    """Some of it crashed, raised or ran out of time, so that what it would have shown is not known."""

    INTERRUPTED = 130
    """Stopped by the user; what was played is kept."""


TABLE = (
    "Exit status: 0 done, nothing found; 1 a leak, a refuted claim or whatever a gate asks for; 2 bad input; "
    "3 inconclusive; 4 incomplete (something crashed or ran out of time); 130 interrupted."
)  #: for ``--help``
