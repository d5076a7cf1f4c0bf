"""Counting and capacity: the printed numbers, exact small games, and the monotonicity that every bound must have."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from labelinf_core.contracts.components import LabelSet, Setting
from labelinf_privacy.noise.grid_gaussian import GridGaussian
from labelinf_privacy.noise.multiplicative import Multiplicative
from labelinf_scores.arithmetic import make_arithmetic
from labelinf_scores.bounds.counting import Counting, answer_bits, ladder_bits, transcript_bits
from labelinf_scores.bounds.entropy import (
    counts_bits,
    counts_probability,
    fano_accuracy,
    gaussian_bits,
    label_bits,
    told_accuracy,
)
from labelinf_scores.bounds.gaussian_capacity import GaussianCapacity
from labelinf_scores.defences.answers import rounded
from labelinf_scores.defences.clip import Clip
from labelinf_scores.defences.ladder import Ladder
from labelinf_scores.defences.randomised_response import PerturbedLabels
from labelinf_scores.defences.rounding import RoundScore
from labelinf_scores.defences.row_sums import EnforceRowSums
from labelinf_scores.defences.score_noise import ScoreNoise
from labelinf_scores.defences.subset import Subset
from labelinf_scores.defences.thresholdout import Thresholdout
from labelinf_scores.defences.worst_case_noise import WorstCaseNoise
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.game.curator import ScoreDefence
from labelinf_scores.game.scorers import make_scorer
from labelinf_scores.game.scoring import Query
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.metrics.log_loss import LogLoss
from labelinf_scores.metrics.readings.counts import Accuracy
from labelinf_scores.metrics.squared_euclidean import SquaredEuclidean

Threat = Callable[..., ScoreThreat]


def test_the_printed_numbers() -> None:
    wide = {"n_classes": 2, "entropy": 70_000, "n_records": 70_000}
    assert fano_accuracy(bits=100 * math.log2(360_438), **wide) == pytest.approx(0.5953, abs=5e-5)
    assert fano_accuracy(bits=10 * math.log2(3606), entropy=306, n_records=306, n_classes=2) == pytest.approx(
        0.8484, abs=5e-5
    )
    assert ladder_bits(4.595, 0.01, 1000) == pytest.approx(1307, abs=0.1)
    assert 1000 * math.log2(math.floor(4.595 / 0.01) + 2) == pytest.approx(8849, abs=1)


def test_label_bits_count_the_orders() -> None:
    orders = set(itertools.permutations((0, 0, 0, 1, 1, 2)))
    assert label_bits((3 / 6, 2 / 6, 1 / 6), 6) == pytest.approx(math.log2(len(orders)), abs=1e-9)
    probability = len(orders) * (1 / 2) ** 3 * (1 / 3) ** 2 * (1 / 6)
    assert counts_probability((3 / 6, 2 / 6, 1 / 6), 6) == pytest.approx(probability, rel=1e-9)


@pytest.mark.parametrize(("queries", "levels"), [(1, 3), (3, 2), (4, 5)])
def test_the_ladder_has_so_many_transcripts_and_no_more(queries: int, levels: int, make_threat: Threat) -> None:
    """Every sequence of scores in a range of ``levels`` steps is climbed by the defence itself, at two offsets."""
    most = math.comb(queries + levels, levels)
    threat = make_threat()
    found = []
    for offset in (0.0, 0.5):
        grid = np.arange(0, levels + 0.01) + offset
        found.append(len({_climb(scores, threat) for scores in itertools.product(grid, repeat=queries)}))
    assert found[0] <= found[1] == most
    assert round(2 ** ladder_bits(float(levels), 1.0, queries)) == most


def _climb(scores: tuple[float, ...], threat: ScoreThreat) -> tuple[float, ...]:
    active = Ladder(step=1.0).start(threat, np.random.default_rng(0))
    labels, query = np.zeros(1, dtype=np.intp), Query(predictions=np.zeros(1))
    return tuple(active.answer(labels, query, lambda _labels, _query, score=score: score) for score in scores)


@settings(max_examples=100)
@given(st.integers(2, 6), st.floats(0.0, 1.2), st.integers(10, 1000))
def test_fano_inverts_and_never_falls_below_a_blind_guess(n_classes: int, share: float, n_records: int) -> None:
    entropy = n_records * math.log2(n_classes)
    reached = fano_accuracy(bits=share * entropy, entropy=entropy, n_records=n_records, n_classes=n_classes)
    assert 1 / n_classes - 1e-9 <= reached <= 1
    if share < 1:
        error = 1 - reached
        left = error * math.log2(n_classes - 1) if n_classes > 2 else 0.0
        left += -error * math.log2(error) - (1 - error) * math.log2(1 - error) if 0 < error < 1 else 0.0
        assert left == pytest.approx((1 - share) * math.log2(n_classes), abs=1e-6)


@settings(max_examples=50)
@given(st.lists(st.integers(1, 40), min_size=2, max_size=5), st.floats(0, 100))
def test_no_counting_ceiling_is_below_the_majority_guess(counts: list[int], bits: float) -> None:
    n = sum(counts)
    prior = tuple(count / n for count in counts)
    reached = told_accuracy(bits=bits, prior=prior, n_records=n)
    assert reached >= max(prior) - 1e-9


def test_unequal_classes_are_limited_by_rate_distortion() -> None:
    """Seven, 20 answers of 1 001 values: Fano allows 68.6 %, this 53.1; of two classes they agree."""
    prior, n = (0.49, 0.365, 0.06, 0.035, 0.03, 0.01, 0.01), 10_000
    bits = 20 * math.log2(1001)
    fano = fano_accuracy(bits=bits, entropy=label_bits(prior, n), n_records=n, n_classes=7)
    assert fano == pytest.approx(0.687, abs=2e-3)
    assert told_accuracy(bits=bits, prior=prior, n_records=n) == pytest.approx(0.531, abs=1e-3)
    assert told_accuracy(bits=9, prior=(0.5, 0.5), n_records=90) == fano_accuracy(
        bits=9, entropy=label_bits((0.5, 0.5), 90), n_records=90, n_classes=2
    )
    assert counts_bits(prior, n) < 50


@pytest.mark.parametrize("counts", [(4, 1, 1), (3, 2, 1), (2, 2, 2), (5, 1, 1)])
def test_no_partition_of_a_small_game_of_three_classes_tells_more(counts: tuple[int, ...]) -> None:
    """Random answers and greedy ones (how many of a guess are right), guessed optimally, counts known."""
    rng, n = np.random.default_rng(1), sum(counts)
    orders = np.array(sorted(set(itertools.permutations(np.repeat(range(3), counts).tolist()))))
    one_hot = orders[:, :, None] == np.arange(3)
    for values in (2, 3, 5):
        limit = told_accuracy(bits=math.log2(values), prior=tuple(c / n for c in counts), n_records=n)
        for trial in range(60):
            right = (orders == rng.choice(orders)).sum(axis=1)
            told = np.minimum(right, values - 1) if trial % 2 else rng.integers(0, values, len(orders))
            cells = [one_hot[told == value].sum(axis=0).max(axis=1).sum() for value in range(values)]
            assert sum(cells) / (len(orders) * n) <= limit + 1e-12


@pytest.mark.parametrize("n_answers", [2, 3, 4])
def test_counting_holds_for_every_single_query_of_a_small_game(n_answers: int) -> None:
    """Six labels, three of each class: every way to round random scores to so many values, guessed optimally."""
    rng = np.random.default_rng(n_answers)
    labellings = [order for order in itertools.product((0, 1), repeat=6) if sum(order) == 3]
    entropy, bits = math.log2(len(labellings)), math.log2(n_answers)
    most = fano_accuracy(bits=bits, entropy=entropy, n_records=6, n_classes=2)
    for _ in range(300):
        answers = rng.integers(0, n_answers, len(labellings))
        correct, exact = 0, 0
        for answer in range(n_answers):
            cell = np.array([s for s, a in zip(labellings, answers, strict=True) if a == answer])
            if len(cell):
                ones = cell.sum(axis=0)
                correct += int(np.maximum(ones, len(cell) - ones).sum())
                exact += 1
        assert correct / (6 * len(labellings)) <= most + 1e-12
        assert exact / len(labellings) <= 2 ** (bits - entropy) + 1e-12


def test_one_gaussian_answer_carries_the_capacity_of_a_thousand_labels() -> None:
    # N = 1000, s = L / (2N): five bits, where the privacy ceiling would allow 84 % of the labels.
    bits = gaussian_bits(spread=1 / (2 * math.sqrt(1000)), span=1.0, std=1 / 2000, queries=1, enough=1e9)
    assert bits == pytest.approx(math.log2(1001) / 2, rel=1e-6)
    assert fano_accuracy(bits=bits, entropy=1000, n_records=1000, n_classes=2) < 0.55


def test_an_adaptive_budget_never_carries_more_than_the_range_allows() -> None:
    spread, span, std = 0.01, 1.0, 0.05
    for queries in (1, 10, 100):
        bits = gaussian_bits(spread=spread, span=span, std=std, queries=queries, enough=1e9)
        fixed = queries * math.log2(1 + spread**2 / std**2) / 2
        ranged = queries * math.log2(1 + span**2 / 4 / std**2) / 2
        assert fixed - 1e-9 <= bits <= ranged + 1e-9


@settings(max_examples=40)
@given(st.integers(2, 10), st.integers(0, 2**31))
def test_a_posterior_moves_the_variance_no_further_than_its_information_allows(n: int, seed: int) -> None:
    """The step that adaptive queries rest on: any distribution over labellings, D nats from uniform."""
    rng = np.random.default_rng(seed)
    labellings = np.array(list(itertools.product((0, 1), repeat=n)))
    gaps = rng.uniform(-1, 1, n)
    scores = labellings @ gaps / n
    weights = rng.dirichlet(np.full(len(labellings), 10 ** rng.uniform(-2, 2)))
    nats = float((weights * np.log(np.maximum(weights, 1e-300) * len(labellings))).sum())
    variance = float(weights @ (scores - weights @ scores) ** 2)
    spread = 1 / (2 * math.sqrt(n))
    std = spread / math.sqrt(math.expm1(2 * nats))  # an answer that tells so much, and what the next one may tell
    one, two = (gaussian_bits(spread=spread, span=1e9, std=std, queries=q, enough=1e9) for q in (1, 2))
    assert one == pytest.approx(nats / math.log(2))
    assert variance <= std**2 * math.expm1(2 * math.log(2) * (two - one)) + 1e-12


def test_the_bits_of_gaussian_answers_are_those_of_the_formula_and_never_fewer() -> None:
    """By another road: the least over x of what a posterior of so many nats may spread a score to, answer by answer."""
    for spread, span, std in ((0.5, 1.0, 10.0), (0.1, 3.0, 0.05), (0.1, 0.7, 0.3)):
        nats = 0.0
        for queries in (1, 2, 3, 4):
            least = minimize_scalar(
                lambda x, told=nats: (told - math.log1p(-x) / 2) / x, bounds=(1e-6, 1 - 1e-6), method="bounded"
            )
            variance = spread**2 * (2 * least.fun if nats else 1.0)
            nats += math.log1p(min(variance, span**2 / 4) / std**2) / 2
            bits = gaussian_bits(spread=spread, span=span, std=std, queries=queries, enough=1e9)
            assert nats / math.log(2) * (1 - 1e-9) <= bits <= nats / math.log(2) * 1.02
    coin = gaussian_bits(spread=0.5, span=1.0, std=10.0, queries=1, enough=1.0)
    assert coin >= 0.99 * 0.5**2 / 10**2 / 2 / math.log(2)  # what a fair coin of +-1/2 tells through so much noise


def test_the_capacity_ceiling_wins_for_few_queries_and_vanishes_for_many(make_threat: Threat) -> None:
    noise = _gaussian(0.02)
    few = GaussianCapacity().ceilings(make_threat(query_budget=5, defences=(noise,)))
    many = GaussianCapacity().ceilings(make_threat(query_budget=5000, defences=(noise,)))
    assert few[0].accuracy < 0.6
    assert few[0].exact < 0.05
    assert many == ()
    assert GaussianCapacity().ceilings(make_threat(query_budget=5)) == ()


@pytest.mark.parametrize(
    ("stages", "averaged", "magnified"),
    [((), 1000, 1.0), ((Subset(share=0.25),), 250, 1.0), ((ScoreNoise(model=Multiplicative(alpha=0.5)),), 1000, 1.5)],
    ids=["whole", "part", "factor"],
)
def test_what_a_coarse_grid_and_a_coarse_sum_add_is_part_of_the_signal(
    make_threat: Threat, stages: tuple[ScoreDefence, ...], averaged: int, magnified: float
) -> None:
    """Scores next to half a step are moved by half a step each way, whatever little one label moves them."""
    noise = ScoreNoise(model=GridGaussian(step=0.5, scale=0.5))
    threat = make_threat(arithmetic="float32", query_budget=3, defences=(*stages, noise))
    span, rounded_off = magnified * LogLoss().span(0.01), 0.25 + magnified * threat.facts.error
    assert threat.facts.error > 1e-4
    bits = gaussian_bits(
        spread=math.sqrt(2) * span / (2 * math.sqrt(averaged)) + rounded_off,  # of labels in random order
        span=span + 2 * rounded_off,
        std=0.5,
        queries=3,
        enough=1000,
    )
    (ceiling,) = GaussianCapacity().ceilings(threat)
    assert ceiling.accuracy == pytest.approx(told_accuracy(bits=bits, prior=(0.5, 0.5), n_records=1000), rel=1e-9)
    assert ceiling.exact == pytest.approx((bits + 1) / label_bits((0.5, 0.5), 1000), rel=1e-9)
    after = (RoundScore(decimals=0), noise)  # whose jump no capacity of a mean counts
    assert not GaussianCapacity().ceilings(make_threat(query_budget=3, defences=after))


def test_answers_are_counted_from_rounding_or_from_the_format(make_threat: Threat) -> None:
    assert answer_bits(make_threat()) == 64
    assert answer_bits(make_threat(arithmetic="float32")) == 32
    assert answer_bits(make_threat(arithmetic="fpa:33")) == 33
    assert math.isinf(answer_bits(make_threat(arithmetic="exact")))
    rounded = make_threat(defences=(RoundScore(decimals=4),))
    assert answer_bits(rounded) == pytest.approx(math.log2(math.floor(45951.198) + 2))


@pytest.mark.parametrize(("arithmetic", "precision"), [("bfloat16", None), ("float16", None), ("exact", 3)])
def test_no_query_has_more_rounded_answers_than_are_counted(
    make_threat: Threat, arithmetic: str, precision: int | None
) -> None:
    """Sums of half precision drift: 182 answers where 169 were counted, and an exact curator rounded to three bits."""
    for clip in (0.1618, 0.2236, 0.3):
        threat = make_threat(arithmetic=arithmetic, n_records=250, clip=clip, defences=(RoundScore(decimals=2),))
        scorer = make_scorer(arithmetic, threat.loss, 2)
        query = Query(predictions=np.clip(np.ones(250), clip, 1 - clip), precision=precision)
        worst, best = (rounded(scorer.score(np.full(250, label), query), 2) for label in (0, 1))
        assert round((worst - best) * 100) + 1 <= 2 ** answer_bits(threat) * (1 + 1e-12)


def test_rounded_answers_are_counted_up_to_a_step_that_doubles_cannot_hold(make_threat: Threat) -> None:
    """A span of 1 has 100 000 steps of 1e-5, and the doubles' quotient is less."""
    exact = make_threat(loss=SquaredEuclidean(), arithmetic="exact", clip=0.0, defences=(RoundScore(decimals=5),))
    assert round(2 ** answer_bits(exact)) == 100_002


