from __future__ import annotations

import gmpy2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelinf_scores.arithmetic import make_arithmetic
from labelinf_scores.metrics.itakura_saito import hyperbolic_root

DOUBLES = make_arithmetic("float64")


@pytest.mark.long
@settings(max_examples=200)
@given(value=st.floats(0, 1e300))
def test_newton_finds_the_root_in_doubles(value: float) -> None:
    with DOUBLES.context():
        t = float(hyperbolic_root(DOUBLES.convert(value), DOUBLES))
    with gmpy2.context(precision=2000):
        exact = 2 * gmpy2.sinh(gmpy2.mpfr(t)) - gmpy2.mpfr(t)

    # The root moves by dt when the value moves by (2 cosh t - 1) dt: t itself is known to a few units of its place.
    assert abs(exact - value) <= (value + 1) * (4 + t) * 2.0**-52


@pytest.mark.parametrize("bits", [60, 400, 3000])
def test_newton_finds_the_root_to_any_precision(bits: int) -> None:
    numbers = make_arithmetic("exact").at_precision(bits)
    with numbers.context():
        values = numbers.convert([0.0, 0.5, 3.0, 1e9])
        t = hyperbolic_root(values, numbers)
    with gmpy2.context(precision=2 * bits):
        for root, value in zip(t, values, strict=True):
            assert abs(2 * gmpy2.sinh(root) - root - value) <= (value + 1) * gmpy2.exp2(8 - bits)


@pytest.mark.parametrize("name", ["float32", "bfloat16", "float16"])
def test_newton_stops_in_every_format(name: str) -> None:
    numbers = make_arithmetic(name)
    with numbers.context():
        t = np.asarray(hyperbolic_root(numbers.convert(np.linspace(0, 90, 200)), numbers), dtype=float)

    assert np.allclose(2 * np.sinh(t) - t, np.linspace(0, 90, 200), rtol=0.05, atol=0.05)
