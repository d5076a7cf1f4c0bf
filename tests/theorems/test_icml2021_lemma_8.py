"""S24, ICML 2021, Lemma 8: P(|Y| > t) <= 2 exp(-min(t^2/lambda^2, t/nu) / 2) for Y in subE(lambda^2, nu)."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import scipy.stats

from labelinf_privacy.noise.sub_exponential import tail_probability

#: name, log of the moment generating function at s, P(|Y| > t), lambda^2, nu
CASES: list[tuple[str, Callable[[float], float], Callable[[float], float], float, float]] = [
    ("laplace", lambda s: -math.log1p(-s * s), lambda t: math.exp(-t), 4 * math.log(2), math.sqrt(2)),
    ("sign", lambda s: math.log(math.cosh(s)), lambda t: float(t < 1), 1.0, 0.1),
    ("normal", lambda s: s * s / 2, lambda t: math.erfc(t / math.sqrt(2)), 1.0, 0.01),
    (
        "chi-square",
        lambda s: -s - math.log1p(-2 * s) / 2,
        lambda t: float(scipy.stats.chi2.sf(1 + t, 1) + scipy.stats.chi2.cdf(1 - t, 1)),
        4.0,
        4.0,
    ),
    (
        "uniform",
        lambda s: math.log(math.sinh(s) / s) if s else 0.0,
        lambda t: max(0.0, 1 - t),
        1 / 3,
        0.1,
    ),
]


@pytest.mark.parametrize(("name", "log_mgf", "tail", "lambda_squared", "nu"), CASES, ids=[case[0] for case in CASES])
def test_the_tail_is_bounded(
    name: str, log_mgf: Callable[[float], float], tail: Callable[[float], float], lambda_squared: float, nu: float
) -> None:
    for step in range(-999, 1000, 3):
        s = step / 1000 / nu
        assert log_mgf(s) <= lambda_squared * s * s / 2 * (1 + 1e-9) + 1e-12, name  # it is sub-exponential
    for step in range(1, 2000):
        t = step / 40
        assert tail(t) <= tail_probability(lambda_squared, nu, t), (name, t)


def test_the_worked_number() -> None:
    assert tail_probability(4.0, 4.0, 23.9659) == pytest.approx(0.1, abs=1e-5)
