"""Tiny problems whose solutions can be checked by hand: one feature, x = t = 1, to nine digits."""

from __future__ import annotations

import numpy as np
import pytest

from labelinf_gradients.game.networks import softmax
from labelinf_gradients.recovery.problem import Problem
from labelinf_gradients.recovery.results import Recovery, RecoveryStatus
from labelinf_gradients.recovery.solver import recover, solve

EXACT = 1e-9


def solved(odds: tuple[float, ...], label: tuple[float, ...], family: str, *, positive: bool = False) -> Recovery:
    """Solve for logits ``ln(odds)``."""
    slopes = np.log([odds])
    return solve(Problem(column=softmax(slopes) - np.array([label]), slopes=slopes), family=family, positive=positive)


def test_one_hot_of_three_classes_is_unique() -> None:
    found = solved((1, 2, 4), (1, 0, 0), "one-hot")

    assert found.status == (RecoveryStatus.UNIQUE,)
    assert found.candidates[0] == pytest.approx([1], abs=EXACT)
    assert found.labels[0] == pytest.approx([1, 0, 0], abs=EXACT)


def test_smoothing_of_four_classes_is_unique() -> None:
    found = solved((1, 2, 3, 4), (0.1, 0.7, 0.1, 0.1), "smoothing")

    assert found.status == (RecoveryStatus.UNIQUE,)
    assert found.candidates[0] == pytest.approx([1], abs=EXACT)
    assert found.labels[0] == pytest.approx([0.1, 0.7, 0.1, 0.1], abs=EXACT)


def test_mixup_of_four_classes_is_unique() -> None:
    found = solved((1, 2, 3, 4), (0.25, 0, 0, 0.75), "mixup")

    assert found.status == (RecoveryStatus.UNIQUE,)
    assert found.candidates[0] == pytest.approx([1], abs=EXACT)
    assert found.labels[0] == pytest.approx([0.25, 0, 0, 0.75], abs=EXACT)


def test_one_hot_of_two_classes_has_two_solutions_where_the_prediction_is_wrong() -> None:
    found = solved((1, 3), (1, 0), "one-hot")

    assert found.status == (RecoveryStatus.AMBIGUOUS,)
    assert np.sort(found.candidates[0]) == pytest.approx([-1, 1], abs=EXACT)
    problem = Problem(column=np.array([[-0.75, 0.75]]), slopes=np.log([[1.0, 3.0]]))
    assert problem.labels(np.array([1.0]))[0] == pytest.approx([1, 0], abs=EXACT)
    assert problem.labels(np.array([-1.0]))[0] == pytest.approx([0, 1], abs=EXACT)


def test_one_hot_of_two_classes_has_four_where_it_is_right_and_one_label_for_each_sign() -> None:
    anywhere, positive = (solved((1, 3), (0, 1), "one-hot", positive=sign) for sign in (False, True))

    four = [-1.341822454747, -1, 1, 1.341822454747]
    assert anywhere.status == (RecoveryStatus.AMBIGUOUS,)
    assert np.sort(anywhere.candidates[0]) == pytest.approx(four, abs=EXACT)
    assert np.sort(positive.candidates[0]) == pytest.approx(four[2:], abs=EXACT)
    assert positive.labels[0] == pytest.approx([0, 1], abs=EXACT)


def test_mixup_of_three_classes_has_three_solutions() -> None:
    found = solved((1, 2, 4), (0.4, 0.6, 0), "mixup")

    assert found.status == (RecoveryStatus.AMBIGUOUS,)
    scales = np.sort(found.candidates[0])
    assert scales == pytest.approx([-3.161486760014, -1.155466548460, 1], abs=EXACT)
    slopes = np.log([[1.0, 2.0, 4.0]])
    problem = Problem(column=softmax(slopes) - np.array([[0.4, 0.6, 0]]), slopes=slopes)
    labels = [problem.labels(scales[[row]])[0] for row in range(3)]
    assert labels[0] == pytest.approx([0.808142782276, 0, 0.191857217724], abs=EXACT)
    assert labels[1] == pytest.approx([0.383350365523, 0, 0.616649634477], abs=EXACT)


def test_a_saturated_smoothed_label_is_an_interval() -> None:
    """p = e_0, y = (.7, .1, .1, .1), x = 5: every t >= 2 explains it with y_0 = 1 - 1.5 / t."""
    weights = np.array([[800.0], [0], [0], [0]])
    gradient = 5 * (softmax(5 * weights[:, 0]) - np.array([0.7, 0.1, 0.1, 0.1]))[:, None]

    found = recover(gradient, weights, family="smoothing", nonnegative=True)

    assert gradient[:, 0] == pytest.approx([1.5, -0.5, -0.5, -0.5], abs=EXACT)
    assert found.status == (RecoveryStatus.SMOOTHING_FACTOR_UNIDENTIFIABLE,)
    assert found.hard[0] == 0
    assert found.lightest[0] <= 0.7 <= found.heaviest[0]
    assert found.lightest[0] < 0.45
    assert found.heaviest[0] > 0.99


def test_a_zero_gradient_is_no_information() -> None:
    found = recover(np.zeros((4, 3)), np.ones((4, 3)))

    assert found.status == (RecoveryStatus.NO_INFORMATION,)
    assert found.hard.tolist() == [-1]
