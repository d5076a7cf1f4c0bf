"""What all block attacks share: lay the blocks, ask, read, and say what is certain.

Blocks of records are asked about one after another; the other records get neutral rows. Every block carries its own
certificate (:mod:`labelinf_scores.certificates.interval`): whatever the labels, its answer is read right. So recovery
is certain when all blocks are certified, fit the budget, and the curator answers as the threat model says.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelinf_core.channels.score import ScoreAttack, ScoreOracle, ScoreThreat
from labelinf_core.components import Guess
from labelinf_core.errors import QueriesExhaustedError, QueryRefusedError
from labelinf_core.guarantees import Promise
from labelinf_core.threat import ThreatModel
from labelinf_scores.attacks.block_plan import Block, BlockPlanner
from labelinf_scores.attacks.sizing import intact, score_threat
from labelinf_scores.certificates.row_costs import ROW_BITS
from labelinf_scores.certificates.summation import adds_pairwise, to_float
from labelinf_scores.constructions.weights import Code
from labelinf_scores.decoders.posterior import certainly, likeliest_labels

__all__ = ["BlockAttack"]

_CONDITIONS = (
    "the curator answers every query on the true labels of all records, in order; it computes the row costs with "
    "logarithms within one unit in the last place"
)
_NUMPY_ORDER = "; it adds them in NumPy's pairwise order"


class BlockAttack(ScoreAttack):
    """A block attack; a subclass says which weights it takes and which rows it may send.

    Attributes:
        proper: Whether rows of probabilities sum to one.
        adaptive: Whether records already decoded are set to their labels.
        statement: What proves it.
    """

    proper = True
    adaptive = False
    statement = "labelinf theory, the one-unit certificate"

    def codes(self, threat: ScoreThreat) -> tuple[Code, ...]:
        """Return the families of weights to choose from, preferred ones first."""
        raise NotImplementedError

    def unfit(self, threat: ScoreThreat) -> str:
        """Why this family does not fit the threat model; empty when it does."""
        return ""

    def refusal(self, threat: ThreatModel) -> str:
        """It needs a label per query that can be certified."""
        threat = score_threat(threat)
        if unfit := self.unfit(threat):
            return unfit
        try:
            first = next(self.planner(threat).blocks(), None)
        except ValueError as error:
            return str(error)
        return "" if first else "not one label per query stands out from the error of the score"

    def promise(self, threat: ThreatModel) -> Promise | None:
        """Every label, when all blocks are certified and fit the budget."""
        threat = score_threat(threat)
        plan = _plan(self, threat)
        if not plan:
            return None
        tightest = min(plan, key=lambda block: block.reading.survives - block.reading.present)
        whole = plan[-1].records.stop == threat.n_records and threat.allows(len(plan))
        numpy_order = threat.summation == "numpy" and threat.arithmetic in ("float64", "float32")
        return Promise(
            survives=tightest.reading.survives,
            present=tightest.reading.present,
            statement=self.statement,
            conditions=_CONDITIONS + (_NUMPY_ORDER if numpy_order else ""),
            proved=whole and intact(threat),
            strict=True,
        )

    def planner(self, threat: ScoreThreat) -> BlockPlanner:
        """Return what lays the blocks."""
        return BlockPlanner(threat=threat, codes=self.codes(threat), proper=self.proper, adaptive=self.adaptive)

    def run(self, oracle: ScoreOracle, rng: np.random.Generator) -> Guess:
        """Ask block after block while the budget lasts; guess the likeliest class for the rest."""
        threat = oracle.threat
        planner, plan = self.planner(threat), _plan(self, threat)
        neutral = np.asarray(planner.maker.neutral.prediction)
        found = np.full(threat.n_records, -1, dtype=np.intp)
        sent = np.tile(neutral, (threat.n_records, 1))
        asked = 0
        for block in plan:
            sent[block.records] = planner.predictions(block)
            try:
                found[block.records] = block.decode(oracle.query(sent.copy(), precision=ROW_BITS))
            except QueriesExhaustedError:
                break
            except QueryRefusedError:
                pass
            asked += 1
            sent[block.records] = self._afterwards(planner, found[block.records], neutral)
        return Guess(
            labels=likeliest_labels(certainly(found, threat), threat), evidence=self._evidence(threat, plan, asked)
        )

    def _afterwards(self, planner: BlockPlanner, labels: NDArray[np.intp], neutral: NDArray[Any]) -> NDArray[Any]:
        """Return the rows that decoded records get in later queries."""
        if not self.adaptive or (labels < 0).any():
            return np.tile(neutral, (len(labels), 1))
        settled = [np.asarray(planner.maker.settled(label).prediction) for label in range(planner.threat.n_classes)]
        return np.stack(settled)[labels]

    def _evidence(self, threat: ScoreThreat, plan: tuple[Block, ...], asked: int) -> dict[str, Any]:
        promise = self.promise(threat)
        sizes = [len(block.weights) for block in plan]
        evidence: dict[str, Any] = {
            "recovery": "certified" if promise is not None and promise.certified else "heuristic",
            "queries planned": len(plan),
            "queries asked": asked,
            "labels per query": f"{min(sizes, default=0)} to {max(sizes, default=0)}",
            "survives": promise.survives if promise else 0.0,
            "smallest unit": min((to_float(block.reading.unit) for block in plan), default=0.0),
        }
        if threat.summation == "numpy" and threat.arithmetic in ("float64", "float32"):
            evidence["NumPy adds pairwise here"] = adds_pairwise(threat.arithmetic, threat.n_records)
        return evidence


@functools.lru_cache(maxsize=8)
def _plan(attack: BlockAttack, threat: ScoreThreat) -> tuple[Block, ...]:
    """Lay all blocks; the same plan serves the promise and every trial."""
    budget = threat.query_budget
    blocks = attack.planner(threat).blocks()
    laid = []
    for block in blocks:
        laid.append(block)
        if budget is not None and len(laid) > budget:
            break
    return tuple(laid)
