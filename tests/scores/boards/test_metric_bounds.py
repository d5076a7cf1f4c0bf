"""What is said of noise on metrics, held against every labelling and every query of small boards."""

from __future__ import annotations

import itertools
import json
import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
from click.testing import CliRunner

from labelinf_core.contracts.components import LabelSet, Setting
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_scores.attacks.ranked_list import expected_rate
from labelinf_scores.audit.boards import BoardRow, rows
from labelinf_scores.boards import metrics
from labelinf_scores.bounds.counting import answer_bits
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.metrics.readings import ScoredMetric, Totals
from labelinf_scores.metrics.readings.counts import ConfusionMetric, Precision
from labelinf_scores.metrics.readings.two_values import noise
from labelinf_scores.metrics.shipped import is_closed
from labelinf_scores.metrics.tried import crooked

BUILDER = Builder(Host.load())
N, P = 5, 2
LABELLINGS = [np.array(y) for y in itertools.product((0, 1), repeat=N)]
QUERIES = [np.array(x, dtype=float) for x in itertools.product((0.0, 1.0), repeat=N)]


def metric(name: str) -> ScoredMetric:
    found: ScoredMetric = BUILDER.build(Kind.METRIC, name, "test")
    return found


@pytest.mark.parametrize("name", ["error", "f2", "precision", "jaccard", "cohen-kappa", "mcc", "lift-at-k(k=4)"])
def test_the_largest_step_of_all_sets_is_found_among_those_of_three(name: str) -> None:
    """A million labels have a million sizes of sets, and each takes fractions."""
    scored = metric(name)
    assert isinstance(scored, ConfusionMetric)
    for n, p in itertools.combinations((14, 11, 8, 5, 2, 1), 2):
        totals = Totals.binary(n_records=n, n_positive=p)
        assert scored.enough(totals) == max(float(scored.step(s, totals, largest=True) / 2) for s in range(1, n))


def test_a_metric_that_names_other_sets_is_crooked() -> None:
    """Precision is steepest for one record alone."""

    class Elsewhere(Precision):
        def steepest(self, totals: Totals) -> tuple[int, ...]:
            return (2,)

    assert crooked(Elsewhere()) == "its largest step is none of those it names: 1 of 13 are positive"
    assert not crooked(Precision())


def score(scored: ScoredMetric, labels: np.ndarray, query: np.ndarray) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return scored.score(labels, query)


@pytest.mark.long
@pytest.mark.parametrize(
    "name",
    ["accuracy", "precision", "f1", *(pytest.param(name, marks=pytest.mark.slow) for name in ("jaccard", "mcc"))],
)
def test_floor_and_ceiling_are_those_of_every_labelling(name: str) -> None:
    """The least that a query about one record tells, and the most that exchanging two labels ever moves."""
    scored, totals = metric(name), Totals.binary(n_records=N, n_positive=P)
    allowed = [y for y in LABELLINGS if y.sum() == P]
    alone = np.eye(N)[0]
    apart = {round(score(scored, y, alone), 9) for y in allowed}
    assert len(apart) == 2
    assert max(apart) - min(apart) == pytest.approx(2 * scored.floor(totals), abs=1e-8)
    table = np.array([[score(scored, y, q) for q in QUERIES] for y in allowed])
    moved = max(
        np.abs(table[i] - table[j]).max()
        for i, j in itertools.combinations(range(len(allowed)), 2)
        if np.abs(allowed[i] - allowed[j]).sum() == 2
    )
    assert moved <= 2 * scored.enough(totals) + 1e-12


