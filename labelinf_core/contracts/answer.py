"""The answer in three parts that heads what a command finds: what leaks, what stops it, what that costs."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

import attrs

__all__ = ["Answer", "headed"]

_INDENT = 12


@attrs.frozen(kw_only=True)
class Answer:
    """Three sentences; one that is empty is said not to be known.

    Attributes:
        leaks: What comes out, by what, and how surely.
        stopped: What stops it, and whether that is proved.
        costs: What that costs an honest participant.
    """

    leaks: str
    stopped: str = ""
    costs: str = ""

    def parts(self) -> Iterator[tuple[str, str]]:
        """Yield the parts by their headings."""
        yield "leaks", self.leaks
        yield "stopped by", self.stopped or "nothing that is known here"
        yield "costs", self.costs or "not measured here"

    def lines(self, width: int) -> Iterator[str]:
        """Yield the three parts in lines of at most ``width``; no word of them is cut off."""
        return headed(self.parts(), width, _INDENT)


def headed(parts: Iterable[tuple[str, str]], width: int, indent: int) -> Iterator[str]:
    """Yield what stands beside headings, in lines of at most ``width`` that begin after ``indent`` columns."""
    for heading, said in parts:
        yield from textwrap.wrap(
            said,
            max(width, 2 * indent),
            initial_indent=f"{heading:<{indent}}",
            subsequent_indent=" " * indent,
            break_on_hyphens=False,
        )
