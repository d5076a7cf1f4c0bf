"""S37, AISTATS 2022, Theorem 1: gaps of exactly 2**i N tau separate by 2 tau, for every g-decomposable loss."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction
from pathlib import Path

import gmpy2
import numpy as np
import pytest

from labelinf_papers.set_valued import separation
from labelinf_scores.arithmetic import make_arithmetic
from labelinf_scores.constructions.powers import power_gaps
from labelinf_scores.decoders.superincreasing import greedy_decode, margin
from labelinf_scores.metrics.additive import AdditiveLoss
from labelinf_scores.metrics.itakura_saito import ItakuraSaito
from labelinf_scores.metrics.log_loss import LogLoss
from labelinf_scores.metrics.norm_like import NormLike
from labelinf_scores.metrics.squared_euclidean import SquaredEuclidean

NUMBERS = make_arithmetic("exact").at_precision(260)
VECTOR = json.loads((Path(__file__).parent / "vectors.json").read_text())["constr1_KL_N3_tau0.1"]


def scores_of(loss: AdditiveLoss, theta: object, n: int) -> list[gmpy2.mpfr]:
    labellings = itertools.product((0, 1), repeat=n)
    return [loss.score(np.array(labels), theta, NUMBERS) for labels in labellings]


def subset_sums(gaps: tuple[Fraction | int, ...]) -> list[Fraction]:
    labellings = itertools.product((0, 1), repeat=len(gaps))
    return [Fraction(sum(g for g, k in zip(gaps, x, strict=True) if k)) for x in labellings]


@pytest.mark.parametrize("n", range(1, 9))
def test_equality_separates_by_exactly_two_tau(n: int) -> None:
    tau = Fraction(1, 7)
    gaps = tuple(2**i * n * tau for i in range(1, n + 1))
    assert separation(subset_sums(gaps)) / n == 2 * tau


@pytest.mark.parametrize("loss", [LogLoss(), ItakuraSaito(), SquaredEuclidean(), NormLike(alpha=3.0)], ids=str)
def test_every_loss_of_the_paper_attains_it(loss: AdditiveLoss) -> None:
    """tau = 1/256, N = 4: the widest gap 2**4 N tau = 1/4 is within reach of the bounded losses too."""
    n, tau = 4, gmpy2.mpq(1, 256)
    gaps = NUMBERS.convert(np.array([2**i * n * tau for i in range(1, n + 1)], dtype=object))
    with NUMBERS.context():
        theta = loss.prediction(gaps, NUMBERS)
        assert abs(separation(scores_of(loss, theta, n)) - 2 * tau) < 1e-40


def test_superincreasing_gaps_are_enough_and_decoded_greedily() -> None:
    rng = np.random.default_rng(0)
    for _ in range(30):
        n, tau = int(rng.integers(1, 7)), Fraction(1, 3)
        gaps: list[Fraction] = []
        for extra in rng.integers(0, 5, size=n):
            gaps.append(2 * n * tau + sum(gaps) + int(extra))
        assert separation(subset_sums(tuple(gaps))) / n >= 2 * tau
        costs = [[Fraction(0), gap] for gap in gaps]
        assert margin(costs) >= n * tau
        for labels in itertools.product((0, 1), repeat=n):
            total = sum(g for g, k in zip(gaps, labels, strict=True) if k)
            for noise in (-n * tau, n * tau):
                assert greedy_decode(costs, total + noise * Fraction(999, 1000)) == list(labels)


def test_larger_gaps_than_the_printed_ones_may_collide() -> None:
    """Erratum A-1: N = 2, tau = 1 asks for gaps above 4 and 8; (9, 9) are, and 10 and 01 score the same."""
    assert separation(subset_sums((9, 9))) == 0
    assert separation(subset_sums((1, 1))) == 0  # tau = 0: "gaps above 0 suffice"


def test_some_deterministic_function_has_no_separating_prediction() -> None:
    """Erratum A-1, the existential reading: g = 9 where theta < 1/2 and 0 elsewhere has gaps -9, 0 and 9 only."""

    def gap(theta: Fraction) -> int:
        return 9 * (theta < Fraction(1, 2)) - 9 * (1 - theta < Fraction(1, 2))

    reachable = {gap(Fraction(k, 10)) for k in range(1, 10)}
    assert reachable == {-9, 0, 9}
    assert all(separation(subset_sums(pair)) == 0 for pair in itertools.product(reachable, repeat=2))


def test_the_worked_numbers() -> None:
    gaps = power_gaps(3, n_records=3, tau=0.1)
    numbers = make_arithmetic("float64")
    theta = LogLoss().prediction(gaps, numbers)
    assert gaps.tolist() == pytest.approx(VECTOR["d"])
    assert theta.tolist() == pytest.approx(VECTOR["theta"])
    scores = [LogLoss().score(np.array(x), theta, numbers) for x in itertools.product((0, 1), repeat=3)]
    assert scores == pytest.approx(VECTOR["losses_lex"])