def test_a_factor_widens_the_scores_that_are_rounded(make_threat: Threat) -> None:
    noise = ScoreNoise(model=Multiplicative(alpha=0.5))
    magnified = make_threat(defences=(noise, RoundScore(decimals=2)))
    assert 2 ** answer_bits(magnified) >= 1.5 * 2 ** answer_bits(make_threat(defences=(RoundScore(decimals=2),))) - 2


@pytest.mark.long
@pytest.mark.parametrize(
    "stage", [Subset(share=0.5), PerturbedLabels(epsilon=1.0), Ladder(step=0.01)], ids=["part", "replaced", "ladder"]
)
def test_values_of_a_metric_are_counted_of_all_true_labels_only(stage: ScoreDefence) -> None:
    """Of three positives in 40 the accuracy takes four values; of a part of the records, or of other labels, more."""
    labels = (np.arange(40) < 3).astype(np.intp)
    data = LabelSet(labels=labels, class_names=("a", "b"), title="made", provenance="made")
    channel = ScoreChannel(metric=Accuracy())
    assert answer_bits(channel.threat(Setting(data=data))) == 2
    threat = channel.threat(Setting(data=data, defences=(stage,)))
    assert answer_bits(threat) == 64
    query = Query(predictions=(np.arange(40) % 2).astype(float))
    rng = np.random.default_rng(0)
    answers = {channel.curator(rng.permutation(labels), threat, rng).answer(query) for _ in range(60)}
    assert len(answers) > 4 or isinstance(stage, Ladder)  # whose answer is one of any earlier query


