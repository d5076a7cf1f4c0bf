"""A factor that is not known, and half precision: one more unknown is solved for, and what is not unique is said."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from labelinf_core.contracts.components import LabelSet, Setting
from labelinf_core.contracts.errors import InputError
from labelinf_gradients.attacks.exact import ExactSolver
from labelinf_gradients.defences.clipping import GradientClip
from labelinf_gradients.game.channel import GradientChannel
from labelinf_gradients.game.effects import LabelFamily
from labelinf_gradients.game.networks import softmax
from labelinf_gradients.recovery.problem import Problem
from labelinf_gradients.recovery.results import RecoveryStatus
from labelinf_gradients.recovery.scaled import affine_roots
from labelinf_gradients.recovery.solver import recover, solve
from labelinf_gradients.recovery.tensors import FORMATS, rounded_to

FAMILIES = ("one-hot", "smoothing", "mixup", "mixup-equal")


def labels_of(make_labels: Callable[..., Any], rng: np.random.Generator, n: int, n_classes: int, family: str) -> Any:
    """Labels of a family; those mixed and smoothed follow timm's pattern."""
    if family != "mixup-equal":
        return make_labels(rng, n, n_classes, family)
    factor = rng.uniform(0.02, 0.3, (n, 1))
    return (1 - factor) * make_labels(rng, n, n_classes, "mixup") + factor / n_classes


def gradients_of(rng: np.random.Generator, labels: Any, *, bias: Any = None, width: float = 1.0) -> Any:
    weights = rng.uniform(-width, width, (labels.shape[1], 32)) / np.sqrt(32)
    features = np.maximum(rng.normal(size=(len(labels), 32)), 0)
    errors = softmax(features @ weights.T + (0 if bias is None else bias)) - labels
    return weights, features, errors[:, :, None] * features[:, None, :]


def certain(found: Any) -> Any:
    return np.array([status is RecoveryStatus.UNIQUE for status in found.status])


@pytest.mark.parametrize("with_bias", [False, True])
@pytest.mark.parametrize("n_classes", [6, 10, 40])
@pytest.mark.parametrize("family", FAMILIES)
def test_label_feature_and_factor_come_out_of_a_scaled_gradient(
    make_labels: Callable[..., Any], family: str, n_classes: int, with_bias: bool
) -> None:
    rng = np.random.default_rng(n_classes)
    labels = labels_of(make_labels, rng, 40, n_classes, family)
    bias = rng.normal(size=n_classes) if with_bias else None
    weights, features, gradients = gradients_of(rng, labels, bias=bias)
    factors = np.exp(rng.uniform(-6, 6, 40))

    found = recover(factors[:, None, None] * gradients, weights, family=family, bias=bias, scaled=True)

    sure = certain(found)
    assert sure.mean() > 0.9
    assert np.abs(found.labels - labels).sum(axis=1)[sure].max() < 1e-5
    assert found.factors[sure] == pytest.approx(factors[sure], rel=1e-5)
    assert np.abs(found.features - features)[sure].max() < 1e-4
    # What is not certain is listed.
    for row in np.flatnonzero(~sure):
        assert np.abs(found.listed(row) - labels[row]).sum(axis=1).min() < 1e-3


@pytest.mark.parametrize("family", FAMILIES)
def test_without_the_unknown_factor_a_scaled_gradient_is_unexplained(
    make_labels: Callable[..., Any], family: str
) -> None:
    """The counterexample: half a gradient has no label of its family, and is not silently given another."""
    rng = np.random.default_rng(1)
    labels = labels_of(make_labels, rng, 30, 10, family)
    weights, _, gradients = gradients_of(rng, labels)

    found = recover(0.5 * gradients, weights, family=family, nonnegative=True)

    assert set(found.status) == {RecoveryStatus.UNEXPLAINED}
    assert "scaled=True" in found.remark
    assert "a bias of the layer that was not given" in found.remark
    assert not recover(gradients, weights, family=family, nonnegative=True).remark


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("n_classes", [3, 4, 5, 6, 12])
@pytest.mark.parametrize("family", FAMILIES)
def test_auto_lists_the_truth_or_says_that_it_cannot(
    make_labels: Callable[..., Any], family: str, n_classes: int, scaled: bool
) -> None:
    """Every family of labels, timm's mixed and smoothed ones too; too few classes leave continua, which are flagged."""
    rng = np.random.default_rng(n_classes)
    labels = labels_of(make_labels, rng, 40, n_classes, family)
    weights, _, gradients = gradients_of(rng, labels, width=2.0)
    factor = 3.7 if scaled else 1.0

    found = recover(factor * gradients, weights, nonnegative=True, scaled=scaled)

    right = np.abs(found.labels - labels).sum(axis=1) < 1e-3
    assert right[certain(found)].all()
    for row in np.flatnonzero(found.complete & ~right):
        assert np.abs(found.listed(row) - labels[row]).sum(axis=1).min() < 1e-3
    if n_classes == 12:
        assert right.all()
        assert found.complete.mean() > 0.9


