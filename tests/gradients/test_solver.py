"""The exact solver finds the label, all other labels that fit, and says which is which."""

from __future__ import annotations

import itertools
import tracemalloc
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from labelinf_core.contracts.errors import InputError
from labelinf_gradients.game.networks import softmax
from labelinf_gradients.recovery.candidates import _pairs
from labelinf_gradients.recovery.patterns import MIXUP, MIXUP_EQUAL, ONE_HOT, SMOOTHING, Pattern
from labelinf_gradients.recovery.problem import Problem
from labelinf_gradients.recovery.results import RecoveryStatus
from labelinf_gradients.recovery.solver import recover, solve

FAMILIES = ("one-hot", "smoothing", "mixup")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n_classes", [4, 10, 100])
@pytest.mark.parametrize("family", FAMILIES)
def test_labels_and_features_come_out_without_knowing_the_sign(
    make: Callable[..., Any], family: str, n_classes: int, dtype: str
) -> None:
    made = make(family=family, n_classes=n_classes, dtype=dtype)

    found = recover(made.gradients, made.weights, family=family)

    limit = 1e-12 if dtype == "float64" else 1e-5
    assert np.abs(found.labels - made.labels).sum(axis=1).max() < limit
    assert np.abs(found.features - made.features).max() < 100 * limit
    # With as few classes as can be, float32 sometimes admits a second label; then it is said.
    assert sum(status is RecoveryStatus.UNIQUE for status in found.status) >= (60 if dtype == "float64" else 57)
    assert set(found.status) <= {RecoveryStatus.UNIQUE, RecoveryStatus.AMBIGUOUS}
    assert np.median(found.confidence) > 0.99


@pytest.mark.parametrize("nonnegative", [True, False])
@pytest.mark.parametrize("asked", ["known", "auto"])
@pytest.mark.parametrize(
    ("n_classes", "equal"),
    [(4, 2), (4, 3), (10, 9), *(pytest.param(6, equal, marks=pytest.mark.slow) for equal in (3, 5))],
)
@pytest.mark.parametrize("family", FAMILIES)
def test_classes_of_equal_weights_make_no_answer_silently_wrong(
    make_labels: Callable[..., Any], family: str, n_classes: int, equal: int, asked: str, nonnegative: bool
) -> None:
    """Equal rows have equal probabilities: their pair says 0 = 0, and little is left to tell families apart by."""
    rng = np.random.default_rng(5)
    weights, features = rng.normal(size=(n_classes, 8)), np.abs(rng.normal(size=(300, 8)))
    weights[:equal] = weights[0]
    labels = make_labels(rng, 300, n_classes, family)
    gradients = (softmax(features @ weights.T) - labels)[:, :, None] * features[:, None, :]

    found = recover(gradients, weights, family=family if asked == "known" else "auto", nonnegative=nonnegative)

    certain = np.array([status is RecoveryStatus.UNIQUE for status in found.status])
    assert np.abs(found.labels - labels).sum(axis=1)[certain].max(initial=0) < 1e-3
    # Whatever is not certain is not wrong either: the truth is among what is listed, or an interval contains it.
    scales = np.linalg.norm(features, axis=1)
    listed = (np.abs(np.abs(found.candidates) - scales[:, None]) < 1e-3 * scales[:, None]).any(axis=1)
    ambiguous = np.array([status is RecoveryStatus.AMBIGUOUS for status in found.status])
    if asked == "known":
        assert listed[ambiguous].all()
        assert RecoveryStatus.UNEXPLAINED not in found.status


@pytest.mark.parametrize("pattern", [SMOOTHING, MIXUP_EQUAL], ids=lambda item: item.name)
def test_the_pair_of_widest_slopes_outside_every_label_is_tried(pattern: Pattern) -> None:
    slopes = np.array([[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 2.0, 2.0]])
    pairs = {frozenset(pair) for pair in _pairs(slopes, pattern)[0].tolist()}

    for inside in itertools.combinations(range(10), pattern.excluded):
        rest = [k for k in range(10) if k not in inside]
        widest = max(abs(slopes[0, i] - slopes[0, j]) for i in rest for j in rest)
        assert widest == max(abs(slopes[0, i] - slopes[0, j]) for i, j in map(tuple, pairs) if {i, j} <= set(rest))


@pytest.mark.parametrize("family", FAMILIES)
def test_the_family_is_found_too(make: Callable[..., Any], family: str) -> None:
    made = make(n=300, family=family)

    found = recover(made.gradients, made.weights)

    assert [pattern.name for pattern in found.families if pattern] == [family] * 300
    assert np.abs(found.labels - made.labels).sum(axis=1).max() < 1e-5


