"""Ceilings from private noise, and how much noise is needed: numbers, order of stages, and what voids a guarantee."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from statistics import NormalDist

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelinf_core.contracts.components import LabelSet, NoiseModel, Setting
from labelinf_core.contracts.guarantees import Ceiling
from labelinf_core.contracts.threat import NothingPrivate, ThreatModel
from labelinf_privacy.label_dp import accuracy
from labelinf_privacy.laplace_product import LaplaceProduct
from labelinf_privacy.noise.analytic_gaussian import AnalyticGaussian
from labelinf_privacy.noise.gaussian import Gaussian
from labelinf_privacy.noise.geometric import Geometric
from labelinf_privacy.noise.grid_gaussian import GridGaussian
from labelinf_privacy.noise.grid_laplace import GridLaplace
from labelinf_privacy.noise.laplace import Laplace
from labelinf_privacy.noise.library import Library
from labelinf_privacy.noise.staircase import Staircase
from labelinf_privacy.noise.uniform import Uniform
from labelinf_scores.bounds.constructions import ConstructionNoise
from labelinf_scores.bounds.counting import Counting
from labelinf_scores.bounds.gaussian_capacity import GaussianCapacity
from labelinf_scores.bounds.hadamard import HadamardNoise
from labelinf_scores.bounds.label_dp import LabelDp
from labelinf_scores.bounds.one_query import OneQuery
from labelinf_scores.bounds.private_scores import PrivateScores
from labelinf_scores.bounds.sensitivity import Sensitivity
from labelinf_scores.bounds.unseen import Unseen
from labelinf_scores.bounds.worst_case import WorstCaseThreshold
from labelinf_scores.constructions.hadamard_matrix import Hadamard
from labelinf_scores.defences.clip import Clip
from labelinf_scores.defences.ladder import Ladder
from labelinf_scores.defences.laplace_dp import LaplaceDp
from labelinf_scores.defences.permute_labels import PermuteLabels
from labelinf_scores.defences.privacy_budget import PrivacyBudget
from labelinf_scores.defences.randomised_response import PerturbedLabels
from labelinf_scores.defences.rounding import RoundScore
from labelinf_scores.defences.score_noise import ScoreNoise
from labelinf_scores.defences.subset import Subset
from labelinf_scores.defences.worst_case_noise import WorstCaseNoise
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.game.curator import ScoreDefence
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.metrics.log_loss import LogLoss
from labelinf_scores.metrics.readings.registry import metric
from labelinf_scores.metrics.unadditive import Unadditive

Threat = Callable[..., ScoreThreat]
SPAN = math.log(99)
FINE = 2.0**-40  # so fine a grid that rounding to it is not seen


def ceilings(threat: ThreatModel) -> tuple[Ceiling, ...]:
    return PrivateScores().ceilings(threat)


def noise(model: NoiseModel) -> ScoreNoise:
    return ScoreNoise(model=model)


def test_gaussian_noise_is_phi_of_half_mu(make_threat: Threat) -> None:
    (ceiling,) = ceilings(make_threat(query_budget=100, defences=(noise(GridGaussian(step=FINE, scale=0.05)),)))
    assert ceiling.accuracy == pytest.approx(NormalDist().cdf(SPAN * 10 / (2 * 1000 * 0.05)), abs=1e-8)


def test_laplace_noise_is_the_exact_product(make_threat: Threat) -> None:
    (ceiling,) = ceilings(make_threat(query_budget=100, defences=(noise(GridLaplace(step=FINE, scale=SPAN / 100)),)))
    assert ceiling.accuracy == pytest.approx(accuracy(LaplaceProduct(epsilon=0.1, queries=100), (0.5, 0.5)))
    assert ceiling.accuracy == pytest.approx(0.68874, abs=1e-5)


def test_geometric_noise_puts_the_score_on_its_grid_unless_it_is_there(make_threat: Threat) -> None:
    """4.6 steps are 5 on the grid; a score that was rounded to it before moves by one more, a finer one does not."""
    model = Geometric(scale=0.05, step=0.001)
    (alone,) = ceilings(make_threat(query_budget=10, defences=(noise(model),)))
    (rounded,) = ceilings(make_threat(query_budget=10, defences=(RoundScore(decimals=3), noise(model))))
    (finer,) = ceilings(make_threat(query_budget=10, defences=(RoundScore(decimals=4), noise(model))))
    assert 0.5 < alone.accuracy == finer.accuracy < rounded.accuracy < 0.8


def test_labels_perturbed_anew_compose(make_threat: Threat) -> None:
    (ceiling,) = ceilings(make_threat(query_budget=9, defences=(PerturbedLabels(epsilon=0.1, fresh=True),)))
    assert 0.5 < ceiling.accuracy < 1 / (1 + math.exp(-0.9))


@pytest.mark.parametrize(("fresh", "told"), [(True, math.inf), (False, 0.5)])
def test_a_budget_paid_with_a_draw_for_every_query_is_void_where_labels_are_perturbed_anew(
    make_threat: Threat, fresh: bool, told: float
) -> None:
    """One query asked often has scores of other labels and one draw: 4 labels came out, with an epsilon of 0.5 told."""
    noisy = ScoreNoise(model=GridLaplace(scale=200.0, step=2.0**-30), sticky=True)
    pipeline = (noisy, PrivacyBudget(epsilon=0.5), PerturbedLabels(epsilon=1.0, fresh=fresh))
    assert make_threat(n_records=4, defences=pipeline).label_epsilon == told


def test_a_budget_of_a_metric_that_may_have_no_score_is_void_where_labels_are_perturbed(make_threat: Threat) -> None:
    """Whether perturbed labels are of one class is told without any noise."""
    auc = metric("roc-auc")
    loss = Unadditive(metric=auc, n_records=1000, rarest=100)
    budgeted = (ScoreNoise(model=GridLaplace(scale=9.0, step=2.0**-30)), PrivacyBudget(epsilon=0.5))
    assert make_threat(metric=auc, loss=loss, defences=budgeted).label_epsilon == 0.5
    behind = (*budgeted, PerturbedLabels(epsilon=1.0))
    assert make_threat(metric=auc, loss=loss, defences=behind).label_epsilon == pytest.approx(1.0)


@pytest.mark.parametrize(
    "model",
    [
        Laplace(scale=1.0),
        Gaussian(scale=1.0),
        Staircase(epsilon=0.1, sensitivity=1.0),
        AnalyticGaussian(epsilon=0.1, sensitivity=1.0),
        Library(epsilon=0.1),
    ],
    ids=lambda model: type(model).__name__,
)
def test_noise_in_floats_has_no_ceiling_whatever_it_proves_on_paper(make_threat: Threat, model: NoiseModel) -> None:
    assert ceilings(make_threat(query_budget=9, defences=(noise(model),))) == ()


def test_an_arithmetic_that_nobody_bounds_has_no_ceiling(make_threat: Threat) -> None:
    """One label may move the sum of half-precision numbers by more than its cost."""
    on_grid = noise(GridLaplace(scale=1.0, step=2.0**-10))
    assert ceilings(make_threat(arithmetic="float16", query_budget=9, defences=(on_grid,))) == ()
    calibrated = make_threat(arithmetic="float16", query_budget=9, defences=(LaplaceDp(epsilon=1.0, queries=9),))
    assert ceilings(calibrated) == ()
    assert math.isinf(calibrated.label_epsilon)
    (wide,) = ceilings(make_threat(arithmetic="float32", query_budget=9, defences=(on_grid,)))
    (narrow,) = ceilings(make_threat(arithmetic="exact", query_budget=9, defences=(on_grid,)))
    assert wide.accuracy >= narrow.accuracy > 0.5


@pytest.mark.parametrize(
    "pipeline",
    [(noise(Uniform(tau=1.0)),), (), (Ladder(), noise(GridGaussian(step=FINE, scale=1.0))), (RoundScore(decimals=2),)],
    ids=["bounded", "nothing", "after-ladder", "rounding"],
)
def test_what_is_not_private_has_no_ceiling(make_threat: Threat, pipeline: tuple[ScoreDefence, ...]) -> None:
    assert ceilings(make_threat(query_budget=10, defences=pipeline)) == ()


def test_no_budget_or_no_clip_means_no_ceiling(make_threat: Threat) -> None:
    gauss = noise(GridGaussian(step=FINE, scale=1.0))
    assert ceilings(make_threat(defences=(gauss,))) == ()
    assert ceilings(make_threat(clip=0.0, query_budget=1, defences=(gauss,))) == ()


def test_rounding_before_noise_costs_a_step_and_after_it_nothing(make_threat: Threat) -> None:
    gauss = noise(GridGaussian(step=FINE, scale=0.05))
    (plain,) = ceilings(make_threat(query_budget=10, defences=(gauss,)))
    (before,) = ceilings(make_threat(query_budget=10, defences=(RoundScore(decimals=2), gauss)))
    (after,) = ceilings(make_threat(query_budget=10, defences=(gauss, RoundScore(decimals=2))))
    assert after.accuracy == plain.accuracy < before.accuracy
    moved = SPAN / 1000 + 0.01
    assert before.accuracy == pytest.approx(NormalDist().cdf(moved * math.sqrt(10) / (2 * 0.05)), abs=1e-8)


def test_noise_after_noise_and_rounding_is_judged_by_what_it_covers(make_threat: Threat) -> None:
    gauss = noise(GridGaussian(step=FINE, scale=0.05))
    first, second = ceilings(make_threat(query_budget=10, defences=(gauss, RoundScore(decimals=2), gauss)))
    assert first.accuracy < second.accuracy


def test_a_subset_makes_every_label_count_for_more(make_threat: Threat) -> None:
    (ceiling,) = ceilings(
        make_threat(query_budget=10, defences=(Subset(share=0.1), noise(GridGaussian(step=FINE, scale=0.05))))
    )
    assert ceiling.accuracy == pytest.approx(NormalDist().cdf(SPAN / 100 * math.sqrt(10) / 0.1), abs=1e-8)


@pytest.mark.parametrize("prior", [(0.5, 0.5), (0.63, 0.37), (0.2, 0.3, 0.5)])
def test_the_noise_that_is_needed_reaches_the_target(make_threat: Threat, prior: tuple[float, ...]) -> None:
    facts = {"prior": prior, "n_classes": len(prior), "query_budget": 50}
    gauss, laplace = PrivateScores(gain=0.1).evaluate(make_threat(**facts))
    target = max(prior) + 0.1 * (1 - max(prior))
    for model in (GridGaussian(step=FINE, scale=gauss.value), GridLaplace(step=FINE, scale=laplace.value)):
        (ceiling,) = ceilings(make_threat(**facts, defences=(noise(model),)))
        assert ceiling.accuracy == pytest.approx(target, abs=1e-4)


def test_the_printed_gaussian_noise_for_titanic(make_threat: Threat) -> None:
    # N = 2201, clip .01, 1000 queries, 60 % of two equal classes: s >= 0.130.
    threat = make_threat(n_records=2201, query_budget=1000)
    assert PrivateScores(gain=0.2).evaluate(threat)[0].value == pytest.approx(0.130, abs=5e-4)


def test_without_a_clip_no_scale_is_finite(make_threat: Threat) -> None:
    unclipped = make_threat(clip=0.0, query_budget=10)
    assert all(math.isinf(line.value) for line in PrivateScores().evaluate(unclipped))
    (line,) = Sensitivity().evaluate(unclipped)
    assert math.isinf(line.value)
    assert "no finite scale of any noise gives label-DP" in line.conditions
    assert Sensitivity().evaluate(make_threat())[0].value == pytest.approx(SPAN / 1000)


def test_label_dp_of_the_game_has_the_printed_ceiling(make_threat: Threat) -> None:
    threat = make_threat(n_records=3, defences=(PerturbedLabels(epsilon=1.0),), prior=(1 / 3, 2 / 3))
    (ceiling,) = LabelDp().ceilings(threat)
    assert ceiling.accuracy == pytest.approx(0.7310586, abs=5e-8)
    # All three together .3907 for independent labels; who knows the counts gains the factor 1 / P(counts) = 9 / 4.
    assert ceiling.exact == pytest.approx(min(ceiling.reached, 0.3907118 * 9 / 4), abs=1e-6)
    assert LabelDp().ceilings(make_threat()) == ()


@attrs.frozen(kw_only=True)
class Budgeted(ThreatModel):
    """A game of which nothing but a budget of privacy is known."""

    budget: NothingPrivate

    def start(self) -> NothingPrivate:
        return self.budget


def budgeted(n_records: int, prior: tuple[float, ...], delta: float) -> ThreatModel:
    budget = NothingPrivate(label_epsilon=1.0, label_delta=delta)
    return Budgeted(n_records=n_records, n_classes=2, prior=prior, budget=budget)


def test_an_approximate_budget_has_no_product_ceiling(make_threat: Threat) -> None:
    (ceiling,) = LabelDp().ceilings(budgeted(1000, (0.5, 0.5), 0.01))
    assert ceiling.accuracy == pytest.approx(0.733748, abs=5e-7)
    assert ceiling.exact == ceiling.reached


def test_known_class_counts_are_allowed_for(make_threat: Threat) -> None:
    """Two records, one of each class, pushed apart: the signal is twice what one label moves."""
    (ceiling,) = ceilings(
        make_threat(n_records=2, query_budget=1, defences=(noise(GridGaussian(step=FINE, scale=SPAN / 2)),))
    )
    reached = NormalDist().cdf(SPAN / (SPAN / 2) / 2)
    assert ceiling.accuracy == pytest.approx(NormalDist().cdf(0.5))
    assert reached > ceiling.accuracy + 0.1
    assert reached == pytest.approx(ceiling.accuracy + ceiling.allowance)
    assert not ceiling.denies(reached - 1e-9, 0.0)
    assert "class counts exactly known, which is allowed for" in ceiling.conditions


@pytest.mark.parametrize("n", [4, 8])
@pytest.mark.parametrize("mu", [0.5, 1.0, 2.0])
def test_the_best_guess_that_knows_the_counts_stays_within_the_allowance(
    make_threat: Threat, n: int, mu: float
) -> None:
    """All posteriors over the orders, by brute force: Hadamard signs through Gaussian noise.

    20 000 games whose share of right guesses has a standard deviation below 0.5: 0.02 is over five standard errors.
    """
    rng = np.random.default_rng(n)
    orders = np.array([z for z in itertools.product((-1, 1), repeat=n) if sum(z) == 0])
    signs = np.array([Hadamard.of_order(n).row(index) for index in range(n)])
    truth = orders[rng.integers(0, len(orders), 20_000)]
    answers = truth @ signs.T * mu / (2 * math.sqrt(n)) + rng.standard_normal((20_000, n))
    logits = answers @ (orders @ signs.T * mu / (2 * math.sqrt(n))).T
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    reached = float(np.mean((weights @ orders > 0) == (truth > 0)))
    threat = make_threat(
        n_records=n, query_budget=n, defences=(noise(GridGaussian(step=FINE, scale=SPAN / math.sqrt(n) / mu)),)
    )
    (ceiling,) = ceilings(threat)
    assert ceiling.accuracy == pytest.approx(NormalDist().cdf(mu / 2))
    assert ceiling.accuracy - 0.02 < reached <= ceiling.accuracy + ceiling.allowance + 0.02


def test_the_allowance_vanishes_with_many_records(make_threat: Threat) -> None:
    (ceiling,) = ceilings(
        make_threat(n_records=1000, query_budget=9, defences=(noise(GridGaussian(step=FINE, scale=0.01)),))
    )
    assert 0 < ceiling.allowance <= 0.008
    (pure,) = LabelDp().ceilings(budgeted(1000, (0.5, 0.5), 0.0))
    (approximate,) = LabelDp().ceilings(budgeted(3, (1 / 3, 2 / 3), 0.01))
    assert 0 < pure.allowance <= 0.008
    assert 0 < approximate.allowance <= 1 / 3


@pytest.mark.long
@settings(max_examples=60)
@given(
    st.lists(st.integers(1, 30), min_size=2, max_size=4),
    st.integers(1, 200),
    st.sampled_from(["laplace", "gaussian", "response", "fresh", "round", "subset", "ladder", "hide", "permute"]),
    st.floats(-3, 1),
)
def test_no_ceiling_is_below_the_majority_guess(counts: list[int], queries: int, kind: str, size: float) -> None:
    strength = 10**size
    pipeline: dict[str, ScoreDefence] = {
        "laplace": noise(GridLaplace(step=FINE, scale=strength)),
        "gaussian": noise(GridGaussian(step=FINE, scale=strength)),
        "response": PerturbedLabels(epsilon=strength),
        "fresh": PerturbedLabels(epsilon=strength, fresh=True),
        "round": RoundScore(decimals=round(size + 3)),
        "subset": Subset(share=min(1.0, strength / 10)),
        "ladder": Ladder(step=strength),
        "hide": WorstCaseNoise(tau=strength),
        "permute": PermuteLabels(),
    }
    n = sum(counts)
    threat = ScoreThreat(
        n_records=n,
        n_classes=len(counts),
        prior=tuple(count / n for count in counts),
        loss=LogLoss(),
        arithmetic="float64",
        summation="numpy",
        scorer_clip=0.01,
        granted=queries,
    )
    told = threat.behind(pipeline[kind])
    blind = math.exp(math.lgamma(n + 1) - sum(math.lgamma(count + 1) for count in counts)) ** -1
    for bound in (PrivateScores(), LabelDp(), Counting(), GaussianCapacity(), Unseen()):
        for ceiling in bound.ceilings(told):
            assert threat.baseline - 1e-9 <= ceiling.accuracy <= 1 + 1e-9
            assert ceiling.exact >= blind * (1 - 1e-6)


def test_other_channels_are_left_alone() -> None:
    other = ThreatModel(n_records=5, n_classes=2, prior=(0.5, 0.5))
    assert PrivateScores().ceilings(other) == PrivateScores().evaluate(other) == Sensitivity().evaluate(other) == ()


@pytest.mark.parametrize(
    ("word", "private"), [("accuracy", True), ("roc-auc", False), ("gini", False), ("lift", False)]
)
def test_what_may_have_no_score_of_some_records_is_not_private_there(word: str, private: bool) -> None:
    """No area under the curve of one class is there, and that is said without noise; of all no class can vanish."""
    labels = np.array([1, 1] + [0] * 8)
    data = LabelSet(labels=labels, class_names=("0", "1"), title="made", provenance="made")
    channel, laplace = ScoreChannel(metric=metric(word)), LaplaceDp(epsilon=0.5, queries=50)

    def epsilon(*stages: ScoreDefence) -> float:
        return channel.threat(Setting(data=data, defences=(*stages, laplace))).label_epsilon

    assert epsilon() == 0.5
    assert (epsilon(Subset(share=0.3)) == 0.5) == private


def test_noise_that_is_enough_for_all_records_is_not_said_of_some(make_threat: Threat) -> None:
    """Of 18 of 60 records each counts for 3.3 times as much; and no floor is said where records are out of reach."""

    def lines(*stages: ScoreDefence) -> dict[str, float]:
        threat = make_threat(n_records=60).through((Clip(epsilon=0.01), *stages))
        bounds = (Sensitivity(), OneQuery(), WorstCaseThreshold(), ConstructionNoise(), HadamardNoise())
        return {
            line.title: line.value for bound in bounds for line in bound.evaluate(threat) if line.quantity == "noise"
        }

    bare, some, secret = lines(), lines(Subset(share=0.3)), lines(PermuteLabels())
    laplace = "Laplace scale for label-DP of one answer, epsilon = 1"
    assert some == {laplace: pytest.approx(bare[laplace] * 60 / 18)}
    assert "one label per query" in bare
    assert "one label per query" not in secret
    assert lines(RoundScore(decimals=2))[laplace] == pytest.approx(bare[laplace] + 0.01)
    assert laplace not in lines(Ladder(step=0.01))
