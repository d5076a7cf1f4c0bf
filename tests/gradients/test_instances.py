"""Every sample of a batch: found with its feature, certified by its own evidence, repeated classes included."""

from __future__ import annotations

import numpy as np
import pytest

from labelinf_core.channels.networks import Perceptron
from labelinf_core.errors import InputError
from labelinf_gradients.batches.instances import Batch, recover_batch
from labelinf_gradients.batches.joint import likely_counts, recover_jointly
from labelinf_gradients.batches.subspace import Subspace

Case = tuple[Perceptron, np.ndarray, np.ndarray, np.ndarray]


def batch_of(labels: list[int], n_classes: int, *, dtype: str = "float64", bias: bool = False, seed: int = 0) -> Case:
    rng = np.random.default_rng(seed)
    network = Perceptron.random((32, 96, n_classes), rng, bias=bias, dtype=dtype)
    x = rng.random((len(labels), 32))
    gradient = network.mean_gradient(x, np.eye(n_classes)[labels])["layers.1.weight"]
    return network, network.features(x), np.array(labels), gradient


def holds(found: Batch, case: Case, limit: float) -> None:
    _, features, labels, _ = case
    assert found.complete
    assert sorted(found.classes.tolist()) == sorted(labels.tolist())
    for feature in features:
        gap = np.abs(found.features - feature).max(axis=1).min()
        assert gap < limit * np.abs(feature).max()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("labels", [[3], [0, 7], [5, 5], [1, 2, 2, 19], [4, 4, 4, 9, 11, 0, 18, 17]])
def test_all_samples_come_out_one_after_the_other(labels: list[int], dtype: str) -> None:
    case = batch_of(labels, 20, dtype=dtype)

    found = recover_batch(case[3], case[0].classifier.weights, batch=len(labels), rng=np.random.default_rng(0))

    holds(found, case, 1e-6 if dtype == "float64" else 1e-2)


def test_half_the_classes_is_within_reach() -> None:
    """At B = C / 2 the subspace alone leaves one equation too few; the rank condition adds it."""
    case = batch_of([0, 1, 1, 6, 9], 10, seed=2)

    found = recover_batch(case[3], case[0].classifier.weights, batch=5, rng=np.random.default_rng(0))

    holds(found, case, 1e-5)


def test_a_known_bias_is_taken_into_account() -> None:
    case = batch_of([0, 7, 7], 20, bias=True)
    classifier = case[0].classifier

    found = recover_batch(case[3], classifier.weights, batch=3, bias=classifier.bias, rng=np.random.default_rng(0))

    holds(found, case, 1e-6)


@pytest.mark.parametrize("labels", [[0, 1, 2, 3, 4, 5], [0, 0, 1, 5, 5, 9], [2, 2, 3, 4, 6, 8, 9]])
def test_beyond_half_the_classes_samples_come_out_together(labels: list[int]) -> None:
    case = batch_of(labels, 10, seed=1)
    estimate = np.bincount(labels, minlength=10) + np.random.default_rng(0).normal(0, 0.2, 10)

    found = recover_jointly(
        case[3],
        case[0].classifier.weights,
        batch=len(labels),
        estimate=estimate,
        typical=None,
        rng=np.random.default_rng(0),
    )

    holds(found, case, 1e-5)


def test_wrong_label_counts_leave_a_misfit_and_are_not_believed() -> None:
    case = batch_of([0, 1, 2, 3, 4, 5], 10, seed=1)

    found = recover_jointly(
        case[3],
        case[0].classifier.weights,
        batch=6,
        estimate=np.eye(10)[[9] * 6].sum(axis=0),
        typical=None,
        rng=np.random.default_rng(0),
        tries=3,
    )

    assert not found.complete
    assert len(found.classes) == 0


def test_counts_are_tried_nearest_first_and_each_once() -> None:
    tried = [tuple(counts) for counts in likely_counts(np.array([1.9, 0.3, 0.8]), 3)]

    assert tried[0] == (2, 0, 1)
    assert len(set(tried)) == len(tried)
    assert all(sum(counts) == 3 for counts in tried)
    assert {(1, 1, 1), (2, 1, 0), (3, 0, 0)} < set(tried)


def test_a_sample_satisfies_both_conditions_and_their_slopes_are_derivatives() -> None:
    network, features, labels, gradient = batch_of([2, 5, 11], 20)
    weights = network.classifier.weights
    rows = 1 / np.linalg.norm(gradient, axis=1)
    space = Subspace.of(gradient, weights, np.zeros(20), rows, batch=3, rank=3)
    points = features @ space.right

    assert np.abs(space.misfit(labels, points)).max() < 1e-12
    away = points + 0.1 * np.random.default_rng(0).normal(size=points.shape)
    slopes = space.slopes(labels, away)
    for b in range(3):
        step = 1e-6 * np.eye(3)[b]
        difference = (space.misfit(labels, away + step) - space.misfit(labels, away - step)) / 2e-6
        assert np.abs(slopes[:, :, b] - difference).max() < 1e-6


def test_a_rank_above_the_batch_is_one_sentence() -> None:
    with pytest.raises(InputError, match=r"the gradient has rank 4, more than its batch of 2: it is noisy"):
        recover_batch(np.eye(4), np.ones((4, 4)), batch=2, rng=np.random.default_rng(0))
    with pytest.raises(InputError, match=r"has shape \(2, 3\) and the weights \(3, 3\); they must agree"):
        recover_batch(np.ones((2, 3)), np.ones((3, 3)), batch=2, rng=np.random.default_rng(0))


def test_nothing_is_claimed_of_a_zero_gradient() -> None:
    found = recover_batch(np.zeros((4, 3)), np.ones((4, 3)), batch=2, rng=np.random.default_rng(0))

    assert found.rank == 0
    assert len(found.classes) == 0
