"""One exact query recovers everything; anything else is noticed."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import gmpy2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelinf_core.contracts.components import LabelSet
from labelinf_core.contracts.errors import QueryRefusedError
from labelinf_papers.attacks.prime_powers import PrimePowers, classes_of_score
from labelinf_papers.attacks.primes import Primes
from labelinf_papers.constructions.prime_powers import all_classes, power_rows
from labelinf_scores.arithmetic import make_arithmetic
from labelinf_scores.constructions.primes import first_primes, needed_bits, prime_predictions, prime_product
from labelinf_scores.game.oracle import ScoreOracle
from labelinf_scores.metrics.log_loss import LogLoss
from labelinf_scores.metrics.squared_euclidean import SquaredEuclidean


def exact_score(labels: np.ndarray[Any, Any], predictions: np.ndarray[Any, Any], bits: int) -> Any:
    numbers = make_arithmetic("exact").at_precision(bits)
    with numbers.context():
        return LogLoss().score(labels, predictions, numbers)


def adversarial_labellings(n: int) -> list[np.ndarray[Any, Any]]:
    """All ones (the largest integer), all zeros, only the smallest or the largest primes, and random ones."""
    half = n // 2
    random = [np.random.default_rng(seed).integers(0, 2, n) for seed in range(4)]
    return [
        np.ones(n, dtype=int),
        np.zeros(n, dtype=int),
        (np.arange(n) < half).astype(int),
        (np.arange(n) >= half).astype(int),
        (np.arange(n) > 0).astype(int),
        *random,
    ]


@pytest.mark.parametrize("n", [1, 2, 3, 10, 60, 400])
def test_the_precision_of_the_proof_is_enough(n: int) -> None:
    primes = first_primes(n)
    bits, predictions = needed_bits(primes), prime_predictions(primes)

    for labels in adversarial_labellings(n):
        found = classes_of_score(exact_score(labels, predictions, bits), primes, 2, bits=bits)
        assert found is not None
        assert found.tolist() == labels.tolist()


@pytest.mark.long
@settings(max_examples=40)
@given(st.integers(2, 6), st.data())
def test_classes_survive_the_precision_of_the_proof(n_classes: int, data: st.DataObject) -> None:
    labels = np.array(data.draw(st.lists(st.integers(0, n_classes - 1), min_size=1, max_size=30)))
    primes = first_primes(len(labels))
    bits = needed_bits(primes, n_classes - 1)
    score = exact_score(labels, power_rows(primes, all_classes(n_classes)), bits)

    found = classes_of_score(score, primes, n_classes, bits=bits)

    assert found is not None
    assert found.tolist() == labels.tolist()


def test_fewer_bits_than_the_product_has_are_not_enough() -> None:
    primes = first_primes(100)
    bits, labels = prime_product(primes).bit_length() - 4, np.ones(100, dtype=int)

    found = classes_of_score(exact_score(labels, prime_predictions(primes), bits), primes, 2, bits=bits)

    assert found is None


@pytest.mark.long
def test_ten_thousand_labels_are_decoded_within_two_seconds() -> None:
    primes = first_primes(10_000)
    labels = np.random.default_rng(0).integers(0, 2, len(primes))
    bits = needed_bits(primes)
    score = exact_score(labels, prime_predictions(primes), bits)

    start = time.process_time()
    found = classes_of_score(score, primes, 2, bits=bits)

    assert time.process_time() - start < 2
    assert found is not None
    assert np.array_equal(found, labels)


@pytest.mark.parametrize("n", [1, 5, 300])
def test_one_query_is_certified_and_recovers_everything(play: Callable[..., Any], n: int) -> None:
    run_trial = play(Primes(), n)

    assert run_trial.certified
    assert (run_trial.accuracy, run_trial.outcome.queries) == (1, 1)


@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_powers_serve_any_number_of_classes(play: Callable[..., Any], n_classes: int) -> None:
    run_trial = play(PrimePowers(), 120, n_classes=n_classes)

    assert run_trial.certified
    assert (run_trial.accuracy, run_trial.outcome.queries) == (1, 1)


@pytest.mark.parametrize("attack", [Primes(), PrimePowers()])
def test_a_disturbed_score_is_noticed_and_promises_nothing(
    play: Callable[..., Any], worst_noise: Any, attack: Any
) -> None:
    run_trial = play(attack, 60, defences=(worst_noise(tau=1e-6),))

    assert not run_trial.certified
    assert run_trial.outcome.evidence["spelled out"] is False
    assert run_trial.accuracy == pytest.approx(run_trial.threat.baseline)


def test_a_small_enough_disturbance_is_certified(play: Callable[..., Any], worst_noise: Any) -> None:
    run_trial = play(Primes(), 5, defences=(worst_noise(tau=4e-5),))

    assert run_trial.promise.survives == pytest.approx(np.log1p(1 / 4620) / 5, rel=1e-9)
    assert run_trial.certified
    assert run_trial.accuracy == 1


def test_a_double_still_carries_a_few_labels(play: Callable[..., Any]) -> None:
    run_trial = play(Primes(), 8, scorer="sklearn")

    assert run_trial.certified
    assert run_trial.accuracy == 1


@pytest.mark.parametrize(
    ("attack", "n", "more", "why"),
    [
        (Primes(), 54, {"scorer": "sklearn"}, "needs exact scores (float64 cannot carry 54 labels in one answer)"),
        (Primes(), 9, {"n_classes": 3}, "Theorem 1 is for two classes; prime-powers serves more"),
        (PrimePowers(), 9, {"loss": SquaredEuclidean()}, "primes need the log-loss; log-primes plays other losses"),
        (Primes(), 12, {"scorer": "fpa:9"}, "fpa:9 does not hold the smallest probability of a row"),
    ],
)
def test_what_cannot_be_played_says_why(
    threat_of: Callable[..., Any], attack: Any, n: int, more: dict[str, Any], why: str
) -> None:
    assert attack.unsupported_reason(threat_of(attack, n, **more)) == why


def test_clipping_that_reaches_the_predictions_is_refused(threat_of: Callable[..., Any]) -> None:
    clipped = {clip: threat_of(Primes(), 20, defences=()) for clip in (0.01, 0.02)}
    refusals = {clip: Primes().unsupported_reason(_with(threat, clip)) for clip, threat in clipped.items()}

    assert refusals == {0.01: "", 0.02: "clipping at 0.02 spoils the rows of the larger primes"}


def _with(threat: Any, clip: float) -> Any:
    import attrs

    return attrs.evolve(threat, scorer_clip=clip)


@pytest.mark.parametrize("attack", [Primes(), PrimePowers()])
@pytest.mark.parametrize("answer", [gmpy2.nan(), float("inf"), "refused"])
def test_an_answer_that_is_no_number_leaves_the_majority(
    threat_of: Callable[..., Any], attack: Any, answer: Any
) -> None:
    def ask(query: Any) -> Any:
        if answer == "refused":
            raise QueryRefusedError("no")
        return answer

    threat = threat_of(attack, 30)
    guess = attack.run(ScoreOracle(threat, ask), np.random.default_rng(0))

    assert guess.labels.tolist() == [threat.majority] * 30


def test_pairwise_coprime_numbers_do_as_well() -> None:
    numbers = np.array([4, 9, 25, 7, 11, 13])
    labels = np.array([1, 0, 1, 1, 0, 1])
    score = exact_score(labels, prime_predictions(numbers), 80)

    found = classes_of_score(score, numbers, 2, bits=80)

    assert found is not None
    assert found.tolist() == labels.tolist()


def test_the_labels_need_no_class_to_be_present(play: Callable[..., Any]) -> None:
    data = LabelSet(labels=np.zeros(12, dtype=int), class_names=("a", "b"), title="one class", provenance="made")

    assert play(Primes(), 12, data=data).accuracy == 1
