"""The a-priori bound of a released score's error, against exact evaluation."""

from __future__ import annotations

import math

import attrs
import gmpy2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelinf_privacy.noise.multiplicative import Multiplicative
from labelinf_scores.arithmetic import make_arithmetic
from labelinf_scores.certificates.error import (
    arithmetic_error,
    assumed_disturbance,
    chain_length,
    disturbance,
    present_error,
)
from labelinf_scores.game.effects import Moved, Scaled
from labelinf_scores.game.scorers import make_scorer
from labelinf_scores.game.scoring import Query
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.metrics.log_loss import LogLoss


def threat_of(scorer: str, n: int, **more: object) -> ScoreThreat:
    facts = make_scorer(scorer, LogLoss(), 2).facts
    base = ScoreThreat(
        n_records=n,
        n_classes=2,
        prior=(0.5, 0.5),
        loss=LogLoss(),
        arithmetic=facts.arithmetic,
        summation=facts.summation,
        input_format=facts.input_format,
        scorer_clip=facts.clip,
    )
    return attrs.evolve(base, **more)


def exact_score(labels: np.ndarray, predictions: np.ndarray, threat: ScoreThreat) -> tuple[gmpy2.mpfr, float]:
    """The score of the predictions as the curator reads them, to 300 bits, and the largest cost."""
    read = make_arithmetic(threat.input_format or threat.arithmetic).convert(predictions)
    clipped = np.clip(np.asarray(read, dtype=float), threat.clip, 1 - threat.clip) if threat.clip else read
    numbers = make_arithmetic("exact").at_precision(300)
    with numbers.context():
        costs = LogLoss().costs(numbers.convert(clipped), numbers)
        score = numbers.mean(costs[np.arange(len(labels)), labels])
    return score, float(max(costs.ravel()))


@pytest.mark.parametrize(
    "scorer", ["float64", "float32", "sklearn", "sklearn:float32", "float16", "bfloat16", "fpa:41"]
)
@settings(max_examples=12)
@given(n=st.sampled_from([1, 7, 8, 9, 130, 300]), seed=st.integers(0, 2**32 - 1), widest=st.floats(0.1, 8))
def test_no_curator_errs_by_more_than_the_bound(scorer: str, n: int, seed: int, widest: float) -> None:
    rng = np.random.default_rng(seed)
    threat = threat_of(scorer, n)
    gaps = rng.uniform(-widest, widest, n)
    predictions = np.stack([1 / (1 + np.exp(-gaps)), 1 / (1 + np.exp(gaps))], axis=1)
    labels = rng.integers(0, 2, n)
    exact, largest = exact_score(labels, predictions, threat)

    answer = make_scorer(scorer, LogLoss(), 2).score(labels, Query(predictions=predictions))

    with gmpy2.context(precision=300):
        assert abs(gmpy2.mpfr(float(answer)) - exact) <= arithmetic_error(threat, largest)


@pytest.mark.parametrize(("n", "longest"), [(1, 1), (7, 7), (8, 3), (15, 10), (128, 18), (129, 25), (25_000, 32)])
def test_the_chain_of_additions_is_known(n: int, longest: int) -> None:
    assert chain_length(n, "numpy") == longest
    assert chain_length(n, "unknown") == n
    assert chain_length(n, "exact") == 1


def test_an_unknown_order_is_charged_more() -> None:
    known, unknown = threat_of("float64", 25_000), threat_of("float64", 25_000, summation="unknown")
    assert 500 < present_error(unknown, 36) / present_error(known, 36) < 1000


def test_an_exact_curator_has_no_error_of_its_own() -> None:
    assert arithmetic_error(threat_of("exact", 1000), 36) == 0.0
    assert present_error(threat_of("exact", 1000, effects=(Moved(bound=0.25),)), 36) == pytest.approx(0.25)


def test_a_format_too_coarse_for_the_sum_is_never_trusted() -> None:
    assert arithmetic_error(threat_of("bfloat16", 300), 1.0) == math.inf


def test_noise_rounding_and_factors_add_up() -> None:
    threat = threat_of("sklearn", 100, effects=(Scaled(model=Multiplicative(alpha=0.1)), Moved(bound=0.01)))
    assert disturbance(threat, 2.0) == pytest.approx(0.21)
    assert disturbance(threat_of("sklearn", 100), 2.0) == 0.0


def test_unbounded_noise_is_infinite_and_assumed_to_be_four_deviations() -> None:
    threat = threat_of("sklearn", 100, effects=(Moved(bound=math.inf, std=0.01),))
    assert present_error(threat, 36) == math.inf
    assert assumed_disturbance(threat, 36) == pytest.approx(0.04)


def test_an_arithmetic_nobody_knows_is_an_error() -> None:
    threat = attrs.evolve(threat_of("sklearn", 5), arithmetic="posit16")
    with pytest.raises(
        ValueError, match=r"arithmetic='posit16' must be one of exact, float64, float32, bfloat16, float16, fpa:PHI"
    ):
        arithmetic_error(threat, 1.0)
