"""Equal scores: of two submissions with the same released score, the earlier one is shown first."""

from __future__ import annotations

import numpy as np
import pytest

from labelinf_scores.game.utility import _flips

TRUTH = np.array([0.1, 0.2, 0.3, 0.4])


@pytest.mark.parametrize(
    ("scores", "turns", "flips"),
    [
        ([0.0, 0.0, 0.0, 0.0], [0, 1, 2, 3], 0),
        ([0.0, 0.0, 0.0, 0.0], [3, 2, 1, 0], 1),
        ([0.5, 0.5, 0.1, 0.1], [0, 1, 2, 3], 1),
        ([0.1, 0.2, np.inf, np.nan], [3, 2, 1, 0], 1),
        ([0.1, 0.2, 0.3, np.nan], [0, 1, 2, 3], 0),
        ([0.1, 0.2, np.inf, 0.3], [0, 1, 2, 3], 1),
    ],
)
def test_of_equal_scores_the_earlier_counts(scores: list[float], turns: list[int], flips: int) -> None:
    assert _flips(TRUTH, np.array(scores), np.array(turns)) == flips
