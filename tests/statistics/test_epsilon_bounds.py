"""The statistics of an audit, against slow references and by exact enumeration."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from labelinf_core.statistics import epsilon_bounds
from labelinf_core.statistics.one_run import tail_probability
from labelinf_core.statistics.profiles import ApproximateProfile
from labelinf_core.statistics.proportions import holm, p_value


@given(st.integers(0, 60), st.integers(1, 60), st.floats(0.01, 0.99))
@settings(max_examples=60)
def test_the_p_value_is_the_binomial_tail(correct: int, guesses: int, probability: float) -> None:
    correct = min(correct, guesses)

    expected = stats.binom.sf(correct - 1, guesses, probability)

    assert p_value(correct, guesses, probability) == pytest.approx(expected, rel=1e-9)


def test_the_p_value_of_nothing_is_one() -> None:
    assert p_value(0, 10, 0.5) == 1.0
    assert p_value(10, 10, 1.0) == 1.0


def naive_holm(p_values: list[float]) -> list[float]:
    """Reject step by step at every level that matters; the adjusted value is the least level that rejects."""
    adjusted = []
    for own in p_values:
        levels = sorted(p * k for p in p_values for k in range(1, len(p_values) + 1))
        adjusted.append(min([level for level in levels if own in rejected(p_values, level)] + [1.0]))
    return adjusted


def rejected(p_values: list[float], level: float) -> list[float]:
    out: list[float] = []
    for rank, p in enumerate(sorted(p_values)):
        if p * (len(p_values) - rank) > level * (1 + 1e-12):
            break
        out.append(p)
    return out


@given(st.lists(st.floats(1e-6, 1), min_size=1, max_size=7))
@settings(max_examples=60)
def test_holm_is_the_step_down_procedure(p_values: list[float]) -> None:
    assert holm(p_values) == pytest.approx(naive_holm(p_values))


def test_holm_of_no_tests_is_empty() -> None:
    assert holm([]) == ()


@pytest.mark.parametrize(("epsilon", "n_classes"), [(0.0, 2), (1.0, 2), (0.7, 5), (3.0, 10)])
def test_the_ceiling_inverts_to_its_epsilon(epsilon: float, n_classes: int) -> None:
    ceiling = epsilon_bounds.label_dp_ceiling(epsilon, n_classes)

    assert math.log(ceiling * (n_classes - 1) / (1 - ceiling)) == pytest.approx(epsilon, abs=1e-12)


def test_the_ceiling_is_sane_at_its_ends() -> None:
    assert epsilon_bounds.label_dp_ceiling(0.0, 4) == 0.25
    assert epsilon_bounds.label_dp_ceiling(math.inf, 4) == 1.0
    assert epsilon_bounds.label_dp_ceiling(0.5, 2, delta=1.0) == 1.0


@given(st.integers(1, 200), st.integers(1, 200), st.integers(2, 10), st.floats(0.001, 0.2))
@settings(max_examples=60)
def test_the_bound_is_where_the_p_value_reaches_beta(correct: int, guesses: int, n_classes: int, beta: float) -> None:
    correct = min(correct, guesses)

    epsilon = epsilon_bounds.epsilon_lower_bound(correct, guesses, n_classes=n_classes, beta=beta)

    p = p_value(correct, guesses, epsilon_bounds.label_dp_ceiling(epsilon, n_classes))
    assert p == pytest.approx(beta, rel=1e-6) if epsilon > 0 else p >= beta * (1 - 1e-6)


def reference_p_value(correct: int, guesses: int, epsilon: float, delta: float, canaries: int) -> float:
    """Theorem 5.2 of Steinke, Nasr and Jagielski, repaired, by plain summation."""
    keep = 1 / (1 + math.exp(-epsilon))
    told = sum(
        max(stats.binom.pmf(correct - 1 - w, guesses - j, keep) for w in range(j)) for j in range(1, guesses + 1)
    )
    excess = delta * canaries / guesses * (1 - keep) * told
    return float(stats.binom.sf(correct - 1, guesses, keep) + excess)


@pytest.mark.parametrize(("correct", "guesses", "canaries"), [(18, 20, 20), (9, 10, 40), (40, 50, 50)])
@pytest.mark.parametrize("delta", [1e-6, 1e-3])
def test_the_approximate_bound_agrees_with_plain_summation(
    correct: int, guesses: int, canaries: int, delta: float
) -> None:
    epsilon = epsilon_bounds.epsilon_lower_bound(correct, guesses, delta=delta, n_canaries=canaries)
    by_counts = tail_probability(correct, guesses, ApproximateProfile(epsilon, delta), n_canaries=canaries)

    assert epsilon > 0
    slow = reference_p_value(correct, guesses, epsilon, delta, canaries)
    assert min(slow, by_counts) == pytest.approx(epsilon_bounds.BETA, rel=1e-6)


def test_a_delta_never_proves_more() -> None:
    bounds = [
        epsilon_bounds.epsilon_lower_bound(90, 100, delta=d, n_canaries=100) for d in (0, 1e-9, 1e-6, 1e-4, 1e-3, 1e-2)
    ]

    assert all(later <= earlier + 1e-6 for earlier, later in pairwise(bounds))
    assert bounds[-1] < bounds[0]


def test_no_guesses_prove_nothing() -> None:
    assert epsilon_bounds.epsilon_lower_bound(0, 0) == epsilon_bounds.epsilon_lower_bound(0, 10) == 0.0


@pytest.mark.parametrize(
    ("n_canaries", "epsilon"), [(20, 1.41), (50, 2.39), (100, 3.11), (500, 4.73), (1000, 5.43), (3000, 6.53)]
)
def test_perfect_guesses_prove_the_provable_epsilon(n_canaries: int, epsilon: float) -> None:
    found = epsilon_bounds.one_run_epsilon(np.ones(n_canaries, dtype=bool), n_canaries=n_canaries)

    assert round(found.epsilon, 2) == epsilon
    assert found.epsilon == found.provable == epsilon_bounds.provable_epsilon(n_canaries)


def test_a_delta_lowers_what_can_be_proved() -> None:
    found = epsilon_bounds.one_run_epsilon(np.ones(100, dtype=bool), n_canaries=100, delta=1e-4)

    assert found.epsilon == found.provable == epsilon_bounds.provable_epsilon(100, delta=1e-4)
    assert 0 < found.provable < epsilon_bounds.provable_epsilon(100)


def test_abstaining_from_doubtful_guesses_proves_more() -> None:
    confident, doubtful = np.ones(50, dtype=bool), np.arange(450) % 2 == 0
    ranked = np.concatenate([confident, doubtful])

    found = epsilon_bounds.one_run_epsilon(ranked, n_canaries=500)

    assert (found.guesses, found.correct) == (50, 50)
    assert found.epsilon > epsilon_bounds.epsilon_lower_bound(int(ranked.sum()), 500)


def test_guess_counts_are_fixed_beforehand() -> None:
    assert epsilon_bounds.guess_counts(1000) == (1000, 500, 250, 100)
    assert epsilon_bounds.guess_counts(1) == (1,)


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0])
@pytest.mark.parametrize("guesses", [20, 101, 600])
@pytest.mark.parametrize("n_classes", [2, 10])
def test_the_pure_bound_covers_randomised_response(epsilon: float, guesses: int, n_classes: int) -> None:
    """Exact: the best attack on randomised response guesses the response, right Bin(r, ceiling) times."""
    counts = np.arange(guesses + 1)
    weights = stats.binom.pmf(counts, guesses, epsilon_bounds.label_dp_ceiling(epsilon, n_classes))
    too_high = [
        epsilon_bounds.epsilon_lower_bound(int(k), guesses, n_classes=n_classes) > epsilon + 1e-9 for k in counts
    ]

    assert weights[np.array(too_high)].sum() <= epsilon_bounds.BETA


@pytest.mark.long
@pytest.mark.parametrize(("epsilon", "n_classes"), [(0.3, 2), (1.0, 2), (1.0, 4)])
def test_one_run_covers_whatever_the_ranking(epsilon: float, n_classes: int) -> None:
    """By simulation: 4 000 audits of a mechanism that is as loose as allowed where the guesser is most confident.

    The true rate is at most 5 %; 4 000 runs exceed 6.2 % with probability below 5e-4 (exact binomial tail).
    """
    rng = np.random.default_rng(0)
    runs, m = 4_000, 120
    keep = epsilon_bounds.label_dp_ceiling(epsilon, n_classes)
    accused = 0
    for _ in range(runs):
        # The guesser knows that the first half of the canaries was answered as loosely as epsilon allows.
        loosely = np.arange(m) < m // 2
        ranked = rng.random(m) < np.where(loosely, keep, (keep + 1 / n_classes) / 2)
        accused += epsilon_bounds.one_run_epsilon(ranked, n_canaries=m, n_classes=n_classes).epsilon > epsilon
    assert accused <= 0.062 * runs
    assert stats.binom.sf(0.062 * runs, runs, 0.05) < 5e-4


def test_the_approximate_bound_covers_a_mechanism_that_tells_all_with_probability_delta() -> None:
    """By simulation: with probability delta a label is released, else randomised response.

    2 000 runs exceed 6.8 % with probability below 2e-4 when the true rate is 5 %.
    """
    rng = np.random.default_rng(1)
    runs, m, epsilon, delta = 2_000, 100, 0.5, 0.02
    keep = epsilon_bounds.label_dp_ceiling(epsilon, 2)
    accused = 0
    for _ in range(runs):
        told = rng.random(m) < delta
        correct = told | (rng.random(m) < keep)
        ranked = correct[np.argsort(~told, kind="stable")]
        hits = int(ranked[:10].sum())
        accused += epsilon_bounds.epsilon_lower_bound(hits, 10, delta=delta, n_canaries=m) > epsilon
    assert accused <= 0.068 * runs
    assert stats.binom.sf(0.068 * runs, runs, 0.05) < 2e-4


@pytest.mark.long
def test_a_mechanism_that_tells_everything_with_probability_delta_is_not_accused() -> None:
    """(.1, .05)-label-DP: everything with probability .05, else randomised response. The ceiling alone accuses it."""
    rng, runs, m, epsilon, delta = np.random.default_rng(4), 4_000, 300, 0.1, 0.05
    told = rng.random(runs) < delta
    drawn = np.where(told, m, rng.binomial(m, epsilon_bounds.label_dp_ceiling(epsilon, 2), runs))
    correct, places = np.unique(drawn, return_inverse=True)

    ceiling = epsilon_bounds.label_dp_ceiling(epsilon, 2, delta)
    alone = np.array([p_value(int(v), m, ceiling) for v in drawn])
    claim = np.array([epsilon_bounds.claim_p_value(int(v), m, epsilon, delta=delta, n_canaries=m) for v in correct])
    claim = claim[places]

    # By simulation: four standard deviations of 4 000 runs are .0063 at .01 and .019 at .1.
    assert (alone <= 0.01).mean() > 0.04
    for alpha in (0.01, 0.05, 0.1):
        assert (claim <= alpha).mean() <= alpha + 4 * np.sqrt(alpha * (1 - alpha) / runs)


@pytest.mark.long
@given(st.integers(0, 60), st.integers(0, 60), st.floats(0, 5), st.sampled_from([0.0, 1e-6, 1e-2]))
def test_a_claim_is_improbable_exactly_where_the_bound_refutes_it(a: int, b: int, epsilon: float, delta: float) -> None:
    correct, guesses = a, a + b
    p = epsilon_bounds.claim_p_value(correct, guesses, epsilon, delta=delta, n_canaries=200)
    bound = epsilon_bounds.epsilon_lower_bound(correct, guesses, delta=delta, n_canaries=200)

    assert 0 <= p <= 1
    if abs(bound - epsilon) > 1e-6:
        assert (p < epsilon_bounds.BETA) == (bound > epsilon)


def test_no_claim_is_never_improbable() -> None:
    assert epsilon_bounds.claim_p_value(100, 100, math.inf, n_classes=3, delta=0.1, n_canaries=100) == 1


@pytest.mark.parametrize(
    ("epsilon", "n_classes", "share"), [(0.0, 2, 1.0), (1.0, 2, 0.25), (4.0, 2, 1.0), (2.0, 10, 1.0)]
)
def test_a_committed_bound_exceeds_the_truth_as_often_as_it_says(epsilon: float, n_classes: int, share: float) -> None:
    """20 000 audits of randomised response: wrong in at most 5 %, within 4 standard deviations; nearly that often."""
    m, keep = 300, epsilon_bounds.label_dp_ceiling(epsilon, n_classes)
    guesses = int(share * m)
    drawn = np.random.default_rng(8).binomial(guesses, keep, 20_000)
    limits = {}
    for correct in np.unique(drawn).tolist():
        limits[correct] = epsilon_bounds.epsilon_lower_bound(correct, guesses, n_classes=n_classes)
    wrong = float(np.mean([limits[correct] > epsilon for correct in drawn.tolist()]))

    assert wrong <= 0.05 + 4 * math.sqrt(0.05 * 0.95 / drawn.size)
    assert wrong > 0.02


@pytest.mark.parametrize("n_classes", [2, 10])
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0])
def test_wrong_guesses_prove_no_more_than_is_told(n_classes: int, epsilon: float) -> None:
    """Exact: the worst pure mechanism names a class that the label is not, wrong with (K-1) e^eps to 1."""
    guesses, odds = 300, (n_classes - 1) * math.exp(epsilon)
    weights = stats.binom.pmf(np.arange(guesses + 1), guesses, odds / (1 + odds))
    bounds = [epsilon_bounds.epsilon_lower_bound(k, guesses, n_classes=n_classes, wrong=True) for k in range(301)]

    assert weights[np.array(bounds) > epsilon + 1e-9].sum() <= epsilon_bounds.BETA
    assert bounds[-1] > epsilon  # none of 300 right
    if n_classes == 2:
        assert bounds == [epsilon_bounds.epsilon_lower_bound(k, guesses) for k in range(301)]


def test_wrong_guesses_prove_of_two_classes_what_right_ones_do() -> None:
    for proved, known in (
        (epsilon_bounds.epsilon_lower_bound, {"delta": 1e-3}),
        (epsilon_bounds.mu_lower_bound, {}),
    ):
        for count in (0, 30, 38, 40):
            right, wrong = (proved(count, 40, n_canaries=50, wrong=side, **known) for side in (False, True))
            assert right == pytest.approx(wrong, abs=1e-6)
