"""T9c: right guesses under (eps, delta)-label-DP, against linear programmes in exact arithmetic.

A mechanism that answers with r guesses about m labels can be made symmetric: labels and guesses are relabelled by
public random permutations of the classes, records by one of the records. Then it is the law of how many guesses are
wrong, and privacy is one linear inequality; so the most probable tail of any mechanism is a small linear programme.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from math import comb

import pytest

from labelinf_core.statistics import epsilon_bounds
from labelinf_core.statistics.one_run import Neighbour, OfWrong, tail_probability
from labelinf_core.statistics.profiles import ApproximateProfile

ODDS = (Fraction(1), Fraction(3, 2), Fraction(4))  # e**eps
DELTAS = (Fraction(1, 1000), Fraction(1, 100), Fraction(1, 10))


def most(gains: list[Fraction], rows: list[list[Fraction]], limits: list[Fraction]) -> Fraction:
    """The simplex method with Bland's rule: max ``gains x`` over ``rows x <= limits``, x >= 0, with limits >= 0."""
    n = len(gains)
    slack = [[Fraction(int(i == j)) for j in range(len(rows))] for i in range(len(rows))]
    table = [[*row, *extra, limit] for row, extra, limit in zip(rows, slack, limits, strict=True)]
    costs = [*(-gain for gain in gains), *[Fraction(0)] * (len(rows) + 1)]
    basis = [n + i for i in range(len(rows))]
    while (column := next((j for j, cost in enumerate(costs[:-1]) if cost < 0), None)) is not None:
        _, _, pivot = min((row[-1] / row[column], basis[i], i) for i, row in enumerate(table) if row[column] > 0)
        table[pivot] = [value / table[pivot][column] for value in table[pivot]]
        for row in (*(row for i, row in enumerate(table) if i != pivot), costs):
            if factor := row[column]:
                row[:] = [a - factor * b for a, b in zip(row, table[pivot], strict=True)]
        basis[pivot] = column
    return costs[-1]


def programme(v: int, r: int, m: int, k: int, odds: Fraction, delta: Fraction, *, wrong: bool) -> Fraction:
    """The largest probability that v or more of r guesses are right (wrong) under any (ln odds, delta)-label-DP.

    Variables: the probability of each number w of wrong guesses, then by how much an answer exceeds ``odds`` times what
    its neighbour gives it, where the label that differs is guessed right before, and where it is guessed right after.
    """
    size = 3 * r + 1
    each = [comb(r, w) * (k - 1) ** w for w in range(r + 1)]  # answers with w wrong guesses, which are all alike
    rows, limits = [], []
    for side, w in itertools.product(range(2), range(r)):
        row, near = [Fraction(0)] * size, comb(r - 1, w) * (k - 1) ** w
        before, after = (w, w + 1) if side == 0 else (w + 1, w)
        row[before] += Fraction(near, each[before])
        row[after] -= odds * Fraction(near, each[after])
        row[r + 1 + side * r + w] = Fraction(-1)
        rows.append(row)
        limits.append(Fraction(0))
    rows.append([*[Fraction(0)] * (r + 1), *[Fraction(r, m)] * (2 * r)])  # a label is among those guessed: r / m
    limits.append(delta)
    rows.append([*[Fraction(1)] * (r + 1), *[Fraction(0)] * (2 * r)])  # what is missing answers at random
    limits.append(Fraction(1))
    counted = range(v, r + 1) if wrong else range(r - v + 1)
    return most([Fraction(int(w in counted)) for w in range(size)], rows, limits)


def binomial(n: int, k: int, p: Fraction) -> Fraction:
    return comb(n, k) * p**k * (1 - p) ** (n - k) if 0 <= k <= n else Fraction(0)


def tail(n: int, k: int, p: Fraction) -> Fraction:
    return sum((binomial(n, i, p) for i in range(max(k, 0), n + 1)), Fraction(0))


def printed(v: int, r: int, m: int, odds: Fraction, delta: Fraction) -> Fraction:
    p = odds / (odds + 1)
    return tail(r, v, p) + m * delta * max(2 * (tail(r, v - i, p) - tail(r, v, p)) / i for i in range(1, m + 1))


def repaired(v: int, r: int, m: int, others: Fraction, odds: Fraction, delta: Fraction) -> Fraction:
    p = odds / (odds + others)
    told = sum((max(binomial(r - j, v - 1 - w, p) for w in range(j)) for j in range(1, r + 1)), Fraction(0))
    return tail(r, v, p) + (1 - p) * delta * Fraction(m, r) * told


