"""E8: saturated one-hot labels can be recovered (Wang et al., ICLR 2024, Appendix B.3, second situation)."""

from __future__ import annotations

import numpy as np
import pytest

from labelinf_gradients.attacks.idlg import odd_one_out
from labelinf_gradients.game.networks import softmax
from labelinf_gradients.recovery.problem import Problem
from labelinf_gradients.recovery.results import RecoveryStatus
from labelinf_gradients.recovery.solver import recover

WEIGHTS = np.array([[800.0], [0], [1], [-800]])


def gradient(label: int) -> np.ndarray:
    errors = softmax(WEIGHTS[:, 0]) - np.eye(4)[label]
    assert errors.tolist() == (np.eye(4)[0] - np.eye(4)[label]).tolist()  # saturated: G_i = -G_j, all others zero
    return errors[:, None]


@pytest.mark.parametrize("label", [1, 2])
def test_the_false_root_is_no_label_unless_the_class_is_the_least_likely(label: int) -> None:
    problem = Problem(column=gradient(label).T, slopes=WEIGHTS.T)

    assert problem.labels(np.array([-1.0]))[0, label] == -1
    found = recover(gradient(label), WEIGHTS, family="one-hot")
    assert found.candidates[0].tolist() == [1.0]  # the other sign explains nothing
    assert found.hard[0] == label
    assert found.status == (RecoveryStatus.AMBIGUOUS,)  # vanished probabilities leave no equation to check


def test_the_least_likely_class_is_ambiguous_until_features_are_known_to_be_non_negative() -> None:
    anywhere = recover(gradient(3), WEIGHTS, family="one-hot")
    positive = recover(gradient(3), WEIGHTS, family="one-hot", nonnegative=True)

    assert anywhere.status == (RecoveryStatus.AMBIGUOUS,)
    assert sorted(anywhere.candidates[0]) == [-1, 1]
    assert positive.status == (RecoveryStatus.UNIQUE,)
    assert positive.hard[0] == 3


@pytest.mark.slow
def test_beside_the_sign_rule_on_random_saturated_networks() -> None:
    """The setting of the paper's footnote: W ~ U(-50, 50), float32, no sign known, gradients that are not zero."""
    rng = np.random.default_rng(0)
    weights = rng.uniform(-50, 50, (10, 512)).astype(np.float32)
    x = np.maximum(rng.normal(size=(800, 512)), 0).astype(np.float32)
    truth = rng.integers(10, size=800)
    errors = softmax(x @ weights.T) - np.eye(10, dtype=np.float32)[truth]
    gradients = errors[:, :, None] * x[:, None, :]
    informative = gradients.any(axis=(1, 2))
    gradients, truth = gradients[informative], truth[informative]

    signs = np.mean(odd_one_out(gradients) == truth)
    found = recover(gradients, weights, family="one-hot")
    known = recover(gradients, weights, family="one-hot", nonnegative=True)

    assert signs < 0.7
    assert np.mean(found.hard == truth) > 0.9
    assert np.mean(known.hard == truth) > 0.98
    certain = np.array([status is RecoveryStatus.UNIQUE for status in found.status])
    assert (found.hard == truth)[certain].all()
