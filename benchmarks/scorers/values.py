"""Scorers of numbers: ratings are a few values, real targets are many."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats
from sklearn import metrics

from .contract import Array, Draws, between, log_normal, normal, public, scored, weights

STARS = (1, 2, 3, 4, 5)
RATINGS: dict[str, Any] = {"labels": STARS, "sample": between(0.5, 5.5)}
AMOUNTS: dict[str, Any] = {"labels": log_normal, "sample": log_normal}
RETURNS: dict[str, Any] = {"labels": normal, "sample": normal}


def _smape(y: Array, x: Array) -> float:
    return float(200.0 * np.mean(np.abs(y - x) / (np.abs(y) + np.abs(x))))


@scored("classes", "Kaggle, Web Traffic Time Series Forecasting: SMAPE", **RATINGS)
def smape_of_ratings(y: Array, x: Array) -> float:
    return _smape(y, x)


@scored("classes", "sklearn.metrics.root_mean_squared_log_error", **RATINGS)
def rmsle_of_ratings(y: Array, x: Array) -> float:
    return float(np.sqrt(np.mean((np.log1p(y) - np.log1p(x)) ** 2)))


@scored("classes", "Netflix Prize: RMSE, 3 decimals", **RATINGS)
def rmse_of_ratings(y: Array, x: Array) -> float:
    return round(float(np.sqrt(np.mean((y - x) ** 2))), 3)


@scored("classes", "sklearn.metrics.mean_pinball_loss(alpha=0.9)", **RATINGS)
def pinball_of_ratings(y: Array, x: Array) -> float:
    return float(metrics.mean_pinball_loss(y, x, alpha=0.9))


def _forecasts(n: int, rng: Draws) -> Array:
    return np.column_stack([rng.uniform(1, 5, n), rng.uniform(0.3, 2, n)])


@scored(
    "classes",
    "Gneiting and Raftery 2007: CRPS of normal forecasts (properscoring.crps_gaussian)",
    labels=STARS,
    sample=_forecasts,
)
def crps(y: Array, x: Array) -> float:
    spread = np.maximum(x[:, 1], 1e-6)
    z = (y - x[:, 0]) / spread
    each = spread * (z * (2 * stats.norm.cdf(z) - 1) + 2 * stats.norm.pdf(z) - 1 / np.sqrt(np.pi))
    return float(each.mean())


@scored("several", "sklearn.metrics.r2_score, of ratings", **RATINGS)
def r2_of_ratings(y: Array, x: Array) -> float:
    return float(metrics.r2_score(y, x))


@scored("reals", "sklearn.metrics.mean_squared_error", **AMOUNTS)
def squared_error(y: Array, x: Array) -> float:
    return float(np.mean((y - x) ** 2))


@scored("reals", "Kaggle, Ventilator Pressure Prediction: mean absolute error", **AMOUNTS)
def absolute_error(y: Array, x: Array) -> float:
    return float(np.mean(np.abs(y - x)))


@scored("reals", "sklearn.metrics.r2_score; Kaggle, Mercedes-Benz Greener Manufacturing", **AMOUNTS)
def r2(y: Array, x: Array) -> float:
    return float(metrics.r2_score(y, x))


@scored("reals", "Kaggle, House Prices and Bike Sharing Demand: RMSLE", labels=log_normal, sample=log_normal)
def rmsle(y: Array, x: Array) -> float:
    return float(np.sqrt(np.mean((np.log1p(y) - np.log1p(np.maximum(x, 0))) ** 2)))


@scored("reals", "scipy.stats.spearmanr on real targets; Numerai", **RETURNS)
def rank_correlation(y: Array, x: Array) -> float:
    return float(stats.spearmanr(y, x).statistic)


@scored(
    "reals",
    "Kaggle, Jane Street Real-Time Market Data Forecasting: zero-mean weighted R2",
    **RETURNS,
    public=public(weight=weights),
)
def weighted_r2(y: Array, x: Array, weight: Array) -> float:
    return float(1 - np.sum(weight * (y - x) ** 2) / np.sum(weight * y**2))


@scored("reals", "sklearn.metrics.median_absolute_error", **AMOUNTS)
def median_error(y: Array, x: Array) -> float:
    return float(np.median(np.abs(y - x)))


@scored("reals", "Kaggle, Optiver Realized Volatility Prediction: RMSPE, 4 decimals", **AMOUNTS)
def rmspe(y: Array, x: Array) -> float:
    return round(float(np.sqrt(np.mean(((y - x) / y) ** 2))), 4)


@scored("reals", "M4 competition: SMAPE of real values", **AMOUNTS)
def smape(y: Array, x: Array) -> float:
    return _smape(y, x)


def _lungs(n: int, rng: Draws) -> Array:
    return np.column_stack([rng.uniform(1800, 3800, n), rng.uniform(70, 400, n)])


@scored(
    "reals",
    "Kaggle, OSIC Pulmonary Fibrosis Progression: modified Laplace log-likelihood",
    labels=lambda n, rng: np.round(rng.normal(2700, 700, n)),
    sample=_lungs,
)
def laplace_likelihood(y: Array, x: Array) -> float:
    spread = np.maximum(x[:, 1], 70)
    error = np.minimum(np.abs(y - x[:, 0]), 1000)
    return float(np.mean(-np.sqrt(2) * error / spread - np.log(np.sqrt(2) * spread)))


@scored(
    "reals",
    "Kaggle, OpenVaccine (stanford-covid-vaccine): mean of the columns' RMSE",
    columns=3,
    labels=normal,
    sample=lambda n, rng: rng.normal(size=(n, 3)),
)
def mean_column_rmse(y: Array, x: Array) -> float:
    return float(np.sqrt(np.mean((y - x) ** 2, axis=0)).mean())


@scored(
    "reals",
    "Kaggle, Predicting Molecular Properties: mean of the types' log of mean absolute error",
    **RETURNS,
    public=public(type=lambda n, rng: rng.integers(0, 4, n)),
)
def log_error_by_type(y: Array, x: Array, type: Array) -> float:
    return float(np.mean([np.log(np.mean(np.abs(y - x)[type == k])) for k in np.unique(type)]))
