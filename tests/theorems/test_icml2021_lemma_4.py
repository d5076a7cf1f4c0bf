"""S20, ICML 2021, Lemma 4: with v = 1 outside the first M rows only those rows matter; and erratum I-20."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import gmpy2
import numpy as np
import pytest

from labelinf_core.contracts.components import LabelSet, Setting
from labelinf_scores.arithmetic import make_arithmetic
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.game.oracle import ScoreOracle
from labelinf_scores.metrics.log_loss import LogLoss
from labelinf_scores.plans.probe import Probe

NUMBERS = make_arithmetic("exact").at_precision(150)


def score(sigma: tuple[int, ...], v: list[Fraction]) -> gmpy2.mpfr:
    predictions = np.array([gmpy2.mpq(value / (1 + value)) for value in v], dtype=object)
    with NUMBERS.context():
        return LogLoss().score(np.array(sigma), predictions, NUMBERS)


@pytest.mark.parametrize(
    "head", [[Fraction(3)], [Fraction(2), Fraction(7)], [Fraction(1, 5), Fraction(9), Fraction(4)]]
)
def test_the_constant_is_the_one_of_the_proof(head: list[Fraction]) -> None:
    """``((N - M) ln 2 + sum_j ln(1 + v_j)) / N``, for v below one as well."""
    n, m = 5, len(head)
    v = head + [Fraction(1)] * (n - m)

    for sigma in itertools.product((0, 1), repeat=n):
        with NUMBERS.context():
            product = gmpy2.mpq(
                math.prod((x for x, label in zip(head, sigma, strict=False) if label), start=Fraction(1))
            )
            constant = (n - m) * gmpy2.const_log2() + sum(gmpy2.log(gmpy2.mpq(1 + value)) for value in head)
            assert abs(score(sigma, v) - (constant - gmpy2.log(product)) / n) < gmpy2.exp2(-140)


def test_rows_outside_do_not_matter() -> None:
    v = [Fraction(3), Fraction(5), Fraction(1), Fraction(1)]
    by_head = {sigma: score(sigma, v) for sigma in itertools.product((0, 1), repeat=4)}

    assert all(by_head[sigma] == by_head[(*sigma[:2], 0, 0)] for sigma in by_head)
    assert len(set(by_head.values())) == 4


def test_the_worked_example() -> None:
    """N = 4, M = 1, v_1 = 3: the constant is (3 ln 2 + ln 4) / 4."""
    found = score((0, 1, 0, 1), [Fraction(3), Fraction(1), Fraction(1), Fraction(1)])

    assert float(found) == pytest.approx(0.866434, abs=1e-6)


def test_the_algorithms_mean_the_loss_as_a_function_of_v() -> None:
    """I-20: lines 5 and 9 of Algorithms 2 and 3 print L_u. Searching with u in place of v finds another labelling."""
    v = [Fraction(9), Fraction(81)]
    u = [value / (1 + value) for value in v]
    labellings = list(itertools.product((0, 1), repeat=2))
    nearest = {
        sigma: [min(labellings, key=lambda s: abs(score(s, w) - score(sigma, v))) for w in (v, u)]
        for sigma in labellings
    }

    assert all(found == sigma for sigma, (found, _) in nearest.items())
    assert any(found != sigma for sigma, (_, found) in nearest.items())


def test_a_probe_is_left_with_its_own_rows_alone() -> None:
    """M = 2 rows anywhere among N = 5: what remains of the answer is their costs, whatever the labels outside."""
    names, gaps = ("0", "1"), np.array([gmpy2.log(3), gmpy2.log(7)])
    for sigma in itertools.product((0, 1), repeat=5):
        data = LabelSet(labels=np.array(sigma), class_names=names, title="made", provenance="made")
        channel = ScoreChannel(loss=LogLoss(), scorer="exact")
        threat = channel.threat(Setting(data=data))
        probe = Probe(threat=threat, bits=150)
        rows = probe.rows(gaps)
        oracle = ScoreOracle(threat, channel.curator(data.labels, threat, np.random.default_rng(0)).answer)
        total, costs = probe.total(oracle, 1, rows), probe.costs(rows)
        with probe.ledger():
            assert abs(total - costs[0, sigma[1]] - costs[1, sigma[2]]) < gmpy2.exp2(-140)
