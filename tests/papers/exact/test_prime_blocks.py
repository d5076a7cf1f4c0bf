"""Primes in blocks against real and small number formats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelinf_core.contracts.components import LabelSet, Setting
from labelinf_papers.attacks.prime_blocks import PrimeBlocks
from labelinf_papers.attacks.prime_blocks_printed import PrimeBlocksPrinted
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.game.curator import Curator
from labelinf_scores.game.effects import Moved
from labelinf_scores.game.oracle import ScoreOracle
from labelinf_scores.game.scorers import make_scorer
from labelinf_scores.metrics.log_loss import LogLoss
from labelinf_scores.metrics.squared_euclidean import SquaredEuclidean

Play = Callable[..., Any]

# Published label counts of two of the paper's data sets (ICML 2021, Table 2), in random order.
HABERMAN, IMDB = (225, 81), (12_500, 12_500)


def label_set(counts: tuple[int, ...]) -> LabelSet:
    labels = np.repeat(np.arange(len(counts)), counts)
    return LabelSet(
        labels=labels, class_names=tuple(map(str, range(len(counts)))), title="", provenance="published label counts"
    )


@pytest.mark.slow
def test_table_2_is_recovered_at_its_largest(play: Play) -> None:
    run_trial = play(PrimeBlocks(size=5), 25_000, scorer="sklearn", data=label_set(IMDB))

    assert run_trial.certified
    assert (run_trial.accuracy, run_trial.outcome.queries) == (1, 5_000)


@pytest.mark.parametrize(("decoder", "queries"), [("rounding", 31), ("nearest", 16)])
def test_certified_sizes_ask_less_than_the_paper(play: Play, decoder: str, queries: int) -> None:
    run_trial = play(PrimeBlocks(size=0, decoder=decoder), 306, scorer="sklearn", data=label_set(HABERMAN))

    assert run_trial.certified
    assert run_trial.accuracy == 1
    assert run_trial.outcome.queries <= queries < 306 / 5


@pytest.mark.parametrize("decoder", ["rounding", "nearest"])
@pytest.mark.parametrize("scorer", ["exact", "float64", "float32", "fpa:21", "fpa:33", "fpa:53", "fpa:105"])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_what_is_certified_comes_out(play: Play, scorer: str, decoder: str, n_classes: int) -> None:
    run_trial = play(PrimeBlocks(size=0, decoder=decoder), 40, n_classes=n_classes, scorer=scorer)

    assert run_trial.certified or scorer == "fpa:21"
    assert run_trial.accuracy == 1 or not run_trial.certified


@pytest.mark.parametrize("classes", [1, 2, 3, 0])
def test_classes_may_be_asked_about_in_groups(play: Play, classes: int) -> None:
    run_trial = play(PrimeBlocks(size=4, classes=classes), 30, n_classes=6, scorer="sklearn")

    groups = -(-5 // (classes or 5))
    assert run_trial.certified
    assert (run_trial.accuracy, run_trial.outcome.queries) == (1, 8 * groups)


@pytest.mark.long
@settings(max_examples=25)
@given(
    n=st.integers(1, 30),
    n_classes=st.integers(2, 4),
    scorer=st.sampled_from(["float64", "float32", "exact", "fpa:41"]),
    decoder=st.sampled_from(["rounding", "nearest"]),
    share=st.floats(0, 0.999),
    data=st.data(),
)
def test_no_labelling_and_no_noise_breaks_a_certificate(
    n: int, n_classes: int, scorer: str, decoder: str, share: float, data: st.DataObject
) -> None:
    """Any labels, and noise of either sign as large as the certificate admits."""
    labels = np.array(data.draw(st.lists(st.integers(0, n_classes - 1), min_size=n, max_size=n)))
    signs = np.random.default_rng(n)
    attack = PrimeBlocks(size=min(n, 3), decoder=decoder)
    given_labels = LabelSet(labels=labels, class_names=tuple(map(str, range(n_classes))), title="", provenance="made")
    threat = ScoreChannel(loss=LogLoss(), scorer=scorer).threat(Setting(data=given_labels, attack=attack))
    promise = attack.promise(threat)
    assert promise is not None
    tau = share * max(0.0, promise.survives - promise.present) * (1 - 1e-9)
    curator = Curator.start(labels, threat, make_scorer(scorer, LogLoss(), n_classes), signs)

    def answer(query: Any) -> Any:
        return curator.answer(query) + signs.choice([-tau, tau])

    guess = attack.run(ScoreOracle(attrs.evolve(threat, effects=(Moved(bound=tau),)), answer), signs)

    assert not promise.certified or guess.labels.tolist() == labels.tolist()


@pytest.mark.parametrize(("scorer", "n"), [("sklearn", 306), ("fpa:21", 40), ("fpa:33", 40), ("fpa:53", 100)])
def test_the_printed_size_fails(play: Play, scorer: str, n: int) -> None:
    run_trial = play(PrimeBlocksPrinted(), n, scorer=scorer)

    assert not run_trial.certified
    assert run_trial.accuracy < 0.9


def test_a_budget_is_spent_and_not_exceeded(play: Play) -> None:
    data = label_set((60, 40))
    run_trial = play(PrimeBlocks(size=5), 100, scorer="sklearn", queries=10, data=data)

    assert run_trial.promise is None
    assert run_trial.outcome.queries == 10
    assert run_trial.outcome.evidence["asked about"] == 50
    assert run_trial.accuracy >= 0.6


def test_a_refused_block_is_guessed(play: Play, refuse_every_second: Any) -> None:
    run_trial = play(PrimeBlocks(size=5), 40, scorer="float64", defences=(refuse_every_second(),))

    assert run_trial.outcome.queries == 8
    assert run_trial.outcome.evidence["asked about"] == 20


def test_noise_within_the_margin_is_survived(play: Play, worst_noise: Any) -> None:
    run_trial = play(PrimeBlocks(size=2), 20, scorer="float64", defences=(worst_noise(tau=0.0039),))

    assert run_trial.promise.survives == pytest.approx(np.log1p(1 / 12) / 20, rel=1e-6)
    assert run_trial.certified
    assert run_trial.accuracy == 1


def test_noise_beyond_the_margin_certifies_nothing(play: Play, worst_noise: Any) -> None:
    run_trial = play(PrimeBlocks(size=2), 20, scorer="float64", defences=(worst_noise(tau=0.02),))

    assert not run_trial.certified
    assert run_trial.accuracy < 1


def test_clipping_is_charged_to_the_margin(threat_of: Callable[..., Any]) -> None:
    def certified(clip: float) -> bool:
        threat = attrs.evolve(threat_of(PrimeBlocks(), 50, scorer="float64"), scorer_clip=clip)
        promise = PrimeBlocks(size=5).promise(threat)
        return promise is not None and promise.certified

    assert certified(0.05)
    assert certified(1 / 12.1)
    assert not certified(1 / 11)


def test_a_smaller_clip_takes_smaller_blocks(threat_of: Callable[..., Any]) -> None:
    threat = attrs.evolve(threat_of(PrimeBlocks(), 50, scorer="float64"), scorer_clip=0.1)

    assert PrimeBlocks(size=0).design(threat)[0].n_labels == 4


@pytest.mark.parametrize(
    ("attack", "more", "why"),
    [
        (PrimeBlocks(), {"loss": SquaredEuclidean()}, "primes need the log-loss; log-primes plays other losses"),
        (PrimeBlocks(size=20, classes=9), {"n_classes": 10, "scorer": "fpa:21"}, "fpa:21 does not hold the smallest"),
        (PrimeBlocks(size=30, decoder="nearest"), {}, "decoder nearest is too slow for 30 primes a query"),
        (PrimeBlocksPrinted(), {"n_classes": 3}, "Algorithm 1 is for two classes"),
        (PrimeBlocksPrinted(), {"scorer": "exact"}, "Algorithm 1 needs a bounded precision of at least 9 bits"),
        (PrimeBlocksPrinted(), {"scorer": "fpa:7"}, "Algorithm 1 needs a bounded precision of at least 9 bits"),
    ],
)
def test_what_cannot_be_played_says_why(
    threat_of: Callable[..., Any], attack: Any, more: dict[str, Any], why: str
) -> None:
    assert attack.unsupported_reason(threat_of(attack, 40, **more)).startswith(why)


def test_the_number_format_is_held(threat_of: Callable[..., Any]) -> None:
    """A fixed-point curator reads 1/(1 + p) coarsely; that is charged, not overlooked."""
    threat = threat_of(PrimeBlocks(), 20, scorer="fpa:21")
    coarse = PrimeBlocks(size=6).design(threat)[0]
    fine = PrimeBlocks(size=6).design(threat_of(PrimeBlocks(), 20, scorer="float64"))[0]

    assert coarse.deviation > 1e-3
    assert 0 < fine.deviation < 1e-13


@pytest.mark.parametrize("size", [-1, 2.5])
def test_parameters_are_checked(size: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        PrimeBlocks(size=size, decoder="rounding" if size < 0 else "guessing")
