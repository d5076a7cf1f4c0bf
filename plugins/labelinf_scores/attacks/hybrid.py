"""The hybrid attack: private records below, a detecting matrix above; the most labels per query from coarse scores.

Where a leaderboard rounds to a few decimals, powers of two stop at 4 labels a query (25 000 records, 4 decimals). What
limits them is that one row cannot span more than the clip, while the score may be as large as it likes. So the widest
weight goes to *many* records in every query, with signs that a detecting matrix prescribes, and all of them are told
apart by the queries of a group together: 9 to 14 labels a query. Of more than two classes, every binary digit of the
class number is asked about by itself.

Example::

    labelinf attack hybrid --labels y.csv --defence 'round(decimals=4)'
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import Guess
from labelinf_core.contracts.guarantees import Promise
from labelinf_scores.attacks.certified import evidence_of, mismatch, promise_of
from labelinf_scores.certificates.row_costs import ROW_BITS
from labelinf_scores.decoders.posterior import certainly, likeliest_labels
from labelinf_scores.game.oracle import ScoreAttack, ScoreOracle, answered
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.plans.hybrid_group import Group, HybridQuery
from labelinf_scores.plans.hybrid_plan import HybridPlanner

__all__ = ["Hybrid"]


@attrs.frozen(kw_only=True)
class Hybrid(ScoreAttack):
    """Recovers all labels by powers of two and a detecting matrix in one.

    Attributes:
        private: Largest number of records that only one query asks about; 0 leaves the detecting matrix alone.
    """

    private: int = attrs.field(default=60, validator=[attrs.validators.ge(0), attrs.validators.le(60)])

    def missing_requirement(self, threat: ScoreThreat) -> str:
        """It needs a record at full span to stand out from the error of the score."""
        if unfit := mismatch(threat):
            return unfit
        try:
            plan = _plan(self, threat)
        except ValueError as error:
            return str(error)
        return "" if all(groups for _, groups in plan) else "not one label per query stands out from the error"

    def promised(self, threat: ScoreThreat) -> Promise | None:
        """Every label, when all queries are certified and fit the budget."""
        plan = _plan(self, threat)
        readings = [query.reading for _, groups in plan for group in groups for query in group.queries]
        return promise_of(
            threat,
            readings,
            whole=all(groups and groups[-1].stop == threat.n_records for _, groups in plan),
            n_queries=len(readings),
            statement="labelinf theory, the hybrid; the one-unit certificate",
        )

    def planners(self, threat: ScoreThreat) -> Iterator[HybridPlanner]:
        """Yield what lays the groups of queries, for every binary digit of the class number."""
        n_digits = (threat.n_classes - 1).bit_length()
        budget = threat.query_budget
        for digit in range(n_digits):
            yield HybridPlanner(
                threat=threat,
                levels=tuple(label >> digit & 1 for label in range(threat.n_classes)),
                most_private=self.private,
                most_queries=None if budget is None else budget // n_digits,
            )

    def run(self, oracle: ScoreOracle, rng: np.random.Generator) -> Guess:
        """Ask group after group; guess the likeliest class where a digit is missing."""
        threat = oracle.threat
        plan = _plan(self, threat)
        bits = np.full((len(plan), threat.n_records), -1, dtype=np.intp)
        for digit, (planner, groups) in enumerate(plan):
            for group in groups:
                _ask(oracle, planner, group, bits[digit])
        found = (np.maximum(bits, 0) << np.arange(len(plan))[:, None]).sum(axis=0)
        found[(bits < 0).any(axis=0) | (found >= threat.n_classes)] = -1
        n_queries = sum(len(group.queries) for _, groups in plan for group in groups)
        private = (len(query.weighing.weights) for _, groups in plan for group in groups for query in group.queries)
        evidence = {
            "queries planned": n_queries,
            "labels per query": threat.n_records / max(n_queries, 1),
            "private records per query": max(private, default=0),
        }
        return Guess(
            labels=likeliest_labels(certainly(found, threat), threat),
            evidence=evidence_of(threat, self.promise(threat)) | evidence,
        )


_Plan = tuple[tuple[HybridPlanner, tuple[Group, ...]], ...]


@functools.lru_cache(maxsize=32)
def _plan(attack: Hybrid, threat: ScoreThreat) -> _Plan:
    """Lay all groups; the same plan serves the promise and every trial."""
    return tuple((planner, tuple(planner.groups())) for planner in attack.planners(threat))


def _ask(oracle: ScoreOracle, planner: HybridPlanner, group: Group, bits: NDArray[np.intp]) -> None:
    """Ask all queries of a group and write down the bits; those that need a missing answer stay -1."""
    weighed = []

    def ask(query: HybridQuery) -> Any:
        return oracle.query(planner.predictions(group, query.weighing), precision=ROW_BITS)

    for query, score in answered(group.queries, ask):
        bits[query.weighing.private], answer = query.decode(score)
        weighed.append(answer)
    if len(weighed) == len(group.queries):
        bits[group.detected] = group.detect(weighed)
