"""Runs a plan on an executor and keeps everything in a record; what the record has already is not done again.

First every cell says what is known of it; a mistake of the user's is found here, before anything is played. Then the
trials are played in rounds, so that every cell has one trial before any has two. A cell whose trial hangs or crashes
is given up: later trials of it are not played, and those that were in flight do not count. So the results are the
same for any number of workers.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator

from labelinf_core.contracts.errors import InputError
from labelinf_core.evaluator.cells import Plan
from labelinf_core.evaluator.executors import Executor, Imply, Play
from labelinf_core.evaluator.records import Implied, Status, Trial
from labelinf_core.evaluator.store import Store

__all__ = ["is_complete", "run", "size"]


def run(plan: Plan, store: Store, executor: Executor, progress: Callable[[int], None] = lambda done: None) -> None:
    """Do what is still to be done of ``plan``.

    Args:
        plan: What to run.
        store: Its record.
        executor: Where to run it.
        progress: Called with the number of steps done (of :func:`size`), whenever one is.

    Raises:
        InputError: Settings of the plan do not fit together; nothing has been played then.
    """
    done = size(plan) - sum(1 for _ in _unknown(plan, store)) - sum(1 for _ in _unplayed(plan, store))
    progress(done)
    while culprits := _prepare(plan, store, executor, functools.partial(_further, progress, done)):
        store.leave_out(culprits)
        done = size(plan) - len(plan.cells) - sum(1 for _ in _unplayed(plan, store))
    store.commit()
    done = size(plan) - sum(1 for _ in _unplayed(plan, store))
    for task, result in executor.perform(_unplayed(plan, store)):
        if isinstance(task, Play) and isinstance(result, Trial):
            store.keep_trial(task.cell.id, task.trial, result)
            done += 1
            progress(done)


def _further(progress: Callable[[int], None], done: int, more: int) -> None:
    progress(done + more)


def _prepare(plan: Plan, store: Store, executor: Executor, progress: Callable[[int], None]) -> dict[str, str]:
    """Ask what is known of every cell.

    Returns:
        The bounds that ended their process or never returned, by name, and how. They are nobody's failure but their
        own: all cells are asked again without them, so that what is kept does not depend on the order of asking.

    Raises:
        InputError: Settings of the plan do not fit together.
    """
    mistakes: dict[str, None] = {}  # in order, each once
    culprits: dict[str, str] = {}
    for known, (task, result) in enumerate(executor.perform(_unknown(plan, store)), 1):
        if isinstance(result, Implied) and result.culprit:
            culprits[result.culprit] = result.message
        elif isinstance(result, Implied) and result.status is Status.INVALID:
            mistakes[result.message] = None
        elif isinstance(result, Implied):
            store.keep_implied(task.cell.id, result)
        progress(known)
        if culprits:
            break
    if mistakes and not culprits:
        raise InputError("\n".join(mistakes))
    return culprits


def size(plan: Plan) -> int:
    """Return how many steps a run of ``plan`` takes when nothing goes wrong."""
    return len(plan.cells) * (1 + plan.trials)


def is_complete(plan: Plan, store: Store) -> bool:
    """Whether nothing is left to do."""
    return next(_unknown(plan, store), None) is None and next(_unplayed(plan, store), None) is None


def _unknown(plan: Plan, store: Store) -> Iterator[Imply]:
    without = store.left_out()
    return (Imply(cell=cell, without=without) for cell in plan.cells if not store.knows(cell.id))


def _unplayed(plan: Plan, store: Store) -> Iterator[Play]:
    """Yield the trials to play, round by round, looking at the record anew before each."""
    without = store.left_out()
    cells = sorted(plan.cells, key=lambda cell: sorted(cell.versions))  # whose plugins a worker has run already
    for trial in range(plan.trials):
        for cell in cells if trial % 2 == 0 else reversed(cells):
            if store.wants(cell.id, trial):
                yield Play(cell=cell, seed=plan.seed, trial=trial, without=without)
