"""S15, ICML 2021, Theorem 6: "max v = Omega(e**(2**N N tau))" is false; the bound is on |ln v|, and smaller."""

from __future__ import annotations

import math

import numpy as np
import pytest

from labelinf_papers.set_valued import every_value, separation
from labelinf_scores.bounds.worst_case import hiding_noise
from labelinf_scores.limits import is_robust, least_log_entry

N, TAU = 4, 0.1


def separation_of(logs: list[float]) -> float:
    return float(separation(every_value(lambda s: sum(x for i, x in enumerate(logs) if s >> i & 1), len(logs)))) / len(
        logs
    )


def test_a_vector_with_small_entries_is_robust() -> None:
    """Erratum I-11 (i): v_i = 3**(-2**i N tau), no entry above 0.415."""
    logs = [-(2**i) * N * TAU * math.log(3) for i in range(1, N + 1)]
    assert is_robust(separation_of(logs), TAU, closed=True)
    assert math.exp(max(logs)) == pytest.approx(0.415, abs=5e-4)


def test_a_vector_with_smaller_logarithms_than_printed_is_robust() -> None:
    """Erratum I-11 (ii): ln v = 2 N tau * 1.01 * {3, 5, 6, 7}."""
    logs = [2 * N * TAU * 1.01 * weight for weight in (3, 5, 6, 7)]
    assert is_robust(separation_of(logs), TAU, closed=True)
    assert max(logs) == pytest.approx(5.656)
    assert max(logs) < 2**N * N * TAU == pytest.approx(6.4)


def test_the_repaired_bound_holds_for_both_and_for_random_robust_vectors() -> None:
    rng = np.random.default_rng(0)
    for weights in ([1, 2, 4, 8], [3, 5, 6, 7], [-3, 5, -6, 7]):
        logs = [2 * N * TAU * 1.01 * weight for weight in weights]
        assert max(map(abs, logs)) > least_log_entry(N, TAU)
    for _ in range(300):
        n = int(rng.integers(1, 7))
        logs = rng.uniform(-10, 10, n).tolist()
        tau = separation_of(logs) / 2
        assert max(map(abs, logs)) >= least_log_entry(n, tau) - 1e-12


def test_one_label_a_query_needs_a_much_smaller_entry() -> None:
    """Remark I-12: k > e**(2 N tau) is enough for v = (k, 1, ..., 1), far below e**(2**N N tau)."""
    log_k = 2 * N * TAU * 1.000001
    assert log_k / N > 2 * TAU
    assert hiding_noise(log_k, N, 1) > TAU
