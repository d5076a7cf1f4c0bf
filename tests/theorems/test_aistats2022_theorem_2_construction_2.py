"""S40, AISTATS 2022, Theorem 2 (Construction 2): log-prime gaps against noise; errata A-5 and A-6."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import gmpy2
import numpy as np
import pytest

from labelinf_core.contracts.components import LabelSet, Setting
from labelinf_papers.attacks.log_primes import LogPrimes
from labelinf_papers.constructions.log_primes import (
    closest_ratio,
    log_prime_gaps,
    printed_scale,
    separation,
    small_scale,
)
from labelinf_papers.decoders.rounding import nearest_integer
from labelinf_scores.arithmetic import make_arithmetic
from labelinf_scores.constructions.primes import first_primes, prime_product
from labelinf_scores.decoders.exhaustive import all_sums, as_costs
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.metrics.squared_euclidean import SquaredEuclidean

VECTORS = json.loads((Path(__file__).parent / "vectors.json").read_text())
NUMBERS = make_arithmetic("exact").at_precision(200)
NEED = [2.89, 4.93, 10.97, 28.99, 42.99, 155.0, 1429, 1429, 1429, 4523]


def least_gap(n: int, unit: gmpy2.mpq) -> gmpy2.mpfr:
    """Least distance of two subset sums of the gaps ``unit ln p_i``."""
    with NUMBERS.context():
        sums = sorted(all_sums(as_costs(log_prime_gaps(first_primes(n), unit, NUMBERS))))
        return min(upper - lower for lower, upper in itertools.pairwise(sums))


@pytest.mark.parametrize("n", range(1, 13))
def test_the_printed_scale_separates_by_two_tau(n: int) -> None:
    """Form (3): gaps 3 N P tau ln p_i, so that scores are sums over N. With tau = 1 and noise of the mean."""
    assert least_gap(n, gmpy2.mpq(n * printed_scale(first_primes(n)))) / n >= 2


@pytest.mark.parametrize("n", range(1, 13))
def test_the_smaller_scales_separate_by_two_tau(n: int) -> None:
    """A-5: ``2 sqrt(P + 1/4)`` suffices, ``2 / rho`` is the exact need."""
    primes = first_primes(n)

    assert least_gap(n, gmpy2.mpq(n) * gmpy2.mpq(small_scale(primes))) / n >= 2 * (1 - 1e-15)
    assert float(least_gap(n, gmpy2.mpq(n) * gmpy2.mpq(2 / separation(primes))) / n) == pytest.approx(2, rel=1e-8)


def test_the_exact_need_is_that_of_the_table() -> None:
    found = [2 / separation(first_primes(n)) for n in range(1, 11)]

    assert found == pytest.approx(NEED, rel=5e-3)
    assert [printed_scale(first_primes(n)) for n in range(1, 7)] == [6, 18, 90, 630, 6930, 90090]


@pytest.mark.parametrize("n", range(1, 9))
def test_rho_is_that_of_the_vectors(n: int) -> None:
    vector, primes = VECTORS["thm2_scale"][str(n)], first_primes(n)

    assert prime_product(primes) == vector["P"]
    assert math.log1p(float(closest_ratio(primes) - 1)) == pytest.approx(vector["rho"], rel=1e-9)
    assert separation(primes) == pytest.approx(vector["rho"], rel=1e-9)


def test_the_closed_form_is_almost_tight_for_some_n() -> None:
    """Within 1.4 % of the need for N = 2, 3, 4, 7."""
    for n in (2, 3, 4, 7):
        primes = first_primes(n)
        assert 1 <= small_scale(primes) * separation(primes) / 2 < 1.014


def test_the_closed_form_never_exceeds_the_printed_scale_over_n() -> None:
    """A-6: ``3 P / N >= 2 sqrt(P + 1/4)``, so that separation survives the missing factor N."""
    for n in range(1, 40):
        product = int(prime_product(first_primes(n)))
        assert (3 * product) ** 2 >= 4 * n * n * (product + 1 / 4)


def test_the_rounding_decoder_does_not_survive_the_missing_factor_n() -> None:
    """A-6: N = 2, P = 6, all labels 1: noise tau moves N times the mean by N tau, and 6 exp(2 / 18) rounds to 7."""
    product, n = 6, 2
    read = [
        int(nearest_integer(math.log(product) + n / scale, 2 * product, bits=80))
        for scale in (3 * product, 3 * product * n)
    ]

    assert read == [7, 6]


def test_a_bounded_loss_holds_the_gaps_only_while_they_fit_its_span() -> None:
    """``3 N P tau ln p_m < L``: for the squared error at N = 200, tau = 1e-4 two labels a query fit, three do not."""
    data = LabelSet(labels=np.arange(200) % 2, class_names=("0", "1"), title="", provenance="made")
    channel = ScoreChannel(loss=SquaredEuclidean(), scorer="exact")
    attack = LogPrimes(tau=1e-4)
    design = attack.design(channel.threat(Setting(data=data, attack=attack)))

    assert 3 * 200 * 6 * 1e-4 * math.log(3) < 1 < 3 * 200 * 30 * 1e-4 * math.log(5)
    assert design.n_labels == 2
    assert float(design.unit) == pytest.approx(3 * 200 * 6 * 1e-4)
