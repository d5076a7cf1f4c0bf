"""Gaussian noise and public class totals: what bounds the guess is how far an exchange moves scores (M38)."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.stats import norm

from labelinf_scores.bounds.metric_noise import exchanged_accuracy
from labelinf_scores.metrics.readings import Totals
from labelinf_scores.metrics.readings.registry import metric


@pytest.mark.long
@pytest.mark.parametrize(("n", "positive", "scale", "queries"), [(6, 3, 0.3, 2), (6, 2, 0.2, 3), (7, 3, 0.5, 4)])
def test_no_posterior_beats_the_ceiling_on_balanced_accuracy(n: int, positive: int, scale: float, queries: int) -> None:
    """The best guesser there is, who weighs every labelling by its likelihood, is right about both classes less often.

    Drawn by Monte Carlo, of 4 000 games; three standard errors are allowed.
    """
    rng, scored = np.random.default_rng(0), metric("roc-auc")
    totals = Totals.binary(n_records=n, n_positive=positive)
    every = np.array([y for y in itertools.product((0, 1), repeat=n) if sum(y) == positive])
    rows = np.array([rng.permutation(n) for _ in range(queries)], dtype=float)
    scores = np.array([[scored.score(y, row) for row in rows] for y in every])
    truth = rng.integers(0, len(every), 4000)
    answers = scores[truth] + rng.normal(0, scale, (4000, queries))
    logs = -((answers[:, None] - scores[None]) ** 2).sum(axis=2) / (2 * scale**2)
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    chance = weights @ every / weights.sum(axis=1, keepdims=True)
    guess = chance > positive / n  # the threshold that is best for balanced accuracy
    labels = every[truth].astype(bool)
    reached = (guess[labels].mean() + (~guess)[~labels].mean()) / 2

    assert reached <= exchanged_accuracy(scored, totals, scale, queries) + 3 / math.sqrt(4000)


def test_plain_accuracy_has_no_such_ceiling() -> None:
    """Of 569 labels 357 are positive: guessing so is right on 62.7 %, where 60 % were claimed to hold."""
    totals = Totals.binary(n_records=569, n_positive=357)
    scale = 0.0987  # by M38 as written: 60 % at 100 queries
    delta = 1 / 200

    assert norm.cdf(delta * math.sqrt(100) / (2 * scale)) == pytest.approx(0.6, abs=1e-3)
    assert 357 / 569 > 0.627
    assert exchanged_accuracy(metric("roc-auc"), totals, scale, 100) == pytest.approx(0.648, abs=1e-3)
    assert exchanged_accuracy(metric("average-precision"), totals, 1e-9, 1) == 1.0
