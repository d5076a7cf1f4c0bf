"""Binary weights: as many bits as labels, and a few."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gmpy2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelinf_core.contracts.components import LabelSet
from labelinf_papers.attacks.exact_binary import ExactBinary
from labelinf_papers.constructions.binary_weights import binary_bits, binary_digits, binary_gaps
from labelinf_scores.constructions.primes import first_primes, needed_bits
from labelinf_scores.metrics.additive import AdditiveLoss
from labelinf_scores.metrics.itakura_saito import ItakuraSaito
from labelinf_scores.metrics.log_loss import LogLoss
from labelinf_scores.metrics.norm_like import NormLike
from labelinf_scores.metrics.sigmoid_log_loss import SigmoidLogLoss
from labelinf_scores.metrics.squared_euclidean import SquaredEuclidean

Play = Callable[..., Any]


@settings(max_examples=60)
@given(st.lists(st.integers(0, 1), min_size=1, max_size=90), st.integers(-49, 49), st.integers(0, 3))
def test_digits_round_trip_within_half_a_gap(labels: list[int], percent: int, halvings: int) -> None:
    n, widest = len(labels), gmpy2.mpq(1, 2**halvings)
    gaps = binary_gaps(n, widest=widest)
    total = sum(gaps * np.array(labels)) + gmpy2.mpq(percent, 100) * gaps[0]

    assert binary_digits(total, n, widest=widest).tolist() == labels


def test_digits_stay_within_range() -> None:
    assert binary_digits(-3.0, 5).tolist() == [0] * 5
    assert binary_digits(1e30, 5).tolist() == [1] * 5


@pytest.mark.parametrize(("n", "bits"), [(1, 13), (1_000, 1_032), (5_000, 5_038)])
def test_the_precision_is_n_and_a_few(n: int, bits: int) -> None:
    assert binary_bits(n) == bits
    assert n == 1 or bits < needed_bits(first_primes(n)) / 10


@pytest.mark.parametrize(
    "loss",
    [LogLoss(), ItakuraSaito(), SquaredEuclidean(), NormLike(alpha=3.0), NormLike(alpha=2.0), SigmoidLogLoss()],
    ids=str,
)
def test_every_loss_gives_everything_away_in_one_query(play: Play, loss: AdditiveLoss) -> None:
    run_trial = play(ExactBinary(), 60, loss=loss)

    assert run_trial.certified
    assert (run_trial.accuracy, run_trial.outcome.queries) == (1, 1)


@pytest.mark.parametrize("ones", [0, 1, 32, 63, 64])
def test_extreme_labellings_survive_the_precision_of_the_proof(play: Play, ones: int) -> None:
    labels = (np.arange(64) < ones).astype(int)
    data = LabelSet(labels=labels, class_names=("0", "1"), title="", provenance="made")

    assert all(play(ExactBinary(), 64, data=data, seed=seed).accuracy == 1 for seed in range(5))


def test_a_thousand_labels_take_a_thousand_bits(play: Play) -> None:
    run_trial = play(ExactBinary(), 1_000)

    assert run_trial.outcome.evidence["bits"] == 1_032
    assert run_trial.accuracy == 1


def test_noise_leaves_the_widest_gaps_readable(play: Play, worst_noise: Any) -> None:
    run_trial = play(ExactBinary(), 100, defences=(worst_noise(tau=1e-6),))

    assert not run_trial.certified
    assert run_trial.outcome.evidence["asked about"] == 13
    assert run_trial.accuracy > run_trial.threat.baseline


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"scorer": "float64"}, "needs exact scores; powers-blocks plays float64"),
        ({"n_classes": 3}, "binary weights are for two classes"),
    ],
)
def test_what_cannot_be_played_says_why(threat_of: Callable[..., Any], more: dict[str, Any], why: str) -> None:
    assert ExactBinary().unsupported_reason(threat_of(ExactBinary(), 10, **more)) == why
