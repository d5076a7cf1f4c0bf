"""Few positives, totals that are not public, and the fewest queries of any attack."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelinf_core.contracts.components import LabelSet, Outcome, Setting
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_scores.attacks.count_tree import _entry, decode, layout
from labelinf_scores.attacks.totals import positives
from labelinf_scores.bounds.metric_limits import fewest_queries
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.metrics.readings import Released, ScoredMetric, Totals

BUILDER = Builder(Host.load())


def metric_of(name: str) -> ScoredMetric:
    built: ScoredMetric = BUILDER.build(Kind.METRIC, name, "test")
    return built.of_classes(2)


def play(metric: str, labels: np.ndarray, budget: int = 0) -> tuple[Outcome, bool]:
    data = LabelSet(labels=labels.astype(np.intp), class_names=("0", "1"), title="t", provenance="made")
    attack = BUILDER.build(Kind.ATTACK, "count-tree", "test")
    setting = Setting(data=data, attack=attack, defences=())
    channel = ScoreChannel(metric=BUILDER.build(Kind.METRIC, metric, "test"), queries=budget)
    threat = channel.threat(setting)
    assert attack.refusal(threat) == ""
    promise = attack.promise(threat)
    sure = promise is not None and promise.certified
    return channel.play(setting, curator_rng=np.random.default_rng(0), attack_rng=np.random.default_rng(1)), sure


@pytest.mark.parametrize(("metric", "n", "rare", "mark"), [("f1", 2201, 22, 97), ("accuracy", 600, 5, 40)])
def test_a_rare_class_is_found_in_few_queries(metric: str, n: int, rare: int, mark: int) -> None:
    outcome, sure = play(metric, np.random.default_rng(1).permutation(np.arange(n) < rare))
    assert (outcome.n_correct, sure) == (n, True)
    assert outcome.queries <= mark


def test_rare_negatives_are_found_as_well() -> None:
    outcome, _ = play("jaccard", np.random.default_rng(1).permutation(np.arange(300) >= 6))
    assert outcome.n_correct == 300


def test_a_budget_that_ends_leaves_what_was_settled() -> None:
    outcome, sure = play("precision", np.random.default_rng(1).permutation(np.arange(400) < 8), budget=20)
    assert (outcome.queries, sure) == (20, False)
    assert outcome.n_correct >= int(outcome.evidence["labels decided"]) > 0


@given(st.lists(st.integers(1, 9), min_size=1, max_size=24), st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_mixed_radices_are_told_apart(most: list[int], random: object) -> None:
    columns = layout([limit + 1 for limit in most])
    truth = [random.randint(0, limit) for limit in most]  # type: ignore[attr-defined]
    rows = range(columns[-1][0] + 1)
    answers = [sum(truth[place] for chosen, weight, place in columns if _entry(x, chosen, weight)) for x in rows]
    assert decode(columns, np.array(answers), most) == truth
    assert sorted(place for _, _, place in columns) == list(range(len(most)))


@pytest.mark.parametrize(
    ("name", "queries"),
    [
        *[(name, 1) for name in ("accuracy", "precision", "f1", "jaccard", "macro-f1")],
        *[(name, 2) for name in ("mcc", "cohen-kappa", "balanced-accuracy", "roc-auc")],
        *[(name, None) for name in ("recall", "specificity", "ndcg", "lift")],
    ],
)
def test_totals_come_out_of_one_answer(name: str, queries: int | None) -> None:
    """For every number of positives among 15 records; recall, specificity and lift need a few answers more."""
    metric = metric_of(name)
    for positive in range(1, 15):
        labels = np.random.default_rng(positive).permutation(np.arange(15) < positive).astype(np.intp)

        def ask(predictions: np.ndarray, labels: np.ndarray = labels) -> float:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return metric.score(labels, predictions)

        found = positives(metric, 15, ask, Released())
        assert found is not None
        assert found[0] == positive
        assert queries is None or found[1] == queries


def test_limits_are_those_of_the_theory() -> None:
    totals = Totals.binary(n_records=569, n_positive=357)
    large = Totals.binary(n_records=25_000, n_positive=9_250)
    assert fewest_queries(metric_of("roc-auc"), totals) == (32, 39)
    assert fewest_queries(metric_of("f1"), totals) == (70, 118)
    assert fewest_queries(metric_of("roc-auc"), large) == (845, 1075)
    assert fewest_queries(metric_of("accuracy"), large) == (1804, 3255)
    assert fewest_queries(metric_of("accuracy"), Totals.binary(n_records=25_000, n_positive=50))[0] == 92
    assert fewest_queries(metric_of("roc-auc"), totals, decimals=2) == (81, None)


@pytest.mark.parametrize("name", ["accuracy", "mcc", "lift", "youden", "roc-auc", "gini", "reciprocal-rank"])
def test_one_query_that_tells_all_labellings_apart_is_not_said_to_be_too_few(name: str) -> None:
    """One positive of 40, ranked: its rank is the label, and six queries were said to be too few."""
    metric, totals = metric_of(name), Totals.binary(n_records=40, n_positive=1)
    predictions = np.arange(40) / 64 if name in ("roc-auc", "gini", "reciprocal-rank") else (np.arange(40) < 20) / 1.0
    scores = np.array([metric.score(np.eye(40, dtype=int)[row], predictions) for row in range(40)])
    for decimals in (None, 0, 1, 2):
        values = len(set(scores.tolist() if decimals is None else np.round(scores, decimals).tolist()))
        fewest, _ = fewest_queries(metric, totals, decimals)
        assert fewest is not None
        assert values ** (fewest - 1) < 40
