"""Every worked number of ``vectors.json`` comes out of the code; a number without a check is an error."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gmpy2
import numpy as np
import pytest

from labelinf_core.contracts.components import LabelSet, Setting
from labelinf_papers.attacks.powers_blocks import PowersBlocks
from labelinf_papers.attacks.prime_powers import classes_of_score
from labelinf_papers.constructions.log_primes import separation as log_prime_separation
from labelinf_papers.set_valued import separation
from labelinf_privacy.composition import advanced_epsilon
from labelinf_privacy.label_dp import pure_accuracy, pure_exact
from labelinf_privacy.laplace_product import LaplaceProduct
from labelinf_scores.arithmetic import make_arithmetic
from labelinf_scores.attacks.binary_weights import BinaryWeights
from labelinf_scores.bounds.counting import ladder_bits
from labelinf_scores.constructions.conway_guy import conway_guy_sequence, conway_guy_weights
from labelinf_scores.constructions.detecting_matrix import detecting_matrix
from labelinf_scores.constructions.powers import power_gaps
from labelinf_scores.constructions.primes import first_primes, needed_bits, prime_product
from labelinf_scores.constructions.weights import superincreasing
from labelinf_scores.decoders.least_squares import sign_accuracy
from labelinf_scores.decoders.superincreasing import greedy_decode
from labelinf_scores.defences.clip import Clip
from labelinf_scores.defences.rounding import RoundScore
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.limits import sperner_tau
from labelinf_scores.metrics.itakura_saito import ItakuraSaito
from labelinf_scores.metrics.log_loss import LogLoss
from labelinf_scores.metrics.norm_like import NormLike
from labelinf_scores.metrics.squared_euclidean import SquaredEuclidean

VECTORS = json.loads((Path(__file__).parent / "vectors.json").read_text())
DOUBLES, EXACT = make_arithmetic("float64"), make_arithmetic("exact").at_precision(200)
HALVES = (0.5, 0.5)


def scores_of(rows: np.ndarray, n_classes: int) -> list[float]:
    """The log-loss of every labelling, in lexicographic order."""
    labellings = itertools.product(range(n_classes), repeat=len(rows))
    return [float(LogLoss().score(np.array(labels), rows, DOUBLES)) for labels in labellings]


def numbers_in(name: str) -> list[float]:
    """The numbers of a name such as ``N=64,q=64,s=0.026875``."""
    return [float(part.split("=")[1]) for part in name.split(",")]


def first_theorem(vector: Any) -> None:
    primes, labels = np.array(vector["v"]), np.array(vector["sigma"])
    assert prime_product(primes + 1) == vector["T"]
    assert prime_product(primes[labels == 1]) == vector["X"]
    theta = np.array([gmpy2.mpq(int(p), int(p) + 1) for p in primes], dtype=object)
    score = LogLoss().score(labels, theta, EXACT)
    assert float(score) == pytest.approx(vector["loss"], abs=1e-15)
    assert classes_of_score(score, primes, 2, bits=needed_bits(primes)).tolist() == labels.tolist()


def powers_of_two(vector: Any) -> None:
    gaps = power_gaps(3, n_records=3, tau=0.1)
    assert gaps == pytest.approx(vector["d"])
    theta = LogLoss().prediction(gaps, DOUBLES)
    assert theta == pytest.approx(vector["theta"], abs=1e-15)
    scores = scores_of(theta, 2)
    assert scores == pytest.approx(vector["losses_lex"], abs=1e-14)
    assert separation(scores) == pytest.approx(vector["min_gap"], abs=1e-14)
    costs = LogLoss().costs(theta, DOUBLES).tolist()
    for labels, score in zip(itertools.product((0, 1), repeat=3), scores, strict=True):
        assert greedy_decode(costs, 3 * (score + 0.0999)) == greedy_decode(costs, 3 * (score - 0.0999)) == list(labels)


def mixed_radix(vector: Any) -> None:
    steps = np.array(superincreasing(2, n_classes=3)) * 2 * 2 * 0.05
    rows = LogLoss().rows(steps, 3, DOUBLES)
    assert np.array(vector["rows"]) == pytest.approx(rows, abs=1e-15)
    scores = scores_of(rows, 3)
    assert scores == pytest.approx(vector["losses_lex"], abs=1e-14)
    assert separation(scores) == pytest.approx(vector["min_gap"], abs=1e-14)
    assert max(scores) - min(scores) == pytest.approx(vector["max_minus_min"])


def printed_lemma(vector: Any) -> None:
    v = [3 * math.exp(gap / 2) for gap in power_gaps(3, n_records=vector["N"], tau=2 * vector["tau"])]
    assert v == pytest.approx(vector["v"])
    first, second = (math.prod(itertools.compress(vector["v"], labels)) for labels in vector["collision"])
    assert first == second


def scales(vector: Any) -> None:
    for n, worked in vector.items():
        primes = first_primes(int(n))
        assert prime_product(primes) == worked["P"]
        assert log_prime_separation(primes) == pytest.approx(worked["rho"])


def conway_guy(vector: Any) -> None:
    """The vector of size 3 is another set, 1, 2, 4, of the same width: the rule ``u_m - u_i`` gives 2, 3, 4."""
    assert list(conway_guy_sequence(len(vector["u"]) - 1)) == vector["u"]
    assert conway_guy_weights(3) == (2, 3, 4)
    for size, weights in vector["sets"].items():
        assert size == "3" or list(conway_guy_weights(int(size))) == weights
        assert max(weights) == vector["u"][int(size)]
        for each in (weights, conway_guy_weights(int(size))):
            assert len(
                {sum(itertools.compress(each, bits)) for bits in itertools.product((0, 1), repeat=len(each))}
            ) == (2 ** len(each))


def labels_per_query(vector: Any) -> None:
    """By the formula, and by the attacks, which fit them beside the curator's own arithmetic."""
    for case in vector:
        n, span = case["N"], LogLoss().span(case["eps"])
        assert span == pytest.approx(case["L"])
        assert 1 + math.floor(math.log2(span / (n * 10 ** -case["d"]))) == case["m_pow2"]
        data = LabelSet(labels=np.arange(n) % 2, class_names=("0", "1"), title="x", provenance="made")
        defences = (Clip(epsilon=case["eps"]), RoundScore(decimals=case["d"]))
        threat = ScoreChannel(loss=LogLoss(), scorer="float64").threat(Setting(data=data, defences=defences))
        assert PowersBlocks().design(threat).n_labels == case["m_pow2"]
        assert next(BinaryWeights().planner(threat).blocks()).size == case["m_pow2"]