def test_noise_on_errors_of_logarithms_is_that_of_their_nearest_values() -> None:
    """A query about one record tells two values that far apart; no exchange of two labels moves anything more."""
    scored, values = metric("rmsle"), np.array([0.5, 1.0, 4.0])
    totals = Totals(counts=(2, 1, 1), values=(Fraction(1, 2), 1, 4))
    allowed = [np.array(y) for y in sorted(set(itertools.permutations((0, 0, 1, 2))))]
    told = {int(y[0]): score(scored, values[y], np.array([1e300, 2, 2, 2])) for y in allowed}
    least = min(abs(told[a] - told[b]) for a, b in itertools.combinations(range(3), 2))
    assert least == pytest.approx(2 * scored.floor(totals), rel=2e-2)
    queries = [np.array(q, dtype=float) for q in itertools.product((0.0, 0.7, 2.0, 9.0, 1e5), repeat=4)][::7]
    for y in allowed:
        other = y.copy()
        near = [int(np.flatnonzero(y == 0)[0]), int(np.flatnonzero(y == 1)[0])]
        other[near] = y[near[::-1]]
        moved = max(abs(score(scored, values[y], q) - score(scored, values[other], q)) for q in queries)
        assert moved <= 2 * scored.enough(totals) * (1 + 1e-9) + 1e-9


def test_nothing_is_said_of_the_noise_on_logarithms_of_what_has_none() -> None:
    """A file with an amount below zero: a bound "could not be evaluated: ValueError"."""
    totals = Totals(counts=(2, 3), values=(-3, 1))
    assert noise(metric("rmsle"), totals) == (0.0, math.inf)


