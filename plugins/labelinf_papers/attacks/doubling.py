"""Noise of unknown size: guess it, check the guess, double it.

The papers' attacks need an upper bound on the noise. AISTATS 2022 remarks in its conclusion that a doubling trick does
without. It leaves open how a guess is known to be too small, since the nearest labelling always exists. Here every
block is asked about twice, the second time with the rows in reverse order: noise that is small enough leaves both
readings equal, and noise that is not upsets the narrow gaps of either, which belong to different records. When the
readings differ, tau is doubled and the block asked about again; with one label per query left, most readings win.

The threat model's own noise bound is not looked at. Nothing is promised.
"""

from __future__ import annotations

import math
from collections import Counter

import attrs
import numpy as np

from labelinf_core.contracts.components import Guess
from labelinf_core.contracts.errors import QueriesExhaustedError, QueryRefusedError
from labelinf_scores.decoders.posterior import certainly, likeliest_labels
from labelinf_scores.decoders.superincreasing import greedy_decode
from labelinf_scores.game.effects import Supposed
from labelinf_scores.game.oracle import ScoreAttack, ScoreOracle
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.plans.powers_design import PowersDesign, is_unlimited, no_powers

__all__ = ["Doubling"]

_READINGS = 9  # of a single label before the most frequent one is believed


@attrs.frozen(kw_only=True)
class Doubling(ScoreAttack):
    """Recovers labels in blocks, without being told how large the noise is.

    Attributes:
        start: First guess of the noise, in units of the score; 0 begins with the curator's own rounding.
    """

    start: float = attrs.field(default=0.0, validator=attrs.validators.ge(0))

    def missing_requirement(self, threat: ScoreThreat) -> str:
        """Some losses have no rows of this form; and noise that grows with the gaps is outgrown by none."""
        if is_unlimited(threat) and threat.noise_factor > 0:
            return "unclipped gaps cannot outgrow noise that grows with them"
        return no_powers(threat)

    def run(self, oracle: ScoreOracle, rng: np.random.Generator) -> Guess:
        """Read block after block, twice, with gaps that grow as long as the readings disagree."""
        threat = oracle.threat
        blind = threat.supposing(Supposed(bound=0.0, std=0.0))
        design = PowersDesign.choose(blind, base=math.e, tau=self.start)
        scored, position = np.full(threat.n_records, -1), 0
        try:
            while position < threat.n_records:
                size = min(design.n_labels, threat.n_records - position)
                first, second = (_read(design, oracle, position, size, backwards=flag) for flag in (False, True))
                if first == second or size == 1:
                    settled = first if first == second else _vote(design, oracle, position, [first, second])
                    scored[position : position + size] = settled
                    position += size
                if first != second:
                    design = _coarser(design)
        except QueriesExhaustedError:
            pass
        return Guess(
            labels=likeliest_labels(certainly(scored, threat), threat),
            evidence={"tau": design.tau, "labels per query": design.n_labels, "asked about": position},
        )


def _coarser(design: PowersDesign) -> PowersDesign:
    """Return a design for twice the noise: one label fewer where the clip is full, wider gaps where there is none."""
    if design.n_labels == 1 and math.isfinite(design.threat.reach):
        return design
    return PowersDesign.choose(design.threat, base=design.base, tau=2 * design.tau)


def _read(design: PowersDesign, oracle: ScoreOracle, position: int, size: int, *, backwards: bool) -> tuple[int, ...]:
    """Ask about a block once and decode it; a refused query reads as label 0 everywhere."""
    turn = slice(None, None, -1) if backwards else slice(None)
    try:
        total = design.probe.total(oracle, position, design.rows[:size][turn])
    except QueriesExhaustedError:
        raise
    except QueryRefusedError:
        return (-1,) * size
    with design.probe.ledger():
        return tuple(greedy_decode(design.costs[:size].tolist(), total)[turn])


def _vote(design: PowersDesign, oracle: ScoreOracle, position: int, readings: list[tuple[int, ...]]) -> tuple[int, ...]:
    """Read a single record until the most frequent reading is believed."""
    while len(readings) < _READINGS:
        readings.append(_read(design, oracle, position, 1, backwards=False))
    return Counter(readings).most_common(1)[0][0]
