"""What a group of hybrid queries is, and how its answers are read.

Every query of a group has private records under a modulus and shares the detected records above it: see
:mod:`labelinf_scores.plans.hybrid_plan`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.certificates.interval import UnitReading
from labelinf_scores.constructions.detecting_matrix import detecting_row
from labelinf_scores.decoders.detecting import detect
from labelinf_scores.decoders.digits import digits

__all__ = ["Group", "HybridQuery", "Weighing"]


@attrs.frozen(kw_only=True)
class Weighing:
    """What one query asks.

    Attributes:
        row: Which row of the group's detecting matrix it weighs by.
        private: The records that only this query asks about, the narrowest first.
        weights: Their weights.
        unit: Of all weights, in fixed point.
    """

    row: int
    private: slice
    weights: tuple[int, ...]
    unit: int

    @property
    def modulus(self) -> int:
        """The weight of detected records."""
        return sum(self.weights) + 1


@attrs.frozen(kw_only=True)
class HybridQuery:
    """One query.

    Attributes:
        weighing: What it asks.
        reading: How its answer is read, with the proof.
    """

    weighing: Weighing
    reading: UnitReading

    def decode(self, score: Any) -> tuple[NDArray[np.intp], int]:
        """Return the private bits, and the number of detected records on the costly side."""
        weighed, rest = divmod(self.reading.read(score), self.weighing.modulus)
        return digits(self.weighing.weights, [rest])[0], weighed


@attrs.frozen(kw_only=True)
class Group:
    """Queries that share their detected records.

    Attributes:
        detected: Those records.
        n_rows: Rows of the detecting matrix, as many as queries.
        queries: The queries.
    """

    detected: slice
    n_rows: int
    queries: tuple[HybridQuery, ...]

    @property
    def stop(self) -> int:
        """The first record after the group."""
        return int(max(self.detected.stop, *(query.weighing.private.stop for query in self.queries)))

    def signs(self, weighing: Weighing) -> NDArray[np.int8]:
        """Return +1, -1 or 0 for every detected record."""
        return detecting_row(self.n_rows, weighing.row)[: self.detected.stop - self.detected.start]

    def detect(self, weighed: Sequence[int]) -> NDArray[np.intp]:
        """Return the bits of the detected records from all weighings."""
        reversed_ones = [int(np.count_nonzero(self.signs(query.weighing) < 0)) for query in self.queries]
        bits = detect(np.array(weighed, dtype=np.int64) - np.array(reversed_ones, dtype=np.int64))
        return np.clip(bits[: self.detected.stop - self.detected.start], 0, 1).astype(np.intp)
