"""S17, ICML 2021, Algorithm 3: blocks of m rows with v = 3**(2**r N tau); erratum I-13: its m rounds up."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import gmpy2
import numpy as np
import pytest

from labelinf_core.contracts.components import LabelSet, Setting
from labelinf_papers.attacks.powers_blocks import PowersBlocks
from labelinf_scores.arithmetic import make_arithmetic
from labelinf_scores.constructions.powers import printed_labels_per_query, sufficient_bits
from labelinf_scores.decoders.superincreasing import greedy_decode
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.metrics.log_loss import LogLoss

NUMBERS = make_arithmetic("exact").at_precision(200)


def threat(n: int, scorer: str) -> ScoreThreat:
    data = LabelSet(labels=np.arange(n) % 2, class_names=("0", "1"), title="", provenance="made")
    return ScoreChannel(loss=LogLoss(), scorer=scorer).threat(Setting(data=data, attack=PowersBlocks()))


@pytest.mark.parametrize(("n", "m"), [(5, 2), (6, 3), (7, 3)])
def test_every_block_of_every_labelling_is_recovered_in_ceil_n_over_m_queries(n: int, m: int) -> None:
    """Scores are counted in ln 3 above the constant, so all is rational; noise of tau is less than tau ln 3."""
    tau = Fraction(1, 20)
    gaps = [2**r * n * tau for r in range(1, m + 1)]
    for labels in itertools.product((0, 1), repeat=n):
        for noise in (-tau, tau):
            found: list[int] = []
            for start in range(0, n, m):
                block = labels[start : start + m]
                total = sum(g for g, k in zip(gaps, block, strict=False) if k) + noise * n * Fraction(999, 1000)
                found += greedy_decode([[Fraction(0), gap] for gap in gaps[: len(block)]], total)
            assert tuple(found) == labels


def test_the_greedy_labelling_is_the_nearest_one_of_line_9() -> None:
    n, m, tau = 7, 3, Fraction(1, 20)
    gaps = [2**r * n * tau for r in range(1, m + 1)]
    costs = [[Fraction(0), gap] for gap in gaps]

    def away(block: tuple[int, ...], total: Fraction) -> Fraction:
        return abs(total - sum((g for g, k in zip(gaps, block, strict=True) if k), Fraction(0)))

    for step in range(-5, 105):
        total = step * sum(gaps) / 100 + Fraction(1, 997)  # never half-way between two sums
        nearest = min(itertools.product((0, 1), repeat=m), key=lambda block: away(block, total))
        assert tuple(greedy_decode(costs, total)) == nearest


def test_only_the_block_moves_the_score_and_by_multiples_of_two_tau_ln_three() -> None:
    n, m, tau = 6, 2, gmpy2.mpq(1, 20)
    with NUMBERS.context():
        v = [gmpy2.exp(gmpy2.log(3) * 2**r * n * tau) for r in range(1, m + 1)]
        u = np.array([x / (1 + x) for x in v] + [gmpy2.mpfr(1) / 2] * (n - m), dtype=object)
        top = LogLoss().score(np.zeros(n, dtype=int), u, NUMBERS)
        for labels in itertools.product((0, 1), repeat=n):
            score = LogLoss().score(np.array(labels), u, NUMBERS)
            steps = sum(2**r * k for r, k in enumerate(labels[:m]))
            assert abs(top - score - steps * 2 * tau * gmpy2.log(3)) < 1e-50


@pytest.mark.parametrize("n_records", [10, 100, 1000])
def test_the_printed_size_rounds_up_to_a_label_that_was_not_paid_for(n_records: int) -> None:
    """I-13: phi - 8 = 1.01 N tau ln 2 prints m = 1, and one label takes phi - 8 >= 2 N tau ln 2."""
    phi = 108
    tau = (phi - 8) / (1.01 * n_records * math.log(2))
    assert printed_labels_per_query(phi, n_records=n_records, tau=tau) == 1
    assert phi < 8 + 2**1 * n_records * tau * math.log(2)
    assert math.floor(math.log2((phi - 8) / (n_records * tau * math.log(2)))) == 0


def test_rounding_down_keeps_within_the_papers_own_accounting() -> None:
    for phi, n_records in itertools.product(range(20, 200, 7), (10, 40, 300)):
        tau = 0.1
        room = (phi - 8) / (n_records * tau * math.log(2))
        m = math.floor(math.log2(room))
        assert 8 + 2**m * n_records * tau * math.log(2) <= phi < 8 + 2 ** (m + 1) * n_records * tau * math.log(2)
        printed = printed_labels_per_query(phi, n_records=n_records, tau=tau)
        assert printed == min(math.ceil(math.log2(n_records)), m + 1)  # line 4 rounds up: one label too many


def test_the_accounted_bits_do_not_hold_the_prediction_and_the_repaired_ones_do() -> None:
    """N = 10, tau = 1, m = 1: 1 - u is 1/(1 + 3**20). FPA(23) satisfies the accounting and rounds u to 1."""
    n, tau, m = 10, 1, 1
    u = Fraction(3**20, 1 + 3**20)

    def held(phi: int) -> float:
        return float(make_arithmetic(f"fpa:{phi}").convert([u])[0])

    assert 8 + 2**m * n * tau * math.log(2) <= 22
    assert held(23) == 1
    assert held(sufficient_bits(m, n_records=n, tau=tau)) < 1


def test_the_attack_does_not_take_noise_that_its_format_cannot_hold() -> None:
    attack = PowersBlocks(base=3.0, tau=1.0, labels_per_query=1)
    assert attack.design(threat(10, "fpa:23")).tau < 1
    assert attack.design(threat(10, "fpa:75")).tau == 1
