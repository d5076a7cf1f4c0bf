"""Powers of two in blocks: a few labels per query, robust against bounded noise.

Every query asks about m records with gaps ``d_i = 2**i * N * tau * ln(base)`` and leaves all others at equal
probabilities (Aggarwal et al., ICML 2021, Algorithm 3; AISTATS 2022, Theorem 1 and, for K classes, Theorem 3). The
papers search all ``2**m`` labellings of a block; the gaps are superincreasing, so a greedy decoder does.

Formal guarantee: with a clip of span L, m labels a query survive every error of the score below ``L / (N 2**m)`` (two
classes). Held by ``tests/papers/test_powers_attacks.py``.

Example, with base 3 for the vectors exactly as printed::

    labelinf attack 'powers-blocks(base=3)' --labels y.csv --defence 'round(decimals=4)'
"""

from __future__ import annotations

import functools
import math

import attrs
import numpy as np

from labelinf_core.contracts.components import Guess
from labelinf_core.contracts.guarantees import Promise
from labelinf_scores.decoders.posterior import certainly, likeliest_labels
from labelinf_scores.decoders.superincreasing import greedy_decode
from labelinf_scores.game.oracle import ScoreAttack, ScoreOracle, answered, blocks, needed_queries
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.plans.powers_design import PowersDesign, no_powers

__all__ = ["PowersBlocks"]


@attrs.frozen(kw_only=True)
class PowersBlocks(ScoreAttack):
    """Recovers m labels per query with gaps that double from row to row.

    Attributes:
        tau: Noise to survive, in units of the score; 0 takes it from the threat model and fills the clip.
        base: The papers' base, at least e: 3 as printed, e the least that separates by 2 tau.
        labels_per_query: m; 0 takes as many as survive.
    """

    tau: float = attrs.field(default=0.0, validator=attrs.validators.ge(0))
    base: float = attrs.field(default=math.e, validator=attrs.validators.ge(math.e))
    labels_per_query: int = attrs.field(default=0, validator=attrs.validators.ge(0))

    def missing_requirement(self, threat: ScoreThreat) -> str:
        """Some losses have no rows of this form."""
        return no_powers(threat)

    def design(self, threat: ScoreThreat) -> PowersDesign:
        """Return the gaps of one query under ``threat``."""
        return PowersDesign.choose(threat, base=self.base, tau=self.tau, n_labels=self.labels_per_query)

    def promised(self, threat: ScoreThreat) -> Promise | None:
        """Every label, while the error of the score stays below half the separation."""
        design = self.design(threat)
        return design.promise(
            "Aggarwal et al., ICML 2021, Algorithm 3", needed_queries(threat.n_records, design.n_labels)
        )

    def run(self, oracle: ScoreOracle, rng: np.random.Generator) -> Guess:
        """Ask block after block while the budget lasts; guess the majority class for the rest."""
        threat = oracle.threat
        design = self.design(threat)
        costs = design.costs.tolist()
        scored = np.full(threat.n_records, -1)
        for block, total in answered(blocks(threat.n_records, design.n_labels), functools.partial(design.ask, oracle)):
            with design.probe.ledger():
                scored[block] = greedy_decode(costs[: block.stop - block.start], total)
        return Guess(
            labels=likeliest_labels(certainly(scored, threat), threat),
            evidence={
                "labels per query": design.n_labels,
                "tau": design.tau,
                "survives": design.survives,
                "asked about": int(np.count_nonzero(scored >= 0)),
            },
        )
