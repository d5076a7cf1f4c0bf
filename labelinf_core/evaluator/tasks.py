"""What is performed for a run: saying what is known of a cell, and playing one trial of it.

Tasks are plain data: they travel to whoever performs them. Neighbours that share a line of defences, or a victim, are a
group, which one worker performs.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping

import attrs

from labelinf_core.contracts.guarantees import Ceiling
from labelinf_core.evaluator.cells import Cell, Role
from labelinf_core.evaluator.play import TrialRunner
from labelinf_core.evaluator.records import Implied, Status, Trial
from labelinf_core.plugin.worker import alone

__all__ = ["Group", "Imply", "Play", "Task", "draw", "groups"]


@attrs.frozen(kw_only=True)
class Imply:
    """Say what is known of a cell before it is played.

    Attributes:
        cell: The cell.
        without: Bounds that are not asked, and why.
    """

    cell: Cell
    without: Mapping[str, str] = attrs.field(factory=dict, hash=False)

    @property
    def together(self) -> tuple[object, ...]:
        """Tasks with the same are performed one after another by one worker: what they share is computed once."""
        return (Imply, *self.cell.target)

    def perform(self, bench: TrialRunner) -> Implied:
        """Do it; a candidate is not asked where another one of its line of defences is certain of every label."""
        if bench.without != self.without:
            bench.without = self.without
            bench.settled.clear()
        if self.cell.role is Role.CANDIDATE and bench.settled.get(self.cell.target, self.cell.id) != self.cell.id:
            return Implied(status=Status.PENDING)
        with alone():
            known = bench.imply(self.cell)
        if self.cell.role is Role.CANDIDATE and known.is_certain:
            bench.settled[self.cell.target] = self.cell.id
        return known

    def failed(self, status: Status, message: str, doing: str = "") -> Implied:
        """Return what to keep when the worker hung or died while it was ``doing`` something."""
        kind, _, name = doing.partition(" ")
        told = f"{doing}: {message}" if doing else message
        return Implied(status=status, message=told, culprit=name.partition("(")[0] if kind == "bound" else "")


@attrs.frozen(kw_only=True)
class Play:
    """Play one trial of a cell.

    Attributes:
        cell: The cell.
        seed: Of the run.
        trial: Number of the trial.
        without: Bounds that are not asked, and why.
        proved: The ceilings of the cell.
    """

    cell: Cell
    seed: int
    trial: int
    without: Mapping[str, str] = attrs.field(factory=dict, hash=False)
    proved: tuple[Ceiling, ...] | None = attrs.field(default=None, repr=False)

    @property
    def together(self) -> tuple[object, ...]:
        """As of :class:`Imply`: the attacks of one trial meet what was trained for the first of them."""
        return (self.trial, *self.cell.curator)

    def perform(self, bench: TrialRunner) -> Trial:
        """Do it."""
        bench.without = self.without
        with alone():
            return bench.play(self.cell, self.seed, self.trial, self.proved)

    def failed(self, status: Status, message: str, doing: str = "") -> Trial:
        """Return what to keep when the worker hung or died."""
        return Trial(status=status, message=f"{doing}: {message}" if doing else message)


Task = Imply | Play
Group = list[Task]


def groups(tasks: Iterable[Task]) -> Iterator[Group]:
    """Yield neighbours among ``tasks`` that one worker should perform together."""
    for _, group in itertools.groupby(tasks, key=lambda task: task.together):
        yield list(group)


def draw(source: Iterator[Group], size: int) -> list[Group]:
    """Draw groups of at least ``size`` tasks together; fewer at the end."""
    drawn: list[Group] = []
    while sum(map(len, drawn)) < size and (group := next(source, None)):
        drawn.append(group)
    return drawn
