"""Intervals cover what they should, and never pretend to know more than the trials show."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

from labelinf_core.statistics.proportions import (
    CONFIDENCE,
    alarm_accuracy,
    clopper_pearson,
    exact_recovery,
    label_accuracy,
    leak_floor,
)


@pytest.mark.parametrize(("successes", "n"), [(0, 20), (1, 20), (10, 20), (19, 20), (20, 20), (7, 569)])
def test_clopper_pearson_inverts_the_binomial_tails(successes: int, n: int) -> None:
    """Independent reference: solve P(X >= k) = 2.5 % and P(X <= k) = 2.5 % with SciPy's binomial."""
    found = clopper_pearson(successes, n)

    if successes > 0:
        low = optimize.brentq(lambda p: stats.binom.sf(successes - 1, n, p) - 0.025, 1e-12, 1 - 1e-12)
        assert math.isclose(found.low, low, rel_tol=1e-9)
    if successes < n:
        high = optimize.brentq(lambda p: stats.binom.cdf(successes, n, p) - 0.025, 1e-12, 1 - 1e-12)
        assert math.isclose(found.high, high, rel_tol=1e-9)
    assert (found.low == 0) == (successes == 0)
    assert (found.high == 1) == (successes == n)


def test_twenty_of_twenty_is_not_certainty() -> None:
    assert round(exact_recovery([True] * 20).low, 4) == round(0.025 ** (1 / 20), 4) == 0.8316


def test_an_all_or_nothing_attack_has_an_interval_of_trials_not_of_labels() -> None:
    found = label_accuracy([1.0, 0.0] * 10, 10_000)

    assert found.value == 0.5
    assert found.low < 0.3
    assert found.high > 0.7


def test_independent_labels_have_an_interval_of_labels() -> None:
    rng = np.random.default_rng(3)
    shares = rng.binomial(569, 0.73, size=20) / 569

    found = label_accuracy(list(shares), 569)

    independent = clopper_pearson(float(np.mean(shares)) * 20 * 569, 20 * 569)
    assert found.high - found.low >= independent.high - independent.low
    assert found.high - found.low < 0.03


@pytest.mark.parametrize("spread", [0.0, 0.1, 0.4])
def test_the_interval_covers_as_often_as_it_says(spread: float) -> None:
    """2 000 runs of 20 trials; coverage of 95 % intervals below 93 % has probability < 1e-4 if it is at least 95 %."""
    rng = np.random.default_rng(7)
    centre, covered = 0.5, 0
    for _ in range(2000):
        each = centre + spread * rng.choice([-1.0, 1.0], size=20)
        found = label_accuracy(list(rng.binomial(50, each) / 50), 50)
        covered += found.low <= centre <= found.high
    assert covered / 2000 > 0.93


def test_few_trials_pay_for_an_estimated_spread_by_the_square_of_students_ratio() -> None:
    """Korn and Graubard: n_eff = p (1 - p) / v times (z / t)^2; z and t of three degrees from tables."""
    shares = [0.4, 0.6, 0.45, 0.55]
    spread = sum((share - 0.5) ** 2 for share in shares) / 3 / 4
    size = 0.25 / spread * (1.959964 / 3.182446) ** 2

    found, expected = label_accuracy(shares, 1000), clopper_pearson(size / 2, size)

    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-6)


def test_one_trial_takes_its_labels_for_independent() -> None:
    assert label_accuracy([0.6], 100) == clopper_pearson(60, 100)


@pytest.mark.parametrize("shares", [[1.0], [0.9], [1.0, 1.0, 1.0]])
def test_the_alarm_counts_trials_where_their_spread_cannot_be_seen(shares: list[float]) -> None:
    found = alarm_accuracy(shares, 10_000, 0.95)

    assert found.low <= 0.025 ** (1 / len(shares)) + 1e-12


def test_the_alarm_interval_is_never_narrower() -> None:
    shares = [0.6, 0.7, 0.65, 0.72]

    wide, narrow = alarm_accuracy(shares, 100, 0.999), label_accuracy(shares, 100)

    assert wide.low < narrow.low < narrow.high < wide.high


def test_one_trial_of_a_thousand_labels_shows_a_leak() -> None:
    assert leak_floor([0.75], 1000, 0.999) > 0.69


def test_a_single_full_recovery_shows_a_leak_whatever_the_mean() -> None:
    shares = [0.5] * 19 + [1.0]

    assert leak_floor(shares, 569, 0.999) > 0.95
    assert label_accuracy(shares, 569).low < 0.627


@pytest.mark.parametrize("cells", [1, 30])
@pytest.mark.parametrize("right", [[62], [55, 61, 49], [100] + [50] * 9, [48] * 20], ids=str)
def test_more_than_luck_is_computed_as_the_page_on_reading_says(right: list[int], cells: int) -> None:
    """The page's sentence, number by number, with SciPy's binomial; another sentence needs another test."""
    page = " ".join((Path(__file__).parents[2] / "docs" / "reading.md").read_text().split())
    assert (
        "The lower limit is the larger of two of Clopper and Pearson, for all trials together and for the best trial "
        "alone, each at half of 5 % divided by the number of cells, and the best trial's divided by the number of "
        "trials too."
    ) in page

    def limit(successes: int, n: int, level: float) -> float:
        return optimize.brentq(lambda p: stats.binom.sf(successes - 1, n, p) - level, 1e-12, 1 - 1e-12, xtol=1e-12)

    level, trials = 0.05 / cells / 2, len(right)
    together, best = limit(sum(right), 100 * trials, level), limit(max(right), 100, level / trials)

    found = leak_floor([count / 100 for count in right], 100, 1 - (1 - CONFIDENCE) / cells)

    assert found == pytest.approx(max(together, best), abs=1e-6)


def test_a_guess_that_knows_nothing_rarely_shows_a_leak() -> None:
    """Labels in a random order, half of each class: at most 5 % of 2 000 runs; 7 % has probability < 1e-4."""
    rng = np.random.default_rng(11)
    labels = np.arange(100) % 2
    false = 0
    for _ in range(2000):
        shares = [float(np.mean(rng.permutation(labels) == rng.integers(0, 2, 100))) for _ in range(5)]
        false += leak_floor(shares, 100, 0.95) > 0.5
    assert false / 2000 < 0.07


@settings(max_examples=80)
@given(st.lists(st.integers(0, 40), min_size=1, max_size=12), st.sampled_from([0.9, 0.95, 0.9999]))
def test_an_interval_contains_its_estimate_and_stays_a_proportion(counts: list[int], confidence: float) -> None:
    shares = [count / 40 for count in counts]

    for found in (label_accuracy(shares, 40, confidence), alarm_accuracy(shares, 40, confidence)):
        assert 0 <= found.low <= found.value <= found.high <= 1


def test_the_spread_of_two_trials_counts_by_students_quantile() -> None:
    """Shares .5 and .6 of 10 000 labels: variance of the mean .0025, and Student's t of one degree of freedom."""
    found = label_accuracy([0.5, 0.6], 10_000)

    size = 0.55 * 0.45 / 0.0025 * (stats.norm.ppf(0.025) / stats.t.ppf(0.025, 1)) ** 2
    expected = clopper_pearson(0.55 * size, size)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), rel=1e-9)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_trials_that_all_ended_the_same_way_count_as_trials(share: float) -> None:
    found = alarm_accuracy([share] * 5, 1000, 0.95)

    expected = clopper_pearson(5 * share, 5)
    assert (found.low, found.high) == (expected.low, expected.high)
