"""Label counts of batches: known answers, agreement with the definitions, and the best guess without a gradient."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelinf_gradients.batches import counts
from labelinf_gradients.game.effects import Batched
from labelinf_gradients.game.gradient import GradientThreat
from labelinf_gradients.game.networks import Layer, Perceptron, softmax


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
    threat = GradientThreat(n_records=batch, n_classes=len(prior), prior=prior, effects=(Batched(size=batch),))

    def overlap(guess: tuple[int, ...]) -> float:
        expected = 0.0
        for labels in itertools.product(range(len(prior)), repeat=batch):
            seen = np.bincount(labels, minlength=len(prior))
            expected += float(np.prod([prior[k] for k in labels])) * np.minimum(seen, guess).sum() / batch
        return expected

    guesses = [g for g in itertools.product(range(batch + 1), repeat=len(prior)) if sum(g) == batch]
    assert overlap(threat.best_counts) == pytest.approx(max(map(overlap, guesses)))
    assert threat.baseline == pytest.approx(overlap(threat.best_counts))


def compositions(n_classes: int, batch: int) -> list[tuple[int, ...]]:
    return [c for c in itertools.product(range(batch + 1), repeat=n_classes) if sum(c) == batch]


few = settings(max_examples=40)
shares = st.lists(st.floats(0, 1e3), min_size=2, max_size=7)


@few
@given(weights=shares, total=st.integers(1, 40))
def test_rounding_moves_no_share_by_a_whole_label(weights: list[float], total: int) -> None:
    (rounded,) = counts.largest_remainder(np.array([weights]), total)

    assert rounded.sum() == total
    if sum(weights) > 0:
        assert np.abs(rounded - total * np.array(weights) / sum(weights)).max() < 1 + 1e-6


@few
@given(seed=st.integers(0, 10_000), n_classes=st.integers(2, 4), batch=st.integers(1, 4))
def test_moments_and_dictionary_find_what_trying_every_count_finds(seed: int, n_classes: int, batch: int) -> None:
    """Independent oracle: the integer counts of least misfit, by enumeration, on data without error."""
    rng = np.random.default_rng(seed)
    every = compositions(n_classes, batch)
    truth = np.array(every[rng.integers(len(every))])
    probabilities = rng.dirichlet(np.ones(n_classes), n_classes)
    atoms = rng.normal(size=(n_classes, n_classes, 6))
    bias = (probabilities.T @ truth - truth) / batch
    gradient = np.einsum("k,kci->ci", truth, atoms) / batch

    def nearest(misfit: list[float]) -> list[int]:
        return list(every[int(np.argmin(misfit))])

    by_bias = [float(np.linalg.norm(probabilities.T @ c - np.array(c) - batch * bias)) for c in every]
    by_gradient = [float(np.linalg.norm(np.einsum("k,kci->ci", c, atoms) - batch * gradient)) for c in every]
    assert counts.by_moments(bias[None], probabilities, batch).tolist() == [nearest(by_bias)]
    assert counts.by_dictionary(gradient[None], atoms, batch).tolist() == [nearest(by_gradient)]


@few
@given(seed=st.integers(0, 10_000), n_classes=st.integers(3, 8), batch=st.integers(1, 12), scale=st.floats(0.1, 30))
def test_every_count_attack_answers_any_batch_with_counts_of_its_size(
    seed: int, n_classes: int, batch: int, scale: float
) -> None:
    rng = np.random.default_rng(seed)
    classifier = Layer(weights=scale * rng.normal(size=(n_classes, 5)), bias=rng.normal(size=n_classes))
    features = np.maximum(rng.normal(size=(batch, 5)), 0)
    labels = rng.integers(n_classes, size=batch)
    errors = softmax(classifier(features)) - np.eye(n_classes)[labels]
    gradients = np.array([errors.T @ features / batch, np.zeros((n_classes, 5))])
    bias = np.array([errors.mean(axis=0), np.zeros(n_classes)])
    atoms = rng.normal(size=(n_classes, n_classes, 5))
    found = [
        counts.by_yin(gradients, batch),
        counts.by_llg(gradients, batch),
        counts.by_ilrg(gradients, bias, classifier, batch),
        counts.by_moments(bias, rng.dirichlet(np.ones(n_classes), n_classes), batch),
        counts.by_dictionary(gradients, atoms, batch),
    ]
    if batch < n_classes - 1:
        found.append(counts.by_rlg(gradients, batch))

    for guessed in found:
        assert guessed.shape == (2, n_classes)
        assert guessed.min() >= 0
        assert guessed.sum(axis=1).tolist() == [batch, batch]


@pytest.mark.long
@few
@given(seed=st.integers(0, 10_000), n_classes=st.integers(5, 10), scale=st.floats(0.1, 3))
def test_linear_programmes_never_miss_a_class_that_is_present(seed: int, n_classes: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    batch = int(rng.integers(1, n_classes - 1))
    weights = scale * rng.normal(size=(n_classes, 20))
    features = np.maximum(rng.normal(size=(batch, 20)), 0)
    labels = rng.integers(n_classes, size=batch)
    errors = softmax(features @ weights.T / np.sqrt(20)) - np.eye(n_classes)[labels]

    present = counts.present_classes(errors.T @ features / batch, batch)

    assert present[labels].all()


def test_one_sample_is_counted_by_all() -> None:
    """With a batch of one the published methods are iDLG: the only negative row."""
    for label in range(6):
        network, _, gradient = batch_of([label], seed=label)
        weights, bias = gradient["layers.1.weight"], gradient["layers.1.bias"]
        truth = [np.eye(6, dtype=int)[label].tolist()]
        assert counts.by_yin(weights, 1).tolist() == truth
        assert counts.by_llg(weights, 1).tolist() == truth
        assert counts.by_rlg(weights, 1).tolist() == truth
        assert counts.by_ilrg(weights, bias, network.classifier, 1).tolist() == truth


@pytest.mark.parametrize(
    ("prior", "batch", "expected"),
    [((0.5, 0.5), 1, (1, 0)), ((0.2, 0.4, 0.4), 1, (0, 1, 0)), ((0.5, 0.5), 3, (2, 1)), ((1 / 3,) * 3, 3, (1, 1, 1))],
)
def test_of_equally_good_guesses_the_first_class_is_named(
    prior: tuple[float, ...], batch: int, expected: tuple[int, ...]
) -> None:
    threat = GradientThreat(n_records=batch, n_classes=len(prior), prior=prior, effects=(Batched(size=batch),))
    assert threat.best_counts == expected


def test_counts_by_interpolation_are_exact_for_one_step_on_the_same_records() -> None:
    """Mean probabilities less the bias's gradient are the class shares: nothing is left to interpolate."""
    rng = np.random.default_rng(0)
    layer = Layer(weights=rng.normal(size=(7, 20)), bias=rng.normal(size=7))
    features, labels = rng.normal(size=(12, 20)), rng.integers(7, size=12)
    errors = softmax(layer(features)) - np.eye(7)[labels]

    found = counts.by_interpolation(
        (errors.T @ features / 12)[None], errors.mean(axis=0)[None], layer, features, batch=12, steps=1, rate=0.1
    )

    assert found[0].tolist() == np.bincount(labels, minlength=7).tolist()
