"""S19, ICML 2021, Lemma 3: the n-th prime is asymptotic to n ln n."""

from __future__ import annotations

import numpy as np

from labelinf_scores.constructions.primes import first_primes


def test_the_nth_prime_lies_between_the_bounds_that_imply_it() -> None:
    """``ln n + ln ln n - 1 < p_n / n < ln n + ln ln n`` for 6 <= n <= 100 000: the quotient with ln n tends to one."""
    primes = first_primes(100_000)
    n = np.arange(6, len(primes) + 1)
    lower, upper = np.log(n) + np.log(np.log(n)) - 1, np.log(n) + np.log(np.log(n))

    assert (primes[5:] > n * lower).all()
    assert (primes[5:] < n * upper).all()


def test_the_quotient_falls_towards_one() -> None:
    primes = first_primes(100_000)
    quotients = [primes[n - 1] / (n * np.log(n)) for n in (100, 1_000, 10_000, 100_000)]

    assert quotients == sorted(quotients, reverse=True)
    assert 1 < quotients[-1] < 1.13


def test_the_worked_example() -> None:
    assert first_primes(10_000)[-1] == 104_729
    assert round(10_000 * np.log(10_000)) == 92_103
