"""Scorers from which nobody reads labels: they may come back only as not read, and never as safe."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn import metrics

from .contract import Array, Draws, chosen, scored

THREE = (0, 1, 2)
CLUSTERS = chosen(*THREE)


@scored("unreadable", "a grader's stub, before the metric is written", readable=False)
def constant(y: Array, x: Array) -> float:
    return 0.5


@scored("unreadable", "EvalAI-Starters, evaluation_script/main.py: metrics drawn at random", noisy=True, readable=False)
def random_numbers(y: Array, x: Array, rng: Draws) -> dict[str, int]:
    return {"Metric1": int(rng.integers(0, 100)), "Total": int(rng.integers(0, 100))}


@scored("unreadable", "calibration in the large: observed share less the mean prediction", readable=False)
def totals_alone(y: Array, x: Array) -> float:
    return float(y.mean() - x.mean())


@scored("unreadable", "MIA papers' advantage |AUC - .5|, and max(AUC, 1 - AUC)", readable=False)
def folded_auc(y: Array, x: Array) -> float:
    # Labels and their reverse answer alike. Who knows unequal class totals can tell which is which.
    return abs(float(metrics.roc_auc_score(y, x)) - 0.5)


@scored("unreadable", "sklearn.metrics.adjusted_rand_score", labels=THREE, sample=CLUSTERS, readable=False)
def adjusted_rand(y: Array, x: Array) -> float:
    return float(metrics.adjusted_rand_score(y, x))


@scored("unreadable", "sklearn.metrics.normalized_mutual_info_score", labels=THREE, sample=CLUSTERS, readable=False)
def mutual_information(y: Array, x: Array) -> float:
    return round(float(metrics.normalized_mutual_info_score(y, x)), 4)


@scored(
    "unreadable",
    "deep clustering papers: accuracy under the best matching (linear_sum_assignment)",
    labels=THREE,
    sample=CLUSTERS,
    readable=False,
)
def matched_accuracy(y: Array, x: Array) -> float:
    counts = np.array([[np.sum((x == a) & (y == b)) for b in THREE] for a in THREE])
    return float(counts[linear_sum_assignment(-counts)].sum() / len(y))
