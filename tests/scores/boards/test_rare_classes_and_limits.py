"""Few positives, totals that are not public, and the fewest queries of any attack."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Iterator
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelinf_core.contracts.components import LabelSet, Outcome, Setting
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_data.bundled import load_bunch
from labelinf_scores.bounds.metric_limits import fewest_queries
from labelinf_scores.constructions.mixed_sets import SetColumns, layout
from labelinf_scores.decoders.moebius import decode_columns
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.metrics.readings import Released, ScoredMetric, Totals
from labelinf_scores.metrics.readings.two_values import counter
from labelinf_scores.plans.halving import Halving

BUILDER = Builder(Host.load())


def metric_of(name: str) -> ScoredMetric:
    built: ScoredMetric = BUILDER.build(Kind.METRIC, name, "test")
    return built.of_classes(2)


def positives(
    metric: ScoredMetric, n_records: int, ask: Callable[[np.ndarray], float], released: Released
) -> tuple[int, int] | None:
    """Return how many labels are positive, as answers alone tell it, and how many queries that took (M4).

    Everybody predicted positive, one metric says P; one record alone, another says P and that record's label; for
    recall and its like one record after another is predicted positive. None where the answers do not tell.
    """
    link = counter(metric)
    if link is None:
        return None
    boards = [Totals.binary(n_records=n_records, n_positive=positive) for positive in range(1, n_records)]

    def fitting(size: int, score: Fraction) -> Iterator[int]:
        """Yield the numbers of positives for which some count among so many records has this score."""
        for totals in boards:
            low, high = released.interval(score, link.rounding(totals) * max(Fraction(1), abs(score)))
            counts = range(max(0, size - totals.n_negative), min(size, totals.n_positive) + 1)
            if any(low <= link.link(count, size, totals) <= high for count in counts):
                yield totals.n_positive

    everybody = set(fitting(n_records, Fraction(float(ask(np.ones(n_records))))))
    if len(everybody) == 1:
        return everybody.pop(), 1
    for record in range(n_records):
        alone = np.eye(1, n_records, record)[0]
        everybody &= set(fitting(1, Fraction(float(ask(alone)))))
        if len(everybody) <= 1:
            return (everybody.pop(), record + 2) if everybody else None
    return None


def play(metric: str, labels: np.ndarray, budget: int = 0, *defences: str) -> tuple[Outcome, bool]:
    data = LabelSet(labels=labels.astype(np.intp), class_names=("0", "1"), title="t", provenance="made")
    attack = BUILDER.build(Kind.ATTACK, "count-tree", "test")
    setting = Setting(data=data, attack=attack, defences=BUILDER.pipeline(defences, "test"))
    channel = ScoreChannel(metric=BUILDER.build(Kind.METRIC, metric, "test"), queries=budget)
    threat = channel.threat(setting)
    assert attack.unsupported_reason(threat) == ""
    promise = attack.promise(threat)
    sure = promise is not None and promise.certified
    return channel.play(setting, curator_rng=np.random.default_rng(0), attack_rng=np.random.default_rng(1)), sure


@pytest.mark.long
@pytest.mark.parametrize(("metric", "n", "rare", "mark"), [("f1", 2201, 22, 75), ("accuracy", 600, 5, 30)])
def test_a_rare_class_is_found_in_few_queries(metric: str, n: int, rare: int, mark: int) -> None:
    outcome, sure = play(metric, np.random.default_rng(1).permutation(np.arange(n) < rare))
    assert (outcome.n_correct, sure) == (n, True)
    assert outcome.queries <= mark


@pytest.mark.long
def test_rare_negatives_are_found_as_well() -> None:
    outcome, _ = play("jaccard", np.random.default_rng(1).permutation(np.arange(300) >= 6))
    assert outcome.n_correct == 300


def test_a_budget_that_ends_leaves_what_was_settled() -> None:
    outcome, sure = play("precision", np.random.default_rng(1).permutation(np.arange(400) < 8), budget=20)
    assert (outcome.queries, sure) == (20, False)
    assert outcome.n_correct >= int(outcome.evidence["labels decided"]) > 0


@pytest.mark.long
@pytest.mark.parametrize("metric", ["accuracy", "f1", "mcc"])
def test_heeded_counts_take_fewer_queries_than_a_fixed_matrix(metric: str) -> None:
    outcome, sure = play(metric, load_bunch("breast-cancer").target)
    assert (outcome.n_correct, sure) == (569, True)
    assert outcome.queries < 150


@pytest.mark.long
def test_counts_of_small_sets_are_heeded_too() -> None:
    """Precision in two decimals tells a count of fewer than a hundred records."""
    outcome, sure = play("precision", load_bunch("breast-cancer").target, 0, "round(decimals=2)")
    assert (outcome.n_correct, sure) == (569, True)
    assert outcome.queries < 180


@pytest.mark.parametrize(("n", "largest"), [(2, None), (5, None), (7, None), (7, 1), (7, 3)])
def test_all_labels_come_out_by_halving(n: int, largest: int | None) -> None:
    """Of every labelling, all begun as one group or not: in ``n`` queries at most, none of more than ``largest``."""
    for labels in map(np.array, itertools.product((0, 1), repeat=n)):
        one = Halving(fresh=np.arange(0), groups=[(np.arange(n), int(labels.sum()))])
        begun = [Halving.of(np.arange(n), int(labels.sum()), largest)]
        for state in begun + ([one] if largest is None and 0 < labels.sum() < n else []):
            found, queries = np.full(n, -1), 0
            while (turn := state.turn()) is not None:
                rows = list(turn.rows())
                counts = [int(labels[row.records].sum()) for row in rows]
                assert all(row.least <= count <= row.most for row, count in zip(rows, counts, strict=True))
                assert largest is None or max(row.records.size for row in rows) <= largest
                queries += len(rows)
                for records, label in state.learned(turn, turn.decode(counts)):
                    found[records] = label
            assert queries <= n
            assert (found < 0).sum() <= 1
            assert np.array_equal(found[found >= 0], labels[found >= 0])


@given(st.lists(st.integers(1, 9), max_size=24), st.integers(0, 24), st.randoms(use_true_random=False))
@settings(max_examples=60)
def test_mixed_radices_are_told_apart(most: list[int], n_fresh: int, random: Random) -> None:
    """Halves of groups, whose entries may be -1, beside fresh records, single ones and groups."""
    places = layout([limit + 1 for limit in most], n_fresh=n_fresh, together=4)
    assert sorted(place.split for place in places if place.split is not None) == list(range(len(most)))
    assert sum(place.n_fresh for place in places) == n_fresh
    if not places:
        return
    ranges = [place.n_fresh + 1 if place.split is None else most[place.split] + 1 for place in places]
    truth, columns = [random.randrange(one) for one in ranges], SetColumns(places)
    answers = [int(columns.row(x) @ truth) * (x >= columns.first) for x in range(columns.n_sets)]
    assert decode_columns(columns, np.array(answers), ranges) == truth
    for place, column in zip(places, np.array([columns.row(x) for x in range(columns.n_sets)]).T, strict=True):
        assert place.split is not None or column.min() >= 0


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


def test_so_many_doubles_tell_all_labellings_of_three_classes_apart_and_one_less_does_not() -> None:
    """Counted in whole numbers; of rounded scores of three classes nothing is proved."""
    totals = Totals(counts=(50, 40, 60))
    labellings = math.factorial(150) // math.prod(math.factorial(count) for count in (50, 40, 60))
    fewest, fixed = fewest_queries(metric_of("accuracy"), totals)
    assert fewest is not None
    assert 2 ** (64 * (fewest - 1)) < labellings <= 2 ** (64 * fewest)
    assert fixed is None
    assert fewest_queries(metric_of("accuracy"), totals, decimals=2) == (None, None)


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
