"""How long a run will take: from the seconds that earlier runs recorded.

A trial takes about as long as the same attack took against the same defences, or else as long as the attack took
against others, or else as long as a trial took at all. What was never played is said to be unknown.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing, suppress
from pathlib import Path
from statistics import fmean

import attrs

from labelinf_core.contracts.errors import InputError
from labelinf_core.evaluator.cells import Cell, Plan
from labelinf_core.evaluator.layout import RECORD
from labelinf_core.evaluator.runs import key_of
from labelinf_core.evaluator.store import Store

__all__ = ["Estimate", "estimate"]

_RUNS = 20  # the newest records that are read


@attrs.define
class _Seen:
    """How long so many trials took together."""

    seconds: float = 0.0
    trials: int = 0

    def add(self, seconds: float, trials: int) -> None:
        self.seconds += seconds
        self.trials += trials

    @property
    def mean(self) -> float:
        return self.seconds / self.trials


@attrs.frozen(kw_only=True)
class Estimate:
    """What a run would take.

    Attributes:
        cells: How many there are.
        trials: How many trials are still to be played.
        seconds: Of one processor, for those whose attack was played before; None when nothing was.
        unknown: Cells whose attack was never played.
    """

    cells: int
    trials: int
    seconds: float | None
    unknown: int

    def __str__(self) -> str:
        played = f"{self.cells} cells, {self.trials} trials to play"
        if self.seconds is None:
            return f"{played}; nothing like them was recorded, so their time is not known"
        rest = f", beside {self.unknown} cells whose attack was never played" if self.unknown else ""
        return f"{played}: {self.duration} of processor time by recorded trials{rest}"

    @property
    def duration(self) -> str:
        """In words; empty when nothing is known."""
        if self.seconds is None:
            return ""
        return "about " + (f"{self.seconds / 60:.0f} min" if self.seconds >= 120 else f"{self.seconds:.0f} s")


def estimate(plan: Plan, folder: Path, directory: Path | None = None) -> Estimate:
    """Estimate what is still to be played of a plan; nothing is written.

    Args:
        plan: What would be played.
        folder: Where runs are kept.
        directory: The run that would go on, when there is one.
    """
    known: dict[tuple[str, ...], _Seen] = {}
    done: dict[str, int] = {}
    paths = sorted(folder.glob(f"*/{RECORD}"), key=lambda path: path.stat().st_mtime_ns, reverse=True)[:_RUNS]
    own = [directory / RECORD] if directory is not None and (directory / RECORD).is_file() else []
    with suppress(InputError):
        plan = plan.keyed(key_of(own[0].parent) or plan.key) if own else plan
    for path in dict.fromkeys([*own, *paths]):
        with suppress(InputError, sqlite3.Error):
            _read(path.parent, known, done if path in own else {})
    under = {cell.id for cell in plan.cells}
    trials = plan.trials * len(plan.cells) - sum(
        min(count, plan.trials) for cell, count in done.items() if cell in under
    )
    means = [_mean(known, cell) for cell in plan.cells]
    found = [mean for mean in means if mean is not None]
    return Estimate(
        cells=len(plan.cells),
        trials=trials,
        seconds=fmean(found) * trials if found else None,
        unknown=len(means) - len(found),
    )


def _keys(cell: Cell) -> Iterable[tuple[str, ...]]:
    yield (cell.labels, cell.channel, cell.attack, *cell.written)
    yield (cell.labels, cell.channel, cell.attack)
    yield (cell.attack.partition("(")[0],)


def _read(directory: Path, known: dict[tuple[str, ...], _Seen], done: dict[str, int]) -> None:
    with closing(Store.reopen(directory)) as store:
        for cell in store.plan.cells:
            seen = _Seen()
            for trial in store.trials(cell.id):
                seen.add(trial.seconds, int(trial.seconds > 0))
            done[cell.id] = sum(not store.wants(cell.id, trial) for trial in range(store.plan.trials))
            for key in _keys(cell):
                known.setdefault(key, _Seen()).add(seen.seconds, seen.trials)


def _mean(known: Mapping[tuple[str, ...], _Seen], cell: Cell) -> float | None:
    return next((found.mean for key in _keys(cell) if (found := known.get(key)) and found.trials), None)