@pytest.mark.parametrize("family", FAMILIES)
def test_a_known_bias_whose_gradient_is_hidden_does_not_protect(make: Callable[..., Any], family: str) -> None:
    bias = np.random.default_rng(1).normal(size=10)
    made = make(family=family, bias=bias, n=100)

    found = recover(made.gradients, made.weights, family=family, bias=bias)

    assert np.abs(found.labels - made.labels).sum(axis=1).max() < 1e-4


def test_rows_of_zeros_do_not_mislead_the_factorisation(make: Callable[..., Any]) -> None:
    made = make(family="mixup", n=20, dtype="float64")
    hidden = np.zeros((10, 1))
    weights = np.concatenate([hidden, made.weights], axis=1)
    gradients = np.concatenate([np.zeros((20, 10, 1)), made.gradients], axis=2)

    found = recover(gradients, weights, family="mixup")

    assert np.abs(found.labels - made.labels).max() < 1e-12


def truth_and_problem(
    rng: np.random.Generator, n_classes: int, family: str
) -> tuple[float, np.ndarray[Any, Any], Problem]:
    slopes = rng.normal(size=n_classes) * rng.uniform(0.3, 3)
    scale = rng.uniform(0.5, 4) * rng.choice([-1, 1])
    label = np.zeros(n_classes)
    first, second = rng.permutation(n_classes)[:2]
    weight = rng.uniform(0.02, 0.98)
    label[first] = 1.0
    if family == "smoothing":
        label = (1 - weight / 2) * label + weight / 2 / n_classes
    elif family == "mixup":
        label[first], label[second] = weight, 1 - weight
    column = scale * (softmax(scale * slopes) - label)
    return scale, label, Problem(column=column[None], slopes=slopes[None])


def scales_on_a_grid(problem: Problem, pattern: Pattern) -> list[float]:
    """Brute force: local minima of the unexplained share on a fine grid, refined by bisection of its slope.

    At a root every label is what it must be to a small part of the class's own probability, however small that is.
    """
    column, slopes = problem.column[0], problem.slopes[0]
    grid = np.geomspace(0.05, 60, 2000) * np.abs(column).max()
    found = []
    for side in (grid, -grid):
        h = side[:, None] * softmax(side[:, None] * slopes) - column
        order = np.sort(h / side[:, None], axis=1)[:, : len(column) - pattern.excluded]
        rest = order if pattern.zero else order - order.mean(axis=1, keepdims=True)
        share = np.sqrt((rest**2).mean(axis=1)) * np.abs(side) / np.linalg.norm(column)
        low = np.flatnonzero((share[1:-1] < share[:-2]) & (share[1:-1] < share[2:]) & (share[1:-1] < 0.01)) + 1
        for at in low:
            scale = refined(problem, pattern, side[at - 1], side[at + 1])
            label = problem.labels(np.array([scale]))[0]
            lowest = np.argsort(label)[: problem.n_classes - pattern.excluded]
            off = label[lowest] if pattern.zero else label[lowest] - label[lowest].mean()
            if (np.abs(off) < 1e-6 * (label + column / scale)[lowest]).all() and label.min() > -1e-6:
                found.append(scale)
    return found


def share_at(problem: Problem, pattern: Pattern, scale: float) -> float:
    label = np.sort(problem.labels(np.array([scale]))[0])[: problem.n_classes - pattern.excluded]
    rest = label if pattern.zero else label - label.mean()
    return float(np.sqrt((rest**2).mean()) * abs(scale) / np.linalg.norm(problem.column[0]))


def refined(problem: Problem, pattern: Pattern, low: float, high: float) -> float:
    ratio = (np.sqrt(5) - 1) / 2
    for _ in range(60):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        if share_at(problem, pattern, left) < share_at(problem, pattern, right):
            high = right
        else:
            low = left
    return float((low + high) / 2)


@pytest.mark.long
@settings(max_examples=50)
@example(seed=1356, n_classes=4, family="mixup")  # rounding alone is as large as what two classes are given
@given(seed=st.integers(0, 2**32 - 1), n_classes=st.integers(3, 9), family=st.sampled_from(FAMILIES))
def test_every_candidate_that_a_grid_finds_is_found(seed: int, n_classes: int, family: str) -> None:
    pattern = {"one-hot": ONE_HOT, "smoothing": SMOOTHING, "mixup": MIXUP}[family]
    scale, label, problem = truth_and_problem(np.random.default_rng(seed), n_classes, family)

    found = solve(problem, family=pattern)

    # A double root is known to the square root of the precision only, hence 1e-4.
    candidates = found.candidates[0]
    for expected in [scale, *scales_on_a_grid(problem, pattern)]:
        assert np.nanmin(np.abs(candidates - expected)) < 1e-4 * abs(expected)
    if found.status[0] is RecoveryStatus.UNIQUE:
        assert np.abs(found.labels[0] - label).sum() < 1e-3


