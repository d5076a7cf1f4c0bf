"""Runs a plan on an executor and keeps everything in a record; what the record has already is not done again.

First every cell says what is known of it; a mistake of the user's is found here, before anything is played. That also
settles which attacks play where the suite names none (:mod:`labelinf_core.evaluator.choice`). Then the trials are
played in rounds, so that every cell has one trial before any has two. A cell whose trial hangs or crashes is given up:
later trials of it are not played, and those that were in flight do not count. So the results are the same for any
number of workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from labelinf_core.contracts.errors import InconclusiveError, InputError
from labelinf_core.contracts.guarantees import Ceiling
from labelinf_core.evaluator.cells import Cell, Plan
from labelinf_core.evaluator.choice import choose, in_turn, settled
from labelinf_core.evaluator.executors import Executor
from labelinf_core.evaluator.records import Implied, Status, Trial
from labelinf_core.evaluator.store import Store
from labelinf_core.evaluator.tasks import Imply, Play

__all__ = ["is_complete", "run", "size"]

_NOTHING = (Status.INVALID, Status.UNCLEAR)  # nothing is played where one cell is that


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
    for cell in plan.cells:
        if cell.lost and not store.knows(cell.id):
            store.keep_implied(cell.id, Implied(status=Status.ERROR, message=cell.lost))
    while culprits := _prepare(plan, store, executor, progress):
        store.leave_out(culprits)
    store.commit()
    chosen = _chosen(plan, store)
    done = size(plan) - sum(1 for _ in _unplayed(plan, store, chosen))
    for task, result in executor.perform(_unplayed(plan, store, chosen)):
        if isinstance(task, Play) and isinstance(result, Trial):
            store.keep_trial(task.cell.id, task.trial, result)
            done += 1
            progress(done)


def _prepare(plan: Plan, store: Store, executor: Executor, progress: Callable[[int], None]) -> dict[str, str]:
    """Ask what is known of every cell.

    Returns:
        The bounds that ended their process or never returned, by name, and how. They are nobody's failure but their
        own: all cells are asked again without them, so that what is kept does not depend on the order of asking.

    Raises:
        InputError: Settings of the plan do not fit together.
        InconclusiveError: A channel understands nothing of what a user gave.
    """
    mistakes: dict[str, Status] = {}  # in order, each once
    culprits: dict[str, str] = {}
    known = sum(store.knows(cell.id) for cell in plan.cells)
    progress(known)
    for task, result in _asked(plan, store, executor):
        if result.culprit:
            culprits[result.culprit] = result.message
        elif result.status in _NOTHING:
            mistakes[result.message] = result.status
        if culprits:
            break
        known += 1
        progress(known)
        if result.status not in _NOTHING:
            store.keep_implied(task.cell.id, result)
    if mistakes and not culprits:
        unclear = all(status is Status.UNCLEAR for status in mistakes.values())
        raise (InconclusiveError if unclear else InputError)("\n".join(mistakes))
    return culprits


def _asked(plan: Plan, store: Store, executor: Executor) -> Iterator[tuple[Imply, Implied]]:
    for task, result in executor.perform(_unknown(plan, store)):
        if isinstance(task, Imply) and isinstance(result, Implied) and result.status is not Status.PENDING:
            yield task, result  # of the others, nobody needs to know


def size(plan: Plan) -> int:
    """Return how many steps a run of ``plan`` takes when nothing goes wrong."""
    return len(plan.cells) * (1 + plan.trials)


def is_complete(plan: Plan, store: Store) -> bool:
    """Whether nothing is left to do."""
    if next(_unknown(plan, store), None) is not None:
        return False
    return next(_unplayed(plan, store, _chosen(plan, store)), None) is None


def _unknown(plan: Plan, store: Store) -> Iterator[Imply]:
    without, certain = store.left_out(), dict[str, bool]()

    def is_certain(cell: Cell) -> bool:
        if cell.id not in certain and (known := store.implied(cell.id)) is not None:
            certain[cell.id] = known.is_certain
        return certain.get(cell.id, False)

    for cell, before in in_turn(plan.cells):
        if not store.knows(cell.id) and not settled(cell, before, is_certain):
            yield Imply(cell=cell, without=without)


def _chosen(plan: Plan, store: Store) -> dict[Cell, tuple[Ceiling, ...]]:
    """Return the cells that are played, in the order of playing, each with what is proved of every attack there.

    Those that meet the same defences on the same labels stand together, whatever is shown to their attacks: what is
    trained for a trial is trained once for all of them.
    """
    known = {cell.id: implied for cell in plan.cells if (implied := store.implied(cell.id))}
    chosen = choose(plan, known)
    curators: dict[tuple[str, ...], int] = {}
    for cell in plan.cells:
        curators.setdefault(cell.curator, len(curators))
    cells = sorted((cell for cell in plan.cells if cell.id in chosen), key=lambda cell: curators[cell.curator])
    return {cell: known[cell.id].ceilings if cell.id in known else () for cell in cells}


def _unplayed(plan: Plan, store: Store, chosen: Mapping[Cell, tuple[Ceiling, ...]]) -> Iterator[Play]:
    """Yield the trials to play, round by round, looking at the record anew before each."""
    without, cells = store.left_out(), list(chosen)
    for trial in range(plan.trials):
        for cell in cells if trial % 2 == 0 else reversed(cells):
            if store.wants(cell.id, trial):
                yield Play(cell=cell, seed=plan.seed, trial=trial, without=without, proved=chosen[cell])
