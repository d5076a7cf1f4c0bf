"""S22, ICML 2021, Lemma 6: a tau-robust vector, rescaled, has subset sums more than any wanted s apart."""

from __future__ import annotations

import math

import pytest

from labelinf_papers.set_valued import every_value, separation
from labelinf_scores.constructions.powers import power_gaps
from labelinf_scores.limits import least_log_entry, least_widest_gap


def least_difference(items: list[float]) -> float:
    return float(separation(every_value(lambda s: sum(x for i, x in enumerate(items) if s >> i & 1), len(items))))


@pytest.mark.parametrize("s", [0.01, 1.0, 1e6])
@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_the_rescaled_set_is_more_than_s_apart(n: int, s: float) -> None:
    tau = 0.3
    logs = power_gaps(n, n_records=n, tau=tau, base=3.0)
    rescaled = (s * logs / (2 * n * tau)).tolist()
    assert least_difference(rescaled) > s
    assert least_difference(rescaled) == pytest.approx(s * math.log(3), rel=1e-9)


def test_so_the_bound_for_sets_becomes_the_bound_for_vectors() -> None:
    assert least_log_entry(6, 0.3) == pytest.approx(2 * 6 * 0.3 * least_widest_gap(6))


def test_the_worked_number() -> None:
    logs = power_gaps(3, n_records=3, tau=0.1, base=3.0)
    assert least_difference((logs / 0.6).tolist()) == pytest.approx(1.098612, abs=1e-6)
