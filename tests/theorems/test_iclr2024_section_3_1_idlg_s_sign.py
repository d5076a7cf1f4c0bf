"""G4: the sign of iDLG (Wang et al., ICLR 2024, Section 3.1; Zhao et al., iDLG, 2020)."""

from __future__ import annotations

import numpy as np

from labelinf_gradients.attacks.idlg import odd_one_out
from labelinf_gradients.game.networks import softmax


def drawn(n: int = 2000, n_classes: int = 7) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    truth = rng.integers(n_classes, size=n)
    return truth, softmax(2 * rng.normal(size=(n, n_classes))) - np.eye(n_classes)[truth]


def test_only_the_label_is_negative() -> None:
    truth, errors = drawn()

    assert ((errors < 0) == np.eye(7, dtype=bool)[truth]).all()


def test_the_row_sum_needs_non_negative_features_and_comparing_rows_does_not() -> None:
    truth, errors = drawn()
    x = np.random.default_rng(1).normal(size=(2000, 12))
    positive, anything = (errors[:, :, None] * item[:, None, :] for item in (np.abs(x), x))

    assert (positive.sum(axis=2).argmin(axis=1) == truth).all()
    assert np.mean(anything.sum(axis=2).argmin(axis=1) == truth) < 0.7
    assert (odd_one_out(anything) == truth).all()


def test_a_softened_label_has_several_negative_entries() -> None:
    p, y = np.array([0.05, 0.05, 0.4, 0.5]), np.array([0.1, 0.1, 0.7, 0.1])

    assert (p - y < 0).sum() == 3
    assert odd_one_out((p - y)[None, :, None] * np.array([1.0, 2.0])).tolist() == [3]  # the one positive row: no label
