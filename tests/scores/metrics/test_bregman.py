from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from labelinf_core.contracts.errors import InputError
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_scores.arithmetic import make_arithmetic
from labelinf_scores.metrics.bregman import Bregman
from labelinf_scores.metrics.log_loss import LogLoss
from labelinf_scores.metrics.norm_like import NormLike
from labelinf_scores.metrics.squared_euclidean import SquaredEuclidean

DOUBLES = make_arithmetic("float64")
THETA = np.random.default_rng(0).random(40)

SOURCE = """
def cube(x, numbers):
    return x**3 + (1 - x)**3

def cube_slope(x, numbers):
    return 3 * x**2 - 3 * (1 - x)**2

not_a_function = 3
"""


@pytest.fixture
def generators(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "mygenerators.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    return "mygenerators"


def test_the_square_generates_the_squared_euclidean_loss() -> None:
    assert np.allclose(Bregman(generator="square").costs(THETA, DOUBLES), SquaredEuclidean().costs(THETA, DOUBLES))


def test_the_negative_entropy_generates_the_log_loss() -> None:
    assert np.allclose(Bregman(generator="entropy").costs(THETA, DOUBLES), LogLoss().costs(THETA, DOUBLES))


def test_ones_own_generator_is_imported(generators: str) -> None:
    """x**3 + (1 - x)**3 generates the norm-like loss of order 3."""
    loss = Bregman(generator=f"{generators}:cube", derivative=f"{generators}:cube_slope")

    assert np.allclose(loss.costs(THETA, DOUBLES), NormLike(alpha=3.0).costs(THETA, DOUBLES))
    assert loss.span(0.01) == pytest.approx(2.94)
    wanted = np.linspace(-2.9, 2.9, 7)
    assert np.allclose(loss.prediction(wanted, DOUBLES), NormLike(alpha=3.0).prediction(wanted, DOUBLES))


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("bregman(generator=cosh)", "generator='cosh' must be square, entropy or module:function"),
        ("bregman(generator='a:b')", "derivative='' must be module:function beside a generator of one's own"),
        ("bregman(derivative='a:b')", "derivative='a:b' must be module:function beside a generator of one's own"),
        (
            "bregman(generator='absent:phi', derivative='absent:slope')",
            "'absent:phi' cannot be imported: there is no",
        ),
        ("bregman(generator='math:pi', derivative='math:sin')", r"'math:pi' is not a function"),
    ],
)
def test_a_bad_generator_is_one_sentence(written: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Builder(Host.load()).build(Kind.LOSS, written, "suite.toml: losses[0]")
