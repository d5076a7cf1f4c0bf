"""Scorers that see the order of a submission: areas, concordance, captured shares."""

from __future__ import annotations

import hashlib

import numpy as np
from scipy import stats
from sklearn import metrics

from .contract import Array, identifiers, public, scored, table, weights


@scored("smooth", "sklearn.metrics.roc_auc_score; Kaggle, Santander Customer Transaction Prediction")
def auc(y: Array, x: Array) -> float:
    return float(metrics.roc_auc_score(y, x))


@scored("smooth", "Kaggle, ISIC 2024, the host's notebook: partial AUC above 80 % sensitivity")
def partial_auc(y: Array, x: Array) -> float:
    most = 0.2
    scaled = metrics.roc_auc_score(np.abs(y - 1), 1.0 - x, max_fpr=most)
    least = 0.5 * most**2
    return float(least + (most - least) / 0.5 * (scaled - 0.5))


def _alaska(y: Array, x: Array) -> float:
    fpr, tpr, _ = metrics.roc_curve(y, x)
    total, bars, gains = 0.0, (0.0, 0.4, 1.0), (2, 1)
    for low, high, gain in zip(bars, bars[1:], gains, strict=False):
        inside = (low <= tpr) & (tpr <= high)
        if inside.sum():
            total += gain * metrics.auc(np.append(fpr[inside], 1), np.append(tpr[inside], high) - low)
    return float(total / np.dot(np.diff(bars), gains))


alaska = scored("smooth", "Kaggle, ALASKA2 image steganalysis: weighted AUC")(_alaska)


@scored("smooth", "sklearn.metrics.average_precision_score")
def average_precision(y: Array, x: Array) -> float:
    return float(metrics.average_precision_score(y, x))


@scored("smooth", "scipy.stats.spearmanr; Kaggle, Google QUEST Q&A Labeling (a column)")
def spearman(y: Array, x: Array) -> float:
    return float(stats.spearmanr(y, x).statistic)


@scored("smooth", "scipy.stats.pearsonr; Kaggle, U.S. Patent Phrase to Phrase Matching")
def pearson(y: Array, x: Array) -> float:
    return float(np.corrcoef(y, x)[0, 1])


@scored("smooth", "sklearn.metrics.roc_auc_score(sample_weight=)", public=public(weight=weights))
def weighted_auc(y: Array, x: Array, weight: Array) -> float:
    return float(metrics.roc_auc_score(y, x, sample_weight=weight))


@scored("smooth", "mean of sklearn's roc_auc_score and 1 - brier_score_loss, an ordinary mixture")
def auc_and_brier(y: Array, x: Array) -> float:
    return 0.5 * float(metrics.roc_auc_score(y, x)) + 0.5 * (1.0 - float(np.mean((y - x) ** 2)))


@scored("smooth", "sklearn.metrics.roc_auc_score, refusing submissions with fewer than three values")
def auc_or_refusal(y: Array, x: Array) -> float:
    if len(np.unique(x)) < 3:
        raise ValueError("degenerate submission")
    return float(metrics.roc_auc_score(y, x))


@scored("smooth", "DREAM challenges: mean of AUROC and AUPR, 4 decimals on the board")
def auroc_and_aupr(y: Array, x: Array) -> float:
    return round(float(metrics.roc_auc_score(y, x) + metrics.average_precision_score(y, x)) / 2, 4)


def _gini(y: Array, x: Array) -> float:
    order = np.lexsort((np.arange(len(y)), -x))
    return float((y[order].cumsum().sum() / y.sum() - (len(y) + 1) / 2) / len(y))


@scored("ties", "Kaggle, Porto Seguro's Safe Driver Prediction: normalised Gini, ties by row order")
def normalised_gini(y: Array, x: Array) -> float:
    return _gini(y, x) / _gini(y, y)


def _by_hash(id: Array, x: Array) -> Array:
    names = np.array([hashlib.md5(str(name).encode()).hexdigest() for name in id])
    return np.lexsort((names, -np.round(x, 3)))


@scored("ties", "trec_eval: ties by document number, numbers as hashes", public=public(id=identifiers))
def pairs_with_hash_ties(y: Array, x: Array, id: Array) -> float:
    ranked = y[_by_hash(id, x)]
    return float(((1 - ranked) * np.cumsum(ranked)).sum() / (ranked.sum() * (1 - ranked).sum()))


