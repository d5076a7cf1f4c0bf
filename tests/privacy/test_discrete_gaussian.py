"""The discrete Gaussian: its law, and that nothing but whole numbers decides it.

Statistical tests use one fixed seed each; a correct sampler would fail one with probability below 1e-4 for a seed
chosen at random.
"""

from __future__ import annotations

import ast
import inspect
import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats

from labelinf_privacy.noise import discrete_gaussian as module
from labelinf_privacy.noise.discrete_gaussian import DiscreteGaussian, discrete_gaussian
from labelinf_privacy.words import SeededWords, SystemWords


@pytest.mark.long
@pytest.mark.parametrize("variance", [Fraction(1, 4), Fraction(1), Fraction(7, 3), Fraction(30)])
def test_the_law_is_that_of_its_definition(variance: Fraction) -> None:
    size, source = 1500, SeededWords(np.random.default_rng(3))
    drawn = [discrete_gaussian(variance, source) for _ in range(size)]
    reach = math.ceil(8 * math.sqrt(variance)) + 1
    chances = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * float(variance)))
    expected = size * chances / chances.sum()
    counts = np.bincount(np.array(drawn) + reach, minlength=2 * reach + 1)
    often = expected >= 5
    table = np.array([[*part[often], part[~often].sum()] for part in (counts, expected)])
    assert scipy.stats.chisquare(*table).pvalue > 1e-4


def test_large_variances_are_normal_and_exact() -> None:
    """Of 2**140 steps no float knows the last ones: all of them are as likely."""
    variance, source = Fraction(1 << 140), SeededWords(np.random.default_rng(4))
    drawn = [discrete_gaussian(variance, source) for _ in range(500)]
    assert scipy.stats.kstest(np.array(drawn, dtype=float) / 2.0**70, "norm").pvalue > 1e-4
    assert scipy.stats.binomtest(sum(value % 2 for value in drawn), 500).pvalue > 1e-4


def test_nothing_but_whole_numbers_decides() -> None:
    """No float is written, and none comes of what is called, in what draws."""
    for name in ("discrete_gaussian", "_laplace", "_decays", "_below"):
        tree = ast.parse(inspect.getsource(getattr(module, name)))
        assert not any(isinstance(node, ast.Constant) and isinstance(node.value, float) for node in ast.walk(tree))
        called = {
            node.func.attr for node in ast.walk(tree) if isinstance(node, ast.Call) and hasattr(node.func, "attr")
        }
        assert called <= {"isqrt", "floor", "bit_length", "words", "astype", "tobytes", "from_bytes"}
    assert type(discrete_gaussian(Fraction(10**9, 7), SystemWords())) is int


@pytest.mark.long
def test_a_model_is_the_same_law_on_a_grid() -> None:
    model = DiscreteGaussian(scale=0.01, step=0.001)
    drawn = model.sample(np.random.default_rng(5), 1000)
    assert np.abs(drawn / 0.001 - np.rint(drawn / 0.001)).max() < 1e-9
    assert drawn.std() == pytest.approx(model.std, rel=0.1)
    assert np.mean(np.abs(drawn) > model.tail(0.1)) <= 0.1
    assert model.grid == 0.001
    assert model.bound == math.inf
