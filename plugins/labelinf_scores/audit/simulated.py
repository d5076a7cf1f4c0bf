"""A scorer that no name was found for, attacked by running it: nothing has to be recognised."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import LabelSet
from labelinf_core.contracts.errors import QueriesExhaustedError
from labelinf_core.evaluator.statistics import clopper_pearson
from labelinf_scores.attacks.simulate import played
from labelinf_scores.audit.scorer import Extraction
from labelinf_scores.game.scoring import Query, Scorer
from labelinf_scores.simulation.formats import Format, usual
from labelinf_scores.simulation.simulator import Simulator

__all__ = ["simulated"]

_TRIES = 6  # made submissions of a format, one of which has to be scored
_ANSWER = Callable[[NDArray[np.intp], Query], Any]


def simulated(
    scorer: Scorer, data: LabelSet, *, queries: int, rng: np.random.Generator, simulations: int = 60_000
) -> Extraction:
    """Play the attack that runs the scorer on made labels, in the first format that it takes.

    Args:
        scorer: What is audited.
        data: The private labels; the attack knows their class totals.
        queries: The budget; 0 is unlimited.
        rng: For the order of the records, and for the attack.
        simulations: Most labellings that are scored.
    """
    began, labels = time.perf_counter(), rng.permutation(data.labels)
    game = Simulator(
        score=lambda made, rows: scorer.score(made, Query(predictions=rows)),
        n_records=data.n_records,
        n_classes=data.n_classes,
        limit=simulations,
    )
    spent = 0

    def ask(rows: NDArray[Any]) -> Any:
        nonlocal spent
        if queries and spent >= queries:
            raise QueriesExhaustedError(f"all {queries} queries are spent.")
        spent += 1
        return scorer.score(labels, Query(predictions=rows))

    form = _taken(game, rng)
    if form is None:
        return Extraction(attack="simulate", refusal="the scorer takes none of the usual submissions")
    totals = tuple(np.bincount(data.labels, minlength=data.n_classes).tolist())
    guess = played(game, ask, form, totals, rng)
    right = int((guess.labels == labels).sum())
    baseline = max(data.prior)
    accuracy = clopper_pearson(right, labels.size)
    gained = max(0.0, (accuracy.value - baseline) / (1 - baseline)) * labels.size if baseline < 1 else 0.0
    return Extraction(
        attack="simulate",
        accuracy=accuracy,
        baseline=baseline,
        exact=right == labels.size,
        queries=spent,
        labels_per_query=gained / spent if spent else 0.0,
        seconds=time.perf_counter() - began,
        evidence=guess.evidence,
    )


def _taken(game: Simulator, rng: np.random.Generator) -> Format | None:
    """Return the first of the usual formats in which some submission is scored."""
    for form in usual(game.n_classes):
        for _ in range(_TRIES):
            if game.accepts(rng.integers(game.n_classes, size=game.n_records), form.spread(game.n_records, rng)):
                return form
    return None
