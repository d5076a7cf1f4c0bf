"""E4: a variance below 1e-12 does not make a scalar right (Wang et al., ICLR 2024, Appendices B.1 and E)."""

from __future__ import annotations

import numpy as np
import pytest

from labelinf_gradients.game.networks import softmax
from labelinf_gradients.recovery.results import RecoveryStatus
from labelinf_gradients.recovery.solver import recover
from labelinf_papers.search.algorithm import search
from labelinf_papers.search.loss import label_loss

WEIGHTS = np.array([[20.0], [0], [1], [2], [3]])
LABEL = np.array([0.68, 0.08, 0.08, 0.08, 0.08])
GRADIENT = (softmax(WEIGHTS[:, 0]) - LABEL)[:, None]


def test_a_wrong_scalar_is_accepted_and_its_label_is_silently_wrong() -> None:
    loss = label_loss(GRADIENT, WEIGHTS, coefficient=4.0, excluded=1)

    assert loss.magnification == 1000
    assert loss.value(np.array([10.0]))[0] == pytest.approx(1.7e-10, rel=0.05)  # below 1e-9
    assert loss.labels(np.array([10.0]))[0] == pytest.approx([0.6, 0.1, 0.1, 0.1, 0.1], abs=1e-4)
    assert loss.labels(np.array([12.5]))[0] == pytest.approx(LABEL, abs=1e-4)

    found = search(loss, np.random.default_rng(0))

    assert found.loss < 1e-9
    assert abs(found.scalar - 12.5) > 1
    assert np.abs(loss.labels(np.array([found.scalar]))[0] - LABEL).sum() > 0.1


def test_the_exact_solver_returns_the_truth_or_says_that_it_cannot_know() -> None:
    exact = recover(GRADIENT, WEIGHTS, family="smoothing")
    rounded = recover(GRADIENT.astype(np.float32), WEIGHTS.astype(np.float32), family="smoothing")

    assert exact.labels[0] == pytest.approx(LABEL, abs=1e-6)
    wrong = np.abs(rounded.labels[0] - LABEL).sum() > 1e-3
    assert not (wrong and rounded.status[0] is RecoveryStatus.UNIQUE)
