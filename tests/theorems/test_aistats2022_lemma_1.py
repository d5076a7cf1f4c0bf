"""S35, AISTATS 2022, Lemma 1: Bregman losses add up over the records. Erratum A-4: the gradient is taken at theta."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gmpy2
import numpy as np
import pytest
from gmpy2 import mpq

from labelinf_scores.arithmetic import make_arithmetic
from labelinf_scores.metrics.bregman import Bregman

NUMBERS = make_arithmetic("exact").at_precision(200)
exp = gmpy2.exp
Point = tuple[Any, Any]

SOURCE = """
def disc(x, numbers):
    return x**2 + (1 - x)**2

def disc_slope(x, numbers):
    return 2 * x - 2 * (1 - x)

def exponential(x, numbers):
    return numbers.exp(x) + numbers.exp(2 * (1 - x))

def exponential_slope(x, numbers):
    return numbers.exp(x) - 2 * numbers.exp(2 * (1 - x))
"""

#: F on the square, and its gradient.
CONVEX: dict[str, tuple[Callable[[Point], Any], Callable[[Point], Point]]] = {
    "disc": (lambda p: p[0] ** 2 + p[1] ** 2, lambda p: (2 * p[0], 2 * p[1])),
    "exponential": (lambda p: exp(p[0]) + exp(2 * p[1]), lambda p: (exp(p[0]), 2 * exp(2 * p[1]))),
}


def divergence(name: str, p: Point, q: Point) -> Any:
    """D_F(p, q) = F(p) - F(q) - <grad F(q), p - q>, from its definition in the plane."""
    f, gradient = CONVEX[name]
    slope = gradient(q)
    return f(p) - f(q) - slope[0] * (p[0] - q[0]) - slope[1] * (p[1] - q[1])


def corner(label: int) -> Point:
    return (mpq(label), mpq(1 - label))


def printed_gap(name: str, theta: Any) -> Any:
    """N g(theta) of the printed proof: theta (a - b) + phi(1) - phi(0) - a, gradients a, b taken at the labels."""
    f, gradient = CONVEX[name]
    a, b = (gradient(corner(label))[0] - gradient(corner(label))[1] for label in (1, 0))
    return theta * (a - b) + f(corner(1)) - f(corner(0)) - a


@pytest.fixture(params=CONVEX)
def name(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "generators_of_s35.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    return request.param


def loss_of(name: str) -> Bregman:
    return Bregman(generator=f"generators_of_s35:{name}", derivative=f"generators_of_s35:{name}_slope")


def test_the_score_of_every_labelling_is_the_mean_divergence(name: str) -> None:
    theta = [mpq(1, 4), mpq(1, 2), mpq(9, 10)]
    for labels in itertools.product((0, 1), repeat=3):
        score = loss_of(name).score(np.array(labels), np.array(theta, dtype=object), NUMBERS)
        with gmpy2.context(precision=300):
            pairs = zip(labels, theta, strict=True)
            direct = sum(divergence(name, corner(y), (x, 1 - x)) for y, x in pairs) / 3
            assert abs(score - direct) < gmpy2.exp2(-190)


def test_erratum_a4_the_printed_gap_is_another_number(name: str) -> None:
    theta = mpq(1, 4)
    with NUMBERS.context():
        costs = loss_of(name).costs(np.array([theta], dtype=object), NUMBERS)
        true = divergence(name, corner(1), (theta, 1 - theta)) - divergence(name, corner(0), (theta, 1 - theta))
        assert abs(costs[0, 1] - costs[0, 0] - true) < gmpy2.exp2(-190)
        printed = printed_gap(name, theta)

    expected = {"disc": (1, -1), "exponential": (3.00858, -1.76496)}[name]
    assert (float(true), float(printed)) == pytest.approx(expected, abs=1e-5)


def test_erratum_a4_the_printed_gap_is_that_of_minus_the_exchanged_divergence(name: str) -> None:
    with NUMBERS.context():
        for theta in (mpq(1, 10), mpq(1, 2), mpq(7, 9)):
            q = (theta, 1 - theta)
            exchanged = divergence(name, q, corner(0)) - divergence(name, q, corner(1))
            assert abs(printed_gap(name, theta) - exchanged) < gmpy2.exp2(-190)


def test_the_corrected_gap_can_be_inverted(name: str) -> None:
    loss = loss_of(name)
    with NUMBERS.context():
        wanted = NUMBERS.convert([mpq(-1, 2), mpq(0), mpq(5, 7)])
        costs = loss.costs(loss.prediction(wanted, NUMBERS), NUMBERS)
        assert np.all(abs(costs[:, 1] - costs[:, 0] - wanted) < gmpy2.exp2(-180))


def test_the_log_loss_is_covered_though_its_gradient_is_infinite_at_the_labels() -> None:
    """The printed a and b are infinite; the corrected gap phi(1) - phi(0) - phi'(theta) is the logit."""
    loss = Bregman(generator="entropy")
    with NUMBERS.context():
        costs = loss.costs(np.array([mpq(1, 5)], dtype=object), NUMBERS)
        assert abs(costs[0, 1] - costs[0, 0] - gmpy2.log(4)) < gmpy2.exp2(-190)
        assert NUMBERS.log(NUMBERS.convert([0]))[0] == -math.inf


def test_itakura_saito_is_not_covered() -> None:
    """Its generator, -ln x - ln(1 - x), is infinite at the corners, and so is the divergence from a hard label."""
    with NUMBERS.context():
        at_the_corner = -gmpy2.log(mpq(0)) - gmpy2.log(mpq(1))

    assert at_the_corner == math.inf