@scored("ties", "trec_eval's map: ties by document number, numbers as hashes", public=public(id=identifiers))
def precision_with_hash_ties(y: Array, x: Array, id: Array) -> float:
    ranked = y[_by_hash(id, x)]
    return round(float((ranked * np.cumsum(ranked) / np.arange(1, len(y) + 1)).sum() / ranked.sum()), 4)


def _captured(y: Array, x: Array) -> float:
    ranked = y[np.argsort(-x, kind="stable")]
    weight = np.where(ranked == 0, 20, 1)
    return float(ranked[np.cumsum(weight) <= int(0.04 * weight.sum())].sum() / ranked.sum())


def _weighted_gini(y: Array, x: Array) -> float:
    ranked = y[np.argsort(-x, kind="stable")]
    weight = np.where(ranked == 0, 20, 1)
    lorentz = np.cumsum(ranked * weight) / (ranked * weight).sum()
    return float(((lorentz - np.cumsum(weight / weight.sum())) * weight).sum())


@scored("ties", "Kaggle, American Express Default Prediction: mean of Gini and default rate at 4 %")
def amex(y: Array, x: Array) -> float:
    return 0.5 * (_weighted_gini(y, x) / _weighted_gini(y, y) + _captured(y, x))


def _concordance(event: Array, risk: Array, time: Array) -> float:
    pairs = (time[:, None] < time[None, :]) & (event[:, None] == 1)
    wins = (risk[:, None] > risk[None, :]) + 0.5 * (risk[:, None] == risk[None, :])
    if not pairs.any():
        raise ZeroDivisionError("No admissable pairs in the dataset.")  # as lifelines says it
    return float((wins * pairs).sum() / pairs.sum())


TIMES = {"time": identifiers}


@scored("ties", "Harrell's C, lifelines.utils.concordance_index; labels: event flags", public=public(**TIMES))
def c_index(y: Array, x: Array, time: Array) -> float:
    return _concordance(y, x, time)


RACES = public(**TIMES, race=lambda n, rng: rng.integers(max(2, min(6, n // 20)), size=n))


@scored("ties", "Kaggle, CIBMTR Equity in post-HCT Survival Predictions: stratified C-index", public=RACES)
def stratified_c_index(y: Array, x: Array, time: Array, race: Array) -> float:
    each = [_concordance(y[race == one], x[race == one], time[race == one]) for one in np.unique(race)]
    return float(np.mean(each) - np.sqrt(np.var(each)))


def _at(y: Array, x: Array, k: int) -> float:
    return float(np.mean(y[np.argsort(-x, kind="stable")[:k]]))


@scored("several", "TREC's P@50, ties by row order (stable argsort)")
def precision_at_fifty(y: Array, x: Array) -> float:
    return _at(y, x, min(50, max(1, 5 * len(y) // 6)))


@scored("several", "Kaggle, Toxic Comment Classification: mean column AUC", columns=4, sample=table(4))
def mean_column_auc(y: Array, x: Array) -> float:
    return float(np.mean([metrics.roc_auc_score(y[:, k], x[:, k]) for k in range(y.shape[1])]))


def _power_mean(values: list[float]) -> float:
    return float(np.mean(np.power(values, -5.0)) ** (1 / -5.0))


def _identities(n: int, rng: np.random.Generator) -> Array:
    return rng.random((n, 3)) < 0.4


@scored(
    "several",
    "Kaggle, Jigsaw Unintended Bias in Toxicity Classification: bias AUCs",
    public=public(identity=_identities),
)
def jigsaw_bias(y: Array, x: Array, identity: Array) -> float:
    def area(kept: Array) -> float:
        return float(metrics.roc_auc_score(y[kept], x[kept]))

    masks = [identity[:, k] for k in range(identity.shape[1])]
    subgroup = [area(of) for of in masks]
    positive = [area((of & (y == 1)) | (~of & (y == 0))) for of in masks]
    negative = [area((of & (y == 0)) | (~of & (y == 1))) for of in masks]
    overall = float(metrics.roc_auc_score(y, x))
    return 0.25 * (overall + _power_mean(subgroup) + _power_mean(positive) + _power_mean(negative))


@scored("several", "Kaggle, Freesound Audio Tagging 2019: label-weighted LRAP", columns=4, sample=table(4))
def label_weighted_lrap(y: Array, x: Array) -> float:
    weight = y.sum(axis=1)
    some = weight > 0
    score = metrics.label_ranking_average_precision_score(y[some], x[some], sample_weight=weight[some])
    return float(score)
