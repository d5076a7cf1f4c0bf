"""What the attacks with detecting matrices share: ask group after group, read, decode, and say what is certain."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

import numpy as np

from labelinf_core.channels.score import ScoreAttack, ScoreOracle, ScoreThreat
from labelinf_core.components import Guess
from labelinf_core.errors import QueriesExhaustedError, QueryRefusedError
from labelinf_core.guarantees import Promise
from labelinf_core.threat import ThreatModel
from labelinf_scores.attacks.detecting_plan import DetectingPlan, Group
from labelinf_scores.attacks.sizing import intact, score_threat
from labelinf_scores.decoders.posterior import certainly, likeliest_labels

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["DetectingAttack"]

_CONDITIONS = "the curator answers every query on the true labels of all records, in order, within its error bound"


class DetectingAttack(ScoreAttack):
    """An attack that pushes records by detecting matrices; a subclass says what its plan is.

    Attributes:
        statement: What proves it.
    """

    statement = "Cantor and Mills, Canadian Journal of Mathematics 1966"

    def plan(self, threat: ScoreThreat) -> DetectingPlan:
        """Return what is asked.

        Raises:
            ValueError: The curator's format or loss has no such rows.
        """
        raise NotImplementedError

    def refusal(self, threat: ThreatModel) -> str:
        """It needs two classes, and a label that stands out from the error of the score."""
        threat = score_threat(threat)
        if threat.n_classes != 2:
            return "needs two classes"
        try:
            certain = _planned(self, threat).is_certain
        except ValueError as error:
            return str(error)
        return "" if certain else "not one label stands out from the error of the score"

    def promise(self, threat: ThreatModel) -> Promise | None:
        """Every label, when all queries fit the budget and every answer is certified to be read right."""
        threat = score_threat(threat)
        plan = _planned(self, threat)
        bounded = math.isfinite(threat.noise_bound) and math.isfinite(threat.noise_factor)
        return Promise(
            survives=plan.survives,
            present=plan.present if bounded else math.inf,
            statement=self.statement,
            conditions=_CONDITIONS,
            proved=threat.allows(plan.n_queries) and intact(threat),
            strict=True,
        )

    def run(self, oracle: ScoreOracle, rng: np.random.Generator) -> Guess:
        """Ask group after group while the budget lasts; guess the likeliest class for the rest."""
        threat = oracle.threat
        plan, promise = _planned(self, threat), self.promise(threat)
        found = np.full(threat.n_records, -1, dtype=np.intp)
        for group in plan.groups:
            found[group.start : group.stop] = group.decode(_counts(plan, oracle, group))
        return Guess(
            labels=likeliest_labels(certainly(found, threat), threat),
            evidence={
                "recovery": "certified" if promise is not None and promise.certified else "heuristic",
                "queries planned": plan.n_queries,
                "labels per query": threat.n_records / plan.n_queries,
                "private labels per query": plan.n_private,
                "queries of the largest group": max((group.matrix.n_rows for group in plan.groups), default=0),
                "survives": plan.survives,
                "asked about": int(np.count_nonzero(found >= 0)),
            },
        )


def _counts(plan: DetectingPlan, oracle: ScoreOracle, group: Group) -> NDArray[np.int64]:
    """Ask the queries of a group; -1 where there is no answer."""
    counts = np.full(group.matrix.n_rows, -1, dtype=np.int64)
    for index in range(group.matrix.n_rows):
        try:
            counts[index] = plan.ask(oracle, group, index)
        except QueriesExhaustedError:
            break
        except QueryRefusedError:
            continue
    return counts


@functools.lru_cache(maxsize=8)
def _planned(attack: DetectingAttack, threat: ScoreThreat) -> DetectingPlan:
    """Plan once: the same plan serves the refusal, the promise and every trial."""
    return attack.plan(threat)
