"""Construction 2 against every loss, format and noise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from labelinf_papers.attacks.log_primes import LogPrimes, log_prime_query
from labelinf_scores.metrics.additive import AdditiveLoss
from labelinf_scores.metrics.itakura_saito import ItakuraSaito
from labelinf_scores.metrics.log_loss import LogLoss
from labelinf_scores.metrics.norm_like import NormLike
from labelinf_scores.metrics.sigmoid_log_loss import SigmoidLogLoss
from labelinf_scores.metrics.squared_euclidean import SquaredEuclidean

Play = Callable[..., Any]
LOSSES = [LogLoss(), ItakuraSaito(), SquaredEuclidean(), SigmoidLogLoss()]


@pytest.mark.parametrize("loss", [*LOSSES, NormLike(alpha=3.0)], ids=lambda loss: type(loss).__name__)
def test_one_exact_query_recovers_everything(play: Play, loss: AdditiveLoss) -> None:
    run_trial = play(LogPrimes(), 40, loss=loss)

    assert run_trial.certified
    assert (run_trial.accuracy, run_trial.outcome.queries) == (1, 1)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("decoder", ["rounding", "nearest"])
@pytest.mark.parametrize(("scorer", "tau"), [("float64", 0.0), ("float64", 1e-4), ("float32", 1e-4), ("exact", 1e-4)])
def test_noise_is_survived_by_every_loss(
    play: Play, worst_noise: Any, loss: AdditiveLoss, decoder: str, scorer: str, tau: float
) -> None:
    defences = (worst_noise(tau=tau),) if tau else ()
    run_trial = play(LogPrimes(decoder=decoder), 40, loss=loss, scorer=scorer, defences=defences)

    assert run_trial.certified
    assert run_trial.accuracy == 1


def test_the_smaller_scale_asks_less(play: Play, worst_noise: Any) -> None:
    asked = {
        decoder: play(LogPrimes(decoder=decoder), 60, scorer="sklearn", defences=(worst_noise(tau=1e-4),))
        for decoder in ("rounding", "nearest")
    }

    assert all(run_trial.certified and run_trial.accuracy == 1 for run_trial in asked.values())
    assert asked["nearest"].outcome.queries < asked["rounding"].outcome.queries


def test_the_printed_decoder_misses_blocks_without_a_label_one(play: Play, worst_noise: Any) -> None:
    noise = (worst_noise(tau=1e-4),)
    printed = play(LogPrimes(decoder="closest-squarefree", size=3), 60, scorer="sklearn", defences=noise)
    rounding = play(LogPrimes(size=3), 60, scorer="sklearn", defences=noise)

    assert printed.accuracy < rounding.accuracy == 1
    assert rounding.certified
    assert not printed.certified


def test_a_given_tau_takes_the_printed_scale(threat_of: Callable[..., Any]) -> None:
    query = LogPrimes(tau=1e-3, size=3).design(threat_of(LogPrimes(), 10, scorer="float64"))

    assert float(query.unit) == pytest.approx(3 * 30 * 10 * 1e-3)
    assert query.survives("rounding") == pytest.approx(3 * 30 * 1e-3 * np.log1p(1 / 60), rel=1e-6)


def test_a_given_tau_is_survived_whatever_the_size(threat_of: Callable[..., Any]) -> None:
    for decoder in ("rounding", "nearest"):
        query = LogPrimes(tau=1e-5, decoder=decoder).design(threat_of(LogPrimes(), 50, scorer="sklearn"))

        assert query.n_labels > 1
        assert query.survives(decoder) >= 1e-5


def test_gaps_too_wide_for_a_bounded_loss_become_those_of_corollary_2(threat_of: Callable[..., Any]) -> None:
    bounded = LogPrimes().design(threat_of(LogPrimes(), 9, loss=SquaredEuclidean()))
    unbounded = LogPrimes().design(threat_of(LogPrimes(), 9))

    assert (bounded.unit * 9, unbounded.unit) == (1, 1)


def test_the_books_are_kept_on_what_the_curator_reads(threat_of: Callable[..., Any]) -> None:
    """A clip that the gaps exceed moves the cost of a row; the deviation says by how much."""
    import attrs

    threat = attrs.evolve(threat_of(LogPrimes(), 10, scorer="float64"), scorer_clip=0.01)
    inside = log_prime_query(threat, 3, unit=2.0)
    outside = log_prime_query(threat, 3, unit=5.0)

    assert inside.deviation < 1e-12
    assert outside.deviation == pytest.approx(5 * np.log(15) - 2 * np.log(99), rel=1e-6)


@pytest.mark.parametrize(
    ("attack", "more", "why"),
    [
        (LogPrimes(), {"n_classes": 3}, "Construction 2 is for two classes"),
        (LogPrimes(), {"scorer": "fpa:3"}, "fpa:3 tells no labels apart"),
        (LogPrimes(size=12, decoder="closest-squarefree"), {}, "decoder closest-squarefree is too slow for 12 primes"),
    ],
)
def test_what_cannot_be_played_says_why(
    threat_of: Callable[..., Any], attack: Any, more: dict[str, Any], why: str
) -> None:
    assert attack.unsupported_reason(threat_of(attack, 40, **more)).startswith(why)
