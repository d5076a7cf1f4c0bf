"""Where identifiability ends is said, never passed over: no label is silently wrong, however saturated the network."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from labelinf_gradients.game.networks import softmax
from labelinf_gradients.recovery.problem import Problem
from labelinf_gradients.recovery.results import RecoveryStatus
from labelinf_gradients.recovery.solver import recover, solve

FAMILIES = ("one-hot", "smoothing", "mixup")
SPREADS = (16, 64, *(pytest.param(spread, marks=pytest.mark.slow) for spread in (256, 1024)))


@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("asked", ["known", "auto"])
@pytest.mark.parametrize("family", FAMILIES)
def test_nothing_is_silently_wrong(make: Callable[..., Any], family: str, asked: str, spread: float) -> None:
    made = make(n=300, family=family, spread=spread, seed=int(spread))

    found = recover(made.gradients, made.weights, family=family if asked == "known" else "auto")

    certain = np.array([status is RecoveryStatus.UNIQUE for status in found.status])
    assert np.abs(found.labels - made.labels).sum(axis=1)[certain].max(initial=0) < 1e-3
    if spread <= SPREADS[0]:  # with the softmax saturated, that nothing is certain is an answer; here it is not
        assert certain.mean() > 0.85


def test_saturated_smoothing_keeps_the_hard_label_and_an_interval(make: Callable[..., Any]) -> None:
    made = make(n=400, family="smoothing", spread=256, seed=1)

    found = recover(made.gradients, made.weights, family="smoothing", nonnegative=True)

    lost = np.array([status is RecoveryStatus.SMOOTHING_FACTOR_UNIDENTIFIABLE for status in found.status])
    weight = made.labels.max(axis=1)
    assert 10 < lost.sum() < 100
    assert (found.hard == made.labels.argmax(axis=1))[lost].all()
    assert (found.lightest[lost] <= weight[lost] + 1e-3).all()
    assert (found.heaviest[lost] >= weight[lost] - 1e-3).all()


def test_saturated_mixup_keeps_its_classes() -> None:
    label = np.array([0.3, 0.7, 0, 0, 0, 0])
    column = 5.0 * (np.eye(6)[0] - label)
    problem = Problem(column=column[None], slopes=np.array([[400.0, 0, 1, 2, 3, 4]]))

    found = solve(problem, family="mixup", positive=True)

    assert found.status == (RecoveryStatus.MIXING_WEIGHT_UNIDENTIFIABLE,)
    assert set(np.flatnonzero(found.labels[0] > 1e-6)) == {0, 1}
    assert found.lightest[0] <= 0.7 <= found.heaviest[0]


def test_a_head_that_does_not_depend_on_the_feature_hides_the_smoothing_factor_only() -> None:
    label = np.full(5, 0.02) + 0.9 * np.eye(5)[2]
    problem = Problem(column=(2.0 * (0.2 - label))[None], slopes=np.zeros((1, 5)))

    found = solve(problem, family="smoothing")

    assert found.status == (RecoveryStatus.SMOOTHING_FACTOR_UNIDENTIFIABLE,)
    assert found.hard[0] == 2
    assert solve(
        Problem(column=(2.0 * (0.2 - np.eye(5)[2]))[None], slopes=np.zeros((1, 5))), family="one-hot"
    ).status == (RecoveryStatus.UNIQUE,)


@pytest.mark.parametrize(("n_classes", "least"), [(10, 0.98), (17, 0.98), (100, 0.99)])
def test_saturated_one_hot_labels_come_out_where_features_are_not_negative(
    make: Callable[..., Any], n_classes: int, least: float
) -> None:
    made = make(n=1000, n_classes=n_classes, n_features=128, spread=50 * np.sqrt(128), seed=n_classes)
    informative = np.abs(made.gradients).max(axis=(1, 2)) > 1e-36  # below, float32 underflows

    found = recover(made.gradients, made.weights, family="one-hot", nonnegative=True)

    assert np.mean((found.hard == made.labels.argmax(axis=1))[informative]) >= least
    unknown = np.array([status is RecoveryStatus.NO_INFORMATION for status in found.status])
    assert unknown[~made.gradients.any(axis=(1, 2))].all()
    assert not unknown[np.abs(made.gradients).max(axis=(1, 2)) > 1e-34].any()


def test_gradients_in_the_last_bits_of_float32_are_still_read() -> None:
    weights = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [-1.0, 0.5]], dtype=np.float32)
    x = np.array([30.0, 1.0], dtype=np.float32)
    logits = (weights @ x).astype(np.float64)
    p = np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()
    gradient = (1e-25 * (p - np.eye(4)[2])[:, None] * x).astype(np.float32)

    found = recover(gradient * np.float32(1.0), weights, family="one-hot", nonnegative=True)

    assert found.hard[0] == 2


def test_well_trained_mixup_is_told_from_a_label_that_only_explains_the_large_entries(make: Callable[..., Any]) -> None:
    """Entries of 1e-10 are rounded relative to themselves: a rival that misses them by half is no rival."""
    made = make(n=600, family="mixup", spread=16, seed=3)

    found = recover(made.gradients, made.weights, family="mixup")

    unique = np.array([status is RecoveryStatus.UNIQUE for status in found.status])
    right = np.abs(found.labels - made.labels).sum(axis=1) < 1e-3
    small = np.sort(np.abs(made.gradients).max(axis=2), axis=1)[:, 0] < 1e-6
    assert small.sum() > 30
    assert right.mean() > 0.99
    assert unique.mean() > 0.98


def test_what_underflow_has_left_is_no_information() -> None:
    weights = np.array([[0.0], [1.0], [2.0], [3.0]], dtype=np.float32)
    gradient = np.array([[4e-44], [0.0], [0.0], [-4e-44]], dtype=np.float32)

    assert recover(gradient, weights).status == (RecoveryStatus.NO_INFORMATION,)


@pytest.mark.parametrize("factor", [1, 4, 16])
def test_intervals_hold_the_truth(make: Callable[..., Any], factor: int) -> None:
    made = make(n=300, family="smoothing", spread=64 * factor, seed=factor)

    found = recover(made.gradients, made.weights, family="smoothing", nonnegative=True)

    lost = np.array([status is RecoveryStatus.SMOOTHING_FACTOR_UNIDENTIFIABLE for status in found.status])
    weight = made.labels.max(axis=1)
    inside = (found.lightest <= weight + 1e-3) & (found.heaviest >= weight - 1e-3)
    assert lost.any()
    assert inside[lost].all()


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", range(4))
def test_known_biases_that_saturate_the_softmax_mislead_nobody(seed: int, family: str) -> None:
    """Two sets of logits that outrun each other: which class is ahead depends on the scale."""
    rng = np.random.default_rng(seed)
    n_classes, n_features, spread = int(rng.integers(4, 18)), int(rng.choice([2, 8, 64])), 10 ** rng.uniform(1, 2.9)
    weights = rng.uniform(-1, 1, (n_classes, n_features)) * spread / np.sqrt(n_features)
    bias, x = rng.normal(size=n_classes) * spread / 4, rng.normal(size=(200, n_features))
    truth, share = rng.integers(n_classes, size=200), rng.uniform(0, 1, (200, 1))
    own, other = np.eye(n_classes)[truth], np.eye(n_classes)[(truth + 1) % n_classes]
    labels = {
        "one-hot": own,
        "smoothing": (1 - share / 2) * own + share / 2 / n_classes,
        "mixup": share * own + (1 - share) * other,
    }[family]
    gradients = (softmax(x @ weights.T + bias) - labels)[:, :, None] * x[:, None, :]

    found = recover(gradients, weights, family=family, bias=bias)

    unique = np.array([status is RecoveryStatus.UNIQUE for status in found.status])
    right = np.abs(found.labels - labels).sum(axis=1) < 1e-3
    assert right[unique].all()
    assert unique.mean() > 0.1  # where only one probability is left outside the label, no equation is to spare


@pytest.mark.parametrize("seed", range(4))
def test_a_class_is_called_known_only_where_no_family_has_another(seed: int) -> None:
    """Behind saturation, another class can be the heaviest elsewhere in the interval of a label's weights."""
    rng, n, n_classes = np.random.default_rng(seed), 400, 4
    weights, x = rng.normal(size=(n_classes, 16)), 4 * rng.normal(size=(n, 16))
    own, other = (np.eye(n_classes)[rng.integers(n_classes, size=n)] for _ in range(2))
    share, factor = rng.uniform(size=(n, 1)), rng.uniform(0, 0.5, (n, 1))
    labels = (1 - factor) * (share * own + (1 - share) * other) + factor / n_classes
    gradients = (softmax(x @ weights.T) - labels)[:, :, None] * x[:, None, :]

    found = recover(gradients, weights)

    known = np.array([status is RecoveryStatus.SMOOTHING_FACTOR_UNIDENTIFIABLE for status in found.status])
    clear = np.ptp(np.sort(labels, axis=1)[:, -2:], axis=1) > 0.01
    assert (found.hard == labels.argmax(axis=1))[known & clear].all()
    assert not found.complete[known].any()
