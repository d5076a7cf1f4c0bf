"""Metrics: rows allowed, statistic, link, ties, and the error of the arithmetic, so that answers read backwards."""

from labelinf_scores.metrics.readings.base import HARD, Reading, Released, Rows, ScoredMetric, Totals

__all__ = ["HARD", "Reading", "Released", "Rows", "ScoredMetric", "Totals"]
