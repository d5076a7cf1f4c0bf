"""Every sample of a batch: found with its feature, certified by its own evidence, repeated classes included."""

from __future__ import annotations

import itertools
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import least_squares

from labelinf_core.contracts.components import Setting
from labelinf_core.contracts.doing import heard
from labelinf_core.contracts.errors import InputError, UnfitError
from labelinf_data.bundled import Digits
from labelinf_gradients.attacks.instances import JointRecovery
from labelinf_gradients.batches.equations import BatchEquations
from labelinf_gradients.batches.instances import recover_batch
from labelinf_gradients.batches.joint import likely_counts, recover_jointly
from labelinf_gradients.batches.result import Batch
from labelinf_gradients.batches.subspace import Subspace
from labelinf_gradients.game.channel import GradientChannel
from labelinf_gradients.game.networks import Perceptron, softmax

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

    holds(found, case, 1e-6 if dtype == "float64" else 1e-3)


@pytest.mark.slow
def test_features_that_look_alike_come_apart_on_a_second_attempt() -> None:
    """Three layers deep and untrained, features are nearly collinear: early finds can be false and are withdrawn."""
    rng = np.random.default_rng(11)
    network = Perceptron.random((20, 48, 40, 30), rng, bias=False, dtype="float32")
    labels = rng.integers(30, size=6)
    labels[1] = labels[0]
    x = rng.random((6, 20))
    gradient = network.mean_gradient(x, np.eye(30)[labels])["layers.2.weight"].astype("float32")

    found = recover_batch(gradient, network.classifier.weights, batch=6, rng=np.random.default_rng(0))

    assert found.exact
    holds(found, (network, network.features(x), labels, gradient), 1e-3)


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


