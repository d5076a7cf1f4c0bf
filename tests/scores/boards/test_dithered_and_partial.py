"""Rounding stops no counter, and neither does scoring a secret part of the records."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelinf_core.contracts.components import LabelSet, Outcome, Setting
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_data.bundled import load_bunch
from labelinf_scores.attacks.scored_subset import _explanations
from labelinf_scores.constructions.bit_sets import BitSets, queries_needed
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.metrics.readings import Totals
from labelinf_scores.metrics.readings.two_values import counter
from labelinf_scores.metrics.tried import crooked

BUILDER = Builder(Host.load())


def play(attack: str, metric: str, labels: np.ndarray, *defences: str, refused: bool = False) -> Outcome:
    data = LabelSet(labels=labels.astype(np.intp), class_names=("0", "1"), title="t", provenance="made")
    built = BUILDER.build(Kind.ATTACK, attack, "test")
    setting = Setting(data=data, attack=built, defences=BUILDER.pipeline(defences, "test"))
    channel = ScoreChannel(metric=BUILDER.build(Kind.METRIC, metric, "test"))
    assert bool(built.unsupported_reason(channel.threat(setting))) == refused
    return channel.play(setting, curator_rng=np.random.default_rng(0), attack_rng=np.random.default_rng(1))


@pytest.mark.long
@pytest.mark.parametrize(
    ("metric", "n", "decimals", "mark"),
    [
        ("accuracy", 569, 2, 434),
        pytest.param("mcc", 300, 2, 150, marks=pytest.mark.slow),
        ("accuracy", 300, 1, 330),
        pytest.param("f1", 300, 2, 200, marks=pytest.mark.slow),
    ],
)
def test_rounding_alone_stops_no_oracle(metric: str, n: int, decimals: int, mark: int) -> None:
    outcome = play("dithered-counts", metric, load_bunch("breast-cancer").target[:n], f"round(decimals={decimals})")
    assert (outcome.n_correct, outcome.n_records) == (n, n)
    assert outcome.queries <= mark


@pytest.mark.long
@pytest.mark.parametrize(
    ("metric", "decimals"),
    [
        ("roc-auc", 0),
        ("gini", 1),
        ("ndcg", 2),
        ("macro-f1", 0),
        ("weighted-f1", 1),
        ("micro-f1", 1),
        ("linear-kappa", 1),
        ("quadratic-kappa", 1),
    ],
)
def test_metrics_of_ranks_and_classes_are_counters_of_predictions_0_and_1(metric: str, decimals: int) -> None:
    """Even an AUC that is printed as 0 or 1 gives every label away."""
    outcome = play("dithered-counts", metric, load_bunch("breast-cancer").target[:120], f"round(decimals={decimals})")
    assert outcome.n_correct == 120
    assert "contradiction" not in outcome.evidence


@pytest.mark.long
@pytest.mark.parametrize("name", ["roc-auc", "gini", "ndcg", "ndcg(k=3)", "macro-f1", "weighted-f1", "linear-kappa"])
def test_links_of_two_values_are_the_library_s_functions(name: str) -> None:
    """For every count of every set of nine records: within the error that is said, and strictly increasing."""
    metric = BUILDER.build(Kind.METRIC, name, "test").of_classes(2)
    told = counter(metric)
    assert told is not None
    assert crooked(told) == ""
    for positive, s in itertools.product(range(1, 9), range(1, 9)):
        totals = Totals.binary(n_records=9, n_positive=positive)
        labels = (np.arange(9) < positive).astype(np.intp)
        for a in range(max(0, s - totals.n_negative), min(s, positive) + 1):
            hard = np.zeros(9)
            hard[:a] = hard[positive : positive + s - a] = 1
            apart = abs(Fraction(metric.score(labels, hard)) - told.link(a, s, totals))
            assert apart <= told.rounding(totals)


@pytest.mark.long
@pytest.mark.parametrize(
    ("metric", "decimals"),
    [("mae", 0), ("pinball(alpha=0.9)", 1), ("d2-absolute", 1), ("rmse", 0), ("rmsle", 0), ("rmsle", 2), ("mse", 0)],
)
def test_errors_of_values_are_shifted_to_boundaries_with_nothing_known(metric: str, decimals: int) -> None:
    digits = load_bunch("digits").target[:36]
    data = LabelSet(labels=digits.astype(np.intp), class_names=tuple(map(str, range(10))), title="t", provenance="made")
    attack = BUILDER.build(Kind.ATTACK, "shifted-levels", "test")
    defences = BUILDER.pipeline((f"round(decimals={decimals})",), "test")
    channel = ScoreChannel(metric=BUILDER.build(Kind.METRIC, metric, "test"))
    setting = Setting(data=data, attack=attack, defences=defences)
    assert attack.unsupported_reason(channel.threat(setting)) == ""
    outcome = channel.play(setting, curator_rng=np.random.default_rng(0), attack_rng=np.random.default_rng(1))
    assert (outcome.n_correct, outcome.evidence["labels decided"]) == (36, 36)
    assert outcome.queries <= 4 * 36


@pytest.mark.long
@given(st.integers(4, 14), st.integers(0, 2**32), st.sampled_from(["mae", "rmse", "pinball(alpha=0.3)"]))
@settings(max_examples=15)
def test_what_is_decided_by_shifting_is_right(n: int, seed: int, metric: str) -> None:
    rng = np.random.default_rng(seed)
    labels = np.append(rng.integers(0, 3, n - 2), [0, 2]).astype(np.intp)
    data = LabelSet(labels=labels, class_names=("0.5", "1", "4.25"), title="t", provenance="made")
    attack = BUILDER.build(Kind.ATTACK, "shifted-levels", "test")
    setting = Setting(data=data, attack=attack, defences=BUILDER.pipeline((f"round(decimals={seed % 3})",), "test"))
    channel = ScoreChannel(metric=BUILDER.build(Kind.METRIC, metric, "test"))
    outcome = channel.play(setting, curator_rng=rng, attack_rng=np.random.default_rng(1))
    assert "contradiction" not in outcome.evidence
    assert outcome.n_correct >= int(outcome.evidence["labels decided"])


def test_boundaries_on_scores_that_occur_are_no_trap() -> None:
    """Of 200 records, halves of a percent are scores: printed either way, they are never read as one."""
    labels = np.random.default_rng(3).permutation(200) < 74
    outcome = play("dithered-counts", "accuracy", labels, "round(decimals=2)")
    assert outcome.n_correct == 200
    assert "contradiction" not in outcome.evidence


@pytest.mark.long
@given(
    st.integers(12, 60),
    st.integers(0, 2**32),
    st.sampled_from(["accuracy", "error", "f1", "recall", "precision", "mcc", "jaccard", "specificity"]),
    st.sampled_from([1, 2]),
)
@settings(max_examples=12)
def test_what_is_decided_through_rounding_is_right(n: int, seed: int, metric: str, decimals: int) -> None:
    labels = np.random.default_rng(seed).random(n) < 0.4
    labels[:2] = (True, False)
    data = LabelSet(labels=labels.astype(np.intp), class_names=("0", "1"), title="t", provenance="made")
    attack = BUILDER.build(Kind.ATTACK, "dithered-counts", "test")
    setting = Setting(data=data, attack=attack, defences=BUILDER.pipeline((f"round(decimals={decimals})",), "test"))
    channel = ScoreChannel(metric=BUILDER.build(Kind.METRIC, metric, "test"))
    if attack.unsupported_reason(channel.threat(setting)):
        return
    outcome = channel.play(setting, curator_rng=np.random.default_rng(0), attack_rng=np.random.default_rng(1))
    assert "contradiction" not in outcome.evidence
    decided = int(outcome.evidence["labels decided"])
    assert outcome.n_correct >= decided
    assert attack.promise(channel.threat(setting)) is None


def test_who_is_scored_comes_out_with_the_labels() -> None:
    labels = load_bunch("breast-cancer").target
    outcome = play("scored-subset", "accuracy", labels, "subset(share=0.3)")
    assert outcome.queries == 247
    assert outcome.evidence["records seen to be scored"] == 171
    assert outcome.n_correct >= 171 + 0.6 * (569 - 171)


def test_rounding_is_no_obstacle_where_one_record_stands_out() -> None:
    labels = np.random.default_rng(3).permutation(np.repeat([0, 1], [50, 70]))
    outcome = play("scored-subset", "accuracy", labels, "subset(share=0.3)", "round(decimals=3)")
    assert outcome.evidence["records seen to be scored"] == 36
    assert outcome.n_correct >= 36 + 0.4 * 84


def test_every_membership_is_explained_once() -> None:
    """The least number that makes all answers whole may be a wrong one: exactly one must pass every check."""
    for kinds in itertools.product((-1, 0, 1), repeat=5):
        if any(kinds):
            assert explained(kinds) == [kinds]
    misread = (0, -1, -1, -1, -1, 0, -1, -1)  # three makes all answers whole, and six are scored
    assert explained(misread) == [misread]


def explained(kinds: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Return the codes that explain the answers of a board whose records have these: in and 1, out, in and 0."""
    n, code = len(kinds), np.array(kinds)
    design = BitSets(n_queries=queries_needed(n, 3), n_values=3)
    rows = design.matrix()[:, :n]
    scored, negative = int(np.abs(code).sum()), int((code == -1).sum())
    shown = [Fraction(float(Fraction(negative + int(row @ code), scored))) for row in rows]
    base = Fraction(float(Fraction(negative, scored)))
    found = _explanations(design, base, shown, rows.sum(axis=1).tolist(), n, None)
    return [tuple((kind - 1).tolist()) for kind in found]