@pytest.mark.parametrize("family", ["mixup", "smoothing"])
def test_a_saturated_head_leaves_an_interval_that_holds_the_truth(make_labels: Callable[..., Any], family: str) -> None:
    rng = np.random.default_rng(3)
    labels = make_labels(rng, 60, 10, family)
    weights, _, gradients = gradients_of(rng, labels, width=2000.0)

    found = recover(gradients, weights, nonnegative=True)

    right = np.abs(found.labels - labels).sum(axis=1) < 1e-3
    listed = np.array([np.abs(found.listed(row) - labels[row]).sum(axis=1).min(initial=9) < 1e-3 for row in range(60)])
    assert right[certain(found)].all()
    assert (listed | ~found.complete).all()
    open_ = np.array([status.value.endswith("unidentifiable") for status in found.status])
    heaviest = labels.max(axis=1)
    assert ((found.lightest <= heaviest + 1e-6) & (heaviest <= found.heaviest + 1e-6))[open_].all()
    assert (~found.complete).sum() > 5


def odd_gradients(rng: np.random.Generator, make_labels: Callable[..., Any], *, scaled: bool) -> Any:
    """Gradients of a small head that may repeat its rows, saturate or see one feature only, in either precision."""
    n_classes, width, name = int(rng.integers(3, 14)), int(rng.integers(1, 40)), rng.choice(["float32", "float64"])
    family = FAMILIES[rng.integers(4)]
    labels = labels_of(make_labels, rng, 12, n_classes, family).astype(name)
    weights = rng.normal(size=(n_classes, width)) * np.exp(rng.uniform(-3, 3.5)) / np.sqrt(width)
    kind = rng.integers(5)
    if kind in (1, 2):
        weights[: 2 if kind == 1 else n_classes // 2] = weights[0]
    weights = (np.round(weights) if kind == 3 else -np.abs(weights) if kind == 4 else weights).astype(name)
    bias = (rng.normal(size=n_classes) * np.exp(rng.uniform(-2, 2))).astype(name) if rng.integers(2) else None
    features, positive = rng.normal(size=(12, width)), bool(rng.integers(2))
    features = (np.maximum(features, 0) if positive else features).astype(name)
    errors = softmax(features @ weights.T + (0 if bias is None else bias)) - labels
    factors = np.exp(rng.uniform(-8, 8, 12)) if scaled else np.ones(12)
    gradients = (factors.astype(name)[:, None, None] * errors[:, :, None] * features[:, None, :]).astype(name)
    given_ = family if rng.integers(2) else "auto"
    return labels, {"gradients": gradients, "weights": weights, "bias": bias, "nonnegative": positive, "family": given_}


@pytest.mark.long
@pytest.mark.parametrize("scaled", [False, True], ids=["exact", "unknown factor"])
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32 - 1))
def test_the_truth_is_the_only_answer_or_listed_or_the_list_is_not_called_whole(
    make_labels: Callable[..., Any], scaled: bool, seed: int
) -> None:
    """Behind an unknown factor rows that repeat each other, and saturation, once left a wrong label as the only one."""
    labels, asked = odd_gradients(np.random.default_rng(seed), make_labels, scaled=scaled)
    try:
        found = recover(**asked, scaled=scaled)
    except InputError:  # too few classes
        reject()
    for row in np.flatnonzero(np.array([status is not RecoveryStatus.UNEXPLAINED for status in found.status])):
        near = max(5e-3, 3 * found.error[row])
        if certain(found)[row]:
            assert np.abs(found.labels[row] - labels[row]).sum() < near
        if found.complete[row]:
            assert np.abs(found.listed(row) - labels[row]).sum(axis=1).min(initial=9) < near


