"""Scorers that draw: the law of the noise can be known only by drawing too."""

from __future__ import annotations

import numpy as np
from sklearn import metrics

from .contract import Array, Draws, chosen, scored

BITS = chosen(0, 1)


@scored("noise", "Dwork et al. 2015 and boards after it: AUC + N(0, .003), fresh at each submission", noisy=True)
def noisy_auc(y: Array, x: Array, rng: Draws) -> float:
    return float(metrics.roc_auc_score(y, x) + rng.normal(0, 0.003))


@scored("noise", "multiplicative noise on a score: accuracy x (1 + .3 N(0, 1))", noisy=True, sample=BITS)
def swelling_accuracy(y: Array, x: Array, rng: Draws) -> float:
    return float(np.mean(y == x) * (1 + 0.3 * rng.normal()))


@scored("noise", "a board that scores each submission on a random half (ShuffleSplit)", noisy=True, sample=BITS)
def accuracy_of_random_halves(y: Array, x: Array, rng: Draws) -> float:
    half = rng.permutation(len(y))[: len(y) // 2]
    return float(np.mean(y[half] == x[half]))


@scored("noise", "bootstrap means (sklearn.utils.resample): AUC of one bootstrap sample", noisy=True)
def bootstrapped_auc(y: Array, x: Array, rng: Draws) -> float:
    drawn = rng.integers(0, len(y), len(y))
    return float(metrics.roc_auc_score(y[drawn], x[drawn])) if 0 < y[drawn].sum() < len(y) else 0.5


@scored("noise", "diffprivlib's Laplace mechanism on the Brier score: heavy tails", noisy=True)
def laplace_brier(y: Array, x: Array, rng: Draws) -> float:
    return float(np.mean((y - x) ** 2) + rng.laplace(0, 0.004))