@pytest.mark.parametrize(
    "defences", [(), ("subset(share=0.3)", "round(decimals=1)"), ("subset(share=0.3, fresh=true)",)]
)
def test_what_it_cannot_read_it_refuses(defences: tuple[str, ...]) -> None:
    attack = BUILDER.build(Kind.ATTACK, "scored-subset", "test")
    data = LabelSet(labels=np.arange(30) % 2, class_names=("0", "1"), title="t", provenance="made")
    channel = ScoreChannel(metric=BUILDER.build(Kind.METRIC, "accuracy", "test"))
    assert attack.unsupported_reason(channel.threat(Setting(data=data, defences=BUILDER.pipeline(defences, "test"))))


def test_a_list_that_holds_all_records_is_refused_not_divided_by() -> None:
    """Precision at ten of four records is the share of positives, whatever is predicted."""
    channel = ScoreChannel(metric=BUILDER.build(Kind.METRIC, "precision-at-k(k=10)", "test"))
    data = LabelSet(labels=np.array([0, 1, 0, 1]), class_names=("0", "1"), title="t", provenance="made")
    attack = BUILDER.build(Kind.ATTACK, "dithered-counts", "test")
    setting = Setting(data=data, attack=attack, defences=BUILDER.pipeline(("round(decimals=2)",), "test"))
    assert "stands for all counts" in attack.unsupported_reason(channel.threat(setting))
