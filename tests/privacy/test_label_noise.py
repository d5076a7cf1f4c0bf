"""Noise models of labels: laws by enumeration, in whole numbers; draws by chi-square and word by word."""

from __future__ import annotations

import math
from fractions import Fraction

import gmpy2
import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from labelinf_core.contracts.components import Weights
from labelinf_core.contracts.errors import InputError
from labelinf_privacy.label_noise.exact import WORDS, ExactLabelNoise, enumerated_epsilon, even, responses
from labelinf_privacy.label_noise.prior_response import PriorResponse, respond_within_top
from labelinf_privacy.label_noise.randomised_response import RandomisedResponse, keep_probability
from labelinf_privacy.label_noise.resampled_response import ResampledResponse, effective_epsilon
from labelinf_privacy.words import SeededWords, SystemWords

CLASSES = st.integers(2, 12)
EPSILONS = st.floats(0, 50)


class Written:
    """Words written down beforehand."""

    def __init__(self, *script: int) -> None:
        self.script = script

    def words(self, n: int) -> NDArray[np.uint64]:
        return np.array(self.script[:n], dtype=np.uint64)


def _ratio(weights: Weights) -> Fraction:
    return max(Fraction(max(column), min(column)) for column in zip(*weights, strict=True) if any(column))


def _at_most(ratio: Fraction, epsilon: float) -> bool:
    with gmpy2.context(precision=400, round=gmpy2.RoundDown):
        return bool(gmpy2.mpq(ratio) <= gmpy2.mpq(gmpy2.exp(gmpy2.mpfr(epsilon))))


@pytest.mark.long
@given(EPSILONS, CLASSES)
def test_randomised_response_has_its_epsilon_exactly_and_all_of_it(epsilon: float, n_classes: int) -> None:
    """In floats the keep probability rounds to 1 from epsilon 37 on, and then no label is ever changed."""
    model = RandomisedResponse(epsilon=epsilon)
    weights = model.weights(n_classes)
    assert all(sum(row) == WORDS and min(row) > 0 for row in weights)
    assert _at_most(_ratio(weights), model.label_epsilon(n_classes))
    assert model.label_epsilon(n_classes) <= max(epsilon, 2e-17)
    if epsilon < 30:
        assert enumerated_epsilon(weights) == pytest.approx(epsilon, abs=1e-5)
        assert weights[0][0] / WORDS == pytest.approx(keep_probability(epsilon, n_classes), rel=1e-14)


def test_a_float_would_keep_every_label_where_the_table_does_not() -> None:
    assert keep_probability(40.0, 2) == 1.0
    keep, lost = responses(40.0, 2)
    assert lost == math.ceil(WORDS / (math.exp(40.0) + 1)) == 79
    assert keep + lost == WORDS


@pytest.mark.long
@given(EPSILONS, st.lists(st.floats(0.01, 1), min_size=2, max_size=6), st.integers(0, 7))
def test_a_prior_never_costs_more_epsilon(epsilon: float, prior: list[float], top: int) -> None:
    model = PriorResponse(epsilon=epsilon, prior=tuple(prior), top=top)
    weights = model.weights(len(prior))
    assert all(sum(row) == WORDS for row in weights)
    answered = sum(1 for column in zip(*weights, strict=True) if any(column))
    assert answered == min(top, len(prior)) or top == 0
    assert enumerated_epsilon(weights) <= model.label_epsilon(len(prior)) <= max(epsilon, 2e-17)


def test_without_a_prior_it_is_randomised_response() -> None:
    assert PriorResponse(epsilon=1.3).weights(5) == RandomisedResponse(epsilon=1.3).weights(5)


def test_a_prior_of_other_classes_is_refused_in_a_sentence() -> None:
    with pytest.raises(InputError, match=r"prior=\[0.5, 0.5\] must be 3 shares, one for every class"):
        PriorResponse(prior=(0.5, 0.5)).weights(3)


@pytest.mark.long
@given(st.floats(0, 20), CLASSES)
def test_resampling_has_the_epsilon_of_its_table_and_not_the_nominal_one(epsilon: float, n_classes: int) -> None:
    model = ResampledResponse(epsilon=epsilon)
    assert _at_most(_ratio(model.weights(n_classes)), model.label_epsilon(n_classes))
    assert model.label_epsilon(n_classes) == pytest.approx(effective_epsilon(epsilon, n_classes), abs=1e-8)
    assert model.label_epsilon(n_classes) > epsilon


def test_a_table_with_a_hole_has_no_epsilon() -> None:
    assert enumerated_epsilon(((WORDS, 0), (1, WORDS - 1))) == math.inf
    assert enumerated_epsilon(((WORDS, 0), (WORDS, 0))) == 0.0
    assert even(3) == (WORDS // 3 + 1, WORDS // 3, WORDS // 3)


def test_every_word_leads_where_the_table_says() -> None:
    """First and last word of every answer; the mutant that is off by one at an edge answers another class."""

    class Table(ExactLabelNoise):
        def weights(self, n_classes: int) -> Weights:
            return ((0, 5, 0, WORDS - 7, 2), *(((0,) * 4 + (WORDS,)),) * 4)

        def label_epsilon(self, n_classes: int) -> float:
            return math.inf

    words = (0, 4, 5, WORDS - 3, WORDS - 2, WORDS - 1)
    zeros = np.zeros(6, dtype=np.intp)
    assert Table().answer(zeros, 5, Written(*words)).tolist() == [1, 1, 3, 3, 4, 4]
    assert Table().answer(zeros + 2, 5, Written(*words)).tolist() == [4] * 6


@pytest.mark.parametrize(
    "model",
    [RandomisedResponse(epsilon=1.0), PriorResponse(prior=(0.2, 0.5, 0.3), top=2), ResampledResponse(epsilon=0.5)],
    ids=lambda model: type(model).__name__,
)
def test_answers_have_the_probabilities_of_the_table(model: ExactLabelNoise) -> None:
    """Chi-square for every label; a correct sampler fails with probability 3e-4."""
    for label, row in enumerate(model.weights(3)):
        answers = model.sample(np.full(30_000, label), 3, np.random.default_rng(label))
        shares = np.array(row) / WORDS
        counts = np.bincount(answers, minlength=3)
        assert (counts[shares == 0] == 0).all()
        assert scipy.stats.chisquare(counts[shares > 0], 30_000 * shares[shares > 0]).pvalue > 1e-4


@pytest.mark.long
@given(st.integers(2, 5), st.integers(0, 2**32 - 1))
def test_priors_of_their_own_are_the_same_law_record_by_record(n_classes: int, seed: int) -> None:
    """The same words under one prior for all, and under the same prior given for every record."""
    rng = np.random.default_rng(seed)
    prior = rng.dirichlet(np.ones(n_classes))
    labels, top = rng.integers(0, n_classes, 40), int(rng.integers(1, n_classes + 1))
    together = PriorResponse(epsilon=1.0, prior=tuple(prior), top=top)
    each = respond_within_top(
        labels,
        np.broadcast_to(prior, (40, n_classes)),
        np.full(40, top),
        1.0,
        SeededWords(np.random.default_rng(seed)),
    )
    order = np.argsort(-prior, kind="stable")
    assert set(each.tolist()) <= set(order[:top].tolist())
    assert together.weights(n_classes)[int(order[0])][int(order[0])] == responses(1.0, top)[0]


def test_a_deployed_answer_is_drawn_from_the_system() -> None:
    labels = np.zeros(200, dtype=np.intp)
    first, second = (RandomisedResponse(epsilon=0.1).answer(labels, 2, SystemWords()) for _ in range(2))
    assert not np.array_equal(first, second)
