"""What all block attacks share: lay the blocks, ask, read, and say what is certain.

Blocks of records are asked about one after another; the other records get neutral rows. Every block carries its own
certificate (:mod:`labelinf_scores.certificates.interval`): whatever the labels, its answer is read right. So recovery
is certain when all blocks are certified, fit the budget, and the curator answers as the threat model says.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import Guess
from labelinf_core.contracts.errors import QueryRefusedError
from labelinf_core.contracts.guarantees import Promise
from labelinf_scores.attacks.certified import evidence_of, mismatch, promise_of
from labelinf_scores.certificates.row_costs import ROW_BITS
from labelinf_scores.constructions.weights import Code
from labelinf_scores.decoders.posterior import certainly, likeliest_labels
from labelinf_scores.game.oracle import ScoreAttack, ScoreOracle, answered
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.plans.block_plan import Block, BlockPlanner, decode_blocks

__all__ = ["BlockAttack"]


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

    def missing_requirement(self, threat: ScoreThreat) -> str:
        """It needs a label per query that can be certified."""
        if unfit := mismatch(threat) or self.unfit(threat):
            return unfit
        try:
            _, plan = _plan(self, threat)
        except ValueError as error:
            return str(error)
        return "" if plan else "not one label per query stands out from the error of the score"

    def promised(self, threat: ScoreThreat) -> Promise | None:
        """Every label, when all blocks are certified and fit the budget."""
        _, plan = _plan(self, threat)
        return promise_of(
            threat,
            (block.reading for block in plan),
            whole=bool(plan) and plan[-1].records.stop == threat.n_records,
            n_queries=len(plan),
            statement=self.statement,
        )

    def planner(self, threat: ScoreThreat) -> BlockPlanner:
        """Return what lays the blocks."""
        return BlockPlanner(threat=threat, codes=self.codes(threat), proper=self.proper, adaptive=self.adaptive)

    def run(self, oracle: ScoreOracle, rng: np.random.Generator) -> Guess:
        """Ask block after block while the budget lasts; guess the likeliest class for the rest."""
        threat = oracle.threat
        planner, plan = _plan(self, threat)
        found = np.full(threat.n_records, -1, dtype=np.intp)
        ask = _ask_adaptively if self.adaptive else _ask
        for block, labels in ask(oracle, planner, plan):
            found[block.records] = labels
        sizes = [block.size for block in plan]
        evidence = {
            "queries planned": len(plan),
            "labels per query": f"{min(sizes, default=0)} to {max(sizes, default=0)}",
        }
        return Guess(
            labels=likeliest_labels(certainly(found, threat), threat),
            evidence=evidence_of(threat, self.promise(threat)) | evidence,
        )


def _ask(
    oracle: ScoreOracle, planner: BlockPlanner, plan: tuple[Block, ...]
) -> Iterator[tuple[Block, NDArray[np.intp]]]:
    """Ask about all blocks, then decode all answers."""
    neutral = np.tile(planner.rows.neutral.prediction, (planner.threat.n_records, 1))

    def ask(block: Block) -> Any:
        sent = neutral.copy()
        sent[block.records] = planner.predictions(block)
        return oracle.query(sent, precision=ROW_BITS)

    found = list(answered(plan, ask))
    asked = [block for block, _ in found]
    yield from zip(asked, decode_blocks(asked, [score for _, score in found]), strict=True)


def _ask_adaptively(
    oracle: ScoreOracle, planner: BlockPlanner, plan: tuple[Block, ...]
) -> Iterator[tuple[Block, NDArray[np.intp]]]:
    """Ask block after block; records decoded are set to their labels, so a declined query ends it."""
    rows = np.tile(planner.rows.neutral.prediction, (planner.threat.n_records, 1))
    for block in plan:
        sent = rows.copy()
        sent[block.records] = planner.predictions(block)
        try:
            labels = block.decode(oracle.query(sent, precision=ROW_BITS))
        except QueryRefusedError:
            return
        rows[block.records] = planner.settled(labels)
        yield block, labels


@functools.lru_cache(maxsize=32)
def _plan(attack: BlockAttack, threat: ScoreThreat) -> tuple[BlockPlanner, tuple[Block, ...]]:
    """Lay all blocks that the budget allows, and one more to tell; refusal, promise and every trial share the plan.

    So many are remembered because a run plays trial 0 of every cell before trial 1 of any.
    """
    planner = attack.planner(threat)
    laid = []
    for block in planner.blocks():
        laid.append(block)
        if not threat.allows(len(laid)):
            break
    return planner, tuple(laid)