@pytest.mark.parametrize("family", ["smoothing", "mixup-equal"])
def test_rows_that_repeat_each_other_say_one_thing_once(make_labels: Callable[..., Any], family: str) -> None:
    """The counterexample: of six classes three share a row, and some labels called the only ones were wrong."""
    rng = np.random.default_rng(0)
    labels = labels_of(make_labels, rng, 60, 6, family)
    weights, _, _ = gradients_of(rng, labels)
    weights[1:3] = weights[0]
    features = rng.normal(size=(60, 32))
    gradients = 5.0 * (softmax(features @ weights.T) - labels)[:, :, None] * features[:, None, :]

    found = recover(gradients, weights, family=family, scaled=True)

    apart = np.sort(np.argsort(labels, axis=1)[:, -1 if family == "smoothing" else -2 :], axis=1)[:, 0] > 2
    assert not certain(found)[apart].any()  # the row that is repeated is left, and no equation to spare
    assert np.abs(found.labels - labels).sum(axis=1)[certain(found)].max(initial=0) < 1e-3


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32 - 1))
def test_all_roots_of_three_exponentials_are_found(seed: int) -> None:
    """Signs of the sum on a fine grid count its roots; each is returned."""
    rng = np.random.default_rng(seed)
    lines, logs = np.sort(rng.normal(size=3)), rng.normal(size=3)
    signs = rng.choice([-1.0, 1.0], size=3)
    signs[rng.integers(3)] *= -1 if abs(signs.sum()) == 3 else 1
    grid = np.linspace(-40, 40, 4001)
    exponents = grid[:, None] * lines + logs
    value = (signs * np.exp(exponents - exponents.max(axis=1, keepdims=True))).sum(axis=1)
    crossed = np.flatnonzero(np.diff(np.sign(value)))

    found = affine_roots(lines[None], logs[None], signs[None])[0]

    for at in crossed:
        assert np.nanmin(np.abs(found - grid[at])) < 0.05


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
@pytest.mark.parametrize("family", FAMILIES[:3])
def test_half_precision_costs_digits_and_no_labels(make_labels: Callable[..., Any], family: str, name: str) -> None:
    rng = np.random.default_rng(0)
    labels = make_labels(rng, 60, 10, family)
    weights, _, gradients = gradients_of(rng, labels)

    found = recover(rounded_to(gradients, name), weights, family=family, nonnegative=True, precision=FORMATS[name])

    assert (found.hard == labels.argmax(axis=1))[certain(found)].all()
    assert certain(found).mean() > 0.8
    assert np.abs(found.labels - labels).sum(axis=1)[certain(found)].max() < 0.05
    assert RecoveryStatus.UNEXPLAINED not in found.status


def test_rounding_to_bfloat16_keeps_eight_bits_to_the_nearest_even() -> None:
    values = np.array([1.0, 1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-8 + 2**-20, -3.14159, 0.0, np.inf])

    assert rounded_to(values, "bfloat16").tolist() == [1.0, 1.0, 1 + 2**-6, 1 + 2**-7, -3.140625, 0.0, np.inf]


@pytest.fixture(scope="module")
def digits() -> LabelSet:
    from labelinf_data.bundled import load_bunch

    bunch = load_bunch("digits")
    names = tuple("0123456789")
    return LabelSet(labels=bunch.target, class_names=names, title="digits", provenance="real", features=bunch.data)


@pytest.mark.parametrize(
    ("settings_", "defences", "least"),
    [
        ({"targets": LabelFamily.ONE_HOT}, (GradientClip(norm=0.05),), 64),
        ({"targets": LabelFamily.SMOOTHING}, (GradientClip(norm=0.05),), 55),
        ({"targets": LabelFamily.MIXUP}, (GradientClip(norm=0.05),), 55),
        ({"precision": "bfloat16"}, (), 64),
        ({"precision": "float16", "targets": LabelFamily.MIXUP}, (), 60),
    ],
)
def test_clipping_and_halves_do_not_protect_in_the_game(
    digits: LabelSet, settings_: dict[str, Any], defences: tuple[Any, ...], least: int
) -> None:
    channel = GradientChannel(**settings_)
    setting = Setting(data=digits, attack=ExactSolver(), defences=defences)

    outcome = channel.play(setting, curator_rng=np.random.default_rng(0), attack_rng=np.random.default_rng(1))

    assert outcome.n_correct >= least


