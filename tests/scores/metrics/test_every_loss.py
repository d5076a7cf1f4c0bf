"""What every additive loss promises, held for all of them in several arithmetics."""

from __future__ import annotations

import math

import gmpy2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelinf_scores.arithmetic import make_arithmetic
from labelinf_scores.metrics.additive import AdditiveLoss
from labelinf_scores.metrics.bregman import Bregman
from labelinf_scores.metrics.itakura_saito import ItakuraSaito
from labelinf_scores.metrics.log_loss import LogLoss
from labelinf_scores.metrics.norm_like import NormLike
from labelinf_scores.metrics.sigmoid_log_loss import SigmoidLogLoss
from labelinf_scores.metrics.softmax_log_loss import SoftmaxLogLoss
from labelinf_scores.metrics.squared_euclidean import SquaredEuclidean

PROBABILITIES = [
    LogLoss(),
    ItakuraSaito(),
    SquaredEuclidean(),
    NormLike(alpha=3.0),
    NormLike(alpha=1.5),
    NormLike(alpha=2.5),
    Bregman(generator="square"),
    Bregman(generator="entropy"),
]
LOGITS = [SigmoidLogLoss(), SoftmaxLogLoss()]
EVERY = [*PROBABILITIES, *LOGITS]
BOUNDED = {loss: loss.span(0) for loss in PROBABILITIES if math.isfinite(loss.span(0))}

every_loss = pytest.mark.parametrize("loss", EVERY, ids=repr)
of_probabilities = pytest.mark.parametrize("loss", PROBABILITIES, ids=repr)


def gaps_of(loss: AdditiveLoss, predictions: np.ndarray, name: str, bits: int | None = None) -> np.ndarray:
    numbers = make_arithmetic(name).at_precision(bits)
    with numbers.context():
        costs = loss.costs(numbers.convert(predictions), numbers)
        return np.asarray(costs[:, 1] - costs[:, 0])


def wanted_gaps(loss: AdditiveLoss) -> np.ndarray:
    largest = min(BOUNDED.get(loss, 30.0), 30.0)
    return np.concatenate([np.linspace(-0.999, 0.999, 21) * largest, [1e-3, -1e-6, 0.0]])


@every_loss
@pytest.mark.parametrize(("name", "tolerance"), [("float64", 1e-14), ("float32", 1e-5)])
def test_a_prediction_has_the_gap_that_was_wanted(loss: AdditiveLoss, name: str, tolerance: float) -> None:
    # Positive gaps only: a prediction near 1 cannot say how near, whatever the loss.
    wanted = abs(wanted_gaps(loss))
    numbers = make_arithmetic(name)
    with numbers.context():
        predictions = loss.prediction(wanted, numbers)

    found = gaps_of(loss, np.asarray(predictions, dtype=float), "float64")
    # Relative to the gap plus one: 1 - theta is known to half a unit in the last place of 1.
    assert np.all(abs(found - wanted) <= tolerance * (wanted + 1))


@every_loss
def test_in_exact_arithmetic_the_gap_is_as_exact_as_the_precision(loss: AdditiveLoss) -> None:
    wanted = np.array([gmpy2.mpq(-3, 4), gmpy2.mpq(1, 10), gmpy2.mpq(0), gmpy2.mpq(9, 10)], dtype=object)
    numbers = make_arithmetic("exact").at_precision(200)
    with numbers.context():
        predictions = loss.prediction(wanted, numbers)

    found = gaps_of(loss, predictions, "exact", 260)
    with gmpy2.context(precision=260):
        assert np.all(abs(found - wanted) < gmpy2.exp2(-195))


@of_probabilities
def test_costs_in_doubles_agree_with_costs_in_200_bits(loss: AdditiveLoss) -> None:
    theta = np.random.default_rng(3).random(50)
    doubles, exact = make_arithmetic("float64"), make_arithmetic("exact").at_precision(200)
    with exact.context():
        reference = np.asarray(loss.costs(exact.convert(theta), exact), dtype=float)

    assert np.allclose(loss.costs(doubles.convert(theta), doubles), reference, rtol=1e-12, atol=1e-14)


@every_loss
def test_the_score_is_the_mean_of_the_chosen_costs(loss: AdditiveLoss) -> None:
    rng = np.random.default_rng(4)
    labels, theta = rng.integers(0, 2, 31), rng.random(31)
    for name in ("float64", "float32", "exact", "bfloat16", "fpa:61"):
        numbers = make_arithmetic(name)
        with numbers.context():
            costs = loss.costs(numbers.convert(theta), numbers)
            expected = sum(costs[np.arange(31), labels].tolist()) / 31
            found = loss.score(labels, theta, numbers)
        assert float(found) == pytest.approx(float(expected), rel=0.05 if name == "bfloat16" else 1e-5)


