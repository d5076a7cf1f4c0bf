"""Does a prediction vector look made rather than predicted? What a curator can see without looking at labels.

The constructions of the score papers leave marks that an honest classifier's predictions hardly have (labelinf theory,
MutNet): all rows but a few at exactly equal probabilities, every row the same or one of two, the most extreme values
that the clip allows throughout; and, where the curator knows the features, neighbours with wildly different outputs.
None of them is proof, and an attacker who knows the thresholds can stay below them at some cost in queries: this
raises the price, it guarantees nothing.

Example:
    >>> import numpy as np
    >>> probe = np.full(100, 0.5)
    >>> probe[:5] = [0.1, 0.2, 0.4, 0.8, 0.9]
    >>> detector(probe).reasons()
    ('95 % of the rows give all classes the same probability',)
"""

from __future__ import annotations

import math

import attrs
import numpy as np
from numpy.typing import NDArray

__all__ = ["Marks", "Neighbours", "detector"]

_FEWEST_ROWS = 8  # fewer rows say nothing


@attrs.frozen(kw_only=True)
class Marks:
    """What a prediction vector shows.

    Attributes:
        n_rows: Rows of predictions.
        neutral: Share of rows with exactly equal probabilities.
        extreme: Share of rows that are as certain as the most certain one, within rounding.
        distinct: Number of distinct rows.
        steepness: Largest change of a logit per unit of distance between a record and the nearest with other features;
            NaN without features.
    """

    n_rows: int
    neutral: float
    extreme: float
    distinct: int
    steepness: float

    def reasons(
        self,
        *,
        most_neutral: float = 0.25,
        fewest_distinct: int = 4,
        most_extreme: float = 0.9,
        most_steep: float = math.inf,
    ) -> tuple[str, ...]:
        """Return why the vector looks made, as sentences; empty when it does not.

        Args:
            most_neutral: Largest share of neutral rows of an honest submission.
            fewest_distinct: Least number of distinct rows.
            most_extreme: Largest share of most certain rows.
            most_steep: Largest steepness; depends on the features' units.
        """
        if self.n_rows < _FEWEST_ROWS:
            return ()
        found = (
            (
                self.neutral > most_neutral,
                f"{_percent(self.neutral)} of the rows give all classes the same probability",
            ),
            (self.distinct < fewest_distinct, f"there are only {self.distinct} different rows"),
            (self.extreme > most_extreme, f"{_percent(self.extreme)} of the rows are equally certain"),
            (self.steepness > most_steep, f"logits change by {self.steepness:.3g} per unit of the features"),
        )
        return tuple(reason for is_so, reason in found if is_so)


@attrs.frozen(kw_only=True, eq=False)
class Neighbours:
    """For every record, the nearest one whose features are not the same.

    Attributes:
        index: Of the neighbour, shape ``(n,)``.
        distances: To it, positive; infinity where all records have the same features.
    """

    index: NDArray[np.intp]
    distances: NDArray[np.float64]

    @classmethod
    def of(cls, features: NDArray[np.float64]) -> Neighbours:
        """Find them among records with features of shape ``(n, n_features)``."""
        index, nearest = np.zeros(len(features), dtype=np.intp), np.full(len(features), math.inf)
        for place, row in enumerate(features):
            distances = np.linalg.norm(features - row, axis=1)
            distances[distances == 0] = math.inf
            index[place] = distances.argmin()
            nearest[place] = distances[index[place]]
        return cls(index=index, distances=nearest)


def detector(predictions: NDArray[np.float64], neighbours: Neighbours | None = None) -> Marks:
    """Measure the marks of a construction on a prediction vector.

    Args:
        predictions: Probabilities, shape ``(n,)`` (of class 1) or ``(n, n_classes)``.
        neighbours: Of the records, where the curator knows their features.
    """
    array = np.asarray(predictions, dtype=float)
    rows = np.stack([1 - array, array], axis=1) if array.ndim == 1 else array
    certainty = rows.max(axis=1)
    return Marks(
        n_rows=len(rows),
        neutral=float(np.mean(np.ptp(rows, axis=1) == 0)),
        extreme=float(np.mean(certainty >= certainty.max() * (1 - 1e-12))),
        distinct=len(np.unique(rows, axis=0)),
        steepness=math.nan if neighbours is None else _steepness(rows, neighbours),
    )


def _steepness(rows: NDArray[np.float64], neighbours: Neighbours) -> float:
    """Return the largest logit change per distance between every record and its nearest neighbour."""
    logs = np.log(rows.clip(1e-300))
    logits = logs - logs.mean(axis=1, keepdims=True)
    changes = np.ptp(logits - logits[neighbours.index], axis=1)
    return float((changes / neighbours.distances).max())


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