def test_too_few_classes_for_an_unknown_factor_are_refused(digits: LabelSet) -> None:
    with pytest.raises(InputError, match=r"'smoothing' cannot be recovered from 3 classes.* at least 5 classes"):
        recover(np.ones((1, 3, 4)), np.ones((3, 4)), family="smoothing", scaled=True)


@pytest.mark.parametrize("equal", [False, True], ids=["rows differ", "rows equal"])
@pytest.mark.parametrize("stretch", [pytest.param(8.0, marks=pytest.mark.slow), 30.0])
def test_what_half_precision_has_lost_makes_no_wrong_label_the_only_one(stretch: float, equal: bool) -> None:
    """Rows that underflow held an error of any relative size: of four labels called the only ones, four were wrong."""
    rng = np.random.default_rng(0)
    wrong = right = 0
    weights = rng.normal(size=(10, 16)) * stretch / 4
    if equal:
        weights[:4] = weights[0]
    features = np.abs(rng.normal(size=(300, 16)))
    labels = rng.integers(10, size=300)
    errors = softmax(features @ weights.T) - np.eye(10)[labels]
    factors = rng.uniform(0.1, 3, size=(300, 1, 1))
    gradients = (factors * errors[:, :, None] * features[:, None, :]).astype(np.float16)
    found = recover(gradients, weights, scaled=True)
    for label, guess, status in zip(labels, found.labels.argmax(axis=1), found.status, strict=True):
        if status is RecoveryStatus.UNIQUE:
            right, wrong = right + int(guess == label), wrong + int(guess != label)
    assert wrong == 0
    gentle = recover((errors[:, :, None] * features[:, None, :]).astype(np.float32), weights, scaled=True)
    assert RecoveryStatus.UNIQUE in gentle.status


def test_classes_that_vanish_together_and_classes_with_equal_weights_are_both_counted_once() -> None:
    """Found at random: either count alone leaves an equation to spare, and the label that came out was uniform."""
    offsets = np.array([-1.34, -0.64, 7.62, 1.1, 0.61, 8.45, 1.68, 2.07, -0.24, 0.73, -1.1, -6.05, -1.77])
    rows = np.array([17.84] * 6 + [-26.14, 11.99, -20.37, -53.76, 45.58, -14.2, 8.98])[:, None]
    for kept in np.linspace(0.05, 0.9, 40):
        label = np.where(np.arange(13) == 10, kept + (1 - kept) / 13, (1 - kept) / 13)
        gradient = 124.6 * (softmax(rows.T + offsets)[0] - label)[:, None]

        found = recover(gradient[None], rows, bias=offsets, family="smoothing", scaled=True)

        wrong = np.abs(found.labels[0] - label).sum() > 1e-3
        assert not (wrong and (found.status[0] is RecoveryStatus.UNIQUE or found.complete[0]))


def test_two_labels_at_nearly_one_scale_are_both_listed() -> None:
    """A faint mixture and a smoothed label whose scales differ by .06 % and whose labels by .013."""
    slopes = np.array([[26.0, 2, -8, -6, -8, 15, 10]])
    label = np.full(7, 0.0055)
    label[[0, 6]] = 0.0122, 0.9603

    listed = solve(Problem(column=38 * (softmax(slopes) - label), slopes=slopes), scaled=True).listed(0)

    apart = np.sort(np.abs(listed - label).sum(axis=1))
    assert apart[0] < 1e-6
    assert apart[1] == pytest.approx(0.0134, abs=1e-4)


@pytest.mark.parametrize("seed", range(6))
def test_a_weight_that_hardly_shows_is_as_unsure_as_it_is_said_to_be(seed: int) -> None:
    """Scale and factor are one direction to nine digits: squares of their slopes hold nothing of the difference."""
    logits = np.array([-4.0, 13, 46, 21, -8, 3, 43, 7, -5, -51, 12, -48])
    offsets = 3 * np.random.default_rng(seed).normal(size=12)
    label = np.full(12, 0.0208)
    label[2] = 0.7712
    problem = Problem(column=60 * (softmax(logits[None]) - label), slopes=(logits - offsets)[None] / 4, offsets=offsets)

    found = solve(problem, family="smoothing", scaled=True)

    off = np.abs(found.labels[0] - label).sum()
    assert off < 3 * found.error[0] < 0.1
    assert found.status[0] is not RecoveryStatus.UNIQUE or off < 1e-3
