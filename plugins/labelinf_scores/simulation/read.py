"""Read the labels behind any scorer: the one way in."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np

from labelinf_scores.simulation.formats import Format
from labelinf_scores.simulation.knowledge import Knowledge
from labelinf_scores.simulation.reading import Reader
from labelinf_scores.simulation.simulator import Labels, Simulator, Submission

__all__ = ["Read", "read"]


@attrs.frozen(kw_only=True, eq=False)
class Read:
    """What was read.

    Attributes:
        labels: A class for every record; -1 where none was read.
        confirmed: Whether the labels give every answer, those of verifying queries, too.
    """

    labels: Labels
    confirmed: bool


def read(
    game: Simulator,
    ask: Callable[[Submission], Any],
    form: Format,
    rng: np.random.Generator,
    totals: Sequence[int] | None = None,
) -> Read:
    """Read until nothing is open, or queries or simulations are spent.

    Args:
        game: The scorer, to be run on made labels.
        ask: Asks the host; raises QueriesExhaustedError when it answers no more.
        form: What a submission looks like.
        rng: For all that is drawn.
        totals: The class totals, where they are public.
    """
    knowledge = Knowledge.none(game, ask, rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a scorer may warn of every labelling that is made up
        reader = Reader.begun(knowledge, form, totals)
    return Read(labels=knowledge.labels, confirmed=reader is not None and reader.confirmed)