@settings(max_examples=80)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_classes=st.integers(4, 30),
    n_features=st.integers(1, 20),
    family=st.sampled_from(FAMILIES),
    with_bias=st.booleans(),
)
def test_the_truth_is_among_the_answers_for_any_head_and_feature(
    seed: int, n_classes: int, n_features: int, family: str, with_bias: bool
) -> None:
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(n_classes, n_features)) / np.sqrt(n_features)
    x, bias = rng.normal(size=n_features), rng.normal(size=n_classes) if with_bias else None
    first, second = rng.permutation(n_classes)[:2]
    share, own = rng.uniform(0.02, 0.98), np.eye(n_classes)[first]
    label = {
        "one-hot": own,
        "smoothing": (1 - share / 2) * own + share / 2 / n_classes,
        "mixup": share * own + (1 - share) * np.eye(n_classes)[second],
    }[family]
    errors = softmax(weights @ x + (0 if bias is None else bias)) - label

    found = recover(np.outer(errors, x), weights, family=family, bias=bias)

    assert found.directions is not None
    scale = x @ found.directions[0]  # plus or minus the norm of x
    assert np.nanmin(np.abs(found.candidates[0] - scale)) < 1e-4 * abs(scale)
    if found.status[0] is RecoveryStatus.UNIQUE:
        assert np.abs(found.labels[0] - label).sum() < 1e-3
        assert found.features[0] == pytest.approx(x, abs=1e-3 * np.abs(x).max())


def share_of(status: RecoveryStatus, n_classes: int, family: str, pattern: Pattern, *, positive: bool) -> float:
    rng = np.random.default_rng(n_classes)
    made = [truth_and_problem(rng, n_classes, family) for _ in range(300)]
    signs = np.sign([scale for scale, _, _ in made])[:, None] if positive else 1.0
    problem = Problem(
        column=signs * np.concatenate([item.column for _, _, item in made]),
        slopes=signs * np.concatenate([item.slopes for _, _, item in made]),
    )
    return float(np.mean([item is status for item in solve(problem, family=pattern, positive=positive).status]))


@pytest.mark.parametrize(
    ("n_classes", "family", "pattern", "anywhere", "positive"),
    [
        (3, "one-hot", ONE_HOT, (1, 1), (1, 1)),
        (4, "smoothing", SMOOTHING, (0.98, 1), (0.98, 1)),
        (4, "mixup", MIXUP, (0.98, 1), (0.98, 1)),
        (5, "mixup", MIXUP_EQUAL, (0.98, 1), (0.98, 1)),
    ],
)
def test_identifiability_is_what_counting_says(
    n_classes: int,
    family: str,
    pattern: Pattern,
    anywhere: tuple[float, float],
    positive: tuple[float, float],
) -> None:
    # Shares of 300 draws; the wide bounds allow five standard deviations around simulated values.
    low, high = anywhere
    assert low <= share_of(RecoveryStatus.UNIQUE, n_classes, family, pattern, positive=False) <= high
    low, high = positive
    assert low <= share_of(RecoveryStatus.UNIQUE, n_classes, family, pattern, positive=True) <= high


@pytest.mark.long
@pytest.mark.parametrize(
    ("n_classes", "family", "pattern", "anywhere", "positive"),
    [
        (3, "smoothing", SMOOTHING, (0.25, 0.55), (0.55, 0.85)),
        (3, "mixup", MIXUP, (0.03, 0.25), (0.12, 0.35)),
        (4, "mixup", MIXUP_EQUAL, (0.35, 0.65), (0.5, 0.85)),
    ],
)
def test_one_label_without_an_equation_to_spare_is_listed_and_not_called_unique(
    n_classes: int, family: str, pattern: Pattern, anywhere: tuple[float, float], positive: tuple[float, float]
) -> None:
    """Nothing tells it from the label of another family, behind a bias or a factor that nobody told."""
    rng = np.random.default_rng(n_classes)
    made = [truth_and_problem(rng, n_classes, family) for _ in range(300)]
    for sign, (low, high) in ((False, anywhere), (True, positive)):
        found = [
            solve(
                attrs.evolve(item, column=side * item.column, slopes=side * item.slopes), family=pattern, positive=sign
            )
            for scale, _, item in made
            for side in (np.sign(scale) if sign else 1.0,)
        ]
        assert low <= np.mean([len(one.listed(0)) == 1 for one in found]) <= high
        assert RecoveryStatus.UNIQUE not in {one.status[0] for one in found}


def test_two_classes_are_always_ambiguous_without_the_sign() -> None:
    assert share_of(RecoveryStatus.AMBIGUOUS, 2, "one-hot", ONE_HOT, positive=False) == 1
    assert share_of(RecoveryStatus.UNIQUE, 2, "one-hot", ONE_HOT, positive=True) == 1