@pytest.mark.parametrize("level", [0.0, 1e3, 1e6])
def test_a_record_far_off_tells_no_less_than_the_floor_where_others_spread(level: float) -> None:
    """Logarithms end at 709: with thousands of amounts between 0 and a million, a label tells a fifth less."""
    scored, values, n = metric("rmsle"), np.array([0.0, 1.0, 1e6]), 6000
    totals = Totals(counts=(n // 3,) * 3, values=(0, 1, 10**6))
    labels, query = np.repeat(values, n // 3), np.full(n, level)
    query[0] = math.exp(700)
    other = labels.copy()
    other[[0, n // 2]] = labels[[n // 2, 0]]
    told = abs(scored.score(labels, query) - scored.score(other, query))
    floor = scored.floor(totals)
    assert 2 * floor < 0.9 * math.log(2) / math.sqrt(n)
    assert told < math.log(2) / math.sqrt(n) * 0.95
    if level == 0.0:
        assert 2 * floor <= told


@pytest.mark.parametrize(
    ("name", "record", "size", "own"),
    [
        ("mae", 4, 80, 2**29 + 1),
        ("d2-absolute", 4, 80, 2**29 + 1),
        ("pinball(alpha=0.3)", 4, 80, 383_479_223),
        ("rmse", 0, 70, math.isqrt(5 * 2**87) + 1),
    ],
)
def test_no_noise_stops_an_error_of_values_that_may_be_anything(name: str, record: int, size: int, own: int) -> None:
    """One exchange was said to move an MAE by 2 / N at most, which is so in exact arithmetic only.

    Predictions of 2^80 swallow the labels of all others, and one label decides which way their sum is rounded: it is
    read through noise of tens of thousands, whatever the others are.
    """
    scored, totals = metric(name), Totals.binary(n_records=N, n_positive=P)
    allowed = [y for y in LABELLINGS if y.sum() == P]
    query = np.full(N, 2.0**size)
    query[record] = own
    told = [{score(scored, y, query) for y in allowed if y[record] == label} for label in (0, 1)]
    assert min(abs(one - other) for one in told[0] for other in told[1]) > 1e5
    assert noise(scored, totals) == (float("inf"), float("inf"))


@pytest.mark.long
@pytest.mark.parametrize("name", ["macro-f1", "micro-f1", "weighted-f1", "linear-kappa", "quadratic-kappa"])
def test_noise_on_averages_of_two_classes_is_that_of_their_counts(name: str) -> None:
    scored, totals = metric(name).of_classes(2), Totals.binary(n_records=N, n_positive=P)
    floor, enough = noise(scored, totals)
    allowed = [y for y in LABELLINGS if y.sum() == P]
    table = np.array([[score(scored, y, q) for q in QUERIES] for y in allowed])
    apart = {round(score(scored, y, np.eye(N)[0]), 9) for y in allowed}
    assert max(apart) - min(apart) == pytest.approx(2 * floor, abs=1e-8)
    for i, j in itertools.combinations(range(len(allowed)), 2):
        if np.abs(allowed[i] - allowed[j]).sum() == 2:
            assert np.abs(table[i] - table[j]).max() <= 2 * enough + 1e-12


def test_what_a_list_of_ranks_reads_is_estimated_as_it_was_measured() -> None:
    """569 labels of breast cancer at 2, 3, 4 and 5 decimals: 316, 113, 69 and 50 queries."""
    totals = Totals.binary(n_records=569, n_positive=357)
    for decimals, queries in ((2, 316), (3, 113), (4, 69), (5, 50)):
        width = int(2 * 357 * 212 / 10**decimals)
        assert 569 / queries == pytest.approx(expected_rate(totals, width), rel=0.06)


@pytest.mark.long
@pytest.mark.parametrize(("name", "queries"), [("average-precision", 18), ("ndcg", 17)])
def test_the_estimate_of_a_ranked_block_is_at_most_a_tenth_above_what_was_reached(name: str, queries: int) -> None:
    found = list(rows(Host.load(), (569,), 357 / 569, [None], (name,)))
    assert 569 / queries <= found[0].labels_per_query <= 1.1 * 569 / queries


@pytest.mark.parametrize("name", ["accuracy", "precision", "cohen-kappa"])
def test_no_label_moves_a_score_by_more_than_the_sensitivity(name: str) -> None:
    scored = metric(name)
    for q, y in itertools.product(QUERIES[1::4], LABELLINGS[: 2**N // 2 : 2]):
        moved = y.copy()
        moved[0] ^= 1
        assert abs(score(scored, y, q) - score(scored, moved, q)) <= scored.sensitivity(N) + 1e-12


def test_a_sensitivity_that_is_not_true_counts_for_nothing() -> None:
    precision = type(metric("precision"))

    class Modest(precision):  # type: ignore[valid-type, misc]
        def sensitivity(self, n_records: int) -> float:
            return 1 / n_records

    assert is_closed(metric("precision"))
    assert not is_closed(Modest())


def test_an_answer_takes_no_more_values_than_counted() -> None:
    labels = np.array([0] * 40 + [1] * 9, dtype=np.intp)
    data = LabelSet(labels=labels, class_names=("a", "b"), title="t", provenance="made")
    threat = ScoreChannel(metric=metric("f1"), queries=5).threat(Setting(data=data))
    assert answer_bits(threat) == pytest.approx(np.log2(10))


def test_noise_that_stops_or_hides_is_rounded_to_where_it_says_less() -> None:
    """One record of 569 moves an accuracy by 1/569 = .001757...: noise of .00178 was said to let all labels through."""
    row = BoardRow(
        metric="m", decimals=3, records=569, attack="a", labels_per_query=1.0, survives=0.001757, enough=0.003514
    )
    assert row.stops == "below 0.0017; never from 0.0036"


@pytest.mark.slow
def test_a_host_reads_what_every_answer_gives_away() -> None:
    found = CliRunner().invoke(metrics, ["--records", "100", "--metric", "precision", "--metric", "mse", "--json"])
    assert found.exit_code == 0, found.output
    rows = json.loads(found.output)
    assert [(row["metric"], row["decimals"]) for row in rows] == [
        (name, decimals) for name in ("precision", "mse") for decimals in (None, 4, 3)
    ]
    assert all(row["labels_per_query"] > 2 for row in rows)
    assert rows[0]["survives"] == 0.5
    assert rows[3]["survives"] == "inf"
    refused = CliRunner().invoke(metrics, ["--metric", "auc"], standalone_mode=False)
    assert "there is no such metric" in str(refused.exception)


@pytest.mark.long
def test_a_board_of_few_records_has_two_classes_and_gives_away_no_more_labels_than_it_has() -> None:
    """A share of .99 of four records was all of them, and ended in a traceback; an AUC gave six of four labels away."""
    asked = ["--records", "4", "--share", "0.99", "--metric", "roc-auc", "--decimals", "3", "--json"]
    found = CliRunner().invoke(metrics, asked)
    assert found.exit_code == 0, found.output
    assert all(row["labels_per_query"] <= 4 for row in json.loads(found.output))
