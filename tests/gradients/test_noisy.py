"""Attacks under noise: each against a known answer, all of them under what is proved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from labelinf_data.bundled import load_bunch
from labelinf_gradients import certificates
from labelinf_gradients.game.networks import Perceptron, softmax
from labelinf_gradients.noisy.filters import filtered, likeliest_mixtures, principal_directions
from labelinf_gradients.noisy.likelihood import likeliest_scales
from labelinf_gradients.recovery.factor import principal
from labelinf_gradients.recovery.patterns import BY_FAMILY, ONE_HOT, SMOOTHING
from labelinf_gradients.recovery.problem import Problem
from labelinf_papers.published.iclr_table5 import Study


@pytest.mark.parametrize("family", ["one-hot", "smoothing", "mixup"])
def test_without_noise_the_likeliest_scale_is_the_true_one(make: Callable[..., Any], family: str) -> None:
    made = make(n=40, family=family, dtype="float64")
    pattern = {item.name: item for item in BY_FAMILY.values()}[family]
    parts = principal(made.gradients, nonnegative=True)
    problem = Problem(column=parts.column, slopes=parts.direction @ made.weights.T)

    scales = likeliest_scales(problem, pattern, positive=True)

    assert scales == pytest.approx(np.linalg.norm(made.features, axis=1), rel=1e-3)


def test_the_likelihood_beats_the_smallest_variance_under_noise(make: Callable[..., Any]) -> None:
    """The variance of the pseudo label is the likelihood's sum of squares over t squared: it runs off to infinity."""
    made = make(n=200, family="smoothing", dtype="float64", seed=5)
    noisy = made.gradients + np.random.default_rng(0).normal(0, 0.05, made.gradients.shape)
    parts = principal(noisy, nonnegative=True)
    problem = Problem(column=parts.column, slopes=parts.direction @ made.weights.T)
    likely = problem.labels(likeliest_scales(problem, SMOOTHING, positive=True))

    grid = np.geomspace(0.5, 3000, 400)
    variances = [np.sort(problem.labels(np.full(200, t)), axis=1)[:, :-1].var(axis=1) for t in grid]
    smallest = problem.labels(grid[np.argmin(variances, axis=0)])

    error = [np.median(np.abs(labels - made.labels).sum(axis=1)) for labels in (likely, smallest)]
    assert error[0] < 0.2 * error[1]


def test_matched_filters_read_one_hot_labels(make: Callable[..., Any]) -> None:
    made = make(n=200, seed=2)
    truth = made.labels.argmax(axis=1)
    noisy = made.gradients + np.random.default_rng(0).normal(0, 0.1, made.gradients.shape)

    for direction in (np.ones(64), made.features.mean(axis=0), principal_directions(noisy)):
        assert np.mean(filtered(noisy, direction) == truth) > 0.95


def test_the_bayes_rule_with_public_features_reaches_the_exact_accuracy_and_no_more() -> None:
    rng = np.random.default_rng(0)
    n, k, x = 4000, 10, np.array([0.6, 0.8])
    p = softmax(rng.normal(size=k))
    candidates = ((p - np.eye(k))[:, :, None] * x).reshape(k, -1)
    truth = rng.integers(k, size=n)
    released = candidates[truth] + rng.normal(0, 0.5, (n, candidates.shape[1]))

    guessed = likeliest_mixtures(released, candidates, np.arange(k), (0.1,) * k, 0.5)

    # Five standard deviations of 4 000 trials are 0.04.
    assert np.mean(guessed == truth) == pytest.approx(certificates.bayes_public(1 / 0.5, k), abs=0.04)


def test_a_mixture_weighs_shares_and_all_templates() -> None:
    templates = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 3.0]])
    classes = np.array([0, 0, 1])

    assert likeliest_mixtures(np.array([[0.9, 0.1]]), templates, classes, (0.5, 0.5), 0.5).tolist() == [0]
    assert likeliest_mixtures(np.array([[0.1, 2.8]]), templates, classes, (0.5, 0.5), 0.5).tolist() == [1]
    assert likeliest_mixtures(np.array([[0.0, 1.6]]), templates, classes, (0.999, 0.001), 1.0).tolist() == [0]
    assert likeliest_mixtures(np.array([[0.0, 1.6]]), templates, classes, (0.999, 0.001), 0.0).tolist() == [1]


def test_a_one_hot_fit_also_explains_its_own_entry() -> None:
    slopes = np.log([[1.0, 2.0, 4.0]])
    column = np.array([[-6 / 7, 2 / 7, 4 / 7]])

    scales = likeliest_scales(Problem(column=column, slopes=slopes), ONE_HOT, positive=False)

    assert scales[0] == pytest.approx(1, abs=1e-6)


@pytest.fixture(scope="module")
def digits() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Gradients of 500 real digits in an untrained network of width 512, their labels, features, and own samples'."""
    data, rng = load_bunch("digits"), np.random.default_rng(0)
    network = Perceptron.random((64, 512, 10), rng, bias=False)
    rows = rng.permutation(len(data.target))[:900]
    own, attacked = rows[:400], rows[400:]
    gradients = network.gradients(data.data[attacked] / 16, np.eye(10)[data.target[attacked]])["layers.1.weight"]
    features = [network.features(data.data[part] / 16) for part in (attacked, own)]
    return gradients, data.target[attacked], *features


@pytest.mark.long
def test_what_each_direction_reads_under_noise_of_variance_one(
    digits: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
) -> None:
    """Expected .870, .988, .343 and .997 (labelinf theory, noise); five deviations of 500 samples are below .11."""
    gradients, truth, features, own = digits
    noisy = gradients + np.random.default_rng(1).normal(0, 1, gradients.shape)
    directions = (np.ones(512), own.mean(axis=0), principal_directions(noisy), features)

    ones, mean, singular, itself = (float(np.mean(filtered(noisy, item) == truth)) for item in directions)

    assert (ones, mean, singular, itself) == pytest.approx((0.870, 0.988, 0.343, 0.997), abs=0.11)
    assert itself >= mean > ones > singular > 0.1
    exact = np.mean([certificates.bayes_public(size, 10) for size in np.linalg.norm(features, axis=1)[:100]])
    assert itself == pytest.approx(exact, abs=0.03)


@pytest.mark.parametrize(("variance", "likelihood", "sums"), [(1e-4, 1.0, 1.0), (1e-2, 1.0, 1.0), (1e-1, 0.863, 1.0)])
def test_hard_labels_survive_noise_of_every_entry(variance: float, likelihood: float, sums: float) -> None:
    study = Study.digits(100)
    noisy = study.gradients + np.random.default_rng(2).normal(0, variance**0.5, study.gradients.shape)
    truth = study.labels.argmax(axis=1)
    parts = principal(noisy, nonnegative=True)
    problem = Problem(column=parts.column, slopes=parts.direction @ study.weights.T)
    labels = problem.labels(likeliest_scales(problem, SMOOTHING, positive=True))

    # Five standard deviations of 100 samples at .86 are .17.
    assert np.mean(labels.argmax(axis=1) == truth) == pytest.approx(likelihood, abs=0.17)
    assert np.mean(filtered(noisy, np.ones(512)) == truth) == pytest.approx(sums, abs=0.02)
