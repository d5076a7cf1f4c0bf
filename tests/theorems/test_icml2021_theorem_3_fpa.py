"""S10, ICML 2021, Theorem 3 in FPA(phi): the vector u^(m) and h(phi). False (errata I-6, I-7)."""

from __future__ import annotations

import itertools
import math
from typing import Any

import gmpy2
import numpy as np
import pytest

from labelinf_core.contracts.components import LabelSet, Setting
from labelinf_papers.attacks.prime_blocks import PrimeBlocks
from labelinf_papers.constructions.prime_powers import class_block, power_rows, printed_block_rows, row_sums
from labelinf_scores.arithmetic import make_arithmetic
from labelinf_scores.constructions.primes import first_primes
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.game.curator import Curator
from labelinf_scores.game.oracle import ScoreOracle
from labelinf_scores.game.scorers import make_scorer
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.metrics.log_loss import LogLoss

EXACT = make_arithmetic("exact").at_precision(120)


def scores(rows: Any, n_classes: int) -> dict[tuple[int, ...], Any]:
    with EXACT.context():
        return {
            sigma: LogLoss().score(np.array(sigma), rows, EXACT)
            for sigma in itertools.product(range(n_classes), repeat=len(rows))
        }


def threat(n: int, n_classes: int, scorer: str) -> ScoreThreat:
    names = tuple(map(str, range(n_classes)))
    data = LabelSet(labels=np.arange(n) % n_classes, class_names=names, title="", provenance="made")
    return ScoreChannel(loss=LogLoss(), scorer=scorer).threat(Setting(data=data, attack=PrimeBlocks()))


def test_the_printed_rows_give_the_first_class_the_value_of_every_other() -> None:
    """I-6, smallest illustration: K = 3, m = 2, N = 2; the paper's classes (1,1), (3,1), (1,3), (3,3)."""
    found = scores(printed_block_rows(first_primes(2), 3, 2), 3)
    colliding = [found[sigma] for sigma in ((0, 0), (2, 0), (0, 2), (2, 2))]

    assert float(colliding[0]) == pytest.approx(1.497866136777, abs=1e-12)
    assert len(set(colliding)) == 1


def test_the_printed_rows_fail_inside_the_hypotheses_of_the_theorem() -> None:
    """I-6: K = 4, m = 2, N = 6 (m divides both, K < N): the paper's classes 1, 3 and 4 collide."""
    rows = printed_block_rows(first_primes(2), 4, 2)

    assert all(len({row[k] for k in (0, 2, 3)}) == 1 for row in rows)


def test_the_printed_rows_below_the_block_do_not_sum_to_one() -> None:
    """I-6: rows i > m are printed as ``1 / (sum_j p_i**(j-1) + K - m)`` in every class; 1/K is meant."""
    m, n_classes = 2, 3
    normaliser = row_sums(first_primes(3)[2:], range(m))[0] + n_classes - m

    assert gmpy2.mpq(n_classes, normaliser) == gmpy2.mpq(3, 7) != 1


@pytest.mark.parametrize(("n", "n_classes", "count"), [(2, 3, 2), (3, 4, 2), (2, 5, 3), (3, 4, 3)])
def test_the_repaired_rows_tell_every_class_of_the_block_apart(n: int, n_classes: int, count: int) -> None:
    """Two labellings collide exactly when they agree on the classes asked about; with all K - 1 of them, never."""
    exponents = class_block(n_classes, first=1, count=count)
    found = scores(power_rows(first_primes(n), exponents), n_classes)
    spoken = {sigma: tuple(exponents[k] for k in sigma) for sigma in found}
    one_of = {spoken[sigma]: score for sigma, score in found.items()}

    assert all(one_of[spoken[sigma]] == score for sigma, score in found.items())
    assert len(set(one_of.values())) == len(one_of) == (count + 1) ** n


@pytest.mark.long
@pytest.mark.parametrize("scorer", ["fpa:41", "fpa:53"])
def test_the_repaired_attack_recovers_every_labelling_in_fpa(scorer: str) -> None:
    n, n_classes = 4, 3
    public, attack = threat(n, n_classes, scorer), PrimeBlocks(size=0)
    promise = attack.promise(public)

    assert promise is not None
    assert promise.certified
    for sigma in itertools.product(range(n_classes), repeat=n):
        rng = np.random.default_rng(0)
        curator = Curator.start(np.array(sigma), public, make_scorer(scorer, LogLoss(), n_classes), rng)
        assert attack.run(ScoreOracle(public, curator.answer), rng).labels.tolist() == list(sigma)


def printed_h(phi: float, n: float, n_classes: int) -> float:
    return math.log(phi) ** 2 / (phi + (n - n_classes) * math.log(n_classes)) ** (2 / 3)


def test_the_printed_queries_per_label_fall_with_n_and_the_true_ones_do_not() -> None:
    """I-7: as printed, more records make every label cheaper. Dividing the mean by N makes it dearer."""
    sizes = [10, 100, 1_000, 10_000]
    printed = [printed_h(53, n, 3) for n in sizes]
    labels_per_query = [
        len(design) and design[0].n_labels / len(design)
        for design in (PrimeBlocks(size=0).design(threat(n, 3, "fpa:53")) for n in sizes)
    ]

    assert printed == sorted(printed, reverse=True)
    assert labels_per_query == sorted(labels_per_query, reverse=True)
    assert labels_per_query[0] > labels_per_query[-1]
