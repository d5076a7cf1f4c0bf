"""The fewest queries that read every label through a metric, by any attack and by one that is fixed beforehand.

Who recovers P positives in random order for certain learns ``H = log2 C(N, P)`` bits. An answer has no more than the
logarithm of the values it can take (M39); of queries that are fixed beforehand no more than the entropy of a whole
number of that variance, ``1/2 log2(2 pi e (variance + 1/12))`` (M7, M15).
"""

from __future__ import annotations

import math

from labelinf_scores.bounds.entropy import fewest_answers, label_bits
from labelinf_scores.metrics.readings import Rows, ScoredMetric, Totals
from labelinf_scores.metrics.readings.ranks import RocAuc
from labelinf_scores.metrics.readings.two_values import counter

__all__ = ["fewest_queries"]

_DOUBLE = 64  # bits that a double has; that those of one query are fewer is proved of means of costs only


def fewest_queries(metric: ScoredMetric, totals: Totals, decimals: int | None = None) -> tuple[int | None, int | None]:
    """Return the fewest queries of any attack, and of one whose queries are fixed; None where nothing is proved.

    Args:
        metric: What is scored.
        totals: The class totals, which are public.
        decimals: Decimals of scores; None: all.
    """
    bits = label_bits([count / totals.n_records for count in totals.counts], totals.n_records)
    if len(totals.counts) != 2 or metric.rows not in (Rows.COUNTS, Rows.RANKS, Rows.FIRST):
        return (fewest_answers(bits, _DOUBLE), None) if decimals is None else (None, None)
    ranks, counts = isinstance(metric, RocAuc), counter(metric) is not None
    share = totals.n_positive * totals.n_negative
    values = 2 * share + 1 if ranks else metric.values(totals)
    if decimals is not None:
        wide = math.ceil(metric.sensitivity(totals.n_records))  # no score of counts or ranks has a wider range
        return fewest_answers(bits, math.log2(min(values, wide * 10**decimals + 1))), None
    variance = share * (totals.n_records + 1) / 3 if ranks else share / (4 * (totals.n_records - 1))
    fixed = math.log2(2 * math.pi * math.e * (variance + 1 / 12)) / 2
    return fewest_answers(bits, math.log2(values)), fewest_answers(bits, fixed) if ranks or counts else None
