"""Scorers of lists and groups: a number for each user, image or week, and what hosts make of these."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn import metrics

from .contract import Array, Draws, blocks, public, scored

USERS = public(user=blocks(10))
STARS = (0, 1, 2, 3)


def _each(group: Array, score: Callable[[Array], float]) -> list[float]:
    return [score(group == one) for one in np.unique(group)]


def _cases(n: int, rng: Draws) -> Array:
    """Return a group of about ten records for each, in no order."""
    return rng.permutation(n) % max(1, n // 10)


@scored(
    "ties",
    "Kaggle, Understanding Clouds from Satellite Images: mean Dice of the images",
    public=public(image=blocks(8)),
)
def dice_by_image(y: Array, x: Array, image: Array) -> float:
    def one(of: Array) -> float:
        mask, truth = x[of] >= 0.5, y[of] == 1
        return 2.0 * np.sum(mask & truth) / (mask.sum() + truth.sum()) if mask.sum() + truth.sum() else 1.0

    return float(np.mean(_each(image, one)))


@scored("ties", "Grand Challenge: Dice of every image in metrics.json", public=public(image=blocks(8)))
def dice_of_every_image(y: Array, x: Array, image: Array) -> dict[str, float]:
    found = {}
    for one in np.unique(image):
        mask, truth = x[image == one] >= 0.5, y[image == one] == 1
        found[f"image {one}"] = float(2 * (mask & truth).sum() / max(1, mask.sum() + truth.sum()))
    return found


@scored(
    "ties",
    "Kaggle, Personalize Expedia Hotel Searches: NDCG of each search",
    labels=(0, 1, 5),
    shares=(0.8, 0.12, 0.08),
    public=USERS,
)
def ndcg_by_user(y: Array, x: Array, user: Array) -> float:
    def gain(ranked: Array) -> float:
        return float(((2.0**ranked - 1) / np.log2(np.arange(2, len(ranked) + 2))).sum())

    def one(of: Array) -> float:
        best = gain(np.sort(y[of])[::-1])
        return gain(y[of][np.argsort(-x[of], kind="stable")]) / best if best else 0.0

    return float(np.mean(_each(user, one)))


@scored("several", "GAUC, Zhou et al. 2018 (Deep Interest Network): AUC of users, weighted by records", public=USERS)
def group_auc(y: Array, x: Array, user: Array) -> float:
    total, count = 0.0, 0
    for one in np.unique(user):
        of = user == one
        if 0 < y[of].sum() < of.sum():
            total, count = total + float(metrics.roc_auc_score(y[of], x[of])) * int(of.sum()), count + int(of.sum())
    return total / count if count else 0.5


@scored(
    "several", "mean over groups of sklearn's roc_auc_score, undefined groups count a half", public=public(case=_cases)
)
def mean_group_auc(y: Array, x: Array, case: Array) -> float:
    def one(of: Array) -> float:
        return float(metrics.roc_auc_score(y[of], x[of])) if 0 < y[of].sum() < of.sum() else 0.5

    return float(np.mean(_each(case, one)))


def _precision(k: int, y: Array, x: Array, of: Array) -> float:
    ranked = y[of][np.argsort(-x[of], kind="stable")][:k]
    return float((ranked * np.cumsum(ranked) / np.arange(1, len(ranked) + 1)).sum() / max(1, min(k, int(y[of].sum()))))


@scored("several", "Kaggle, H&M Personalized Fashion Recommendations and ml_metrics: MAP@5 of users", public=USERS)
def map_at_five(y: Array, x: Array, user: Array) -> float:
    return float(np.mean(_each(user, lambda of: _precision(5, y, x, of))))


@scored(
    "several",
    "Kaggle, Humpback Whale Identification and ml_metrics: MAP@3, one right class a record",
    labels=tuple(range(6)),
    sample=lambda n, rng: np.array([rng.permutation(6)[:3] for _ in range(n)]),
)
def map_at_three(y: Array, x: Array) -> float:
    return float(np.mean(((x == y[:, None]) / np.arange(1, 4)).sum(axis=1)))


@scored("several", "RecBole's Hit@3 of users", public=USERS)
def hit_rate(y: Array, x: Array, user: Array) -> float:
    return float(np.mean(_each(user, lambda of: float(y[of][np.argsort(-x[of], kind="stable")][:3].max()))))


@scored("several", "MRR of MS MARCO at 10", public=USERS)
def reciprocal_rank(y: Array, x: Array, user: Array) -> float:
    def one(of: Array) -> float:
        hits = np.flatnonzero(y[of][np.argsort(-x[of], kind="stable")][:10])
        return 1.0 / (1 + float(hits[0])) if len(hits) else 0.0

    return float(np.mean(_each(user, one)))


@scored(
    "several",
    "Kaggle, Home Credit - Credit Risk Model Stability: Gini of weeks, its trend and spread",
    public=public(week=lambda n, rng: np.arange(n) * 3 // n),
)
def gini_stability(y: Array, x: Array, week: Array) -> float:
    ginis = np.array(_each(week, lambda of: 2 * float(metrics.roc_auc_score(y[of], x[of])) - 1))
    weeks = np.arange(len(ginis))
    slope, start = np.polyfit(weeks, ginis, 1)
    return float(ginis.mean() + 88.0 * min(0.0, slope) - 0.5 * np.std(ginis - slope * weeks - start))


@scored(
    "smooth",
    "Kaggle, Ubiquant Market Prediction: mean Pearson correlation of the times",
    labels=STARS,
    public=public(time=lambda n, rng: np.arange(n) * 4 // n),
)
def pearson_by_time(y: Array, x: Array, time: Array) -> float:
    def one(of: Array) -> float:
        return float(np.corrcoef(y[of], x[of])[0, 1]) if y[of].std() > 0 and x[of].std() > 0 else 0.0

    return float(np.mean(_each(time, one)))
