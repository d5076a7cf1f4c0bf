"""Every defence: what it does to a query, to labels and to an answer, and what it tells the adversary."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import attrs
import gmpy2
import numpy as np
import pytest
import sklearn.metrics
from hypothesis import given, settings
from hypothesis import strategies as st

from labelinf_core.contracts.components import LabelSet, Setting
from labelinf_core.contracts.errors import InputError, QueriesExhaustedError, QueryRefusedError
from labelinf_papers.attacks.exact_binary import ExactBinary
from labelinf_papers.attacks.log_primes import LogPrimes
from labelinf_papers.attacks.primes import Primes
from labelinf_privacy.noise.gaussian import Gaussian
from labelinf_privacy.noise.geometric import Geometric
from labelinf_privacy.noise.grid_gaussian import GridGaussian
from labelinf_privacy.noise.grid_laplace import GridLaplace
from labelinf_privacy.noise.multiplicative import Multiplicative
from labelinf_privacy.noise.uniform import Uniform
from labelinf_scores.arithmetic import make_arithmetic
from labelinf_scores.defences.answers import add, combined, rounded, scaled, to_step
from labelinf_scores.defences.clip import Clip
from labelinf_scores.defences.gaussian_dp import GaussianDp
from labelinf_scores.defences.ladder import Ladder
from labelinf_scores.defences.laplace_dp import LaplaceDp
from labelinf_scores.defences.minimum_batch import MinimumBatch
from labelinf_scores.defences.permute_labels import PermuteLabels
from labelinf_scores.defences.privacy_budget import PrivacyBudget
from labelinf_scores.defences.query_limit import QueryLimit
from labelinf_scores.defences.randomised_response import PerturbedLabels
from labelinf_scores.defences.refuse_constructions import RefuseConstructions
from labelinf_scores.defences.rounding import RoundScore
from labelinf_scores.defences.row_sums import EnforceRowSums
from labelinf_scores.defences.score_noise import ScoreNoise
from labelinf_scores.defences.snapping import Snapping
from labelinf_scores.defences.subset import Subset
from labelinf_scores.defences.thresholdout import Thresholdout
from labelinf_scores.defences.worst_case_noise import WorstCaseNoise
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.game.curator import Query, ScoreDefence
from labelinf_scores.game.oracle import ScoreAttack
from labelinf_scores.metrics.log_loss import LogLoss
from labelinf_scores.metrics.sigmoid_log_loss import SigmoidLogLoss
from labelinf_scores.metrics.softmax_log_loss import SoftmaxLogLoss
from labelinf_scores.metrics.squared_euclidean import SquaredEuclidean

Play = Callable[..., Any]
P = np.array([0.1, 0.7, 0.6, 0.4, 0.9, 0.2, 0.35, 0.55])


def true_score(labels: Any, predictions: Any) -> float:
    return float(LogLoss().score(np.asarray(labels), np.asarray(predictions), make_arithmetic("float64")))


# --- answers ---------------------------------------------------------------------------------------------------------


@pytest.mark.long
@settings(max_examples=200)
@given(st.fractions(0, 100), st.integers(0, 12))
def test_rounding_is_correct_whatever_the_precision(value: Any, decimals: int) -> None:
    exact = gmpy2.mpq(value.numerator, value.denominator)
    with gmpy2.context(precision=400):
        shown = rounded(gmpy2.mpfr(exact), decimals)
    assert abs(gmpy2.mpq(shown) - exact) <= gmpy2.mpq(1, 2 * 10**decimals) + gmpy2.mpq(1, 2**45)
    assert shown == round(shown, decimals)


def test_answers_keep_their_precision() -> None:
    tiny = gmpy2.mpfr("1e-60", 300)
    with gmpy2.context(precision=300):
        answer = 1 + tiny
        moved = add(answer, 2.0**-80)
        assert moved - answer == gmpy2.mpfr(2) ** -80
        assert scaled(answer, 0.5) * 2 == answer
        assert combined([answer, answer], [0.75, 0.25]) == answer
    assert add(np.float32(0.5), 1e-9) == 0.5 + 1e-9
    assert combined([1.0, 2.0], [0.5, 0.5]) == 1.5


def test_infinite_answers_stay_infinite() -> None:
    assert rounded(math.inf, 3) == rounded(gmpy2.mpfr("inf"), 3) == to_step(math.inf, 0.1) == math.inf
    assert to_step(0.25, 0.5) == 0.5
    assert to_step(-0.25, 0.5) == 0.0


# --- queries ---------------------------------------------------------------------------------------------------------


def test_clip_scores_clipped_predictions(play: Play) -> None:
    game = play(Clip(epsilon=0.3), scorer="sklearn")
    expected = sklearn.metrics.log_loss(game.labels, np.clip(P, 0.3, 0.7))
    assert game.ask(P) == pytest.approx(expected, abs=1e-15)
    assert game.threat.clip == 0.3
    assert play(Clip(epsilon=0.3), Clip(epsilon=0.1)).threat.clip == 0.3


def test_logits_cannot_be_clipped(play: Play) -> None:
    for defence in (Clip(), EnforceRowSums(), RefuseConstructions()):
        with pytest.raises(InputError, match="acts on probabilities, but SigmoidLogLoss takes logits"):
            play(defence, loss=SigmoidLogLoss())


def test_row_sums_are_rejected_or_repaired(play: Play) -> None:
    rows = np.stack([1 - P, P], axis=1)
    wide = rows.copy()
    wide[3] = (1.0, 1.0)
    with pytest.raises(QueryRefusedError, match=r"row 3 sums to 2\.0, expected 1\."):
        play(EnforceRowSums(action="reject")).ask(wide)
    assert play(EnforceRowSums(action="reject")).ask(rows) == play().ask(rows)
    halved = rows.copy()
    halved[3] = (0.5, 0.5)
    assert play(EnforceRowSums()).ask(wide) == pytest.approx(play().ask(halved))
    wide[3] = 0
    with pytest.raises(QueryRefusedError, match="row 3 sums to 0"):
        play(EnforceRowSums()).ask(wide)
    assert play(EnforceRowSums()).threat.normalised
    with pytest.raises(ValueError, match="action"):
        EnforceRowSums(action="ignore")


def test_a_query_limit_is_the_smallest_of_all(play: Play) -> None:
    game = play(QueryLimit(queries=3), QueryLimit(queries=2), queries=50)
    oracle = game.oracle()
    for _ in range(2):
        oracle.query(P)
    with pytest.raises(QueriesExhaustedError, match="all 2 queries are spent"):
        oracle.query(P)


def test_a_batch_must_say_something_about_enough_records(play: Play) -> None:
    probe = np.full(8, 0.5)
    probe[:3] = P[:3]
    defence = MinimumBatch(share=0.5, gap=0.01)
    with pytest.raises(QueryRefusedError, match=r"something about 37\.5% of the records; at least 50\.0%"):
        play(defence).ask(probe)
    assert play(defence).ask(P) == play().ask(P)
    assert play(defence).threat.refuses


def test_constructions_are_refused_and_predictions_are_not(play: Play) -> None:
    labels = np.arange(40) % 2
    defence = RefuseConstructions()
    honest = np.random.default_rng(0).beta(2, 2, 40)
    assert play(defence, labels=labels).ask(honest) == play(labels=labels).ask(honest)
    powers = 1 / (1 + np.exp(2.0 ** np.arange(-30.0, 10.0)))
    signs = np.where(np.random.default_rng(1).random(40) < 0.5, 0.01, 0.99)
    block = np.where(np.arange(40) < 25, 0.5, honest)
    for query, reason in ((powers, "outweigh"), (signs, "only 2 different"), (block, "the same probability")):
        with pytest.raises(QueryRefusedError, match=f"looks like an attack: .*{reason}"):
            play(defence, labels=labels).ask(query)


# --- labels ----------------------------------------------------------------------------------------------------------


def test_labels_are_perturbed_once_or_for_every_query(play: Play) -> None:
    labels = np.arange(200) % 2
    p = np.linspace(0.1, 0.9, 200)
    once, fresh = (play(PerturbedLabels(epsilon=1.0, fresh=f), labels=labels) for f in (False, True))
    assert once.ask(p) == once.ask(p) != play(labels=labels).ask(p)
    assert fresh.ask(p) != fresh.ask(p)
    assert once.threat.label_epsilon == fresh.threat.answer_epsilon == 1.0
    assert math.isinf(fresh.threat.label_epsilon)
    assert once.threat.label_keep == pytest.approx(math.e / (1 + math.e))
    assert fresh.threat.noise_fresh
    assert not once.threat.noise_fresh


def test_two_perturbations_keep_a_label_as_often_as_both_together(play: Play) -> None:
    labels = np.arange(9) % 3
    threat = play(PerturbedLabels(epsilon=1.0), PerturbedLabels(epsilon=2.0), labels=labels, n_classes=3).threat
    first, second = (math.exp(e) / (math.exp(e) + 2) for e in (1.0, 2.0))
    assert threat.label_keep == pytest.approx(first * second + (1 - first) * (1 - second) / 2)
    assert threat.label_epsilon == 1.0


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_debiased_score_is_right_on_average(n_classes: int) -> None:
    """Exactly: the mean over all perturbations of two labels, weighted by their probabilities."""
    from labelinf_privacy.randomised_response import keep_probability
    from labelinf_scores.defences.randomised_response import _Debiasing

    rng = np.random.default_rng(0)
    predictions = rng.dirichlet(np.ones(n_classes), 2)
    labels = np.array([1, 0])
    keep = keep_probability(0.7, n_classes)

    class Fixed:
        def __init__(self, perturbed: Any) -> None:
            self.perturbed = np.array(perturbed)

        def answer(self, _labels: Any, query: Query, ask: Any) -> Any:
            return ask(self.perturbed, query)

    def ask(seen: Any, query: Query) -> float:
        return true_score(seen, query.predictions)

    mean = 0.0
    for perturbed in itertools.product(range(n_classes), repeat=2):
        weight = math.prod(
            keep if a == b else (1 - keep) / (n_classes - 1) for a, b in zip(labels, perturbed, strict=True)
        )
        active = _Debiasing(Fixed(perturbed), 0.7, n_classes)
        mean += weight * active.answer(labels, Query(predictions=predictions), ask)
    assert mean == pytest.approx(true_score(labels, predictions), abs=1e-12)


def test_the_debiased_score_errs_as_the_theory_says(play: Play) -> None:
    """Standard deviation sqrt(rho (1 - rho)) / (1 - 2 rho) rms(d) / sqrt(N), over 400 games; 15 % of slack."""
    labels = np.arange(500) % 2
    p = np.random.default_rng(1).uniform(0.1, 0.9, 500)
    rho = 1 / (1 + math.e)
    gaps = np.log((1 - p) / p)
    expected = math.sqrt(rho * (1 - rho)) / (1 - 2 * rho) * math.sqrt(np.mean(gaps**2) / 500)
    drawn = [play(PerturbedLabels(epsilon=1.0, debiased=True), labels=labels, seed=s).ask(p) for s in range(400)]
    assert np.std(drawn) == pytest.approx(expected, rel=0.15)
    assert np.mean(drawn) == pytest.approx(true_score(labels, p), abs=4.5 * expected / 20)


def test_a_fixed_subset_is_scored_and_a_fresh_one_varies(play: Play) -> None:
    labels = np.arange(100) % 2
    p = np.linspace(0.05, 0.95, 100)
    fixed, fresh = (play(Subset(share=0.2, fresh=f), labels=labels) for f in (False, True))
    assert fixed.ask(p) == fixed.ask(p)
    assert len({fresh.ask(p) for _ in range(5)}) == 5
    assert (fixed.threat.scored, fixed.threat.averaged) == (0.2, 20)
    moved = [fixed.ask(np.where(np.arange(100) == i, 1 - p, p)) != fixed.ask(p) for i in range(100)]
    assert sum(moved) == 20 - (np.isclose(p, 0.5) & moved).sum()
    assert play(Subset(share=1.0)).ask(P) == play().ask(P)


def test_a_secret_order_changes_whose_label_is_scored(play: Play) -> None:
    labels = np.arange(100) % 2
    p = np.linspace(0.05, 0.95, 100)
    game = play(PermuteLabels(), labels=labels)
    assert game.ask(p) == game.ask(p) != play(labels=labels).ask(p)
    assert game.ask(np.full(100, 0.3)) == pytest.approx(play(labels=labels).ask(np.full(100, 0.3)))
    assert not game.threat.ordered


# --- answers that were perturbed -------------------------------------------------------------------------------------


def test_rounding_is_noise_of_half_a_step(play: Play) -> None:
    game = play(RoundScore(decimals=2), RoundScore(decimals=1))
    assert game.ask(P) == round(round(play().ask(P), 2), 1)
    assert game.threat.decimals == 1
    assert game.threat.noise_bound == pytest.approx(0.055)
    assert game.threat.jump == pytest.approx(0.11)


def test_noise_adds_up_in_bound_and_in_variance(play: Play) -> None:
    threat = play(ScoreNoise(model=Uniform(tau=0.3)), ScoreNoise(model=Gaussian(scale=0.4), sticky=True)).threat
    assert threat.noise_bound == math.inf
    assert threat.noise_std == pytest.approx(math.hypot(0.3 / math.sqrt(3), 0.4))
    assert threat.noise_fresh
    assert not play(ScoreNoise(sticky=True)).threat.noise_fresh
    assert [noise.model for noise in threat.noise] == [Uniform(tau=0.3), Gaussian(scale=0.4)]


def test_a_factor_multiplies_score_and_earlier_noise(play: Play) -> None:
    game = play(ScoreNoise(model=Uniform(tau=0.1)), ScoreNoise(model=Multiplicative(alpha=0.5)))
    assert game.threat.noise_factor == pytest.approx(0.5)
    assert game.threat.noise_bound == pytest.approx(0.15)
    assert not game.threat.facts.deterministic
    plain = play().ask(P)
    ratios = [play(ScoreNoise(model=Multiplicative(alpha=0.5)), seed=s).ask(P) / plain for s in range(50)]
    assert 0.5 <= min(ratios) < 0.7 < 1.3 < max(ratios) <= 1.5


def test_sticky_noise_answers_the_same_query_the_same_way(play: Play) -> None:
    game = play(ScoreNoise(model=Gaussian(scale=1.0), sticky=True))
    first = game.ask(P)
    assert game.ask(P.copy()) == first
    assert game.ask(np.where(np.arange(8) == 0, 0.1 + 1e-12, P)) != pytest.approx(first, abs=1e-6)
    assert game.ask(P) == first
    assert play(ScoreNoise(model=Gaussian(scale=1.0), sticky=True), seed=1).ask(P) != first


def test_sticky_noise_sees_numbers_not_bytes(play: Play) -> None:
    game = play(ScoreNoise(model=Gaussian(scale=1.0), sticky=True), loss=SquaredEuclidean())
    zero, minus = np.zeros(8), -np.zeros(8)
    assert game.ask(zero) == game.ask(minus) == game.ask(zero.astype(np.float32))
    exact = play(ScoreNoise(model=Gaussian(scale=1.0), sticky=True), scorer="exact")
    rational = np.array([gmpy2.mpq(1, 3)] * 8, dtype=object)
    assert exact.ask(rational) == exact.ask(rational.copy())


@pytest.mark.parametrize("scorer", ["sklearn", "float64"])
def test_one_prediction_has_one_draw_however_it_is_written(play: Play, scorer: str) -> None:
    game = play(ScoreNoise(model=Gaussian(scale=1.0), sticky=True), scorer=scorer)
    columns = np.stack([1 - P, P], axis=1)
    forms = [P, columns, columns.astype(object), P.astype(object), np.array([gmpy2.mpfr(p) for p in P], dtype=object)]
    assert len({float(game.ask(form)) for form in forms}) == 1


@pytest.mark.parametrize("scorer", ["exact", "float32", "fpa:31", "bfloat16"])
def test_what_may_score_differently_never_shares_a_draw(play: Play, scorer: str) -> None:
    """One draw for both would cancel in their difference, and leave what tells the labels apart."""
    game = play(ScoreNoise(model=Gaussian(scale=1.0), sticky=True), scorer=scorer)
    columns = np.stack([1 - P, P], axis=1)
    finer = np.array([gmpy2.mpq(1, 3) + gmpy2.mpq(i, 2**90) for i in range(8)], dtype=object)
    answers = [float(game.ask(form)) for form in (P, columns)]
    assert abs(answers[0] - answers[1]) > 1e-3
    if scorer == "exact":
        assert abs(float(game.ask(finer)) - float(game.ask(finer.astype(float)))) > 1e-3
    assert game.ask(P.astype(object)) == game.ask(P)


def test_sticky_noise_does_not_take_logits_for_probabilities(play: Play) -> None:
    game = play(ScoreNoise(model=Gaussian(scale=1.0), sticky=True), loss=SoftmaxLogLoss())
    one, two = np.full(8, 0.25), np.tile([0.75, 0.25], (8, 1))
    assert abs(game.ask(one) - game.ask(two)) > 1e-2


def test_a_factor_magnifies_the_jumps_of_rounding(play: Play) -> None:
    """Rounded to units and multiplied by up to 1.9, one label moves an answer by up to 1.9 more than by its cost."""
    stages = (Clip(epsilon=0.01), RoundScore(decimals=0), ScoreNoise(model=Multiplicative(alpha=0.9)))
    threat = play(*stages).threat
    assert threat.jump == pytest.approx(1.9)
    found = play(*stages, LaplaceDp(epsilon=1.0)).threat.noise[-1]
    assert found.model.scale == pytest.approx(1.9 * (math.log(99) / 8 + 1), rel=1e-3)
    plain = play(Clip(epsilon=0.01), ScoreNoise(model=Multiplicative(alpha=0.9)))
    assert plain.threat.jump == 0


@pytest.mark.parametrize(
    "nearer",
    [
        (RoundScore(decimals=5), ScoreNoise(model=Multiplicative(alpha=0.9))),
        (RoundScore(decimals=5), ScoreNoise(model=Uniform(tau=0.1))),
        (WorstCaseNoise(tau=0.5e-5),),
        (),
    ],
)
def test_noise_on_a_grid_puts_the_score_back_on_it(play: Play, nearer: tuple[ScoreDefence, ...]) -> None:
    """Whatever left the grid, answers are multiples of it; one label may move them by one step more."""
    grid = ScoreNoise(model=Geometric(scale=1.0, step=1e-5))
    off, on = play(Clip(), *nearer, grid), play(Clip(), RoundScore(decimals=5), grid)
    assert off.threat.jump == pytest.approx(play(Clip(), *nearer).threat.jump + 1e-5)
    assert on.threat.jump == pytest.approx(1e-5)
    for game in (off, on):
        steps = {game.ask(P + shift) / 1e-5 for shift in (0.0, 1e-3, 2e-3)}
        assert all(abs(step - round(step)) < 1e-6 for step in steps)
        assert play(*game.threat.defences, PrivacyBudget(epsilon=10.0)).threat.label_epsilon == 10.0


def test_a_wide_tolerance_of_row_sums_is_refused() -> None:
    with pytest.raises(ValueError, match="tolerance"):
        EnforceRowSums(action="reject", tolerance=5.0)


def test_exact_curators_keep_small_noise(play: Play) -> None:
    rational = np.array([gmpy2.mpq(1, 3)] * 8, dtype=object)
    noisy = play(ScoreNoise(model=Uniform(tau=1e-40)), scorer="exact").ask(rational, precision=300)
    plain = play(scorer="exact").ask(rational, precision=300)
    with gmpy2.context(precision=400):
        assert 0 < abs(noisy - plain) <= 1e-40


@pytest.mark.long
@settings(max_examples=30)
@given(st.floats(0.01, 3.0), st.integers(0, 1000))
def test_worst_case_noise_stays_within_tau_and_hides_its_records(tau: float, seed: int) -> None:
    data = LabelSet(labels=np.arange(10) % 2, class_names=("a", "b"), title="made", provenance="made")
    channel = ScoreChannel(loss=LogLoss(), scorer="float64")
    pipeline = (Clip(epsilon=0.05), WorstCaseNoise(tau=tau))
    threat = channel.threat(Setting(data=data, defences=pipeline))
    p = np.random.default_rng(seed).uniform(0, 1, 10)
    clipped = np.clip(p, 0.05, 0.95)
    seen = []
    for flipped in range(11):
        labels = data.labels.copy()
        if flipped < 10:
            labels[flipped] ^= 1
        answer = channel.curator(labels, threat, np.random.default_rng(seed)).answer(Query(predictions=p))
        assert abs(answer - true_score(labels, clipped)) <= tau * (1 + 1e-9) + 1e-12
        seen.append(answer)
    hidden = round((1 - threat.scored) * 10)
    assert sum(answer == pytest.approx(seen[-1], abs=1e-12) for answer in seen[:-1]) >= hidden


def test_the_ladder_answers_improvements_alone(play: Play) -> None:
    game = play(Ladder(step=0.1))
    scores = {p: play().ask(np.full(8, p)) for p in (0.5, 0.4, 0.1)}
    assert scores[0.5] < scores[0.4] < scores[0.1]
    worst, middle, best = (to_step(scores[p], 0.1) for p in (0.1, 0.4, 0.5))
    assert [game.ask(np.full(8, p)) for p in (0.1, 0.1, 0.5, 0.4, 0.1)] == [worst, worst, best, best, best]
    assert middle > best - 0.1
    assert (game.threat.ladder_step, game.threat.noise_bound, game.threat.jump) == (0.1, math.inf, math.inf)


def test_thresholdout_answers_the_open_half_until_they_disagree(play: Play) -> None:
    labels = np.arange(400) % 2
    calm = play(Thresholdout(threshold=10.0, scale=1e-9), labels=labels)
    assert calm.ask(np.full(400, 0.3)) == pytest.approx(calm.ask(np.full(400, 0.3)))
    wary = play(Thresholdout(threshold=0.0, scale=1e-12, disagreements=2), labels=labels)
    p = np.random.default_rng(0).uniform(0.1, 0.9, 400)
    open_score = play(Thresholdout(threshold=10.0, scale=1e-12), labels=labels).ask(p)
    assert wary.ask(p) != pytest.approx(open_score, abs=1e-9)
    assert wary.ask(p) == pytest.approx(2 * true_score(labels, p) - open_score, abs=1e-9)
    with pytest.raises(QueryRefusedError, match="as often as is granted"):
        wary.ask(p)


def test_snapping_is_seeded_and_clamps(play: Play) -> None:
    first, second = (play(Clip(), Snapping(epsilon=1.0)).ask(P) for _ in range(2))
    assert first == second
    assert all(0 <= play(Clip(), Snapping(epsilon=0.1, highest=2.0), seed=s).ask(P) <= 2.0 for s in range(20))
    threat = play(Clip(), Snapping(epsilon=0.5)).threat
    assert threat.noise_std >= math.sqrt(2) * threat.shift / 0.5


# --- calibration -----------------------------------------------------------------------------------------------------


def test_laplace_dp_stands_for_noise_of_its_scale(play: Play) -> None:
    threat = play(Clip(epsilon=0.01), LaplaceDp(epsilon=0.5)).threat
    (noise,) = threat.noise
    assert noise.model.scale == pytest.approx(math.log(99) / 8 / 0.5, rel=1e-3)
    assert isinstance(noise.model, GridLaplace)
    assert noise.model.epsilon_for(noise.model.moved(threat.shift)) <= 0.5 * (1 + 1e-12)
    assert math.isinf(threat.label_epsilon)


def test_a_shared_budget_grants_its_queries(play: Play) -> None:
    threat = play(Clip(epsilon=0.01), LaplaceDp(epsilon=0.5, queries=10)).threat
    model = threat.noise[0].model
    assert isinstance(model, GridLaplace)
    assert model.epsilon_for(model.moved(threat.shift)) == pytest.approx(0.05, rel=1e-3)
    assert (threat.query_budget, threat.label_epsilon, threat.label_delta) == (10, 0.5, 0.0)


def test_gaussian_dp_meets_its_budget_exactly(play: Play) -> None:
    threat = play(Clip(epsilon=0.01), GaussianDp(epsilon=0.5, delta=1e-5, queries=10)).threat
    model = threat.noise[0].model
    assert isinstance(model, GridGaussian)
    reached = model.privacy(model.moved(threat.facts.computed_apart(1.0, 0.0)), 10).delta(0.5)
    assert reached == pytest.approx(1e-5, rel=1e-6)
    assert (threat.query_budget, threat.label_epsilon, threat.label_delta) == (10, 0.5, 1e-5)


@pytest.mark.parametrize(
    ("defence", "noise"), [(LaplaceDp(), "Laplace"), (GaussianDp(), "Gaussian"), (Snapping(), "Laplace")]
)
def test_no_scale_is_private_without_a_clip(play: Play, defence: ScoreDefence, noise: str) -> None:
    message = f"no finite {noise} scale gives label-DP while the loss is unclipped; put clip\\(epsilon=...\\) nearer"
    with pytest.raises(InputError, match=message):
        play(defence)
    with pytest.raises(InputError, match="one label can move an answer without limit"):
        play(Clip(), Ladder(), defence)


def test_calibration_counts_the_rounding_before_it(play: Play) -> None:
    threat = play(Clip(epsilon=0.01), RoundScore(decimals=1), LaplaceDp(epsilon=1.0)).threat
    (noise,) = threat.noise
    assert isinstance(noise.model, GridLaplace)
    assert noise.model.scale == pytest.approx(math.log(99) / 8 + 0.1, rel=1e-3)


def test_a_privacy_budget_pays_for_so_many_answers(play: Play) -> None:
    threat = play(Clip(), LaplaceDp(epsilon=0.1), PrivacyBudget(epsilon=1.0)).threat
    assert (threat.query_budget, threat.label_epsilon) == (10, 1.0)
    perturbed = play(PerturbedLabels(epsilon=0.25, fresh=True), PrivacyBudget(epsilon=1.0)).threat
    assert perturbed.query_budget == 4
    grid = (
        Clip(),
        RoundScore(decimals=3),
        ScoreNoise(model=Geometric(scale=1.0, step=0.001)),
        PrivacyBudget(epsilon=8.0),
    )
    assert play(*grid).threat.query_budget == math.floor(8.0 / (math.log(99) / 8 + 0.001))
    with pytest.raises(InputError, match="privacy-budget needs answers with pure label-DP"):
        play(Clip(), ScoreNoise(model=Gaussian(scale=1.0)), PrivacyBudget())
    with pytest.raises(InputError, match=r"epsilon=0\.01 must pay for at least one answer, which costs 0\.1"):
        play(Clip(), LaplaceDp(epsilon=0.1), PrivacyBudget(epsilon=0.01))


@pytest.mark.parametrize(
    "late",
    [Subset(), WorstCaseNoise(), Thresholdout(), PerturbedLabels(debiased=True)],
    ids=lambda defence: type(defence).__name__,
)
@pytest.mark.parametrize(
    "early", [RoundScore(), ScoreNoise(), PerturbedLabels(), Ladder()], ids=lambda defence: type(defence).__name__
)
def test_what_asks_several_times_must_stand_next_to_the_scorer(
    play: Play, early: ScoreDefence, late: ScoreDefence
) -> None:
    with pytest.raises(InputError, match="must stand nearer to the scorer than rounding, noise"):
        play(early, late)
    assert play(late, early).threat.defences == (late, early)


def test_defences_keep_no_secrets_in_what_is_public(play: Play) -> None:
    pipeline = (Clip(), PerturbedLabels(), ScoreNoise(sticky=True), Subset())
    for order in ((pipeline[0], pipeline[3], pipeline[1], pipeline[2]),):
        game = play(*order)
        before = repr(game.oracle().threat)
        game.ask(P)
        assert repr(game.oracle().threat) == before
        assert all(attrs.asdict(a) == attrs.asdict(b) for a, b in zip(game.threat.defences, order, strict=True))


# --- defects that were ------------------------------------------------------------------------------------------------


def test_thresholdout_needs_two_records(play: Play) -> None:
    with pytest.raises(InputError, match="splits the records in two, and there is only one"):
        play(Thresholdout(), labels=[1])


@pytest.mark.parametrize("share", [0.01, 0.99])
def test_thresholdout_leaves_neither_part_empty(play: Play, share: float) -> None:
    game = play(Thresholdout(share=share), labels=[0, 1, 1])
    assert game.threat.averaged == (1 if share < 0.5 else 2)
    assert math.isfinite(game.ask([0.2, 0.6, 0.7]))


@pytest.mark.long
@pytest.mark.parametrize("attack", [Primes(), ExactBinary(), LogPrimes()])
def test_an_exact_curator_renormalises_at_full_precision(attack: ScoreAttack) -> None:
    """300 labels from one answer take far more than a double: 53 bits in the division would spoil the reading."""
    labels = np.random.default_rng(0).integers(0, 2, 300)
    data = LabelSet(labels=labels, class_names=("a", "b"), title="made", provenance="made")
    channel = ScoreChannel(loss=LogLoss(), scorer="exact")
    setting = Setting(data=data, attack=attack, defences=(EnforceRowSums(),))
    promise = attack.promise(channel.threat(setting))
    assert promise is not None
    assert promise.certified
    rngs = np.random.default_rng(1).spawn(2)
    assert channel.play(setting, curator_rng=rngs[0], attack_rng=rngs[1]).n_correct == 300


def test_rows_of_high_precision_are_divided_at_their_own_precision(play: Play) -> None:
    with gmpy2.context(precision=400):
        third = gmpy2.mpfr(1) / 3
        rows = np.array([[third, 2 * third]] * 8, dtype=object)
        halved = rows / 2
    game = play(EnforceRowSums(), scorer="exact")
    assert abs(game.ask(halved, 300) - game.ask(rows, 300)) < 2.0**-290
