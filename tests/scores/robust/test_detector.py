"""Constructions bear marks that predictions of real models do not."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from labelinf_papers.mutnet import interpolating, published
from labelinf_scores.arithmetic import make_arithmetic
from labelinf_scores.constructions.hadamard_matrix import Hadamard
from labelinf_scores.constructions.powers import power_gaps
from labelinf_scores.detector import Neighbours, detector
from labelinf_scores.metrics.log_loss import LogLoss

NUMBERS = make_arithmetic("float64")


@pytest.fixture(scope="module")
def cancer() -> tuple[np.ndarray, np.ndarray]:
    """Standardised features, and honest probabilities of a logistic regression."""
    data = load_breast_cancer()
    model = make_pipeline(StandardScaler(), LogisticRegression())
    model.fit(data.data[:300], data.target[:300])
    return StandardScaler().fit_transform(data.data), model.predict_proba(data.data)


def test_an_honest_model_bears_no_mark(cancer) -> None:
    features, probabilities = cancer
    assert detector(probabilities).reasons() == ()
    assert detector(probabilities[:, 1], Neighbours.of(features)).reasons(most_steep=100.0) == ()


def test_blocks_leave_most_rows_neutral() -> None:
    gaps = np.concatenate([power_gaps(8, n_records=100, tau=1e-4), np.zeros(92)])
    marks = detector(LogLoss().prediction(gaps, NUMBERS))
    assert marks.neutral == 0.92
    assert marks.reasons() == ("92 % of the rows give all classes the same probability",)


def test_a_constant_network_gives_one_row_only() -> None:
    rng = np.random.default_rng(0)
    outputs = published(np.array([0.3]), n_features=3, rng=rng)(rng.uniform(size=(50, 3)))
    marks = detector(outputs[:, 0])
    assert marks.distinct == 1
    assert "there are only 1 different rows" in marks.reasons()


def test_hadamard_signs_are_equally_certain_throughout() -> None:
    theta = np.where(Hadamard.of_order(64).row(5) > 0, 0.01, 0.99)
    marks = detector(theta)
    assert marks.distinct == 2
    assert marks.extreme == 1
    assert "100 % of the rows are equally certain" in marks.reasons()


def test_an_interpolating_network_is_steep_where_features_are_known(cancer) -> None:
    features, probabilities = cancer
    rng = np.random.default_rng(0)
    gaps = np.concatenate([power_gaps(20, n_records=569, tau=1e-7), np.zeros(549)])
    made = interpolating(features, LogLoss().prediction(rng.permutation(gaps), NUMBERS), rng=rng)(features)[:, 0]
    gentle = interpolating(features[:, :2], rng.uniform(0.01, 0.99, 569), rng=rng)(features[:, :2])[:, 0]
    honest = detector(probabilities, Neighbours.of(features)).steepness
    assert detector(made, Neighbours.of(features)).neutral < 1
    assert detector(gentle, Neighbours.of(features[:, :2])).steepness > 10 * honest


def test_without_features_steepness_is_unknown_and_never_a_reason() -> None:
    marks = detector(np.linspace(0.1, 0.9, 20))
    assert np.isnan(marks.steepness)
    assert marks.reasons(most_steep=0.0) == ()


def test_a_handful_of_rows_says_nothing() -> None:
    assert detector(np.full(7, 0.5)).reasons() == ()
    assert detector(np.full(8, 0.5)).reasons() != ()


def test_several_classes_are_served() -> None:
    rows = np.tile([0.2, 0.3, 0.5], (30, 1))
    rows[:20] = 1 / 3
    assert detector(rows).neutral == pytest.approx(2 / 3)