@pytest.mark.parametrize("counts", [(3, 3), (2, 4), (1, 5)])
def test_one_answer_reaches_the_chance_of_all_labels_and_stays_within_the_line_of_a_game(
    counts: tuple[int, int],
) -> None:
    """Exhaustively: an accuracy of as many ones as there are tells all its values apart, counts known."""
    labels = np.repeat((1, 0), counts).astype(np.intp)
    data = LabelSet(labels=labels, class_names=("a", "b"), title="made", provenance="made")
    (ceiling,) = Counting().ceilings(ScoreChannel(metric=Accuracy(), queries=1).threat(Setting(data=data)))
    orders = set(itertools.permutations(labels.tolist()))
    answers = {sum(order[: counts[0]]) for order in orders}
    chance = len(answers) / len(orders)  # of the likeliest labelling for every answer
    assert ceiling.exact == pytest.approx(chance)
    assert ceiling.game is not None
    assert chance <= 2**ceiling.game.bits * ceiling.game.share**6 * (1 + 1e-9)
    assert ceiling.game.share == max(counts) / 6
    assert ceiling.game.bits == pytest.approx(math.log2(len(answers)) + counts_bits((counts[1] / 6, counts[0] / 6), 6))


def test_one_rounded_answer_tells_which_of_two_groups_is_which(make_threat: Threat) -> None:
    """Class counts that are known leave two orders of two groups, and may leave one: no query is said to be needed."""
    threat = make_threat(n_records=4, clip=0.3, groups=((2, 2),), defences=(RoundScore(decimals=0),))
    assert answer_bits(threat) == 1
    assert not [line for line in Counting().evaluate(threat) if line.quantity == "queries"]


