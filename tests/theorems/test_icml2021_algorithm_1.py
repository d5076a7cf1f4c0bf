"""S7, ICML 2021, Algorithm 1: blocks of m primes, and erratum I-4: the m that it prints is too large."""

from __future__ import annotations

import itertools
import math
from typing import Any

import gmpy2
import numpy as np
import pytest

from labelinf_core.contracts.components import LabelSet, Setting
from labelinf_papers.attacks.prime_blocks import PrimeBlocks
from labelinf_papers.attacks.prime_blocks_printed import PrimeBlocksPrinted
from labelinf_scores.arithmetic import make_arithmetic
from labelinf_scores.constructions.primes import first_primes, prime_predictions, printed_block_size
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.metrics.log_loss import LogLoss


def threat(n: int, scorer: str) -> ScoreThreat:
    data = LabelSet(labels=np.arange(n) % 2, class_names=("0", "1"), title="", provenance="made")
    return ScoreChannel(loss=LogLoss(), scorer=scorer).threat(Setting(data=data, attack=PrimeBlocks()))


def test_the_identity_of_line_9_holds_for_every_block() -> None:
    """N = 23, m = 5: q = alpha exp(-N l + (N - m) ln 2) is the product of the block's primes with label 1."""
    n, m = 23, 5
    primes = first_primes(m)
    predictions = np.full(n, gmpy2.mpq(1, 2), dtype=object)
    predictions[5:10] = prime_predictions(primes)
    numbers = make_arithmetic("exact").at_precision(120)
    rng = np.random.default_rng(0)

    for block in itertools.product((0, 1), repeat=m):
        labels = rng.integers(0, 2, n)
        labels[5:10] = block
        with numbers.context():
            score = LogLoss().score(labels, predictions, numbers)
            alpha = math.prod(int(prime) + 1 for prime in primes)
            q = alpha * gmpy2.exp(-n * score + (n - m) * gmpy2.const_log2())
            expected = math.prod(int(p) for p, label in zip(primes, block, strict=True) if label)

            assert abs(q - expected) < gmpy2.exp2(-80) * expected


def test_the_printed_size_asks_for_more_labels_than_there_are_bits() -> None:
    """I-4: phi = 34 prints m = 36, though an answer of 34 bits takes at most 2**34 values."""
    assert printed_block_size(34, most=100) == 36 > 34


@pytest.mark.parametrize(("scorer", "n"), [("fpa:33", 31), ("fpa:53", 40), ("sklearn", 306)])
def test_the_printed_size_is_not_certified_and_the_repaired_one_is(scorer: str, n: int) -> None:
    public = threat(n, scorer)
    printed, repaired = PrimeBlocksPrinted().promise(public), PrimeBlocks(size=0).promise(public)

    assert printed is not None
    assert repaired is not None
    assert not printed.certified
    assert repaired.certified


def test_ten_primes_a_query_are_certified_where_the_paper_takes_five() -> None:
    public = threat(306, "sklearn")
    assert PrimeBlocks(size=0).design(public)[0].n_labels == 10
    promises = [PrimeBlocks(size=size).promise(public) for size in (5, 10, 11)]
    assert [promise is not None and promise.certified for promise in promises] == [True, True, False]


@pytest.mark.parametrize("scorer", ["fpa:33", "fpa:41", "float32"])
def test_the_repaired_size_decodes_every_labelling_of_a_block(scorer: str) -> None:
    """Largest m with N error < ln(1 + 1 / (2 P)): all 2**m labellings of the block, N = 12."""
    n = 12
    public = threat(n, scorer)
    query = PrimeBlocks(size=0).design(public)[0]
    m = query.n_labels
    numbers = make_arithmetic(scorer)

    class Answers:
        labels = np.zeros(n, dtype=int)

        def query(self, predictions: Any, *, precision: int) -> Any:
            with numbers.context():
                return numbers.release(LogLoss().score(self.labels, predictions, numbers))

    oracle = Answers()
    assert m >= 3
    for block in itertools.product((0, 1), repeat=m):
        oracle.labels[:m] = block
        logarithm = query.ask(oracle, slice(0, m))  # type: ignore[arg-type]
        assert query.read(logarithm, m, "rounding").tolist() == list(block)
