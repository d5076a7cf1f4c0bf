"""E18: the train accuracies cannot all be against the labels trained on (Khan et al., BLIA, 2025, Tables 2 and 6)."""

from __future__ import annotations

import math

from labelinf_papers.published.blia import PrintedRow, rows, train_fit


def row(benchmark: str, epsilon: float) -> PrintedRow:
    return next(item for item in rows() if (item.benchmark, item.epsilon) == (benchmark, epsilon))


def test_fashion_mnist_fits_more_labels_than_its_canaries_admit() -> None:
    """99.64 % of 60 000 leave 216 errors in all; a threshold at 58.75 % of 1 200 canaries has 495 among these alone."""
    found = row("FashionMNIST", math.inf)

    assert round((1 - found.train_accuracy) * found.train_size) == 216
    assert round((1 - found.threshold) * found.canaries) == 495


def test_under_noise_it_fits_92_per_cent_while_its_canaries_sit_at_chance() -> None:
    found = row("FashionMNIST", 0.3)

    assert (round(found.train_accuracy, 4), found.threshold) == (0.9167, 0.5292)


def test_census_is_measured_against_noisy_labels() -> None:
    assert train_fit("Census", resampling=False).rms < 0.006
