"""Which records' labels a statistic moves with, found by halving."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from labelinf_scores.simulation.knowledge import Knowledge
from labelinf_scores.simulation.statistics import Statistic

__all__ = ["support"]

_DRAWS = 12  # labellings in which labels are exchanged


def support(knowledge: Knowledge, statistic: Statistic, most: int) -> NDArray[np.intp] | None:
    """Return the open records that a statistic was seen to move with; None where there are more than ``most``."""
    nobody = np.zeros(0, dtype=np.intp)
    drawn = [knowledge.drawn(nobody, nobody) for _ in range(2 * _DRAWS)]
    labels = [one for one in drawn if one is not None]
    pairs = [(one, statistic.of(knowledge, one), other) for one, other in zip(labels[::2], labels[1::2], strict=False)]

    def moves(places: NDArray[np.intp]) -> bool:
        for one, value, other in pairs:
            mixed = one.copy()
            mixed[places] = other[places]
            if not np.allclose(statistic.of(knowledge, mixed), value, rtol=1e-9, atol=1e-12):
                return True
        return False

    found: list[int] = []
    waiting = [knowledge.rng.permutation(knowledge.open)]
    while waiting:
        places = waiting.pop()
        if not places.size or not moves(places):
            continue
        if places.size == 1:
            found.append(int(places[0]))
        else:
            waiting += [places[: places.size // 2], places[places.size // 2 :]]
        if len(found) > most or len(waiting) > 2 * most:
            return None
    return np.sort(np.array(found, dtype=np.intp))
