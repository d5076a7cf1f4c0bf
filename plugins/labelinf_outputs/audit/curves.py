"""Curves of an audit: what it accuses at which price, and what canaries could show."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.pictures import Picture, Series
from labelinf_outputs.audit.claim import PrivacyClaim
from labelinf_outputs.audit.findings import Ranking
from labelinf_outputs.audit.power import SIZES, Power

__all__ = ["power_curves", "roc", "roc_points"]

_MOST = 40  # points of a curve, each with a mark


def roc_points(ranking: Ranking, n_canaries: int, n_classes: int) -> NDArray[np.float64]:
    """Return false and true positive rates of accusing "record i has label k", surest first, shape ``(n, 2)``.

    Of all m K such sentences m are true and m (K - 1) false; a guess is one of them.

    Args:
        ranking: The guesses of one model.
        n_canaries: m.
        n_classes: K.
    """
    true = np.cumsum(ranking.right) / n_canaries
    false = np.cumsum(~ranking.right) / (n_canaries * (n_classes - 1))
    return np.column_stack([false, true])


def roc(ranking: Ranking, n_canaries: int, n_classes: int, claim: PrivacyClaim) -> Picture:
    """Return the ROC curve, down to one accusation; what pure DP allows stands beside it."""
    found, floor = roc_points(ranking, n_canaries, n_classes), min(1 / (n_canaries * (n_classes - 1)), 0.5)
    keep = np.unique(np.geomspace(1, len(found), _MOST).astype(int)) - 1
    grid = np.geomspace(floor / 2, 1, _MOST).tolist()
    series = [
        Series(name="found", points=tuple((x or floor / 2, y) for x, y in found[keep].tolist())),
        Series(name="chance", points=tuple((x, x) for x in grid), bound=True),
    ]
    if claim.made and claim.exact:
        allowed = (min(math.exp(min(claim.epsilon, 700)) * x, 1 - math.exp(-claim.epsilon) * (1 - x)) for x in grid)
        series.append(Series(name=f"at most, under {claim}", points=tuple(zip(grid, allowed, strict=True)), bound=True))
    return Picture(title="ROC curve", x="false positive rate", y="true positive rate", series=tuple(series), log=True)


def power_curves(plan: Power) -> Picture:
    """Return the power against true epsilons, by the number of canaries."""
    curves = (
        Series(name=name, points=tuple((size, plan.of(size, level)) for size in SIZES)) for name, level in plan.truths()
    )
    return Picture(title="Power", x="canaries", y="power", series=tuple(curves), log=True)