def cases(largest: int) -> Iterator[tuple[int, int, int, Fraction, Fraction]]:
    for r in range(1, largest + 1):
        yield from itertools.product(range(1, r + 1), (r,), (r, r + 2), ODDS, DELTAS)


def test_as_printed_it_is_false_of_three_labels() -> None:
    """Enumerated: a (0, 1/100)-label-DP mechanism that answers with three guesses, one right with 707/800."""
    of_wrong = [Fraction(count, 800) for count in (101, 303, 303, 93)]
    answers = [*itertools.product((0, 1), repeat=3)]

    def law(labels: tuple[int, ...]) -> list[Fraction]:
        wrong = [sum(a != b for a, b in zip(labels, answer, strict=True)) for answer in answers]
        return [of_wrong[w] / comb(3, w) for w in wrong]

    for labels in answers:
        assert sum(law(labels)) == 1
        for i in range(3):
            neighbour = tuple(1 - label if j == i else label for j, label in enumerate(labels))
            excess = [max(a - b, Fraction(0)) for a, b in zip(law(labels), law(neighbour), strict=True)]
            assert sum(excess) <= Fraction(1, 100)

    assert 1 - of_wrong[3] == Fraction(707, 800)
    assert printed(1, 3, 3, Fraction(1), Fraction(1, 100)) == Fraction(353, 400) < Fraction(707, 800)
    assert programme(1, 3, 3, 2, Fraction(1), Fraction(1, 100), wrong=False) == Fraction(707, 800)
    assert repaired(1, 3, 3, Fraction(1), Fraction(1), Fraction(1, 100)) == Fraction(707, 800)
    assert epsilon_bounds._p_value_delta(1, 3, 0.0, 0.01, 1.0, 3) == pytest.approx(707 / 800)


def test_as_printed_it_is_too_small_for_few_right_guesses() -> None:
    short = [
        programme(v, r, m, 2, odds, delta, wrong=False) - min(printed(v, r, m, odds, delta), Fraction(1))
        for v, r, m, odds, delta in cases(4)
    ]

    assert len(short) == 180
    assert sum(gap > 0 for gap in short) == 41
    assert max(short) == Fraction(3, 125)  # 1 of 3 right, e^eps = 3/2, delta = 1/10
    assert epsilon_bounds._p_value_delta(1, 3, math.log(1.5), 0.1, 1.0, 3) > float(
        printed(1, 3, 3, Fraction(3, 2), Fraction(1, 10))
    )


@pytest.mark.parametrize("wrong", [False, True])
@pytest.mark.parametrize("k", [2, 3, 5])
def test_repaired_it_holds_of_every_mechanism(k: int, wrong: bool) -> None:
    others, factor = (Fraction(1, k - 1), k - 1) if wrong else (Fraction(k - 1), 1)
    exact = 0
    for v, r, m, odds, delta in cases(4):
        found = programme(v, r, m, k, odds, delta, wrong=wrong)
        bound = repaired(v, r, m, others, odds, factor * delta)
        assert found <= bound
        assert (
            found <= epsilon_bounds._p_value_delta(v, r, math.log(odds), float(factor * delta), float(others), m) + 1e-9
        )
        exact += found == bound
    assert exact > 0


@pytest.mark.parametrize("wrong", [False, True])
def test_the_code_computes_the_repaired_form(wrong: bool) -> None:
    for k, (v, r, m, odds, delta) in itertools.product((2, 3, 10), cases(6)):
        others, factor = (Fraction(1, k - 1), k - 1) if wrong else (Fraction(k - 1), 1)
        found = epsilon_bounds._p_value_delta(v, r, math.log(odds), float(factor * delta), float(others), m)
        assert found == pytest.approx(float(repaired(v, r, m, others, odds, factor * delta)), rel=1e-9)


@pytest.mark.parametrize("wrong", [False, True])
@pytest.mark.parametrize("k", [2, 4])
def test_the_bound_by_counts_holds_of_every_mechanism_too(k: int, wrong: bool) -> None:
    """T9b, of right and of wrong guesses, against the same programmes."""
    for v, r, m, odds, delta in cases(4):
        privacy: Neighbour = ApproximateProfile(math.log(odds), float(delta))
        found = tail_probability(v, r, OfWrong(privacy, k) if wrong else privacy, n_classes=k, n_canaries=m)
        assert programme(v, r, m, k, odds, delta, wrong=wrong) <= found + 1e-9
