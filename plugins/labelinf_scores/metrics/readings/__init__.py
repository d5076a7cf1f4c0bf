"""Metrics: rows allowed, statistic, link, ties, and the error of the arithmetic, so that answers read backwards."""

from labelinf_scores.metrics.readings.base import Reading, Released, Rows, ScoredMetric, Totals

__all__ = ["Reading", "Released", "Rows", "ScoredMetric", "Totals"]