@pytest.mark.parametrize("arithmetic", ["bfloat16", "float16"])
def test_the_ladder_falls_by_the_errors_of_the_sums_too(make_threat: Threat, arithmetic: str) -> None:
    threat = make_threat(
        arithmetic=arithmetic, n_records=250, clip=0.1618, query_budget=1, defences=(Ladder(step=1e-3),)
    )
    scorer = make_scorer(arithmetic, threat.loss, 2)
    query = Query(predictions=np.full(250, 1 - 0.1618))
    worst, best = (float(scorer.score(np.full(250, label), query)) for label in (0, 1))
    assert 2 ** transcript_bits(threat) >= (worst - best) / 1e-3


def test_rounding_behind_an_arithmetic_that_nobody_knows_counts_nothing(make_threat: Threat) -> None:
    assert answer_bits(make_threat(arithmetic="mine", defences=(RoundScore(decimals=2),))) == math.inf


def test_one_answer_of_several_scores_is_no_number_of_their_format(make_threat: Threat) -> None:
    for stage in (Thresholdout(), WorstCaseNoise(tau=0.1)):
        assert answer_bits(make_threat(arithmetic="bfloat16", defences=(stage,))) == 64
    assert answer_bits(make_threat(arithmetic="bfloat16")) == 16


def test_the_ladder_carries_little_unless_the_loss_is_unclipped_or_noisy(make_threat: Threat) -> None:
    ladder = Ladder(step=0.01)
    clipped = make_threat(query_budget=1000, defences=(ladder,))
    assert transcript_bits(clipped) == pytest.approx(ladder_bits(4.59512, 0.01, 1000), rel=1e-9)
    assert transcript_bits(make_threat(clip=0.0, query_budget=1000, defences=(ladder,))) == 64_000
    noisy = make_threat(query_budget=1000, defences=(_gaussian(0.1), ladder))
    assert transcript_bits(noisy) == 64_000
    assert math.isinf(transcript_bits(make_threat(defences=(ladder,))))


