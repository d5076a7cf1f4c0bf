"""What a board scores is what the score room reads: two descriptions of a metric, held to each other exactly."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from labelinf_guard.metrics import METRICS, metric_named
from labelinf_scores.metrics.readings.base import Released, Totals
from labelinf_scores.metrics.readings.registry import metric

GRID = Fraction(1, 2**40)  # on which a board puts costs


@pytest.mark.parametrize("name", sorted(METRICS))
def test_a_boards_score_tells_the_reader_of_the_same_metric_these_labels_and_no_others(name: str) -> None:
    rng = np.random.default_rng(5)
    board, reader = metric_named(name, {}), metric(name)
    for _ in range(40):
        labels = rng.permutation(np.repeat([0, 1], rng.integers(2, 12, 2)))
        chance = np.round(rng.uniform(0.02, 0.98, labels.size), 3)
        if board.classes_predicted:
            chance = (chance > 0.5).astype(float)
        rows = chance.astype(int) if board.classes_predicted else np.stack([1 - chance, chance], axis=1)
        totals = Totals.binary(n_records=labels.size, n_positive=int(labels.sum()))

        read = reader.reading(chance, board.score(labels, rows, 2), totals, Released(noise=GRID))

        assert read.holds(labels)
        gone, come = (rng.choice(np.flatnonzero(labels == label)) for label in (1, 0))
        exchanged = labels.copy()
        exchanged[[gone, come]] = 0, 1
        told_apart = read.coefficients[gone] != read.coefficients[come]
        assert read.holds(exchanged) is not bool(told_apart)
