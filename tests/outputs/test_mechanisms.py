"""The label-DP mechanisms as distributions."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import attrs
import gmpy2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from labelinf_core.statistics.profiles import GaussianProfile
from labelinf_outputs.defences.alibi import STEPS, learned_prior, noise_of, observe, posterior
from labelinf_outputs.defences.label_rr import LabelRr, RrWithPrior
from labelinf_outputs.defences.lp_mst import LpMst
from labelinf_outputs.defences.pate import STEPS as PATE_STEPS
from labelinf_outputs.defences.pate import Pate, vote_noise
from labelinf_outputs.defences.temperature import tempered
from labelinf_outputs.game.output import OutputThreat
from labelinf_outputs.game.training import Trained, TrainingTask, one_hot
from labelinf_outputs.game.victims import make_victim
from labelinf_outputs.game.view import View
from labelinf_privacy.label_noise.exact import ExactLabelNoise, enumerated_epsilon
from labelinf_privacy.label_noise.prior_response import PriorResponse, best_k, respond_within_top
from labelinf_privacy.label_noise.randomised_response import RandomisedResponse
from labelinf_privacy.label_noise.resampled_response import effective_epsilon
from labelinf_privacy.noise.grid_gaussian import GridGaussian
from labelinf_privacy.words import SeededWords

DRAWS = 60_000


def transitions(prior: list[float], k: int, epsilon: float) -> np.ndarray:
    """Observed P(answer | label), one row per label."""
    n_classes = len(prior)
    rng = np.random.default_rng(0)
    rows = []
    for label in range(n_classes):
        labels = np.full(DRAWS, label)
        priors = np.broadcast_to(np.array(prior), (DRAWS, n_classes))
        answers = respond_within_top(labels, priors, np.full(DRAWS, k), epsilon, SeededWords(rng))
        rows.append(np.bincount(answers, minlength=n_classes) / DRAWS)
    return np.array(rows)


def exact_transitions(prior: list[float], k: int, epsilon: float) -> np.ndarray:
    """RRTop-k as Ghazi et al. define it."""
    n_classes = len(prior)
    top = sorted(range(n_classes), key=lambda y: (-prior[y], y))[:k]
    keep = math.exp(epsilon) / (math.exp(epsilon) + k - 1)
    rows = np.zeros((n_classes, n_classes))
    for label in range(n_classes):
        for answer in top:
            if label not in top:
                rows[label, answer] = 1 / k
            else:
                rows[label, answer] = keep if answer == label else (1 - keep) / (k - 1)
    return rows


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_answers_within_the_top_follow_their_definition(k: int) -> None:
    """60 000 draws: every share lies within 5 standard deviations (below 6e-7 each, below 1e-4 in all)."""
    prior, epsilon = [0.4, 0.1, 0.3, 0.2], 1.2
    exact = exact_transitions(prior, k, epsilon)

    error = np.abs(transitions(prior, k, epsilon) - exact)

    assert (error <= 5 * np.sqrt(exact * (1 - exact) / DRAWS) + 1e-12).all()


@given(st.lists(st.floats(0.01, 1), min_size=2, max_size=6), st.floats(0.01, 5))
@settings(max_examples=60)
def test_the_best_k_keeps_most_labels(weights: list[float], epsilon: float) -> None:
    prior = np.array(weights) / sum(weights)
    kept = [
        math.exp(epsilon) / (math.exp(epsilon) + k - 1) * sum(sorted(prior, reverse=True)[:k])
        for k in range(1, len(prior) + 1)
    ]

    assert kept[best_k(prior[None], epsilon)[0] - 1] == pytest.approx(max(kept))


def test_the_posterior_is_bayes_rule() -> None:
    rng = np.random.default_rng(1)
    epsilon, observed = 1.5, rng.integers(-3 * STEPS, 3 * STEPS, size=(20, 4))
    density = np.array(
        [[math.exp(-epsilon / 2 * np.abs(o / STEPS - np.eye(4)[k]).sum()) for k in range(4)] for o in observed]
    )

    np.testing.assert_allclose(posterior(observed, epsilon), density / density.sum(axis=1, keepdims=True))


def test_noisy_one_hot_labels_are_private() -> None:
    """Exact, in integers: log probabilities, in units of eps / 32, of two labels differ by at most 32 everywhere."""
    span = range(-2, STEPS + 3)
    points = np.array(list(itertools.product(span, repeat=3)))
    logs = [np.abs(points - STEPS * np.eye(3, dtype=int)[k]).sum(axis=1) for k in range(3)]

    assert max(np.abs(a - b).max() for a, b in itertools.combinations(logs, 2)) == 2 * STEPS


@given(st.floats(1e-3, 50))
@settings(max_examples=200)
def test_the_noise_of_one_hot_labels_is_no_less_than_the_certificate_needs(epsilon: float) -> None:
    assert noise_of(epsilon).epsilon_for(2 * STEPS) <= epsilon


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
def test_the_noise_of_one_hot_labels_is_the_discrete_laplace_distribution(epsilon: float) -> None:
    """20 000 draws an entry: chi-square over all values expected 20 times, p > 1e-6; half the noise fails at once."""

    def p_of(sampled: float) -> float:
        noise = observe(np.zeros(20_000, dtype=np.intp), sampled, 2, np.random.default_rng(4)) - [STEPS, 0]
        r = math.exp(-epsilon / (2 * STEPS))
        reach = int(math.log(20 / noise.size) / math.log(r))
        values = np.arange(-reach, reach + 1)
        expected = noise.size * (1 - r) / (1 + r) * r ** np.abs(values)
        found = np.array([(noise == value).sum() for value in values])
        rest, beyond = noise.size - expected.sum(), noise.size - found.sum()
        statistic = ((found - expected) ** 2 / expected).sum() + (beyond - rest) ** 2 / rest
        return float(special.chdtrc(values.size, statistic))

    assert p_of(epsilon) > 1e-6
    assert p_of(2 * epsilon) < 1e-100


def exact_binary_alibi(epsilon: float) -> tuple[dict[float, float], dict[float, float]]:
    """Probability of every posterior of class 1 given label 0 and given label 1, by summation over noise."""
    r = math.exp(-epsilon / (2 * STEPS))
    reach = math.ceil(math.log(1e-13) / math.log(r))
    noise = np.arange(-reach, reach + 1)
    mass = (1 - r) / (1 + r) * r ** np.abs(noise)
    rows = []
    for label in range(2):
        found: dict[float, float] = {}
        # An entry counts through |o - 16| - |o| only: sixteenths between -1 and 1.
        effects = [Counter[int]() for _ in range(2)]
        for k in range(2):
            for z, p in zip(noise.tolist(), mass.tolist(), strict=True):
                o = z + STEPS * (k == label)
                effects[k][abs(o - STEPS) - abs(o)] += p
        for (a, p), (b, q) in itertools.product(effects[0].items(), effects[1].items()):
            found[a - b] = found.get(a - b, 0.0) + p * q
        rows.append(found)
    return rows[0], rows[1]


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
def test_no_posterior_tells_more_than_the_certificate(epsilon: float) -> None:
    zero, one = exact_binary_alibi(epsilon)
    ratios = [abs(math.log(one[shift] / zero[shift])) for shift in zero]

    assert max(ratios) <= epsilon + 1e-9
    assert max(ratios) > 0.99 * epsilon  # nothing is given away for nothing


def test_a_learned_prior_is_the_likeliest_and_costs_nothing() -> None:
    """20 000 labels, 80 % of one class: the shares lie within .04 of the truth. It is a function of noisy labels."""
    labels = (np.random.default_rng(5).random(20_000) < 0.8).astype(np.intp)
    observed = observe(labels, 1.0, 2, np.random.default_rng(6))
    prior = learned_prior(observed, 1.0)

    assert prior.sum() == pytest.approx(1)
    assert prior[1] == pytest.approx(0.8, abs=0.04)
    uniform, informed = (posterior(observed, 1.0, item).argmax(axis=1) for item in (None, prior))
    assert (informed == labels).mean() > (uniform == labels).mean() + 0.05


def test_stages_of_lp_mst_are_private_given_everything_before() -> None:
    """By enumeration of three records in three stages; the prior depends on the answers given before, as in LP-MST."""
    epsilon = 1.1

    def law(labels: tuple[int, ...]) -> dict[tuple[int, ...], float]:
        found: dict[tuple[int, ...], float] = {(): 1.0}
        for label in labels:
            grown: dict[tuple[int, ...], float] = {}
            for answers, mass in found.items():
                counts = [1 + 2 * answers.count(k) for k in range(3)]
                prior = np.array(counts) / sum(counts)
                k = 3 if not answers else int(best_k(prior[None], epsilon)[0])
                for answer, p in enumerate(exact_transitions(prior.tolist(), k, epsilon)[label]):
                    grown[*answers, answer] = mass * p
            found = grown
        return found

    for labels in itertools.product(range(3), repeat=3):
        for place, other in itertools.product(range(3), repeat=2):
            neighbour = (*labels[:place], other, *labels[place + 1 :])
            one, two = law(labels), law(neighbour)
            assert all(mass <= math.exp(epsilon) * two[answers] + 1e-12 for answers, mass in one.items())


def test_the_noise_on_votes_is_gaussian_on_its_grid() -> None:
    """60 000 draws: chi-square over twenty cells of equal probability, p > 1e-6; 10 % less noise fails."""
    steps, scale = 1024, 7.5

    def p_of(sampled: float) -> float:
        noise = GridGaussian(scale=sampled, step=1 / steps).steps(SeededWords(np.random.default_rng(7)), DRAWS)
        values = np.arange(-int(8 * scale * steps), int(8 * scale * steps) + 1)
        weights = np.exp(-((values / (scale * steps)) ** 2) / 2)
        mass = np.cumsum(weights / weights.sum())
        cells = np.minimum((mass[noise + int(8 * scale * steps)] * 20).astype(int), 19)
        every = np.minimum((mass * 20).astype(int), 19)
        expected = DRAWS * np.bincount(every, weights=weights / weights.sum(), minlength=20)
        found = np.bincount(cells, minlength=20)
        there = expected > 0
        return float(special.chdtrc(there.sum() - 1, ((found - expected)[there] ** 2 / expected[there]).sum()))

    assert p_of(scale) > 1e-6
    assert p_of(0.9 * scale) < 1e-6


def exact_winner(counts: tuple[int, ...], scale: float) -> np.ndarray:
    """The law of PATE's winner, summed over what the noise of each class may be on its grid.

    Beyond 9 standard deviations lie less than 3e-19 of every class's noise; of equals the first class wins.
    """
    wide = int((9 * scale + max(counts)) * PATE_STEPS)
    values = np.arange(-wide, wide + 1)
    at_most = special.ndtr((values[:, None] + 0.5 - PATE_STEPS * np.array(counts)) / (scale * PATE_STEPS))
    mass = np.diff(at_most, axis=0, prepend=0)
    beats_first, beats_later = at_most - mass, at_most
    return np.array(
        [
            (mass[:, k] * beats_first[:, :k].prod(axis=1) * beats_later[:, k + 1 :].prod(axis=1)).sum()
            for k in range(len(counts))
        ]
    )


@attrs.frozen
class Says:
    """A teacher of one opinion."""

    label: int
    n_classes: int

    def log_probabilities(self, features: np.ndarray) -> np.ndarray:
        return np.where(np.arange(self.n_classes) == self.label, 0.0, -50.0) * np.ones((len(features), 1))


@pytest.mark.parametrize("counts", [(2, 1), (0, 3), (1, 2, 2), (1, 0, 4)])
def test_the_winner_of_noisy_votes_has_the_law_that_enumeration_gives(counts: tuple[int, ...]) -> None:
    """10 000 votes with one histogram; 5 standard deviations, which no law with a third less noise comes within."""
    n_classes, votes = len(counts), 10_000
    opinions = iter([*np.repeat(np.arange(n_classes), counts), 0])
    defence = Pate(epsilon=700.0, teachers=sum(counts), votes=votes)
    scale = vote_noise(defence.epsilon, defence.delta, votes)

    def train(task: TrainingTask, rng: np.random.Generator) -> Trained:
        return Trained(model=Says(int(next(opinions)), n_classes), targets=task.targets)

    task = TrainingTask(features=np.zeros((votes, 1)), targets=one_hot(np.zeros(votes, dtype=np.intp), n_classes))
    found = np.nanmean(defence.train(task, train, np.random.default_rng(3)).targets, axis=0)

    def fits(law: np.ndarray) -> bool:
        return bool((np.abs(found - law) <= 5 * np.sqrt(law * (1 - law) / votes)).all())

    assert exact_winner(counts, scale).sum() == pytest.approx(1, abs=1e-12)
    assert fits(exact_winner(counts, scale))
    assert not fits(exact_winner(counts, 2 / 3 * scale))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_winners_of_noisy_votes_are_private_by_enumeration(n_classes: int) -> None:
    """All histograms of three teachers on two records, all neighbours; a quarter of the noise is not enough."""
    epsilon, delta, votes = 1.0, 0.01, 2
    histograms = [item for item in itertools.product(range(4), repeat=n_classes) if sum(item) == 3]
    moves = [pair for pair in itertools.product(histograms, repeat=2) if np.abs(np.subtract(*pair)).sum() <= 2]

    def worst(scale: float) -> float:
        laws = {item: exact_winner(item, scale) for item in histograms}
        return max(
            float(np.maximum(np.outer(laws[a], laws[b]) - math.exp(epsilon) * np.outer(laws[c], laws[d]), 0).sum())
            for (a, c), (b, d) in itertools.product(moves, repeat=votes)
        )

    scale = vote_noise(epsilon, delta, votes)
    assert worst(scale) <= delta
    assert worst(scale / 4) > delta


@pytest.mark.parametrize(("epsilon", "delta", "votes"), [(1.0, 1e-5, 50), (4.0, 1e-6, 300)])
def test_the_noise_on_votes_is_just_enough(epsilon: float, delta: float, votes: int) -> None:
    """One vote moves from one class to another on every record: by sqrt(2) each."""
    histograms = np.zeros((votes, 5))
    moved = histograms.copy()
    histograms[:, 1], moved[:, 2] = 1, 1
    distance = float(np.linalg.norm(histograms - moved))

    mu = distance / vote_noise(epsilon, delta, votes)

    assert GaussianProfile(mu).delta(epsilon) == pytest.approx(delta, rel=1e-6)


@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [(4.0, 1e-5), (0.1, 1e-9), (8.0, 1e-12), (1e-30, 1e-17), (1e-10, 1e-16), (1.0, 1e-200), (740.0, 0.1), (0.5, 0.999)],
)
@pytest.mark.parametrize("votes", [3, 100])
def test_the_noise_on_votes_is_enough_in_spite_of_rounding(epsilon: float, delta: float, votes: int) -> None:
    with gmpy2.context(precision=2000):
        root = gmpy2.sqrt(gmpy2.mpfr(2))
        exact, mu = (
            gmpy2.mpfr(epsilon),
            gmpy2.sqrt(gmpy2.mpfr(2 * votes)) / gmpy2.mpfr(vote_noise(epsilon, delta, votes)),
        )
        over, under = (gmpy2.erfc((exact / mu + side * mu / 2) / root) / 2 for side in (-1, 1))

        assert over - gmpy2.exp(exact) * under <= gmpy2.mpfr(delta)


def test_lp_mst_has_no_more_stages_than_records() -> None:
    task = TrainingTask(features=np.eye(3), targets=one_hot(np.array([0, 1, 0]), 2))

    trained = LpMst(stages=7).train(task, make_victim("memory").train, np.random.default_rng(0))

    assert trained.targets.shape == (3, 2)


@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_resampling_is_less_private_than_its_name(n_classes: int) -> None:
    epsilon = 0.3
    p = math.exp(epsilon) / (math.exp(epsilon) + n_classes - 1)
    same, other = p + (1 - p) / n_classes, (1 - p) / n_classes

    assert effective_epsilon(epsilon, n_classes) == pytest.approx(math.log(same / other))
    assert effective_epsilon(epsilon, n_classes) > epsilon


def test_a_temperature_keeps_every_order() -> None:
    rng = np.random.default_rng(3)
    logs = np.log(rng.dirichlet(np.ones(3), 50))

    assert np.array_equal(np.argsort(tempered(logs, 10.0)), np.argsort(logs))
    np.testing.assert_allclose(tempered(logs, 1.0), np.exp(logs))


@pytest.mark.parametrize("epsilon", [0.0, 1e-300, 1e-19, 0.3])
@pytest.mark.parametrize("n_classes", [2, 3, 5, 7, pytest.param(100, marks=pytest.mark.slow)])
def test_what_is_certified_is_not_below_the_table_of_words_that_answers(epsilon: float, n_classes: int) -> None:
    """Words divide evenly among three classes never: at epsilon 0 a little is told, and a little is certified."""
    prior = (1 / n_classes,) * n_classes
    threat = OutputThreat(n_records=9, n_classes=n_classes, prior=prior, declared=View())
    tables: list[ExactLabelNoise] = [RandomisedResponse(epsilon=epsilon)]
    tables += [PriorResponse(epsilon=epsilon, prior=prior, top=k) for k in range(1, n_classes + 1)]
    real = max(enumerated_epsilon(table.weights(n_classes)) for table in tables)
    for defence in (LabelRr(epsilon=epsilon), RrWithPrior(epsilon=epsilon), LpMst(epsilon=epsilon)):
        (effect,) = defence.effects(threat)
        assert effect.epsilon >= real
