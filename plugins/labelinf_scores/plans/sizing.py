"""How much a query can carry: what the widest row may be, and what error the gaps must survive.

Two things limit a query. The clip, or the number format where nothing is clipped, limits the widest gap (the span L).
The error of the released score limits the narrowest one: noise, rounding, and the curator's own arithmetic, which
grows with what is summed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from labelinf_scores.certificates.error import present_error, widest_summed
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.plans.probe import Probe

__all__ = ["expected_error", "reach", "spans", "tells_nothing", "typical_error"]

_FAITHFUL = 0.02  # relative error of a gap that still counts as held by the format
_MOST_OCTAVES = 100  # looked at
_HALVINGS = 12


def reach(probe: Probe) -> float:
    """Return the widest difference between two labels of one row that the curator's clip and number format hold.

    Infinity for an exact curator that does not clip.
    """
    span = min(probe.threat.reach, widest_summed(probe.threat))
    if (probe.threat.arithmetic == "exact" and math.isinf(span)) or (math.isfinite(span) and _holds(probe, span)):
        return span
    top = next((2.0**k for k in range(_MOST_OCTAVES, -_MOST_OCTAVES, -1) if 2.0**k < span and _holds(probe, 2.0**k)), 0)
    low, high = top, min(2 * top, span)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _holds(probe, middle) else (low, middle)
    return low


def spans(probe: Probe) -> Sequence[float]:
    """Return the widest gaps worth considering, ascending: the clip, or every other power of two that is held."""
    widest = reach(probe)
    if math.isfinite(probe.threat.reach) or not widest:
        return [widest]
    return [widest / 2.0**k for k in range(40, -1, -2)]


def tells_nothing(threat: ScoreThreat) -> str:
    """Say that the curator's number format tells no two labels apart; empty when it does."""
    return "" if reach(Probe(threat=threat)) > 0 else f"{threat.arithmetic} tells no labels apart"


def _holds(probe: Probe, gap: float) -> bool:
    step = gap / (probe.threat.n_classes - 1)
    try:
        with np.errstate(all="ignore"):
            costs = probe.plain_costs(probe.rows(np.array([step, -step]))).astype(float)
    except ValueError:  # a number that the format, or the loss, does not have
        return False
    got = np.abs(costs[:, -1] - costs[:, 0])
    return bool(np.isfinite(costs).all() and np.abs(got - gap).max() <= _FAITHFUL * gap)


def typical_error(threat: ScoreThreat, typical_score: float = 0.0) -> float:
    """Return the standard deviation of the released score's error, as far as the threat tells it.

    Bounded noise of unknown shape, such as rounding, is taken for uniform.

    Args:
        threat: What is public.
        typical_score: What relative noise is relative to.
    """
    spread = threat.noise_std if 0 < threat.noise_std < math.inf else 0.0
    if not spread and math.isfinite(threat.noise_bound):
        spread = threat.noise_bound / math.sqrt(3)
    return math.hypot(spread, threat.noise_factor * typical_score / math.sqrt(3))


def expected_error(threat: ScoreThreat, largest_cost: float, failure: float = 1e-4) -> float:
    """Return an error of the released score that is exceeded with probability at most ``failure``.

    The largest error where there is one. Unbounded noise is taken for Gaussian with its standard deviation, and its
    quantile stands for tau (Aggarwal et al., ICML 2021, Theorem 9).
    """
    largest = present_error(threat, largest_cost)
    if math.isfinite(largest):
        return largest
    calm = present_error(threat, largest_cost, bound=0.0)
    tail = NormalDist().inv_cdf(1 - failure / 2) * threat.noise_std
    # A debiased score is a difference of magnified ones.
    return 3 * threat.magnification**2 * calm + tail