def test_the_ladder_is_counted_only_where_all_scores_lie_within_the_span(make_threat: Threat) -> None:
    """Ten classes: rows (c, ..., c) cost up to 4.5 by the Brier loss, of span 1; clipped rows may be renormalised."""
    ladder, free = Ladder(step=0.2), 41 * 64
    for clip in (0.0, 0.01):
        brier = make_threat(loss=SquaredEuclidean(), clip=clip, n_classes=10, query_budget=41, defences=(ladder,))
        assert transcript_bits(brier) == free
    log_loss = make_threat(n_classes=10, query_budget=41, defences=(ladder,))
    assert transcript_bits(log_loss) == pytest.approx(ladder_bits(math.log(99), 0.2, 41))
    assert transcript_bits(make_threat(n_classes=10, query_budget=41, defences=(EnforceRowSums(), ladder))) == free
    noisy = make_threat(query_budget=41, defences=(WorstCaseNoise(tau=0.3), ladder))
    assert transcript_bits(noisy) == pytest.approx(ladder_bits(math.log(99) + 0.6, 0.2, 41))


@pytest.mark.long
@settings(max_examples=200)
@given(st.integers(2, 6), st.floats(0.001, 0.45), st.integers(0, 10**6))
def test_the_clipped_log_loss_has_no_score_beyond_its_span(n_classes: int, clip: float, seed: int) -> None:
    """Any rows, whether they sum to one or not: what the count of the Ladder's transcripts rests on."""
    rng = np.random.default_rng(seed)
    rows = np.clip(rng.random((50, n_classes)) ** rng.integers(1, 9), clip, 1 - clip)
    costs = LogLoss().costs(rows, make_arithmetic("float64"))
    assert np.ptp(costs) <= LogLoss().span(clip) * (1 + 1e-12)


