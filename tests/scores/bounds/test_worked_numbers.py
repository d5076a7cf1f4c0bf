"""The worked numbers of the certificates, to the digits in which they are printed."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from statistics import NormalDist

import numpy as np
import pytest

from labelinf_privacy.label_dp import accuracy, gaussian_accuracy, pure_accuracy
from labelinf_privacy.laplace_product import LaplaceProduct
from labelinf_scores.bounds.entropy import gaussian_bits
from labelinf_scores.bounds.hadamard import hadamard_std
from labelinf_scores.bounds.worst_case import hideable
from labelinf_scores.decoders.least_squares import sign_accuracy, wrong_signs
from labelinf_scores.defences.ladder import Ladder
from labelinf_scores.game.scoring import Query
from labelinf_scores.game.threat import ScoreThreat

EVEN = (0.5, 0.5)


def test_one_laplace_answer_is_better_than_its_epsilon_says() -> None:
    assert accuracy(LaplaceProduct(epsilon=1.0, queries=1), EVEN) == pytest.approx(0.6967347, abs=5e-8)
    assert pure_accuracy(1.0, EVEN) == pytest.approx(0.7310586, abs=5e-8)


def test_a_hundred_laplace_answers_of_a_tenth_each() -> None:
    # The printed 0.6896 was measured; exactly it is 0.6887.
    exact = accuracy(LaplaceProduct(epsilon=0.1, queries=100), EVEN)
    assert exact == pytest.approx(0.6896, abs=1e-3)
    assert exact == pytest.approx(0.68874, abs=5e-6)
    assert gaussian_accuracy(0.1 * math.sqrt(100), EVEN) == pytest.approx(0.6915, abs=5e-5)
    assert pure_accuracy(0.1 * 100, EVEN) == pytest.approx(1.0000, abs=5e-5)


def test_one_answer_for_a_thousand_labels_is_limited_by_capacity_not_by_privacy() -> None:
    allowed = gaussian_accuracy(2.0, EVEN)
    needed = 1000 * (1 + allowed * math.log2(allowed) + (1 - allowed) * math.log2(1 - allowed))
    carried = gaussian_bits(spread=1 / (2 * math.sqrt(1000)), span=1.0, std=1 / 2000, queries=1, enough=1e9)
    assert allowed == pytest.approx(0.84, abs=5e-3)
    assert needed == pytest.approx(369, abs=0.5)
    assert carried == pytest.approx(5.0, abs=0.05)


def test_hadamard_signs_reach_the_printed_accuracies() -> None:
    assert hadamard_std(1.0, 1024, 1024, 0.99) * 1024 == pytest.approx(0.2149 * 32, rel=5e-4)
    for n, queries, printed in ((64, 64, 0.98998), (256, 1024, 0.97725)):
        std = hadamard_std(1.0, n, queries, printed)
        assert sign_accuracy(queries, 2 * n * std) == pytest.approx(printed, abs=1e-9)
        assert std == pytest.approx(math.sqrt(queries) / (2 * n * NormalDist().inv_cdf(printed)))
    assert wrong_signs(2 * 10_000 * 0.05 / math.sqrt(10_000) + 1e-9) == 0.01 * 10_000
    assert hideable(1.0, 100, 7 / 200) == 7


@pytest.mark.long
def test_the_ladder_has_105_or_126_transcripts(make_threat: Callable[..., ScoreThreat]) -> None:
    """Four queries, a range of five steps that begins on a rung, and one that begins halfway between two."""
    threat, labels, query = make_threat(), np.zeros(1, dtype=np.intp), Query(predictions=np.zeros(1))
    counts = []
    for offset in (0.0, 0.5):
        found = set()
        for scores in itertools.product(np.arange(0, 5.01, 0.5) + offset, repeat=4):
            active = Ladder(step=1.0).start(threat, np.random.default_rng(0))
            found.add(tuple(active.answer(labels, query, lambda _l, _q, score=score: score) for score in scores))
        counts.append(len(found))
    assert counts == [105, 126]
