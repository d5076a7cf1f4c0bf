"""S25, ICML 2021, Theorem 10: the threshold of sub-exponential noise is too small as printed (erratum I-17)."""

from __future__ import annotations

import itertools
import math

import gmpy2
import pytest
from scipy.stats import chi2

from labelinf_privacy.noise.chi_square import ChiSquare
from labelinf_privacy.noise.sub_exponential import printed_threshold, tail_probability, threshold

LAPLACE = (4 * math.log(2), math.sqrt(2))  # lambda^2 and nu of Laplace noise of scale 1


def test_printed_form_fails_for_laplace_noise() -> None:
    # P(|Y| > t) = e**-t: the noise exceeds the printed threshold with probability more than delta.
    with gmpy2.context(precision=200):
        delta = gmpy2.exp(-39)
        printed = 2 * (gmpy2.sqrt(4 * gmpy2.log(2)) + gmpy2.sqrt(2)) * gmpy2.sqrt(gmpy2.log(2) + 39)
        assert abs(printed - gmpy2.mpfr("38.801")) < 1e-3
        assert gmpy2.exp(-printed) > delta
    assert printed_threshold(*LAPLACE, math.exp(-39)) == pytest.approx(float(printed), rel=1e-12)


def test_the_slack_of_base_three_does_not_save_the_main_text() -> None:
    # Algorithm 2 survives ln 3 times what it is asked for; at delta = e**-50 even that falls short.
    survived = math.log(3) * printed_threshold(*LAPLACE, math.exp(-50))
    assert survived == pytest.approx(48.17, abs=5e-3)
    assert survived < 50


def test_the_papers_own_example_falls_short_of_its_own_lemma() -> None:
    assert printed_threshold(4.0, 4.0, 0.1) == pytest.approx(20.77, abs=5e-3)
    assert threshold(4.0, 4.0, 0.1) == pytest.approx(23.97, abs=5e-3)
    assert tail_probability(4.0, 4.0, printed_threshold(4.0, 4.0, 0.1)) > 0.1


@pytest.mark.parametrize("nu", [0.25, 1.0, 4.0])
@pytest.mark.parametrize("lambda_squared", [0.25, 1.0, 4.0])
def test_the_printed_form_suffices_exactly_up_to_the_repaired_condition(lambda_squared: float, nu: float) -> None:
    limit = (1 + math.sqrt(lambda_squared) / nu) ** 2
    for step in range(1, 200):
        needed = step / 4
        delta = 2 * math.exp(-needed)
        dominates = printed_threshold(lambda_squared, nu, delta) >= 2 * nu * needed * (1 - 1e-12)
        assert dominates == (needed <= limit * (1 + 1e-12))


def test_the_repaired_threshold_holds_for_laplace_noise() -> None:
    for exponent in range(1, 600):
        assert threshold(*LAPLACE, math.exp(-exponent)) >= exponent


@pytest.mark.parametrize("lambda_squared", [0.5, 4.0])
@pytest.mark.parametrize("nu", [0.3, 4.0])
def test_the_repaired_threshold_inverts_the_lemma(lambda_squared: float, nu: float) -> None:
    for exponent in range(1, 100):
        delta = math.exp(-exponent)
        assert tail_probability(lambda_squared, nu, threshold(lambda_squared, nu, delta)) <= delta * (1 + 1e-9)


def test_chi_square_must_be_centred_and_its_variance_proxy_is_four() -> None:
    # ln E exp(s (Z^2 - 1)) = -s - ln(1 - 2s) / 2, against lambda^2 s^2 / 2.
    with gmpy2.context(precision=120):
        values = [
            (gmpy2.mpq(k, 400), -gmpy2.mpq(k, 400) - gmpy2.log(1 - gmpy2.mpq(k, 200)) / 2) for k in range(-99, 100)
        ]
        assert all(log_mgf <= 2 * s * s for s, log_mgf in values)
        assert any(log_mgf > s * s for s, log_mgf in values)  # subE(2, 4) as printed
        assert any(log_mgf + s > 2 * s * s for s, log_mgf in values)  # Z^2 itself, whose mean is 1
    for degrees, delta in itertools.product((1, 3), (0.3, 1e-3, 1e-9)):
        tau, law = ChiSquare(degrees=degrees, scale=0.5).tail(delta) / 0.5, chi2(degrees)
        assert law.sf(degrees + tau) + law.cdf(degrees - tau) <= delta
