"""Label counts of batches: known answers, agreement with the definitions, and the best guess without a gradient."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from labelinf_core.channels.gradient import GradientThreat
from labelinf_core.channels.networks import Layer, Perceptron, softmax
from labelinf_gradients.batches import counts


def batch_of(
    labels: list[int], *, seed: int = 0, bias: bool = True
) -> tuple[Perceptron, np.ndarray, dict[str, np.ndarray]]:
    rng = np.random.default_rng(seed)
    network = Perceptron.random((10, 40, 6), rng, bias=bias)
    x = rng.random((len(labels), 10))
    gradient = network.mean_gradient(x, np.eye(6)[labels])
    return network, x, {name: part[None] for name, part in gradient.items()}


def test_the_largest_remainder_keeps_the_sum() -> None:
    weights = np.array([[1.4, 2.4, 0.2], [0.0, 0.0, 0.0], [5.0, 0.0, 0.0]])

    rounded = counts.largest_remainder(weights, 4)

    assert rounded.tolist() == [[2, 2, 0], [2, 1, 1], [4, 0, 0]]


@pytest.mark.parametrize("labels", [[0, 3, 5], [1, 1, 2, 4], [0, 0, 0, 5, 5]])
def test_counts_of_an_untrained_network_come_out(labels: list[int]) -> None:
    network, x, gradient = batch_of(labels)
    truth = np.bincount(labels, minlength=6).tolist()
    weights, bias = gradient["layers.1.weight"], gradient["layers.1.bias"]
    features = network.features(x)
    means = np.tile(softmax(network.classifier(features)).mean(axis=0), (6, 1))
    atoms = np.array([np.outer(means[0] - np.eye(6)[k], features.mean(axis=0)) for k in range(6)])

    assert counts.by_llg(weights, len(labels)).tolist() == [truth]
    assert counts.by_ilrg(weights, bias, network.classifier, len(labels)).tolist() == [truth]
    assert counts.by_moments(bias, means, len(labels)).tolist() == [truth]
    assert counts.by_dictionary(weights, atoms, len(labels)).tolist() == [truth]


@pytest.mark.parametrize("labels", [[2], [0, 3], [1, 4, 5]])
def test_linear_programmes_find_exactly_the_classes_that_are_present(labels: list[int]) -> None:
    _, _, gradient = batch_of(labels, bias=False)

    present = counts.present_classes(gradient["layers.1.weight"][0], len(labels))

    assert np.flatnonzero(present).tolist() == sorted(set(labels))


def test_row_minima_give_distinct_classes_as_far_as_there_are() -> None:
    rng = np.random.default_rng(0)
    gradients = rng.normal(size=(3, 4, 8))

    assert counts.by_yin(gradients, 2).sum(axis=1).tolist() == [2, 2, 2]
    assert counts.by_yin(gradients, 2).max() == 1
    assert np.sort(counts.by_yin(gradients, 6), axis=1).tolist() == [[1, 1, 2, 2]] * 3


def test_moments_and_ilrg_satisfy_their_equation() -> None:
    rng = np.random.default_rng(1)
    probabilities, truth = rng.dirichlet(np.ones(5), 5), np.array([3, 0, 1, 0, 2])
    bias = (probabilities.T @ truth - truth) / 6
    assert counts.by_moments(bias[None], probabilities, 6).tolist() == [truth.tolist()]

    classifier = Layer(weights=rng.normal(size=(5, 3)))
    features = rng.random((5, 3))
    rows = softmax(classifier(features))
    bias = (rows.T @ truth - truth) / 6
    gradients = bias[:, None] * features
    assert counts.by_ilrg(gradients[None], bias[None], classifier, 6).tolist() == [truth.tolist()]


@pytest.mark.parametrize(("prior", "batch"), [((0.5, 0.3, 0.2), 3), ((0.9, 0.05, 0.05), 4), ((0.25,) * 4, 2)])
def test_the_prior_guess_has_the_best_expected_overlap(prior: tuple[float, ...], batch: int) -> None:
    threat = GradientThreat(n_records=batch, n_classes=len(prior), prior=prior, batch=batch)

    def overlap(guess: tuple[int, ...]) -> float:
        expected = 0.0
        for labels in itertools.product(range(len(prior)), repeat=batch):
            seen = np.bincount(labels, minlength=len(prior))
            expected += float(np.prod([prior[k] for k in labels])) * np.minimum(seen, guess).sum() / batch
        return expected

    guesses = [g for g in itertools.product(range(batch + 1), repeat=len(prior)) if sum(g) == batch]
    assert overlap(threat.best_counts) == pytest.approx(max(map(overlap, guesses)))
    assert threat.baseline == pytest.approx(overlap(threat.best_counts))
