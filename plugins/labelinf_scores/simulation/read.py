"""Read the labels behind any scorer: the one way in."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np

from labelinf_core.contracts.errors import QueriesExhaustedError
from labelinf_scores.simulation.bars import few_symbols, read_bars
from labelinf_scores.simulation.formats import SubmissionFormat
from labelinf_scores.simulation.knowledge import Knowledge
from labelinf_scores.simulation.noisy import is_noisy, read_noisy
from labelinf_scores.simulation.orbits import exchangeable
from labelinf_scores.simulation.reading import Reader
from labelinf_scores.simulation.simulator import BudgetSpentError, Labels, Simulator, Submission

__all__ = ["Read", "read"]

_PASTS = 8  # labellings, each with three submissions before another


@attrs.frozen(kw_only=True, eq=False)
class Read:
    """What was read.

    Attributes:
        labels: A class for every record; -1 where none was read.
        confirmed: Whether the labels give every answer, those of verifying queries, too; never where answers are drawn.
        unnamed: Whether classes can change places without changing an answer, so that none can be told from another:
            one known label for each class but one, or unequal class totals, would open it.
        likely: The likelier class of every record, where answers are drawn; None where they are not, or there are more
            than two classes, which are not read through noise.
    """

    labels: Labels
    confirmed: bool
    likely: Labels | None = None
    unnamed: bool = False


def read(
    game: Simulator,
    ask: Callable[[Submission], Any],
    form: SubmissionFormat,
    rng: np.random.Generator,
    totals: Sequence[int] | None = None,
) -> Read:
    """Read until nothing is open, or queries or simulations are spent.

    Args:
        game: The scorer, to be run on made labels.
        ask: Asks the host; raises QueriesExhaustedError when it answers no more.
        form: What a submission looks like.
        rng: For all that is drawn.
        totals: The class totals, where they are public; what is drawn is read without them.
    """
    knowledge = Knowledge.none(game, ask, rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a scorer may warn of every labelling that is made up
        if _draws(game, form, rng):
            return _through_noise(game, ask, form, rng)
        game.remembers = _remembers(game, form, rng)
        try:
            if (totals is None or max(totals) == min(totals)) and exchangeable(game, form, rng):
                return Read(labels=knowledge.labels, confirmed=False, unnamed=True)
            confirmed = _deterministic(knowledge, form, totals)
        except (QueriesExhaustedError, BudgetSpentError):
            confirmed = False
    return Read(labels=knowledge.labels, confirmed=confirmed)


def _deterministic(knowledge: Knowledge, form: SubmissionFormat, totals: Sequence[int] | None) -> bool:
    """Read next to a bar first where answers are few and none moves with few records; return if it is confirmed."""
    game = knowledge.game
    reader = Reader.of(knowledge, form, totals)
    few = game.n_classes == 2 and not game.remembers and few_symbols(game, form, knowledge.rng)
    if few and not reader.decouples():
        whole, game.limit = game.limit, (game.calls + game.limit) // 2
        with contextlib.suppress(BudgetSpentError):
            if read_bars(knowledge, form):
                return True
        game.limit = whole
    reader.run()
    return reader.confirmed


def _draws(game: Simulator, form: SubmissionFormat, rng: np.random.Generator) -> bool:
    labels, rows = rng.integers(game.n_classes, size=game.n_records), form.spread(game.n_records, rng)
    try:
        return is_noisy(game, labels, rows)
    except BudgetSpentError:
        return False


def _remembers(game: Simulator, form: SubmissionFormat, rng: np.random.Generator) -> bool:
    """Whether a board answers the same submission otherwise after others than without a past."""
    if game.restarted is None:
        return False
    try:
        for _ in range(_PASTS):
            labels = rng.integers(game.n_classes, size=game.n_records)
            *past, rows = [form.spread(game.n_records, rng) for _ in range(4)]
            one, other = attrs.evolve(game, remembers=True), attrs.evolve(game, remembers=True, history=past)
            if not np.array_equal(one(labels, rows), other(labels, rows)):
                return True
    except BudgetSpentError:
        pass
    return False


def _through_noise(
    game: Simulator, ask: Callable[[Submission], Any], form: SubmissionFormat, rng: np.random.Generator
) -> Read:
    if game.n_classes > 2:
        return Read(labels=np.full(game.n_records, -1), confirmed=False)
    found = read_noisy(game, ask, form, rng=rng)
    sure = found.sure & found.replayed
    return Read(labels=np.where(sure, found.labels, -1), confirmed=False, likely=found.labels)
