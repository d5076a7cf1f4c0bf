"""S8, ICML 2021, Theorem 2: Theta(1 + N phi 2**(-phi/4)) queries. False (errata I-4, I-5)."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import gmpy2
import numpy as np
import pytest

from labelinf_core.contracts.components import LabelSet, Setting
from labelinf_papers.attacks.prime_blocks import PrimeBlocks
from labelinf_scores.arithmetic import make_arithmetic
from labelinf_scores.constructions.primes import first_primes, prime_predictions, printed_block_size
from labelinf_scores.decoders.exhaustive import all_sums
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.metrics.log_loss import LogLoss


def answers(phi: int, m: int, n: int) -> int:
    """How many different scores FPA(phi) releases over all labellings of the m rows with a prime, out of n rows."""
    numbers = make_arithmetic(f"fpa:{phi}")
    predictions = numbers.convert([*prime_predictions(first_primes(m)), gmpy2.mpq(1, 2)])
    costs = LogLoss().costs(predictions, numbers)
    with numbers.context():
        totals = all_sums(costs[:m]) + (n - m) * costs[m, 0]
        return len({numbers.release(total / n) for total in totals})


@pytest.mark.long
@pytest.mark.parametrize(("phi", "claimed", "true"), [(33, 31, 10), (53, 564, 14)])
def test_the_answers_collide_long_before_the_claimed_size(phi: int, claimed: int, true: int) -> None:
    """I-4, measured in the paper's own model with N = m."""
    assert printed_block_size(phi, most=1000) == claimed
    assert answers(phi, true, true) == 2**true
    assert answers(phi, true + 1, true + 1) < 2 ** (true + 1)


def test_the_mean_costs_bits_too() -> None:
    """I-4: N = 100, phi = 9: one label a query is claimed, and both labels give the same answer."""
    assert printed_block_size(9, most=100) == 1
    assert answers(9, 1, 100) == 1


def gap(p: int, q: int) -> Fraction:
    return abs(Fraction(p, p + 1) - Fraction(q, q + 1))


def test_the_final_bound_of_the_proof_is_true_all_the_same() -> None:
    primes = first_primes(200).tolist()
    smallest = Fraction(1)
    for lower, upper in itertools.pairwise(primes):
        smallest = min(smallest, gap(lower, upper))

        assert smallest >= Fraction(1, 4 * upper**2)


@pytest.mark.parametrize("phi", [33, 53, 81, 105])
@pytest.mark.parametrize("n", [10, 100, 1000])
def test_the_repaired_size_spends_the_usable_bits_on_the_product(phi: int, n: int) -> None:
    """About b = (phi - 1)/2 - log2 N usable bits: P has within log2(p) + 3 of them, so m log m ~ b."""
    data: Any = LabelSet(labels=np.arange(n) % 2, class_names=("0", "1"), title="", provenance="made")
    threat = ScoreChannel(loss=LogLoss(), scorer=f"fpa:{phi}").threat(Setting(data=data, attack=PrimeBlocks()))
    m = PrimeBlocks(size=0).design(threat)[0].n_labels
    primes = first_primes(m + 1)
    bits = (phi - 1) / 2 - math.log2(n)
    spent = float(np.log2(primes[:m]).sum())

    # Two for ln(1 + 1/(2P)) ~ 1/(2P), one for the step of the answer, the rest for rounded predictions.
    assert spent <= bits
    assert m == 1 or spent + math.log2(primes[m]) >= bits - 3 - math.log2(m * primes[m])
