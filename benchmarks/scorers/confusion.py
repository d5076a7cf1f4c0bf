"""Scorers that count hits at a threshold, or look for the best one; most are shown to two or three decimals."""

from __future__ import annotations

import numpy as np
from scipy import stats
from sklearn import metrics

from .contract import Array, chosen, public, scored, weights

BITS = chosen(0, 1)


@scored("counts", "sklearn.metrics.accuracy_score, 2 decimals on the board", sample=BITS)
def accuracy_of_two_decimals(y: Array, x: Array) -> float:
    return round(float(np.mean(y == x)), 2)


@scored(
    "counts",
    "Kaggle, Spaceship Titanic: accuracy of class strings, 3 decimals",
    labels=("False", "True"),
    sample=chosen("False", "True"),
)
def accuracy_of_strings(y: Array, x: Array) -> float:
    return round(float(metrics.accuracy_score(y, x)), 3)


@scored("counts", "sklearn.metrics.accuracy_score(sample_weight=)", sample=BITS, public=public(weight=weights))
def weighted_accuracy(y: Array, x: Array, weight: Array) -> float:
    return float(np.average(y == x, weights=weight))


@scored("counts", "Kaggle, Bosch Production Line Performance: Matthews correlation", sample=BITS)
def matthews(y: Array, x: Array) -> float:
    return float(metrics.matthews_corrcoef(y, x))


@scored("counts", "sklearn.metrics.balanced_accuracy_score; ISIC 2019", sample=BITS)
def balanced_accuracy(y: Array, x: Array) -> float:
    return round(float(metrics.balanced_accuracy_score(y, x)), 3)


@scored("counts", "sklearn.metrics.cohen_kappa_score", sample=BITS)
def kappa(y: Array, x: Array) -> float:
    return float(metrics.cohen_kappa_score(y, x))


@scored("counts", "IDA 2016 challenge, APS failure at Scania trucks: 10 a false alarm, 500 a miss", sample=BITS)
def scania_cost(y: Array, x: Array) -> int:
    return int(10 * np.sum((y == 0) & (x == 1)) + 500 * np.sum((y == 1) & (x == 0)))


@scored("counts", "decision curves and the utility boards after them: 5 a hit, -1 a false alarm, -2 a miss")
def utility(y: Array, x: Array) -> float:
    called = x >= 0.5
    return float((5 * np.sum(called & (y == 1)) - np.sum(called & (y == 0)) - 2 * np.sum(~called & (y == 1))) / len(y))


@scored(
    "counts",
    "Kaggle, Higgs Boson Machine Learning Challenge: approximate median significance",
    sample=BITS,
    public=public(weight=weights),
)
def higgs_significance(y: Array, x: Array, weight: Array) -> float:
    signal, background = float(weight[(x == 1) & (y == 1)].sum()), float(weight[(x == 1) & (y == 0)].sum())
    background += 10.0
    return float(np.sqrt(2 * ((signal + background) * np.log(1 + signal / background) - signal)))


@scored("counts", "Kaggle, Carvana Image Masking Challenge: Dice at .5, both empty counts 1")
def dice(y: Array, x: Array) -> float:
    mask = x >= 0.5
    return float(2 * np.sum(mask & (y == 1)) / (mask.sum() + y.sum())) if mask.sum() + y.sum() else 1.0


@scored("counts", "sklearn.metrics.precision_recall_fscore_support; a board with three columns", sample=BITS)
def precision_recall_f1(y: Array, x: Array) -> dict[str, float]:
    three = metrics.precision_recall_fscore_support(y, x, average="binary", zero_division=0)[:3]
    return {name: round(float(value), 3) for name, value in zip(("precision", "recall", "f1"), three, strict=True)}


@scored("counts", "scipy.stats.ks_2samp between the classes, the usual figure of credit scoring")
def kolmogorov_smirnov(y: Array, x: Array) -> float:
    return float(stats.ks_2samp(x[y == 1], x[y == 0], method="asymp").statistic)


@scored("counts", "Guo et al. 2017; torchmetrics CalibrationError with 10 bins")
def calibration_error(y: Array, x: Array) -> float:
    bins = np.clip((x * 10).astype(int), 0, 9)
    gaps = np.bincount(bins, weights=x - y, minlength=10)
    return float(np.abs(gaps).sum() / len(y))


@scored("counts", "best F1 over thresholds, from sklearn.metrics.precision_recall_curve")
def best_f1(y: Array, x: Array) -> float:
    precision, recall, _ = metrics.precision_recall_curve(y, x)
    return round(float(np.max(2 * precision * recall / np.maximum(precision + recall, 1e-12))), 3)


@scored("counts", "sklearn.metrics.roc_curve read at FPR .1; Carlini et al. 2022")
def recall_at_fpr(y: Array, x: Array) -> float:
    fpr, tpr, _ = metrics.roc_curve(y, x)
    return float(tpr[fpr <= 0.1].max())


@scored(
    "counts",
    "Kaggle, Planet: Understanding the Amazon from Space: mean F2 of the records",
    columns=4,
    sample=lambda n, rng: rng.integers(0, 2, (n, 4)),
)
def mean_f2(y: Array, x: Array) -> float:
    return float(metrics.fbeta_score(y, x, beta=2, average="samples", zero_division=0))
