"""E3: the bound of Algorithm 1 (Wang et al., ICLR 2024) must hold on both sides."""

from __future__ import annotations

from typing import Any

import numpy as np

from labelinf_papers.search.algorithm import search

BOUND = 100.0


def test_the_search_stops_on_both_sides() -> None:
    """A loss that is flat everywhere: the search jumps outwards, 0.5, 1, 2, ..., until it is out of bounds."""
    seen: list[float] = []

    class Flat:
        def with_slope(self, scalars: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            seen.extend(scalars.tolist())
            return np.ones(len(scalars)), np.zeros(len(scalars))

        def value(self, scalars: np.ndarray) -> np.ndarray:
            return np.ones(len(scalars))

    flat: Any = Flat()
    found = search(flat, np.random.default_rng(0), population=2, iterations=1)

    assert np.isnan(found.scalar)
    assert max(seen) < 2 * BOUND + 2
    assert min(seen) > -2 * BOUND - 2
    assert len(seen) < 30  # 100 steps a side if nothing stopped it