def test_answers_that_depend_on_earlier_ones_are_not_counted_by_their_rounding(make_threat: Threat) -> None:
    """Thresholdout answers one query by either half, with noise drawn anew: a span of 0.4 does not hold its answers."""
    for stage in (Ladder(step=0.01), Thresholdout(scale=0.5)):
        assert answer_bits(make_threat(clip=0.4, defences=(stage, RoundScore(decimals=0)))) == 64
    twice = make_threat(clip=0.4, defences=(WorstCaseNoise(tau=0.5), RoundScore(decimals=1)))
    assert answer_bits(twice) == pytest.approx(math.log2(math.floor((math.log(1.5) + 1.0) * 10) + 2))


def test_counting_says_how_many_queries_all_labels_take(make_threat: Threat) -> None:
    (line,) = Counting().evaluate(make_threat(defences=(Clip(epsilon=0.01), RoundScore(decimals=2))))
    assert line.value == math.ceil(label_bits((0.5, 0.5), 1000) / math.log2(461))
    (ceiling,) = Counting().ceilings(make_threat(query_budget=20, defences=(RoundScore(decimals=2),)))
    assert ceiling.exact < 1e-200
    assert 0.5 < ceiling.accuracy < 0.8


def _gaussian(std: float) -> ScoreNoise:
    return ScoreNoise(model=GridGaussian(step=2.0**-40, scale=std))
