"""Simulation: run the board itself on made labels, and rule out the labels whose answers are not those given.

It needs no name of a metric, only the board's code, which is public. What it reads is replayed, and nothing of it is
certain: see :mod:`labelinf_scores.simulation`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np

from labelinf_core.contracts.components import Guess
from labelinf_scores.game.oracle import ScoreAttack, ScoreOracle
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.metrics.readings import HARD, Rows, ScoredMetric
from labelinf_scores.metrics.unnamed import Unnamed
from labelinf_scores.simulation.formats import Classes, Columns, Numbers, SubmissionFormat
from labelinf_scores.simulation.read import read
from labelinf_scores.simulation.simulator import Simulator, Submission, afforded

__all__ = ["Simulate", "played"]

_LOGIT = 8.0  # beyond which a probability is certain enough


@attrs.frozen(kw_only=True)
class Simulate(ScoreAttack):
    """Reads any scorer by running it on made labels.

    Attributes:
        simulations: Most labellings that are scored; fewer where there are many labels.
    """

    reading_of = "whatever can be run"
    runs = True
    simulations: int = attrs.field(default=60_000, validator=attrs.validators.ge(1))

    def reads(self, metric: ScoredMetric | None) -> bool:
        """Whatever is scored."""
        return True

    def missing_requirement(self, threat: ScoreThreat) -> str:
        """Rows must be about the same records always."""
        if not threat.ordered:
            return "needs records in an order that does not change"
        return "there is one class only" if max(threat.prior) == 1 else ""

    def run(self, oracle: ScoreOracle, rng: np.random.Generator) -> Guess:
        """Read until nothing is open, or queries or simulations are spent."""
        threat, draws = oracle.threat, rng.spawn(1)[0]
        game = Simulator(
            score=lambda labels, rows: float(oracle.simulated(labels, rows, draws)),
            n_records=threat.n_records,
            n_classes=threat.n_classes,
            limit=afforded(self.simulations, threat.n_records) if oracle.simulates else 0,
        )
        return played(game, lambda rows: float(oracle.query(rows)), _format(threat), threat.totals.counts, rng)


def played(
    game: Simulator,
    ask: Callable[[Submission], Any],
    form: SubmissionFormat,
    totals: tuple[int, ...],
    rng: np.random.Generator,
) -> Guess:
    """Read what can be read, and guess the likeliest class of what is left for all others."""
    found = read(game, ask, form, rng, totals)
    known = found.labels >= 0
    evidence = {"labels read": int(known.sum()), "replayed": found.confirmed, "simulations": game.calls}
    if found.unnamed:
        evidence["classes that one known label each would name"] = len(totals) - 1
    left = np.array(totals) - np.bincount(found.labels[known], minlength=len(totals))
    return Guess(
        labels=np.where(known, found.labels, left.argmax()) if found.likely is None else found.likely,
        evidence=evidence,
    )


def _format(threat: ScoreThreat) -> SubmissionFormat:
    """Return the rows that the board takes."""
    metric, k = threat.metric, threat.n_classes
    if isinstance(metric, Unnamed):
        return metric.form
    low, high = threat.facts.lowest, threat.facts.highest
    if metric is None:
        if threat.loss.takes_logits:
            return Numbers(low=-_LOGIT, high=_LOGIT) if k == 2 else Columns(n_classes=k)
        return Numbers() if k == 2 else Columns(n_classes=k)
    if metric.rows in HARD:
        return Classes(values=np.arange(k, dtype=np.float64))
    if metric.columns:
        return Columns(n_classes=k)
    numbers = threat.values if metric.of_values and threat.values else tuple(range(k))
    if metric.rows is Rows.REALS:
        return Numbers(low=max(min(numbers), low), high=min(max(numbers), high))
    return Numbers()
