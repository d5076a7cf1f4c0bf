"""How many labels are positive, from the answer to one query, where that is not public (M4).

Everybody predicted positive, one metric says P; one record alone, another says P and that record's label. Which of the
two tells all P apart is computed beforehand, from the metric's own link; for recall and its like one record after
another is predicted positive, until the answer tells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from labelinf_scores.metrics.readings import Released, ScoredMetric, Totals
from labelinf_scores.metrics.readings.two_values import counter

__all__ = ["positives"]


def positives(
    metric: ScoredMetric, n_records: int, ask: Callable[[NDArray[np.float64]], float], released: Released
) -> tuple[int, int] | None:
    """Return how many labels are positive and how many queries that took; None where the answers do not tell.

    Args:
        metric: What is scored, of two classes.
        n_records: N.
        ask: The scorer, of predictions 0 and 1.
        released: How scores are printed.
    """
    link = counter(metric)
    if link is None:
        return None
    boards = [Totals.binary(n_records=n_records, n_positive=positive) for positive in range(1, n_records)]

    def fitting(size: int, score: Fraction) -> Iterator[int]:
        """Yield the numbers of positives for which some count among so many records has this score."""
        for totals in boards:
            low, high = released.interval(score, link.rounding(totals) * max(Fraction(1), abs(score)))
            counts = range(max(0, size - totals.n_negative), min(size, totals.n_positive) + 1)
            if any(low <= link.link(count, size, totals) <= high for count in counts):
                yield totals.n_positive

    everybody = set(fitting(n_records, Fraction(float(ask(np.ones(n_records))))))
    if len(everybody) == 1:
        return everybody.pop(), 1
    for record in range(n_records):
        alone = np.eye(1, n_records, record)[0]
        everybody &= set(fitting(1, Fraction(float(ask(alone)))))
        if len(everybody) <= 1:
            return (everybody.pop(), record + 2) if everybody else None
    return None