@pytest.mark.parametrize("seed", [pytest.param(0, marks=pytest.mark.slow), 1, 2])
def test_what_the_joint_fit_calls_exact_is_exact(seed: int) -> None:
    """At B = C - 2 in float32, where the fewest equations are left over to tell right from wrong."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(10, size=8).tolist()
    case = batch_of(labels, 10, dtype="float32", seed=seed)
    estimate = np.bincount(labels, minlength=10) + rng.normal(0, 0.4, 10)

    found = recover_jointly(
        case[3], case[0].classifier.weights, batch=8, estimate=estimate, typical=None, rng=rng, tries=12
    )

    if found.complete:
        assert sorted(found.classes.tolist()) == sorted(labels)
    if found.exact:
        holds(found, case, 1e-2)


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


@pytest.mark.parametrize("seed", range(12))
def test_counts_are_tried_nearest_first_and_each_once(seed: int) -> None:
    """All counts of a small case, sorted, are what comes out; as many as asked for."""
    rng = np.random.default_rng(seed)
    n_classes, batch = int(rng.integers(2, 5)), int(rng.integers(1, 6))
    estimate = rng.normal(batch / n_classes, 1.5, n_classes)
    every = [c for c in itertools.product(range(batch + 1), repeat=n_classes) if sum(c) == batch]
    costs = sorted(float(((np.array(c) - estimate) ** 2).sum()) for c in every)

    tried = list(likely_counts(estimate, batch, 1000))
    few = list(likely_counts(estimate, batch, 4))

    assert {tuple(c) for c in tried} == set(every)
    assert len(tried) == len(every)
    for found in (tried, few):
        assert [((c - estimate) ** 2).sum() for c in found] == pytest.approx(costs[: len(found)])


def test_listing_counts_takes_no_more_than_what_is_asked_for() -> None:
    """Two moves of one label among 1000 classes lead to 40 million counts: they were all made to try a dozen."""
    tracemalloc.start()
    estimate = np.random.default_rng(0).random(1000) * 0.026

    tried = list(likely_counts(estimate, 13, 12))

    assert len({c.tobytes() for c in tried}) == 12
    assert tracemalloc.get_traced_memory()[1] < 2**24
    tracemalloc.stop()


@pytest.mark.long
def test_a_joint_search_ends_within_its_work_and_says_so() -> None:
    data = Digits().load()
    channel = GradientChannel(batch=6, samples=12, hidden=(32,), auxiliary=0, epochs=4, bias=False)
    heard_of: list[tuple[str, int, int]] = []
    said, games = {}, (np.random.default_rng(0), np.random.default_rng(1))
    for work in (1e9, 1e7):
        attack = JointRecovery(work=work, tries=6)
        setting = Setting(data=data, attack=attack)
        if refused := attack.unsupported_reason(channel.threat(setting)):
            said[work] = refused
            continue
        with heard(lambda *at: heard_of.append(at)):
            outcome = channel.play(setting, curator_rng=games[0], attack_rng=games[1])
        said[work] = outcome.evidence["search"]

    assert "tried 6 label counts a batch at most (tries=6)" in said[1e9] or "of tries=6" in said[1e9]
    assert "stopped there on" in said[1e9]
    assert "more work than allowed" in said[1e7]
    done = [at for _, at, _ in heard_of]
    assert done == sorted(set(done)), "it says how far it is while it works"
    assert {(what, of) for what, _, of in heard_of} == {("joint-recovery: label counts tried", heard_of[0][2])}
    assert max(done) < heard_of[0][2] <= 12


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
    with pytest.raises(UnfitError, match=r"the gradient has rank 4, more than its batch of 2: it is noisy"):
        recover_batch(np.eye(4), np.ones((4, 4)), batch=2, rng=np.random.default_rng(0))
    with pytest.raises(InputError, match="a batch of 5 from 9 classes cannot be taken apart sample by sample: at most"):
        recover_batch(np.ones((9, 3)), np.ones((9, 3)), batch=5, rng=np.random.default_rng(0))
    with pytest.raises(InputError, match=r"has shape \(2, 3\) and the weights \(3, 3\); they must agree"):
        recover_batch(np.ones((2, 3)), np.ones((3, 3)), batch=2, rng=np.random.default_rng(0))


def test_nothing_is_claimed_of_a_zero_gradient() -> None:
    found = recover_batch(np.zeros((4, 3)), np.ones((4, 3)), batch=2, rng=np.random.default_rng(0))

    assert found.rank == 0
    assert len(found.classes) == 0


@pytest.mark.long
@settings(max_examples=15)
@given(
    seed=st.integers(0, 10_000),
    n_classes=st.integers(6, 12),
    share=st.floats(0, 1),
    loudness=st.floats(0.5, 20),
    dtype=st.sampled_from(["float32", "float64"]),
)
def test_what_is_called_exact_is_exact(seed: int, n_classes: int, share: float, loudness: float, dtype: str) -> None:
    """However saturated the network and however often a class repeats: nothing is silently wrong."""
    rng, batch = np.random.default_rng(seed), 1 + int(share * (n_classes // 2 - 1))
    weights = (loudness * rng.normal(size=(n_classes, 40)) / np.sqrt(40)).astype(dtype)
    features = np.maximum(rng.normal(size=(batch, 40)), 0).astype(dtype)
    labels = rng.integers(n_classes, size=batch)
    gradient = (softmax(features @ weights.T) - np.eye(n_classes)[labels]).astype(dtype).T @ features / batch

    found = recover_batch(gradient.astype(dtype), weights, batch=batch, rng=rng)

    if found.exact and found.rank == batch:
        assert sorted(found.classes.tolist()) == sorted(labels.tolist())
        for feature in features:
            gap = np.linalg.norm(found.features - feature, axis=1).min()
            assert gap < max(5 * found.uncertainty, 1e-9) * np.linalg.norm(feature)


def test_samples_are_as_good_as_those_of_an_optimiser_that_starts_at_the_truth() -> None:
    """An independent second implementation: scipy's trust region on all features, nothing projected."""
    labels = np.array([2, 5, 5])
    network, features, _, gradient = batch_of(labels.tolist(), 12)
    noisy = gradient * (1 + 1e-6 * np.random.default_rng(3).normal(size=gradient.shape))
    weights = network.classifier.weights
    equations = BatchEquations.of(noisy, weights, None, batch=3, rank=3)
    ends, _ = equations.solve(labels, (features @ equations.right)[None])
    scale = equations.rows[:, None]

    def misfit(flat: np.ndarray) -> np.ndarray:
        x = flat.reshape(3, -1)
        q = softmax(x @ weights.T) - np.eye(12)[labels]
        return np.asarray((scale * (q.T @ x / 3 - noisy)).ravel())

    best = least_squares(misfit, features.ravel(), xtol=1e-15, ftol=1e-15, gtol=1e-15).x.reshape(3, -1)
    mine = equations.features(ends[0])

    assert np.linalg.norm(mine - best) < 0.5 * np.linalg.norm(best - features)
    assert np.linalg.norm(mine - features) < 1.2 * np.linalg.norm(best - features)