def gaussian(vector: Any) -> None:
    for name, worked in vector.items():
        n, q, s = numbers_in(name)
        assert sign_accuracy(int(q), 2 * n * s) == pytest.approx(worked, rel=1e-9)


def one_private_answer(vector: Any) -> None:
    for epsilon, worked in vector.items():
        assert pure_accuracy(float(epsilon), HALVES) == pytest.approx(worked, rel=1e-12)


def one_laplace_answer(vector: Any) -> None:
    for epsilon, worked in vector.items():
        profile = LaplaceProduct(epsilon=float(epsilon), queries=1)
        assert (1 + profile.delta(0)) / 2 == pytest.approx(worked, abs=1e-12)


def randomised_response(vector: Any) -> None:
    for name, worked in vector.items():
        n, epsilon = numbers_in(name)
        assert pure_exact(epsilon, HALVES, int(n)) == pytest.approx(worked, rel=1e-12)


def all_labels_of_one_query(vector: Any) -> None:
    for name, worked in vector.items():
        n, span = int(numbers_in(name)[0]), numbers_in(name)[1]
        assert sperner_tau(n, n_records=n, span=span) == pytest.approx(worked["sufficient"], rel=1e-9)
        assert span / (n * 2**n) == pytest.approx(worked["necessary_pow2"], rel=1e-9)


def bits_of_primes(vector: Any) -> None:
    for n, worked in vector.items():
        assert prime_product(first_primes(int(n))).bit_length() == worked["bitlenP"]
        assert needed_bits(first_primes(int(n))) == worked["w"]


def corollary_one(vector: Any) -> None:
    theta = LogLoss().prediction(power_gaps(1, n_records=1, tau=vector["tau"], base=3.0), DOUBLES)
    low, high = ItakuraSaito().costs(theta, DOUBLES)[0]
    assert abs(high - low) / (2 * vector["tau"]) == pytest.approx(vector["lam_over_2tau"], rel=1e-9)


def advanced_composition(vector: Any) -> None:
    assert advanced_epsilon(vector["eps"], vector["q"], vector["delta"]) == pytest.approx(vector["value"])


def ladder(vector: Any) -> None:
    assert 2 ** ladder_bits(float(vector["J"]), 1.0, vector["q"]) == pytest.approx(vector["count"])


def spans(vector: Any) -> None:
    losses = {"KL": LogLoss(), "IS": ItakuraSaito(), "SE": SquaredEuclidean(), "NL3": NormLike(alpha=3.0)}
    assert set(losses) == set(vector)
    for name, loss in losses.items():
        assert loss.span(0.01) == pytest.approx(vector[name])


CHECKS: dict[str, Callable[[Any], None]] = {
    "ex_thm1": first_theorem,
    "constr1_KL_N3_tau0.1": powers_of_two,
    "mixed_radix_K3_N2_tau0.05": mixed_radix,
    "lemma2_counterexample": printed_lemma,
    "thm2_scale": scales,
    "conway_guy": conway_guy,
    "labels_per_query_rounding": labels_per_query,
    "gdp": gaussian,
    "dp_single": one_private_answer,
    "laplace_q1": one_laplace_answer,
    "rr_exact_recovery": randomised_response,
    "pigeonhole_tau_all": all_labels_of_one_query,
    "prec_bits_primes": bits_of_primes,
    "IS_lambda": corollary_one,
    "adv_comp": advanced_composition,
    "ladder_count": ladder,
    "cantor_mills_D1": lambda vector: np.testing.assert_array_equal(detecting_matrix(2), vector),
    "cantor_mills_D2": lambda vector: np.testing.assert_array_equal(detecting_matrix(4), vector),
    "L_eps_0.01": spans,
}


def test_every_vector_has_a_check() -> None:
    assert set(CHECKS) == set(VECTORS)


@pytest.mark.parametrize("name", VECTORS)
def test_it_comes_out(name: str) -> None:
    CHECKS[name](VECTORS[name])
