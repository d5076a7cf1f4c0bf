"""Time, as a board sees it: whole milliseconds, and answers that leave at beats."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol

import attrs

__all__ = ["BoardClock", "StepClock", "SystemClock"]


class BoardClock(Protocol):
    """Where a board gets its time."""

    def now(self) -> int:
        """Return milliseconds since 1970."""
        ...

    def wait(self, until: int) -> None:
        """Return at ``until``, or at once if that has passed."""
        ...

    async def pause(self, until: int) -> None:
        """Return at ``until`` too, and let others go on meanwhile."""
        ...


@attrs.frozen
class SystemClock:
    """The machine's."""

    def now(self) -> int:
        """The wall clock; a ledger takes care of one that is set back."""
        return time.time_ns() // 1_000_000

    def wait(self, until: int) -> None:
        """Sleep."""
        while (left := until - self.now()) > 0:
            time.sleep(left / 1000)

    async def pause(self, until: int) -> None:
        """Sleep, and keep no thread for it."""
        while (left := until - self.now()) > 0:
            await asyncio.sleep(left / 1000)


@attrs.define
class StepClock:
    """One that stands still until somebody waits: for boards without a wall clock, and for tests.

    Attributes:
        time: Now.
    """

    time: int = 0

    def now(self) -> int:
        """Whatever was waited for last."""
        return self.time

    def wait(self, until: int) -> None:
        """It is ``until`` now."""
        self.time = max(self.time, until)

    async def pause(self, until: int) -> None:
        """It is ``until`` now."""
        self.wait(until)