@pytest.mark.parametrize("family", ["smoothing", "mixup"])
def test_soft_labels_of_two_classes_are_refused_with_a_reason(family: str) -> None:
    with pytest.raises(InputError, match=r"cannot be recovered from 2 classes: every scale .* at least 4 classes"):
        recover(np.ones((2, 5)), np.ones((2, 5)), family=family)


def test_a_zero_gradient_carries_no_information(make: Callable[..., Any]) -> None:
    made = make(n=2)
    made.gradients[1] = 0

    found = recover(made.gradients, made.weights)

    assert found.status == (RecoveryStatus.UNIQUE, RecoveryStatus.NO_INFORMATION)
    assert found.hard[1] == -1
    assert found.confidence[1] == 0
    assert np.isnan(found.labels[1]).all()


def test_a_label_of_another_family_is_not_explained(make: Callable[..., Any]) -> None:
    made = make(family="mixup", dtype="float64")

    found = recover(made.gradients, made.weights, family="one-hot")

    assert set(found.status) == {RecoveryStatus.UNEXPLAINED}


def test_features_are_asked_for_only_where_gradients_were_given() -> None:
    problem = Problem(column=np.array([[-0.5, 0.2, 0.3]]), slopes=np.log([[1.0, 2.0, 3.0]]))

    with pytest.raises(ValueError, match="features need the gradients"):
        _ = solve(problem, family="one-hot").features


@pytest.mark.parametrize(
    ("gradients", "weights", "bias", "message"),
    [
        (np.ones((3, 4, 5)), np.ones((4, 6)), None, r"shape \(3, 4, 5\) do not fit weights of shape \(4, 6\)"),
        (np.ones(3), np.ones((4, 6)), None, r"gradients of shape \(3,\) do not fit"),
        (np.ones((4, 5)), np.full((4, 5), np.inf), None, r"weights must be finite"),
        (np.ones((4, 5)), np.ones((4, 5)), np.ones(3), r"bias has shape \(3,\), expected \(4,\)"),
    ],
)
def test_bad_input_is_one_sentence(gradients: Any, weights: Any, bias: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        recover(gradients, weights, bias=bias)


def test_an_unknown_family_names_the_known_ones() -> None:
    with pytest.raises(InputError, match="'cutmix' is not known; choose one of one-hot, smoothing, mixup"):
        recover(np.ones((4, 4)), np.ones((4, 4)), family="cutmix")


def test_a_gradient_that_cannot_be_solved_says_nothing_against_the_others(make: Callable[..., Any]) -> None:
    made = make(n=8, family="mixup", dtype="float64")
    whole = recover(made.gradients, made.weights, family="mixup", nonnegative=True)
    gradients = made.gradients.copy()
    gradients[1] += gradients[2]  # of two samples
    gradients[4, 0, 0] = np.nan
    gradients[6] = np.inf

    found = recover(gradients, made.weights, family="mixup", nonnegative=True)

    for row, status in enumerate(found.status):
        if row in (1, 4, 6):
            assert status is RecoveryStatus.UNEXPLAINED
            assert found.hard[row] == -1
        else:
            assert status is whole.status[row] is RecoveryStatus.UNIQUE
            assert (found.labels[row] == whole.labels[row]).all()


class Tensor:
    """What of a tensor is needed: NumPy refuses one that still has a gradient."""

    def __init__(self, values: Any) -> None:
        self._values = values

    def detach(self) -> Tensor:
        return self

    def cpu(self) -> Tensor:
        return self

    def numpy(self) -> Any:
        return self._values


def test_a_layer_and_tensors_are_taken_as_they_are(make: Callable[..., Any]) -> None:
    bias = np.linspace(-1, 1, 10)
    made = make(n=6, dtype="float64", bias=bias)

    class Linear:
        weight, bias = Tensor(made.weights), Tensor(np.linspace(-1, 1, 10))

    found = recover(Tensor(made.gradients), Linear(), family="one-hot", nonnegative=True)

    assert np.abs(found.labels - made.labels).max() < 1e-9
    assert {status.value for status in found.status} == {"unique"}


@pytest.mark.parametrize("scaled", [False, True])
def test_memory_grows_with_the_classes_and_not_with_their_square(make: Any, scaled: bool) -> None:
    """A table of all pairs of 3 000 classes has 72 MB; 50 000 classes filled a machine."""
    case = make(n=1, n_classes=3000, n_features=8)
    tracemalloc.start()
    try:
        found = recover(case.gradients, case.weights, scaled=scaled)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert found.hard[0] == case.labels[0].argmax()
    assert peak < 30e6
