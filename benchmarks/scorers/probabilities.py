"""Scorers that read probabilities: proper losses and what hosts make of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import metrics

from .contract import Array, public, scored, simplex, table, usage, weights

FOUR = (0, 1, 2, 3)
OF_FOUR: dict[str, Any] = {"labels": FOUR, "sample": simplex(4)}
BOARD = public(usage=usage(0.3))


@scored("smooth", "Brier skill score against climatology, as in forecast verification (WMO; Murphy 1973)")
def brier_skill(y: Array, x: Array) -> float:
    return float(1.0 - np.mean((y - x) ** 2) / np.mean((y - y.mean()) ** 2))


@scored("smooth", "Kaggle, Quora Question Pairs: log-loss, 5 decimals on the board")
def log_loss(y: Array, x: Array) -> float:
    return round(float(metrics.log_loss(y, np.clip(x, 1e-15, 1 - 1e-15))), 5)


@scored("smooth", "sklearn.metrics.log_loss(sample_weight=)", public=public(weight=weights))
def weighted_log_loss(y: Array, x: Array, weight: Array) -> float:
    return float(metrics.log_loss(y, np.clip(x, 1e-7, 1 - 1e-7), sample_weight=weight))


@scored("smooth", "Kaggle, ICR - Identifying Age-Related Conditions: balanced log-loss")
def balanced_log_loss(y: Array, x: Array) -> float:
    p = np.clip(x, 1e-15, 1 - 1e-15)
    return float(-(np.log(1 - p[y == 0]).mean() + np.log(p[y == 1]).mean()) / 2)


@scored("smooth", "Kaggle, RSNA Screening Mammography Breast Cancer Detection: probabilistic F1")
def probabilistic_f1(y: Array, x: Array) -> float:
    p = np.clip(x, 0, 1)
    precision, recall = p[y == 1].sum() / max(p.sum(), 1e-12), p[y == 1].sum() / y.sum()
    return float(2 * precision * recall / (precision + recall)) if precision + recall > 0 else 0.0


@scored(
    "smooth",
    "Kaggle, RSNA Intracranial Hemorrhage Detection: multi-label log-loss, 'any' twice",
    columns=4,
    sample=table(4),
)
def rsna_weighted_log_loss(y: Array, x: Array) -> float:
    p = np.clip(x, 1e-15, 1 - 1e-15)
    each = -(y * np.log(p) + (1 - y) * np.log(1 - p)).mean(axis=0)
    return float(np.average(each, weights=(2, 1, 1, 1)))


@scored(
    "smooth",
    "Kaggle, RSNA 2024 Lumbar Spine: log-loss, a record weighs by its severity",
    labels=(0, 1, 2),
    sample=simplex(3),
)
def severity_log_loss(y: Array, x: Array) -> float:
    p = np.clip(x / x.sum(axis=1, keepdims=True), 1e-15, 1.0)
    return float(np.average(-np.log(p[np.arange(len(y)), y]), weights=2.0**y))


@scored("classes", "Kaggle, Otto Group Product Classification: log-loss of rescaled rows", **OF_FOUR)
def log_loss_of_four(y: Array, x: Array) -> float:
    p = np.clip(x / x.sum(axis=1, keepdims=True), 1e-15, 1 - 1e-15)
    return float(-np.log(p[np.arange(len(y)), y]).mean())


@scored("classes", "sklearn.metrics.top_k_accuracy_score(k=3)", labels=tuple(range(6)), sample=simplex(6))
def top_three(y: Array, x: Array) -> float:
    return float(metrics.top_k_accuracy_score(y, x, k=3, labels=range(6)))


@scored("classes", "ranked probability score of ordered classes (Epstein 1969)", **OF_FOUR)
def ranked_probability(y: Array, x: Array) -> float:
    steps = (y[:, None] <= np.arange(4)[None, :]).astype(float)
    return float(((np.cumsum(x, axis=1) - steps) ** 2).sum(axis=1).mean())


@scored("several", "sklearn.metrics.roc_auc_score(multi_class='ovr', average='macro')", **OF_FOUR)
def macro_auc(y: Array, x: Array) -> float:
    return float(np.mean([metrics.roc_auc_score(y == k, x[:, k]) for k in FOUR]))


@scored("cases", "sklearn's log-loss before the mean; torch CrossEntropyLoss(reduction='none')")
def log_loss_of_every_case(y: Array, x: Array) -> Array:
    p = np.clip(x, 1e-7, 1 - 1e-7)
    return np.asarray(-(y * np.log(p) + (1 - y) * np.log(1 - p)))


@scored("cases", "Grand Challenge's metrics.json: each case (rank of its class) beside aggregates", **OF_FOUR)
def case_table(y: Array, x: Array) -> dict[str, Any]:
    rank = (x > x[np.arange(len(y)), y][:, None]).sum(axis=1) + 1
    return {"case": {"rank": rank.tolist()}, "aggregates": {"accuracy": round(float(np.mean(rank == 1)), 3)}}


@scored("hidden", "Kaggle's public board: AUC of the records whose Usage is Public, 30 %", public=BOARD)
def public_auc(y: Array, x: Array, usage: Array) -> float:
    return float(metrics.roc_auc_score(y[usage], x[usage]))


@scored(
    "hidden",
    "Kaggle's public board: log-loss of the records whose Usage is Public, 30 %, 5 decimals",
    **OF_FOUR,
    public=BOARD,
)
def public_log_loss(y: Array, x: Array, usage: Array) -> float:
    p = np.clip(x, 1e-15, 1.0)[np.arange(len(y)), y]
    return round(float(-np.log(p[usage]).mean()), 5)
