"""What one released score tells of the labels: an interval for a sum over the records, with its proof's conditions."""

from labelinf_scores.metrics.readings.base import Reading, Released, ScoredMetric, Totals
from labelinf_scores.metrics.readings.registry import METRICS, metric

__all__ = ["METRICS", "Reading", "Released", "ScoredMetric", "Totals", "metric"]
