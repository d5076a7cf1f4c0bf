"""How strongly each row of a query speaks of its label, from the curator's side."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from labelinf_scores.arithmetic import make_arithmetic
from labelinf_scores.game.threat import ScoreThreat

__all__ = ["label_gaps", "outweighing_rows"]

_SILENT = 1e-9
_TIE = 1 - 1e-9


def label_gaps(threat: ScoreThreat, predictions: NDArray[np.generic]) -> NDArray[np.float64]:
    """Return the difference of the largest and the smallest cost of every row, clipped as the curator clips.

    Costs are computed in doubles; a label of probability zero counts as infinitely costly.

    Returns:
        Shape ``(n_records,)``, not negative.
    """
    numbers = make_arithmetic("float64")
    values = numbers.convert(predictions)
    if threat.clip > 0:
        values = np.clip(values, threat.clip, 1 - threat.clip)
    with np.errstate(all="ignore"):
        costs = np.asarray(threat.loss.costs(values, numbers), dtype=np.float64)
        return np.asarray(np.nan_to_num(costs.max(axis=1) - costs.min(axis=1), nan=0.0, posinf=np.inf))


def outweighing_rows(gaps: NDArray[np.float64]) -> int:
    """Return how many rows outweigh all smaller ones together, counted down from the largest.

    Honest predictions have few: gaps of about one size are outweighed by their sum.

    Example:
        >>> outweighing_rows(np.array([0.0, 0.1, 0.2, 0.4, 0.8, 1.6]))
        5
    """
    speaking = np.sort(gaps[(gaps > _SILENT) & np.isfinite(gaps)])
    before = np.concatenate([[0.0], np.cumsum(speaking)[:-1]])
    falls_short = np.flatnonzero(speaking < before * _TIE)
    return int(speaking.size - (falls_short[-1] + 1 if falls_short.size else 0))
