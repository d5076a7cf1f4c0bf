"""S48, AISTATS 2022, Theorem 7: discrete L_p losses separate nothing, for N >= 2."""

from __future__ import annotations

import itertools

import pytest

from labelinf_papers.set_valued import discrete_lp, separation


@pytest.mark.parametrize("p", [0.5, 1, 2, 7])
@pytest.mark.parametrize("n", [2, 3, 4])
def test_no_prediction_tells_all_labellings_apart(n: int, p: float) -> None:
    for prediction in itertools.product((0, 1), repeat=n):
        labellings = list(itertools.product((0, 1), repeat=n))
        assert separation([discrete_lp(labels, prediction, p) for labels in labellings]) == 0
        assert sum(discrete_lp(labels, prediction, p) == 1 for labels in labellings) == n


def test_a_single_record_is_separable() -> None:
    """Erratum A-11: N = 1, separation 1; and N labellings lie at distance 1, not N - 1."""
    assert separation([discrete_lp((k,), (0,), 2) for k in (0, 1)]) == 1
