"""S43, AISTATS 2022, equations 4 and 5 and Theorem 3: weights for K classes; erratum A-9 and a narrower range."""

from __future__ import annotations

import itertools

import gmpy2
import numpy as np
import pytest

from labelinf_papers.set_valued import separation
from labelinf_scores.arithmetic import make_arithmetic
from labelinf_scores.constructions.class_rows import class_rows
from labelinf_scores.constructions.powers import class_exponents
from labelinf_scores.constructions.weights import superincreasing
from labelinf_scores.metrics.log_loss import LogLoss

NUMBERS = make_arithmetic("exact").at_precision(200)
SMALL = [(n, k) for n in (1, 2, 3) for k in (2, 3, 4)]


def exponents(n_records: int, n_classes: int, first: int = 1) -> list[list[int]]:
    """``2**((n - 1) K + k)``, k counted from ``first``."""
    return [[2 ** (n * n_classes + k + first) for k in range(n_classes)] for n in range(n_records)]


def sums(rows: list[list[int]]) -> list[int]:
    """The sum of every labelling."""
    return [sum(choice) for choice in itertools.product(*rows)]


def mixed_radix(n_records: int, n_classes: int) -> list[list[int]]:
    """Costs ``k K**j``, in units of ``2 N tau``."""
    return [[k * weight for k in range(n_classes)] for weight in superincreasing(n_records, n_classes)]


@pytest.mark.parametrize(("n", "k"), SMALL)
def test_classes_from_one_on_separate_by_two_tau_ln_three(n: int, k: int) -> None:
    """A sum counts N tau ln 3, and the score is the mean."""
    rows = exponents(n, k)
    assert class_exponents(n, k).tolist() == rows
    assert separation(sums(rows)) == 2


@pytest.mark.parametrize(("n", "k"), [(1, 4), (2, 3), (3, 2)])
def test_normalised_rows_score_so_under_the_log_loss(n: int, k: int) -> None:
    tau = gmpy2.mpq(1, 50)
    with NUMBERS.context():
        unit = n * tau * gmpy2.log(3)
        costs = np.array([[-unit * e for e in row] for row in exponents(n, k)], dtype=object)
        theta = class_rows(LogLoss(), costs, NUMBERS)
        assert all(abs(sum(row) - 1) < 1e-50 for row in theta)
        scores = [LogLoss().score(np.array(labels), theta, NUMBERS) for labels in itertools.product(range(k), repeat=n)]
        assert abs(separation(scores) - 2 * tau * gmpy2.log(3)) < 1e-40


def test_the_labels_of_equation_4_put_into_equation_13_halve_the_separation() -> None:
    """A-9: N = 1, K = 2, labels 0 and 1: exponents 1 and 2, so tau ln 3 = 0.549 * 2 tau."""
    apart = separation(sums(exponents(1, 2, first=0)))
    assert apart == 1
    assert apart * float(gmpy2.log(3)) / 2 == pytest.approx(0.549, abs=5e-4)


@pytest.mark.parametrize(("n", "k"), SMALL)
def test_every_size_suffers_from_the_clash(n: int, k: int) -> None:
    assert separation(sums(exponents(n, k, first=0))) == 1


@pytest.mark.parametrize(("n", "k"), SMALL)
def test_mixed_radix_names_every_labelling_in_the_least_range(n: int, k: int) -> None:
    """K**N sums one unit apart range over K**N - 1 units or more; these are 0, 1, ..., K**N - 1."""
    assert sorted(sums(mixed_radix(n, k))) == list(range(k**n))


def test_nothing_narrower_exists_in_whole_units() -> None:
    """K = 3, N = 2, every pair of rows (0, a, b) with costs up to 7 = K**N - 2 in all: two sums meet."""
    pairs = list(itertools.product(range(8), repeat=2))
    for (a, b), (c, d) in itertools.product(pairs, repeat=2):
        if max(a, b) + max(c, d) <= 7:
            assert separation(sums([[0, a, b], [0, c, d]])) == 0


def test_the_worked_ranges() -> None:
    """K = 4, N = 3, in units of N tau (times ln 3 as printed): 3822 against 2 (K**N - 1) = 126."""
    printed, optimal = sums(exponents(3, 4)), sums(mixed_radix(3, 4))
    assert max(printed) - min(printed) == 3822
    assert 2 * (max(optimal) - min(optimal)) == 126
