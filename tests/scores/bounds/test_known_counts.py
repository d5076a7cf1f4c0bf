"""What exactly known class counts are worth to the best attack: linear programs over all mechanisms there are.

Labels are a random order with known counts. Whatever a mechanism releases, it may as well release the best guess. So
the largest expected share of right guesses is the value of a linear program over the laws of a guess given the labels,
under the privacy of every pair that differs in one label. Laws may be averaged over the orders of the records: a law
depends on how many labels of each class are guessed how, and that is few numbers.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse, stats
from scipy.optimize import linprog

from labelinf_core.contracts.guarantees import BoundValue
from labelinf_core.statistics.profiles import GaussianProfile, Profile
from labelinf_privacy.composition import PureProduct
from labelinf_privacy.label_dp import accuracy
from labelinf_privacy.laplace_product import LaplaceProduct
from labelinf_privacy.noise.grid_gaussian import GridGaussian
from labelinf_scores.bounds.common import counts_allowance
from labelinf_scores.bounds.entropy import fewest_answers, gaussian_bits, label_bits
from labelinf_scores.bounds.gaussian_capacity import GaussianCapacity
from labelinf_scores.bounds.label_dp import LabelDp, moved_accuracy
from labelinf_scores.bounds.metric_limits import fewest_queries
from labelinf_scores.bounds.one_query import OneQuery
from labelinf_scores.bounds.worst_case import WorstCaseThreshold
from labelinf_scores.defences.randomised_response import PerturbedLabels
from labelinf_scores.defences.score_noise import ScoreNoise
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.metrics.log_loss import LogLoss
from labelinf_scores.metrics.readings import Totals
from labelinf_scores.metrics.readings.lists import ReciprocalRank

GRID = np.linspace(-4, 4, 17)  # epsilons at which a profile is asked: fewer conditions allow mechanisms more


class Program:
    """Two classes: ``p[a, b, c]`` is the law of one guess that names a of a + b ones and c of the zeros ones."""

    def __init__(self, n: int) -> None:
        self.n = n
        orbits = [(a, b, c) for a in range(n + 1) for b in range(n + 1 - a) for c in range(n + 1 - a - b)]
        self.index = {orbit: place for place, orbit in enumerate(orbits)}
        self.width = len(orbits)
        self.rows: list[dict[int, float]] = []
        self.limits: list[float] = []

    def at_most(self, limit: float, terms: dict[int, float]) -> None:
        self.rows.append(terms)
        self.limits.append(limit)

    def private(self, ones: int, epsilon: float, delta: float) -> None:
        """Between labels with so many ones and those with one of them less, either way."""
        rest = [(g, a, c) for g in (0, 1) for a in range(ones) for c in range(self.n - ones + 1)]
        for turned in (False, True):
            total: dict[int, float] = {}
            for guess, a, c in rest:
                one = self.index[a + guess, ones - a - guess, c]
                less = self.index[a, ones - 1 - a, c + guess]
                pair = (less, one) if turned else (one, less)
                beyond, self.width = self.width, self.width + 1
                self.at_most(0, {pair[0]: 1, pair[1]: -math.exp(epsilon), beyond: -1})
                total[beyond] = math.comb(ones - 1, a) * math.comb(self.n - ones, c)
            self.at_most(delta, total)

    def most(self, ones: int) -> float:
        """The largest expected share of right guesses of labels with so many ones."""
        gain = np.zeros(self.width)
        laws: list[dict[int, float]] = [{} for _ in range(self.n + 1)]
        for (a, b, c), place in self.index.items():
            laws[a + b][place] = weight = math.comb(a + b, a) * math.comb(self.n - a - b, c)
            if a + b == ones:
                gain[place] = -weight * (a + self.n - ones - c) / self.n
        found = linprog(
            gain,
            A_ub=self._matrix(self.rows),
            b_ub=self.limits,
            A_eq=self._matrix(laws),
            b_eq=np.ones(self.n + 1),
            method="highs",
        )
        return -float(found.fun)

    def _matrix(self, rows: list[dict[int, float]]) -> sparse.csr_array:
        found = [(place, column, value) for place, row in enumerate(rows) for column, value in row.items()]
        places, columns, values = zip(*found, strict=True)
        return sparse.csr_array((values, (places, columns)), shape=(len(rows), self.width))


def worth(profile: Profile, grid: NDArray[np.float64], n: int, ones: int) -> tuple[float, float]:
    """Return what counts are worth at most, over the ceiling for independent labels; and the ceiling."""
    program = Program(n)
    for ones_now, epsilon in itertools.product(range(1, n + 1), grid):
        program.private(ones_now, epsilon, profile.delta(epsilon))
    ceiling = accuracy(profile, (1 - ones / n, ones / n))
    return program.most(ones) - ceiling, ceiling


def allowed(prior: tuple[float, float], n: int, epsilon: float) -> float:
    """Return what the alarm allows for of records apart, behind a pure mechanism."""
    threat = ScoreThreat(n_records=n, n_classes=2, prior=prior, loss=LogLoss(), arithmetic="float64", summation="numpy")
    return counts_allowance(threat, lambda moved: accuracy(_of(moved * epsilon)[0], prior))


def _of(epsilon: float) -> tuple[Profile, NDArray[np.float64]]:
    return PureProduct(epsilon=epsilon, queries=1), np.array([epsilon])


@pytest.mark.parametrize("n", [5, 6, 7, 8, 9, 10, 11])
def test_whoever_names_the_one_label_of_a_rare_class_gains_less_than_is_allowed(n: int) -> None:
    """At epsilon = ln(N - 1) randomised response over the N orders is right on 1 - 2 / N^2 of all labels."""
    epsilon, prior = math.log(n - 1), (1 - 1 / n, 1 / n)
    excess, single = worth(*_of(epsilon), n, 1)
    assert excess + single >= 1 - 2 / n**2 - 1e-6
    assert excess <= allowed(prior, n, epsilon) + 1e-9
    assert excess > 0.25 / math.sqrt(n) or n == 11  # which was said of all


@pytest.mark.long
@pytest.mark.parametrize("delta", [0.0, 0.05, 0.5])
@pytest.mark.parametrize("n", [2, 3, 4, 6, 9])
def test_so_it_is_of_every_count_and_with_a_delta(n: int, delta: float) -> None:
    for ones, epsilon in itertools.product(range(1, n // 2 + 1), (0.0, 0.3, 0.8, 1.5, 2.5)):
        prior, program = (1 - ones / n, ones / n), Program(n)
        for ones_now in range(1, n + 1):
            program.private(ones_now, epsilon, delta)
        against = functools.partial(moved_accuracy, epsilon, delta, prior)
        threat = ScoreThreat(
            n_records=n, n_classes=2, prior=prior, loss=LogLoss(), arithmetic="float64", summation="numpy"
        )
        assert program.most(ones) <= against(1) + counts_allowance(threat, against) + 1e-9


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.0])
@pytest.mark.parametrize(("n", "ones"), [(2, 1), (3, 1), (4, 2), (6, 2), (8, 4)])
def test_no_pure_mechanism_gains_more_from_known_counts_than_the_alarm_allows(
    n: int, ones: int, epsilon: float
) -> None:
    profile, grid = _of(epsilon)
    excess, single = worth(profile, grid, n, ones)
    double = accuracy(_of(2 * epsilon)[0], (1 - ones / n, ones / n))
    assert -1e-9 < excess <= allowed((1 - ones / n, ones / n), n, epsilon) + 1e-9
    assert excess < double - single  # proved of all: orders of the same labels differ in two records at least


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "ones"), [(12, 1), (12, 6), (16, 1), (16, 8), (16, 4), (17, 1), (18, 2), (18, 6), (20, 1), (22, 1), (22, 5)]
)
def test_that_stays_so_of_more_labels(n: int, ones: int) -> None:
    """Most is gained where randomised response begins to be worth more than the majority guess."""
    for epsilon in (0.3, 1.0, 2.0, math.log((n - ones) / ones)):
        assert worth(*_of(epsilon), n, ones)[0] <= 0.25 / math.sqrt(n) + 1e-7


@pytest.mark.slow
@pytest.mark.parametrize("law", [GaussianProfile(0.5), GaussianProfile(1.0), LaplaceProduct(epsilon=0.3, queries=6)])
@pytest.mark.parametrize(("n", "ones"), [(4, 2), (6, 2), (6, 3)])
def test_nor_does_any_mechanism_with_the_profile_of_noise(law: Profile, n: int, ones: int) -> None:
    """The program knows the profile at a few epsilons only, so that the true worth is less still."""
    assert worth(law, GRID, n, ones)[0] <= 0.25 / math.sqrt(n)


def test_more_labels_are_worth_less() -> None:
    """Whoever is told all labels but those of a few, with the same shares, plays among few: a ceiling there holds."""
    found = [worth(*_of(1.0), n, n // 2)[0] for n in (2, 4, 6, 8)]
    assert found == sorted(found, reverse=True)


@pytest.mark.parametrize("n", [100, 1000])
def test_randomised_response_gains_more_than_a_share_of_one_label_and_less_than_is_allowed(n: int) -> None:
    """A quarter are ones, epsilon = ln 3: a noisy one is as likely a zero, until it is counted how many there are."""
    ones, kept = n // 4, 0.75
    right = stats.binom.pmf(np.arange(ones + 1), ones, kept)
    wrong = stats.binom.pmf(np.arange(n - ones + 1), n - ones, 1 - kept)
    both = right[:, None] * wrong
    counted = np.add.outer(np.arange(ones + 1), np.arange(n - ones + 1))
    more = np.subtract.outer(
        np.arange(ones + 1), np.arange(n - ones + 1)
    )  # right less wrong, if ones are guessed there
    gained = np.maximum(np.bincount(counted.ravel(), (both * more).ravel()), 0).sum() / n

    assert gained > 0.08 / math.sqrt(n)
    assert gained > 1 / n or n == 100
    assert gained < allowed((0.75, 0.25), n, math.log(3))


@pytest.mark.parametrize("counts", [(1, 1), (2, 2), (3, 1), (4, 2)])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_no_game_of_randomised_response_crosses_its_line(counts: tuple[int, int], epsilon: float) -> None:
    """The likeliest order for every answer, all counts known, against the line of one game and of all labels."""
    n = sum(counts)
    orders = np.array(sorted(set(itertools.permutations(np.repeat((0, 1), counts).tolist()))))
    answers = np.array(list(itertools.product((0, 1), repeat=n)))
    kept = (orders[:, None, :] == answers).sum(axis=2)
    law = np.exp(epsilon * (kept - n)) / (1 + math.exp(-epsilon)) ** n
    guessed = orders[law.argmax(axis=0)]
    right = (orders[:, None, :] == guessed).sum(axis=2)
    prior = (counts[0] / n, counts[1] / n)
    threat = ScoreThreat(
        n_records=n, n_classes=2, prior=prior, loss=LogLoss(), arithmetic="float64", summation="numpy"
    ).through((PerturbedLabels(epsilon=epsilon),))
    (ceiling,) = LabelDp().ceilings(threat)
    assert ceiling.game is not None
    for least in range(n + 1):
        chance = float((law * (right >= least)).sum() / len(orders))
        line = 2**ceiling.game.bits * stats.binom.sf(least - 1, n, ceiling.game.share)
        assert chance <= line * (1 + 1e-9)
    whole = float((law * (right == n)).sum() / len(orders))
    assert whole <= (ceiling.exact + ceiling.allowance) * (1 + 1e-9)


MakeThreat = Callable[..., ScoreThreat]


def orders(counts: tuple[int, ...]) -> NDArray[np.intp]:
    """Return every order of labels with these counts."""
    return np.array(sorted(set(itertools.permutations(np.repeat(range(len(counts)), counts).tolist()))))


def line(lines: tuple[BoundValue, ...], title: str) -> float:
    """Return a line of ``labelinf bounds``, which holds for whoever knows the class counts."""
    (found,) = [item for item in lines if item.title.startswith(title)]
    assert "class counts known" in found.conditions
    return found.value


@pytest.mark.parametrize("counts", [(1, 1), (2, 1), (2, 2), (3, 1), (4, 1), (3, 3), (2, 1, 1), (2, 2, 1)], ids=str)
def test_no_query_survives_noise_that_is_enough_for_known_counts(
    make_threat: MakeThreat, counts: tuple[int, ...]
) -> None:
    """Half the least difference of two scores, of many queries, for the labels of each first m records."""
    n, k = sum(counts), len(counts)
    threat = make_threat(n_records=n, n_classes=k, prior=tuple(count / n for count in counts))
    rng, every = np.random.default_rng(0), orders(counts)
    costs = threat.span * np.array([rng.random((n, k)) ** rng.integers(1, 5) for _ in range(400)])
    costs[0] = threat.span * (np.arange(k) / (k - 1)) * (np.arange(n) / max(1, n - 1))[:, None]
    scores = costs[:, np.arange(n), every].mean(axis=2)
    for m in range(1, n + 1):
        enough = line(OneQuery(labels=m).evaluate(threat), f"noise above which no query tells {m} labels")
        named = np.unique(every[:, :m], axis=0, return_inverse=True)[1].ravel()
        apart = named[:, None] != named
        if not apart.any():
            assert math.isinf(enough)
            continue
        gaps = np.abs(scores[:, :, None] - scores[:, None, :])[:, apart].min(axis=1)
        assert gaps.max() / 2 <= enough * (1 + 1e-9)


def test_two_labels_that_may_change_places_are_hidden_and_one_alone_is_not(make_threat: MakeThreat) -> None:
    """A curator who may err by L / 2N hides one label: all others come out, and it is the missing one."""
    threat = make_threat(n_records=4)
    hides = line(WorstCaseThreshold().evaluate(threat), "worst-case noise that hides the first label")
    swapped = [pair for pair in itertools.combinations(orders((2, 2)), 2) if (pair[0] != pair[1]).sum() == 2]
    costs = np.random.default_rng(0).uniform(0, threat.span, (500, 4, 2))
    scores = [[costs[:, range(4), labels].mean(axis=1) for labels in pair] for pair in swapped]
    middle = max(float(np.abs(one - other).max()) / 2 for one, other in scores)
    assert threat.span / 8 < middle <= hides


@pytest.mark.parametrize("n", [3, 5, 6, 10, 11, 50])
def test_one_query_is_enough_where_it_has_as_many_values_as_there_are_orders(n: int) -> None:
    """One positive: its reciprocal rank names it, though N! / (N - 1)! has a logarithm a little above that of N."""
    assert fewest_queries(ReciprocalRank(), Totals.binary(n_records=n, n_positive=1))[0] == 1
    assert fewest_answers(label_bits((1 - 1 / n, 1 / n), n), math.log2(n)) == 1


@pytest.mark.parametrize("n", [2, 4, 10])
def test_an_answer_carries_more_of_labels_in_random_order_and_no_more_than_is_said(
    make_threat: MakeThreat, n: int
) -> None:
    """Half the records cost all of a one, half all of a zero: the score that varies most, integrated."""
    threat = make_threat(n_records=n)
    scale = 4 * threat.span
    shown = np.arange(n // 2 + 1)  # ones in the first half; as many zeros are in the second
    law = stats.hypergeom.pmf(shown, n, n // 2, n // 2)
    values = threat.span * 2 * shown / n
    grid = np.linspace(-8 * scale, threat.span + 8 * scale, 20_001)
    each = stats.norm.pdf(grid[None], values[:, None], scale)
    carried = float((law @ (each * np.log2(each / (law @ each)))).sum() * (grid[1] - grid[0]))

    independent = gaussian_bits(
        spread=threat.span / (2 * math.sqrt(n)), span=threat.span, std=scale, queries=1, enough=1e9
    )
    noise = ScoreNoise(model=GridGaussian(step=2.0**-20, scale=scale))
    (found,) = GaussianCapacity().ceilings(make_threat(n_records=n, query_budget=1, defences=(noise,)))
    said = float(found.conditions.partition("at most ")[2].partition(" bits")[0])
    assert independent < carried <= said
