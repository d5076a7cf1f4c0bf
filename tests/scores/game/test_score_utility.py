"""What defences cost honest participants: a made panel with known answers, and the real one."""

from __future__ import annotations

import math

import numpy as np
import pytest

from labelinf_core.contracts.components import LabelSet
from labelinf_privacy.noise.gaussian import Gaussian
from labelinf_scores.defences.clip import Clip
from labelinf_scores.defences.ladder import Ladder
from labelinf_scores.defences.laplace_dp import LaplaceDp
from labelinf_scores.defences.permute_labels import PermuteLabels
from labelinf_scores.defences.query_limit import QueryLimit
from labelinf_scores.defences.refuse_constructions import RefuseConstructions
from labelinf_scores.defences.rounding import RoundScore
from labelinf_scores.defences.score_noise import ScoreNoise
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.game.curator import ScoreDefence
from labelinf_scores.game.utility import UNHURT, HonestSubmission, Panel, Utility, honest_panel, utility
from labelinf_scores.metrics.log_loss import LogLoss
from labelinf_scores.metrics.readings.columns import MacroAuc
from labelinf_scores.metrics.readings.registry import metric
from labelinf_scores.metrics.sigmoid_log_loss import SigmoidLogLoss

CHANNEL = ScoreChannel(loss=LogLoss(), scorer="float64")


@pytest.fixture(scope="module")
def made() -> Panel:
    """Five participants who are ever less sure of the truth."""
    labels = np.arange(200) % 2
    rng = np.random.default_rng(0)
    sure = [
        np.clip(np.where(labels == 1, p, 1 - p) + rng.normal(0, 0.02, 200), 0.01, 0.99)
        for p in (0.9, 0.8, 0.7, 0.6, 0.5)
    ]
    data = LabelSet(labels=labels, class_names=("a", "b"), title="made", provenance="made")
    return Panel(
        data=data,
        submissions=tuple(
            HonestSubmission(model=f"sure {i}", probabilities=np.stack([1 - p, p], axis=1)) for i, p in enumerate(sure)
        ),
    )


def measure(panel: Panel, *defences: ScoreDefence, repeats: int = 5) -> Utility:
    return utility(CHANNEL, defences, panel, np.random.default_rng(1), repeats=repeats)


def test_nothing_is_lost_without_a_defence(made: Panel) -> None:
    assert measure(made) == Utility(
        mean_error=0, max_error=0, rank_correlation=1, top_flips=0, refused=0, submissions=5, repeats=5
    )


def test_rounding_errs_by_half_a_step_at_most(made: Panel) -> None:
    found = measure(made, RoundScore(decimals=3))
    assert 0 < found.mean_error <= found.max_error <= 0.0005 + 1e-12
    assert found.rank_correlation == 1


def test_noise_errs_by_its_mean_size(made: Panel) -> None:
    # 500 draws; the mean of |noise| is s sqrt(2 / pi), five standard errors are 14 % of it.
    found = measure(made, ScoreNoise(model=Gaussian(scale=0.3)), repeats=100)
    assert found.mean_error == pytest.approx(0.3 * math.sqrt(2 / math.pi), rel=0.17)
    assert found.rank_correlation < 0.9
    assert found.top_flips > 0.1


def test_the_ladder_and_a_secret_order_spoil_the_ranking(made: Panel) -> None:
    assert measure(made, Ladder(step=0.1)).rank_correlation < 1
    assert measure(made, PermuteLabels()).rank_correlation < 0


def test_refused_submissions_are_counted_apart(made: Panel) -> None:
    everything = measure(made, RefuseConstructions(fewest_distinct=10_000))
    assert (everything.refused, everything.mean_error, everything.rank_correlation) == (1, math.inf, 0)


def test_a_curator_that_takes_logits_is_given_logits(made: Panel) -> None:
    logits = ScoreChannel(loss=SigmoidLogLoss(), scorer="float64")
    found = utility(logits, (RoundScore(decimals=4),), made, np.random.default_rng(0))
    assert 0 < found.max_error <= 0.00005 + 1e-12


def test_the_real_panel_ranks_models_of_differing_quality() -> None:
    panel = honest_panel("breast-cancer")
    scores = {
        item.model: -np.log(item.probabilities[np.arange(569), panel.data.labels]).mean() for item in panel.submissions
    }
    assert scores["logistic regression"] < 0.1
    assert scores["class shares alone"] == max(scores.values()) == pytest.approx(0.66, abs=0.01)
    assert len({round(score, 3) for score in scores.values()}) == len(scores) == 8
    assert all(item.probabilities.min() > 9e-4 for item in panel.submissions)
    assert honest_panel("breast-cancer") is panel
    found = utility(CHANNEL, (RefuseConstructions(),), panel, np.random.default_rng(0), repeats=1)
    assert found.refused == 1 / 8  # the class shares alone: five different rows at most


@pytest.mark.slow
def test_the_panel_of_ten_classes_works_as_well() -> None:
    panel = honest_panel("digits")
    found = utility(CHANNEL, (RoundScore(decimals=5),), panel, np.random.default_rng(0), repeats=1)
    assert found.max_error <= 5.01e-6
    assert found.submissions == 8


def test_a_privacy_budget_is_shared_and_who_comes_late_is_refused(made: Panel) -> None:
    """Three answers for five participants; a query limit is each participant's own."""
    shared = measure(made, Clip(epsilon=0.01), LaplaceDp(epsilon=1e6, queries=3))
    assert shared.refused == pytest.approx(2 / 5)
    assert measure(made, QueryLimit(queries=3)).refused == 0


def test_a_panel_is_resized_to_the_curators_records(made: Panel) -> None:
    """Laplace noise for label-DP is calibrated to N: ten times the records, a tenth of the error."""
    small, large = (
        utility(CHANNEL, (Clip(epsilon=0.01), LaplaceDp(epsilon=1.0)), panel, np.random.default_rng(1), repeats=100)
        for panel in (made, made.resized(2000, np.random.default_rng(0)))
    )
    assert made.resized(200, np.random.default_rng(0)) is made
    assert made.resized(2000, np.random.default_rng(0)).data.n_records == 2000
    assert large.mean_error == pytest.approx(small.mean_error / 10, rel=1e-2)


def test_honest_rows_of_a_metric_of_columns_are_rows() -> None:
    """Whoever hosts a mean AUC of ten classes was told that every honest submission is refused."""
    labels, rng = np.arange(40) % 4, np.random.default_rng(0)
    data = LabelSet(labels=labels, class_names=("a", "b", "c", "d"), title="made", provenance="made")
    sent = [HonestSubmission(model=str(i), probabilities=rng.dirichlet(np.ones(4), 40)) for i in range(3)]
    found = utility(
        ScoreChannel(metric=MacroAuc()), (RoundScore(decimals=6),), Panel(data=data, submissions=tuple(sent)), rng
    )
    assert found.refused == 0
    assert found.max_error <= 5.01e-7


def test_without_a_defence_scores_are_unhurt_and_no_model_is_trained_to_see_it() -> None:
    panel = honest_panel("breast-cancer")
    for channel in (CHANNEL, ScoreChannel(metric=metric("roc-auc")), ScoreChannel(metric=metric("accuracy"))):
        assert utility(channel, (), panel, np.random.default_rng(0), repeats=1) == UNHURT
