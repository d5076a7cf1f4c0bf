"""S13, ICML 2021, Algorithm 2 and Theorem 4: v_i = 3**(2**i N tau) separates by 2 tau ln 3; nearest labelling wins."""

from __future__ import annotations

import itertools
import math

import gmpy2
import numpy as np
import pytest
from gmpy2 import mpq

from labelinf_papers.set_valued import separation
from labelinf_scores.arithmetic import make_arithmetic
from labelinf_scores.constructions.powers import power_gaps
from labelinf_scores.decoders.meet_in_the_middle import nearest_labelling
from labelinf_scores.metrics.log_loss import LogLoss

NUMBERS = make_arithmetic("exact").at_precision(500)


def scores_of(gaps: list[gmpy2.mpfr]) -> dict[tuple[int, ...], gmpy2.mpfr]:
    """Scores of all labellings under the log-loss with these gaps (label 1 costs more)."""
    u = LogLoss().prediction(NUMBERS.convert(np.array(gaps, dtype=object)), NUMBERS)
    labellings = itertools.product((0, 1), repeat=len(gaps))
    return {labels: LogLoss().score(np.array(labels), u, NUMBERS) for labels in labellings}


@pytest.mark.parametrize("n", range(1, 9))
def test_the_separation_is_exactly_two_tau_ln_three(n: int) -> None:
    tau = mpq(1, 10)
    with NUMBERS.context():
        gaps = [2**i * n * tau * gmpy2.log(3) for i in range(1, n + 1)]
        assert abs(separation(list(scores_of(gaps).values())) - 2 * tau * gmpy2.log(3)) < 1e-80


@pytest.mark.parametrize("n", range(1, 8))
def test_base_e_is_enough_and_separates_by_exactly_two_tau(n: int) -> None:
    tau = mpq(1, 10)
    with NUMBERS.context():
        gaps = [2**i * n * tau for i in range(1, n + 1)]
        assert abs(separation(list(scores_of(gaps).values())) - 2 * tau) < 1e-80


def test_the_nearest_labelling_is_the_true_one_under_the_worst_noise() -> None:
    n, tau = 5, 0.1
    gaps = power_gaps(n, n_records=n, tau=tau, base=3.0)
    noise = tau * np.log(3) * 0.999999
    for labels in itertools.product((0, 1), repeat=n):
        for side in (-1, 1):
            seen = float(gaps @ labels) + n * side * noise
            assert nearest_labelling(gaps, seen).tolist() == list(labels)


def test_beyond_half_the_separation_some_labelling_is_lost() -> None:
    n, tau = 5, 0.1
    gaps = power_gaps(n, n_records=n, tau=tau, base=3.0)
    seen = float(gaps @ [1, 0, 0, 0, 0]) - n * tau * np.log(3) * 1.000001
    assert nearest_labelling(gaps, seen).tolist() == [0, 0, 0, 0, 0]


def test_the_vector_of_the_printed_proof_does_not_separate() -> None:
    """Erratum I-8: 3 exp(s_i) is not 3**s_i. With s_i = ln 3 * (1, 2, 4) two labellings multiply to 243."""
    v = [3 * 3**k for k in (1, 2, 4)]
    assert v == [9, 27, 243]
    assert v[0] * v[1] == v[2]
    labellings = list(itertools.product((0, 1), repeat=3))
    assert separation([math.prod(x for x, k in zip(v, labels, strict=True) if k) for labels in labellings]) == 0
    repaired = power_gaps(3, n_records=1, tau=0.5, base=3.0)  # ln 3 * (1, 2, 4)
    assert separation([float(repaired @ labels) for labels in labellings]) == pytest.approx(math.log(3))


def test_the_worked_number() -> None:
    gaps = power_gaps(3, n_records=3, tau=0.1, base=3.0)
    sums = [float(gaps @ labels) / 3 for labels in itertools.product((0, 1), repeat=3)]
    assert separation(sums) == pytest.approx(0.219722, abs=1e-6)
