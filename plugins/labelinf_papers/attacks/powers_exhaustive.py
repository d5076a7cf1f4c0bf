"""All labels from one noisy score: powers of two over every record, and the nearest labelling.

One query carries the gaps ``d_i = 2**i * N * tau * ln(base)`` for all N records; whatever noise below ``tau ln(base)``
is added, the true labelling is the one whose score is nearest (Aggarwal et al., ICML 2021, Algorithm 2 and Theorem 4;
AISTATS 2022, LabelInf). The papers look at all ``K**N`` labellings; meeting in the middle finds the same one from two
tables of ``K**(N/2)`` sums.

Formal guarantee: with a clip of span L it survives every error below ``L / (N 2**N)`` (two classes). Held by
``tests/theorems/test_icml2021_algorithm_2_theorem_4.py``.
"""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import Guess
from labelinf_core.contracts.errors import QueryRefusedError
from labelinf_core.contracts.guarantees import Promise
from labelinf_scores.decoders.meet_in_the_middle import nearest_labelling
from labelinf_scores.decoders.posterior import certainly, likeliest_labels
from labelinf_scores.decoders.superincreasing import greedy_decode
from labelinf_scores.game.oracle import ScoreAttack, ScoreOracle
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.plans.powers_design import PowersDesign, no_powers

__all__ = ["PowersExhaustive"]

_MOST_BITS = 40  # two tables of a million sums
_DOUBLES = 2.0**44  # units that sums of doubles still tell apart


@attrs.frozen(kw_only=True)
class PowersExhaustive(ScoreAttack):
    """Recovers all labels from one score, by looking for the nearest labelling.

    Attributes:
        tau: Noise to survive, in units of the score; 0 fills the clip.
        base: The papers' base, at least e: 3 as printed, e the least that separates by 2 tau.
    """

    tau: float = attrs.field(default=0.0, validator=attrs.validators.ge(0))
    base: float = attrs.field(default=math.e, validator=attrs.validators.ge(math.e))

    def missing_requirement(self, threat: ScoreThreat) -> str:
        """Too many labellings cannot be searched."""
        if threat.n_records * math.log2(threat.n_classes) > _MOST_BITS:
            return f"more than 2^{_MOST_BITS} labellings to search"
        return no_powers(threat)

    def design(self, threat: ScoreThreat) -> PowersDesign:
        """Return the gaps of the query under ``threat``."""
        return PowersDesign.choose(threat, base=self.base, tau=self.tau, n_labels=threat.n_records)

    def promised(self, threat: ScoreThreat) -> Promise | None:
        """Every label, while the error of the score stays below half the separation."""
        return self.design(threat).promise("Aggarwal et al., ICML 2021, Theorem 4", queries=1)

    def run(self, oracle: ScoreOracle, rng: np.random.Generator) -> Guess:
        """Ask once about everything."""
        design = self.design(oracle.threat)
        evidence = {"labels per query": design.n_labels, "tau": design.tau, "survives": design.survives}
        try:
            total = design.probe.total(oracle, 0, design.rows)
        except QueryRefusedError as refused:
            unknown = np.full(design.n_labels, -1)
            return Guess(
                labels=likeliest_labels(certainly(unknown, oracle.threat), oracle.threat),
                evidence={"refused": str(refused)},
            )
        scored = _nearest(design, total)
        return Guess(labels=likeliest_labels(certainly(scored, oracle.threat), oracle.threat), evidence=evidence)


def _nearest(design: PowersDesign, total: Any) -> NDArray[np.intp]:
    """Return the labelling whose costs add up most nearly to ``total``."""
    with design.probe.ledger():
        if design.widest > design.unit * _DOUBLES:
            # Doubles cannot tell the sums apart. Of superincreasing costs the greedy labelling is the nearest one.
            return np.array(greedy_decode(design.costs.tolist(), total))
        least = design.costs.min(axis=1)
        costs = (design.costs - least[:, None]).astype(float)
        return nearest_labelling(costs, float(total - sum(least.tolist())))
