"""S38, AISTATS 2022, Corollary 1: Itakura-Saito is 2 tau-separable with theta_i = 1 / (1 + 3**(2**i N tau))."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import gmpy2
import numpy as np
import pytest
from gmpy2 import mpq

from labelinf_papers.set_valued import separation
from labelinf_scores.arithmetic import make_arithmetic
from labelinf_scores.constructions.powers import power_gaps
from labelinf_scores.metrics.itakura_saito import ItakuraSaito

NUMBERS = make_arithmetic("exact").at_precision(900)
VECTOR = json.loads((Path(__file__).parent / "vectors.json").read_text())["IS_lambda"]


def separation_of(n: int, tau: mpq) -> gmpy2.mpfr:
    theta = np.array([1 / (1 + gmpy2.mpfr(3) ** (2**i * n * tau)) for i in range(1, n + 1)], dtype=object)
    labellings = itertools.product((0, 1), repeat=n)
    return separation([ItakuraSaito().score(np.array(labels), theta, NUMBERS) for labels in labellings])


@pytest.mark.parametrize("n", range(1, 6))
@pytest.mark.parametrize("tau", [mpq(1, 100), mpq(1, 4)], ids=str)
def test_the_separation_is_the_first_gap_over_n_and_at_least_two_tau(n: int, tau: mpq) -> None:
    """The gap 2 sinh t - t at least doubles when t does, so the gaps are superincreasing (A-2)."""
    with NUMBERS.context():
        first = 2 * n * tau * gmpy2.log(3)
        expected = (2 * gmpy2.sinh(first) - first) / n
        found = separation_of(n, tau)
        assert abs(found - expected) < 1e-60
        assert found > 2 * tau


def test_the_worked_number() -> None:
    with NUMBERS.context():
        ratio = separation_of(1, mpq(1, 100)) / (2 * mpq(1, 100))
    assert float(ratio) == pytest.approx(VECTOR["lam_over_2tau"], rel=1e-12)
    assert float(ratio) == pytest.approx(1.0987891, abs=1e-7)


def test_solving_for_the_gaps_themselves_needs_no_doubly_exponential_entries() -> None:
    """Remark A-2: N = 8, tau = 1: 4.9e-4 is small enough, where the corollary takes about 10**-977."""
    numbers = make_arithmetic("float64")
    theta = ItakuraSaito().prediction(power_gaps(8, n_records=8, tau=1.0), numbers)
    assert theta.min() == pytest.approx(4.9e-4, rel=0.02)
    with NUMBERS.context():
        printed = 1 / (1 + gmpy2.mpfr(3) ** (2**8 * 8))
    assert gmpy2.log10(printed) == pytest.approx(-977, abs=0.5)
