"""The metrics whose answers can be read, by the names users give them."""

from __future__ import annotations

from labelinf_core.contracts.errors import InputError
from labelinf_scores.metrics.readings.base import ScoredMetric
from labelinf_scores.metrics.readings.counts import LINKS, ConfusionMetric
from labelinf_scores.metrics.readings.ranks import RocAuc
from labelinf_scores.metrics.readings.sums import MeanCost, log_costs, squared_costs

__all__ = ["METRICS", "metric"]

METRICS: dict[str, ScoredMetric] = {
    "roc-auc": RocAuc(),
    "log-loss": MeanCost(costs=log_costs),
    "brier": MeanCost(costs=squared_costs),
    **{name: ConfusionMetric(link=link) for name, link in LINKS.items()},
}  #: by the name a user gives; an underscore reads as a hyphen


def metric(name: str) -> ScoredMetric:
    """Return the metric called ``name``.

    Raises:
        InputError: Its answers cannot be read yet.
    """
    found = METRICS.get(name.replace("_", "-"))
    if found is None:
        raise InputError(f"--metric {name}: no metric of that name can be read; choose {', '.join(METRICS)}.")
    return found