def test_slopes_of_all_equations_are_derivatives() -> None:
    network, features, labels, gradient = batch_of([2, 5, 5], 12)
    equations = BatchEquations.of(gradient, network.classifier.weights, None, batch=3, rank=3)
    truth = (features @ equations.right)[None]
    away = truth + 0.1 * np.random.default_rng(0).normal(size=truth.shape)

    assert np.abs(equations.misfit(labels, truth)).max() < 1e-12
    slopes = equations.slopes(labels, away)[0]
    for at in range(9):
        step = 1e-6 * np.eye(9)[at].reshape(1, 3, 3)
        difference = (equations.misfit(labels, away + step) - equations.misfit(labels, away - step)) / 2e-6
        assert np.abs(slopes[:, at] - difference.ravel()).max() < 1e-6


@pytest.mark.long
def test_the_uncertainty_bounds_the_spread_that_noise_causes_and_not_by_much() -> None:
    network, features, labels, gradient = batch_of([2, 5, 5, 9], 14, seed=4)
    sizes = np.linalg.norm(gradient, axis=1, keepdims=True)
    rng = np.random.default_rng(0)
    errors, claims = [], []
    for _ in range(40):
        noisy = gradient + 1e-7 * sizes * rng.normal(size=gradient.shape)
        equations = BatchEquations.of(noisy, network.classifier.weights, None, batch=4, rank=4)
        ends, _ = equations.solve(labels, (features @ equations.right)[None])
        errors.append(np.linalg.norm(equations.features(ends[0]) - features, axis=1) / np.linalg.norm(features, axis=1))
        claims.append(equations.uncertainty(labels, ends[0]))

    seen, claimed = np.sqrt(np.mean(np.square(errors), axis=0)), np.mean(claims, axis=0)
    assert (seen < claimed).all()
    assert (claimed < 2.5 * seen).all()


@pytest.mark.parametrize("labels", [[3, 3], pytest.param([1, 4, 4], marks=pytest.mark.slow)])
def test_the_same_record_twice_leaves_no_second_sample_to_find(labels: list[int]) -> None:
    network, features, _, _ = batch_of(labels, 12)
    features[-1] = features[-2]
    errors = softmax(network.classifier(features)) - np.eye(12)[labels]

    found = recover_batch(
        errors.T @ features / len(labels),
        network.classifier.weights,
        batch=len(labels),
        rng=np.random.default_rng(0),
    )

    assert found.rank == len(labels) - 1
    assert not found.complete


@pytest.mark.long
def test_labels_that_are_not_one_hot_are_not_explained() -> None:
    network, features, labels, _ = batch_of([2, 6], 8)
    soft = 0.8 * np.eye(8)[labels] + 0.2 / 8
    errors = softmax(network.classifier(features)) - soft

    found = recover_batch(errors.T @ features / 2, network.classifier.weights, batch=2, rng=np.random.default_rng(0))

    assert not found.complete
