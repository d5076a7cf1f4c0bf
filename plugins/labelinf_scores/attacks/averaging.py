"""The papers' blocks, asked again and again: averaging out fresh noise, and rounding.

Repeating a block r times divides the standard deviation of the noise by sqrt(r), so that more labels fit into it. How
many labels a block carries and how often it is repeated are traded against each other within the budget. The repeats
are not the same query: each has its gaps shrunk by another factor. So noise that is remembered for a query already
seen is fresh again, and what rounding does to a score differs from repeat to repeat and averages out too.

Nothing is promised: it is the strongest use of one block at a time, and the yardstick for designs that ask about all
records at once (:mod:`labelinf_scores.attacks.hadamard`).
"""

from __future__ import annotations

import functools
import math
from typing import Any

import attrs
import numpy as np

from labelinf_core.contracts.components import Guess
from labelinf_scores.decoders.posterior import certainly, likeliest_labels
from labelinf_scores.decoders.superincreasing import greedy_decode
from labelinf_scores.game.effects import Supposed
from labelinf_scores.game.oracle import ScoreAttack, ScoreOracle, answered, blocks, needed_queries
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.plans.powers_design import PowersDesign, no_powers
from labelinf_scores.plans.sizing import typical_error

__all__ = ["Averaging"]

_LONGEST = 24  # labels in a block; more would need less noise than a score is computed with
_SHRINK = 0.25  # the gaps of the last repeat are smaller by this much


@attrs.frozen(kw_only=True)
class Averaging(ScoreAttack):
    """Repeats every block of powers and averages.

    Attributes:
        most_repeats: Most queries about one block, also when the budget is unlimited.
    """

    most_repeats: int = attrs.field(default=64, validator=attrs.validators.ge(1))

    def missing_requirement(self, threat: ScoreThreat) -> str:
        """Some losses have no rows of this form."""
        return no_powers(threat)

    @functools.lru_cache(maxsize=32)  # noqa: B019  all games of one threat model are laid out alike
    def plan(self, threat: ScoreThreat) -> tuple[PowersDesign, int]:
        """Return the gaps of a block and how often it is asked about."""
        for size in range(min(threat.n_records, _LONGEST), 0, -1):
            repeats = self._repeats(threat, size)
            spread = typical_error(threat) / math.sqrt(repeats)
            quiet = threat.supposing(Supposed(bound=math.inf, std=spread))
            design = PowersDesign.choose(quiet, base=math.e, n_labels=size)
            if design.slack > 1:
                break
        return design, repeats

    def _repeats(self, threat: ScoreThreat, size: int) -> int:
        if not typical_error(threat, 1.0):
            return 1
        if threat.query_budget is None:
            return self.most_repeats
        return max(1, min(self.most_repeats, threat.query_budget // needed_queries(threat.n_records, size)))

    def run(self, oracle: ScoreOracle, rng: np.random.Generator) -> Guess:
        """Ask about every block in turn while the budget lasts."""
        threat = oracle.threat
        design, repeats = self.plan(threat)
        shrunk = [attrs.evolve(design, tau=design.tau * (1 - _SHRINK * repeat / repeats)) for repeat in range(repeats)]
        scored = np.full(threat.n_records, -1)
        for block in blocks(threat.n_records, design.n_labels):
            excess = _mean_excess(shrunk, block, oracle)
            if excess is not None:
                with design.probe.ledger():
                    dearer = design.costs - design.costs.min(axis=1)[:, None]  # than the cheapest label of a row
                    scored[block] = greedy_decode(dearer[: block.stop - block.start].tolist(), excess)
        return Guess(
            labels=likeliest_labels(certainly(scored, threat), threat),
            evidence={
                "labels per query": design.n_labels,
                "repeats": repeats,
                "asked about": int(np.count_nonzero(scored >= 0)),
            },
        )


def _mean_excess(shrunk: list[PowersDesign], block: slice, oracle: ScoreOracle) -> Any:
    """Ask about a block and return by how much its labels exceed the cheapest ones, in the first design's gaps.

    None when no answer came.
    """
    size, weighted, gains = block.stop - block.start, 0, 0.0
    for design, total in answered(shrunk, lambda design: design.ask(oracle, block)):
        gain = design.tau / shrunk[0].tau
        with design.probe.ledger():
            weighted += gain * (total - sum(design.costs[:size].min(axis=1).tolist()))
        gains += gain * gain
    # Least squares of one number seen through different gains.
    with shrunk[0].probe.ledger():
        return weighted / gains if gains else None