@of_probabilities
@pytest.mark.parametrize("clip", [0.01, 1e-3, 0.2])
def test_the_span_is_reached_at_the_clip_and_nowhere_exceeded(loss: AdditiveLoss, clip: float) -> None:
    theta = np.concatenate([[clip, 1 - clip], np.random.default_rng(5).uniform(clip, 1 - clip, 200)])
    gaps = abs(gaps_of(loss, theta, "float64"))

    assert gaps[:2].max() == pytest.approx(loss.span(clip), rel=1e-9)
    assert gaps.max() <= loss.span(clip) * (1 + 1e-9)


@pytest.mark.parametrize(
    ("loss", "span"),
    [
        (LogLoss(), 4.595120),
        (ItakuraSaito(), 94.394779),
        (SquaredEuclidean(), 0.98),
        (NormLike(alpha=3.0), 2.94),
    ],
    ids=repr,
)
def test_the_spans_at_a_clip_of_one_percent(loss: AdditiveLoss, span: float) -> None:
    assert loss.span(0.01) == pytest.approx(span, abs=5e-7)


@pytest.mark.parametrize("loss", [LogLoss(), ItakuraSaito(), Bregman(generator="entropy"), *LOGITS], ids=repr)
def test_the_span_is_infinite_without_a_clip(loss: AdditiveLoss) -> None:
    assert loss.span(0.0) == math.inf


@pytest.mark.parametrize("loss", LOGITS, ids=repr)
def test_no_clip_bounds_the_span_of_logits(loss: AdditiveLoss) -> None:
    assert loss.span(0.01) == math.inf


@of_probabilities
def test_a_certain_and_right_prediction_costs_nothing(loss: AdditiveLoss) -> None:
    for name in ("float64", "exact"):
        numbers = make_arithmetic(name)
        with numbers.context():
            costs = loss.costs(numbers.convert([0.0, 1.0]), numbers)
        assert float(costs[0, 0]) == float(costs[1, 1]) == 0
        assert float(costs[0, 1]) == float(costs[1, 0]) == pytest.approx(BOUNDED.get(loss, math.inf))


@settings(max_examples=60)
@given(theta=st.floats(0, 1), loss=st.sampled_from(PROBABILITIES))
def test_no_cost_is_negative(theta: float, loss: AdditiveLoss) -> None:
    numbers = make_arithmetic("float64")
    with numbers.context():
        assert np.all(loss.costs(numbers.convert([theta]), numbers) >= -1e-15)


@every_loss
@pytest.mark.parametrize("name", ["float64", "exact"])
def test_rows_of_two_classes_have_the_wanted_steps(loss: AdditiveLoss, name: str) -> None:
    numbers = make_arithmetic(name)
    steps = np.array([0.5, 0.125, -0.25, 0.0])
    with numbers.context():
        rows = loss.rows(numbers.convert(steps), 2, numbers)
        sums = rows.sum(axis=1)

    assert rows.shape == (4, 2)
    assert np.allclose(gaps_of(loss, rows, name).astype(float), steps, atol=1e-14)
    if loss in PROBABILITIES:
        assert np.allclose(sums.astype(float), 1, atol=1e-15)


@every_loss
def test_two_columns_cost_what_one_probability_costs(loss: AdditiveLoss) -> None:
    numbers = make_arithmetic("float64")
    theta = np.random.default_rng(6).random(20)
    columns = np.stack([1 - theta, theta] if loss in PROBABILITIES else [0 * theta, theta], axis=1)

    assert np.allclose(loss.costs(theta, numbers), loss.costs(columns, numbers), rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("loss", list(BOUNDED), ids=repr)
def test_a_gap_beyond_the_span_is_refused(loss: AdditiveLoss) -> None:
    numbers = make_arithmetic("float64")
    with numbers.context(), pytest.raises(ValueError, match="gap"):
        loss.prediction(np.array([0.0, 1.01 * BOUNDED[loss]]), numbers)


@pytest.mark.parametrize("loss", list(BOUNDED), ids=repr)
def test_the_largest_gap_of_a_bounded_loss_is_reached(loss: AdditiveLoss) -> None:
    numbers = make_arithmetic("float64")
    with numbers.context():
        prediction = loss.prediction(np.array([BOUNDED[loss]]), numbers)

    assert gaps_of(loss, prediction, "float64")[0] == pytest.approx(BOUNDED[loss], rel=1e-12)


@pytest.mark.parametrize("loss", [ItakuraSaito(), NormLike(), Bregman(), SigmoidLogLoss()], ids=repr)
def test_a_binary_loss_refuses_more_classes(loss: AdditiveLoss) -> None:
    numbers = make_arithmetic("float64")

    with pytest.raises(ValueError, match=r"n_classes=3: \w+ is defined for only two classes"):
        loss.rows(np.array([0.1]), 3, numbers)
    assert "defined for only two classes, got 3" in loss.fault(np.full((4, 3), 1 / 3), 4, 3)
    assert loss.fault(np.full((4, 2), 1 / 2), 4, 2) == ""
