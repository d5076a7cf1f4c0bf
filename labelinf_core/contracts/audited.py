"""What an audit comes to: one word for every room, and the one exit status that each word has."""

from __future__ import annotations

import abc
import enum

from labelinf_core.contracts.exits import Exit

__all__ = ["AuditDecision", "AuditWord"]


class AuditWord(enum.Enum):
    """What an audit says. Proofs and observations only: attacks that failed prove nothing, so they are never 0."""

    LEAKS = "leaks"
    """More came out than is tolerated, or is proved to."""
    REFUTED = "refuted"
    """More is proved to come out than was claimed."""
    BROKEN = "incomplete"
    """Nothing came out, and something broke while it was played."""
    CERTIFIED = "certified"
    """What is audited is proved to stay within what was asked for."""
    WITHSTOOD = "not refuted"
    """A claim withstood an audit in which an attack that reads everything would refute twice as much."""
    UNSHOWN = "no leak shown"
    """None of these."""
    VOID = "void"
    """What was handed in is no material for an audit."""

    @property
    def status(self) -> Exit:
        """How a command ends that says this."""
        return _STATUS[self]


_STATUS = {
    AuditWord.LEAKS: Exit.FOUND,
    AuditWord.REFUTED: Exit.FOUND,
    AuditWord.BROKEN: Exit.INCOMPLETE,
    AuditWord.CERTIFIED: Exit.DONE,
    AuditWord.WITHSTOOD: Exit.DONE,
    AuditWord.UNSHOWN: Exit.INCONCLUSIVE,
    AuditWord.VOID: Exit.INCONCLUSIVE,
}


class AuditDecision(abc.ABC):
    """What an audit found, of which its word is read; the exit status is read of its words and of nothing else."""

    @property
    @abc.abstractmethod
    def word(self) -> AuditWord:
        """The answer in a word."""

    @property
    def claimed(self) -> AuditWord | None:
        """What became of a claim that is tested, which then says how the command ends; None: there is none."""
        return None

    @property
    def status(self) -> Exit:
        """How a command ends."""
        return (self.claimed or self.word).status
