"""The probe learns what a scorer does from its answers alone."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest
from sklearn.metrics import log_loss

from labelinf_core.contracts.errors import InputError
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_scores.audit.probe import ScorerFindings, probe
from labelinf_scores.audit.scorer import _told
from labelinf_scores.game.scorers import make_scorer
from labelinf_scores.metrics.log_loss import LogLoss
from labelinf_scores.rules.games import made

BUILDER = Builder(Host.load())
LOSSES = {name: BUILDER.build(Kind.LOSS, name, "test") for name in ("squared-euclidean", "log-loss")}
LABELS = np.random.default_rng(0).integers(0, 2, 306)
CLASSES = np.random.default_rng(0).integers(0, 3, 306)

Predictions = np.ndarray[Any, Any]


def learn(score: Callable[[Predictions], float], n_classes: int = 2) -> ScorerFindings:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return probe(score, n_records=306, n_classes=n_classes, losses=LOSSES, rng=np.random.default_rng(1))


def sklearn_score(predictions: Predictions) -> float:
    return float(log_loss(LABELS, predictions, labels=[0, 1]))


def test_it_knows_scikit_learns_log_loss() -> None:
    found = learn(sklearn_score)

    assert (found.loss, found.decimals, found.noise_std, found.normalised) == ("log-loss", None, 0.0, False)
    assert found.clip == pytest.approx(np.finfo(float).eps, rel=1e-3)
    assert found.queries <= 50


@pytest.mark.parametrize("decimals", [3, 4, 5])
def test_it_finds_the_decimals_and_the_clip_behind_them(decimals: int) -> None:
    found = learn(lambda p: round(sklearn_score(np.clip(p, 1e-15, 1 - 1e-15)), decimals))

    assert (found.loss, found.decimals) == ("log-loss", decimals)
    assert found.clip == pytest.approx(1e-15, rel=0.1)
    # Just inside of what it says the clip may be, rows cost what they say.
    assert abs(found.clip / 1e-15 - 1) <= found.clip_error < 0.5


def test_it_measures_fresh_noise() -> None:
    rng = np.random.default_rng(2)
    found = learn(lambda p: sklearn_score(np.clip(p, 0.01, 0.99)) + 0.01 * rng.standard_normal())

    assert found.loss == "log-loss"
    # The standard deviation of eight draws is within a factor three of the true one with probability above 1 - 1e-3.
    assert 0.01 / 3 < found.noise_std < 0.03


def test_it_tells_another_loss() -> None:
    assert learn(lambda p: float(np.mean((p[:, 1] - LABELS) ** 2))).loss == "squared-euclidean"


def test_it_sees_single_precision() -> None:
    found = learn(lambda p: float(np.float32(sklearn_score(np.clip(p, 0.01, 0.99)))))

    assert found.single_precision
    assert found.loss == "log-loss"


def test_it_knows_more_than_two_classes() -> None:
    found = learn(lambda p: float(log_loss(CLASSES, p, labels=[0, 1, 2])), n_classes=3)

    assert found.loss == "log-loss"
    assert found.clip == pytest.approx(np.finfo(float).eps, rel=1e-3)


def test_it_sees_that_rows_are_normalised_or_refused() -> None:
    assert learn(lambda p: sklearn_score(p / p.sum(axis=1, keepdims=True))).normalised

    def refuse(predictions: Predictions) -> float:
        if np.abs(predictions.sum(axis=1) - 1).max() > 1e-9:
            raise InputError("rows must sum to one")
        return sklearn_score(predictions)

    assert learn(refuse).normalised


def test_it_admits_that_it_knows_no_such_loss() -> None:
    found = learn(lambda p: float(np.mean(p[:, 1] > 0.5) ** 2))

    assert found.loss == ""
    assert "no additive loss that is known here" in found.sentence()


@pytest.mark.parametrize("error", [0.0, 0.1, 0.4])
def test_the_clip_that_attacks_are_told_is_larger_than_the_real_one_can_be(error: float) -> None:
    labels = np.arange(20, dtype=np.intp) % 2
    found = attrs.evolve(learn(lambda p: sklearn_score(np.clip(p, 0.01, 0.99))), clip=0.01, clip_error=error)

    told = _told(make_scorer("sklearn", LogLoss(), 2), made(labels), found, LogLoss(), 10)

    assert told.scorer_clip >= 0.01 / (1 - error)
