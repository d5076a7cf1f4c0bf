"""S39, AISTATS 2022, Corollary 2: log-prime gaps fit into bounded losses."""

from __future__ import annotations

import itertools

import gmpy2
import numpy as np
import pytest

from labelinf_papers.constructions.log_primes import closest_ratio, log_prime_gaps
from labelinf_scores.arithmetic import make_arithmetic
from labelinf_scores.constructions.primes import first_primes
from labelinf_scores.metrics.additive import AdditiveLoss
from labelinf_scores.metrics.norm_like import NormLike
from labelinf_scores.metrics.squared_euclidean import SquaredEuclidean

NUMBERS = make_arithmetic("exact").at_precision(200)


def separation_of(loss: AdditiveLoss, theta: np.ndarray) -> gmpy2.mpfr:
    n = len(theta)
    with NUMBERS.context():
        scores = sorted(loss.score(np.array(sigma), theta, NUMBERS) for sigma in itertools.product((0, 1), repeat=n))
        return min(upper - lower for lower, upper in itertools.pairwise(scores))


@pytest.mark.parametrize("n", range(1, 10))
def test_squared_error_as_printed_is_separated_by_rho_over_n_squared(n: int) -> None:
    primes = first_primes(n)
    with NUMBERS.context():
        theta = np.array([(1 - gmpy2.log(gmpy2.mpfr(int(p))) / n) / 2 for p in primes], dtype=object)
        rho = gmpy2.log(gmpy2.mpfr(closest_ratio(primes)))

        assert abs(separation_of(SquaredEuclidean(), theta) - rho / n**2) < gmpy2.exp2(-180)


@pytest.mark.parametrize(("alpha", "n"), [(2.0, 4), (3.0, 4), (3.5, 3)])
def test_norm_like_as_printed_is_separated(alpha: float, n: int) -> None:
    """``(1 - t)**(alpha - 1) - t**(alpha - 1) = ln p_i / (N alpha)``: gaps ln p_i / N of the loss."""
    primes, loss = first_primes(n), NormLike(alpha=alpha)
    with NUMBERS.context():
        theta = loss.prediction(log_prime_gaps(primes, gmpy2.mpq(1, n), NUMBERS), NUMBERS)
        wanted = [gmpy2.log(gmpy2.mpfr(int(p))) / (n * gmpy2.mpfr(alpha)) for p in primes]
        printed = [(1 - t) ** gmpy2.mpfr(alpha - 1) - t ** gmpy2.mpfr(alpha - 1) for t in theta]
        rho = gmpy2.log(gmpy2.mpfr(closest_ratio(primes)))

        assert all(abs(a - b) < gmpy2.exp2(-150) for a, b in zip(printed, wanted, strict=True))
        assert abs(separation_of(loss, theta) - rho / n**2) < gmpy2.exp2(-150)


def test_the_gaps_fit_because_the_nth_prime_is_below_two_to_the_n() -> None:
    """p_i <= 2**i, hence ln p_i < N for every i <= N: within the span 1 of the squared error, alpha of the others."""
    assert all(int(prime) <= 2**i for i, prime in enumerate(first_primes(2_000), start=1))


def test_the_worked_example() -> None:
    """N = 2, squared error: least gap ln(3/2) / 4."""
    with NUMBERS.context():
        theta = np.array([(1 - gmpy2.log(gmpy2.mpfr(p)) / 2) / 2 for p in (2, 3)], dtype=object)

    assert float(separation_of(SquaredEuclidean(), theta)) == pytest.approx(0.101366, abs=1e-6)
