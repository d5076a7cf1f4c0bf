"""Attacks on metrics: every label through scikit-learn's own functions, in no more queries than the marks."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelinf_core.contracts.components import ABSTAIN, LabelSet, Outcome, Setting
from labelinf_core.contracts.guarantees import Promise
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_data.bundled import load_bunch
from labelinf_scores.constructions.bit_sets import BitSets, n_columns, queries_needed
from labelinf_scores.decoders.moebius import decode_bit_sets
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.plans.rank_layout import two_adic
from labelinf_scores.plans.rank_plan import rank_queries

BUILDER = Builder(Host.load())
DEAR = ("error", "precision", "recall", "balanced-accuracy", "f1", "f2", "lift", "jaccard", "cohen-kappa")


def play(
    attack: str, metric: str, labels: list[int], *defences: str, n_classes: int = 2, **game: object
) -> tuple[Outcome, Promise | None]:
    channel = ScoreChannel(metric=BUILDER.build(Kind.METRIC, metric, "test"), **game)
    names = tuple(map(str, range(n_classes)))
    data = LabelSet(labels=np.array(labels, dtype=np.intp), class_names=names, title="t", provenance="made")
    setting = Setting(
        data=data, attack=BUILDER.build(Kind.ATTACK, attack, "test"), defences=BUILDER.pipeline(defences, "test")
    )
    rng = np.random.default_rng
    threat = channel.threat(setting)
    assert setting.attack is not None
    assert setting.attack.unsupported_reason(threat) == ""
    promise = setting.attack.promise(threat)
    return channel.play(setting, curator_rng=rng(0), attack_rng=rng(1)), promise


@pytest.fixture(scope="module")
def cancer() -> list[int]:
    return [int(label) for label in load_bunch("breast-cancer").target]


@pytest.mark.long
@pytest.mark.parametrize(
    ("metric", "n", "queries"),
    [
        ("f1", 569, 162),
        pytest.param("mcc", 569, 162, marks=pytest.mark.slow),
        *((name, 60, 26) for name in ("accuracy", "specificity", "youden", "mcc")),
        *(pytest.param(name, 60, 26, marks=pytest.mark.slow) for name in DEAR),
    ],
)
def test_any_confusion_metric_is_an_exact_counter(metric: str, n: int, queries: int, cancer: list[int]) -> None:
    outcome, promise = play("detecting-counts", metric, cancer[:n])
    assert promise is not None
    assert promise.certified
    assert (outcome.n_correct, outcome.queries) == (n, queries)


@pytest.mark.long
@pytest.mark.parametrize(
    ("metric", "decimals", "mark"),
    [("accuracy", 3, 162), ("precision", 2, 230), pytest.param("recall", 3, 162, marks=pytest.mark.slow)],
)
def test_rounded_counts_stay_exact_while_a_step_exceeds_the_rounding(
    metric: str, decimals: int, mark: int, cancer: list[int]
) -> None:
    outcome, promise = play("detecting-counts", metric, cancer, f"round(decimals={decimals})")
    assert promise is not None
    assert promise.certified
    assert outcome.n_correct == 569
    assert outcome.queries <= mark


@pytest.mark.long
@pytest.mark.parametrize(
    ("metric", "defences", "mark"),
    [
        ("roc-auc", (), 62),
        pytest.param("gini", (), 62, marks=pytest.mark.slow),
        ("roc-auc", ("round(decimals=5)",), 70),
        ("roc-auc", ("round(decimals=4)",), 130),
    ],
)
def test_the_auc_gives_every_label_away(metric: str, defences: tuple[str, ...], mark: int, cancer: list[int]) -> None:
    outcome, promise = play("spaced-ranks", metric, cancer, *defences)
    assert promise is not None
    assert promise.certified
    assert outcome.n_correct == 569
    assert outcome.queries <= mark


@pytest.mark.long
@pytest.mark.parametrize("metric", ["mse", pytest.param("rmse", marks=pytest.mark.slow), "r2"])
def test_squared_errors_spell_labels_out(metric: str) -> None:
    digits = [int(label) for label in load_bunch("digits").target[:400]]
    outcome, _ = play("linear-weights", metric, digits, n_classes=10)
    assert (outcome.n_correct, outcome.evidence["labels decided"]) == (400, 400)
    assert outcome.queries <= 32


@pytest.mark.long
def test_decimals_do_not_protect_the_mean_squared_error() -> None:
    digits = [int(label) for label in load_bunch("digits").target[:200]]
    outcome, _ = play("linear-weights", "mse", digits, "round(decimals=0)", n_classes=10)
    assert outcome.n_correct == 200
    assert outcome.queries < 40


@pytest.mark.long
@given(st.lists(st.integers(0, 1), min_size=2, max_size=14), st.sampled_from(["accuracy", "mcc", "roc-auc", "mse"]))
@settings(max_examples=60)
def test_small_boards_of_any_labels_are_read(labels: list[int], metric: str) -> None:
    if len(set(labels)) < 2:
        return
    attack = {"roc-auc": "spaced-ranks", "mse": "linear-weights"}.get(metric, "detecting-counts")
    outcome, _ = play(attack, metric, labels)
    assert outcome.n_correct == len(labels)
    assert "contradiction" not in outcome.evidence


def test_nothing_is_certified_beyond_the_budget(cancer: list[int]) -> None:
    for attack, metric, enough in (("detecting-counts", "f1", 39), ("spaced-ranks", "roc-auc", 14)):
        for queries in (enough, enough - 1):
            outcome, promise = play(attack, metric, cancer[:100], queries=queries)
            assert promise is not None
            assert promise.certified == (queries == enough)
            assert outcome.n_correct == 100 or not promise.certified
            assert outcome.n_correct >= outcome.evidence["labels decided"]
            assert outcome.guess is not None
            assert set(np.unique(outcome.guess)) <= {ABSTAIN, 0, 1}


def test_what_a_metric_attack_does_not_read_is_said() -> None:
    channel = ScoreChannel(metric=BUILDER.build(Kind.METRIC, "roc-auc", "test"))
    data = LabelSet(labels=np.array([0, 1, 1], dtype=np.intp), class_names=("a", "b"), title="t", provenance="made")
    threat = channel.threat(Setting(data=data))
    for name in ("detecting-counts", "hadamard", "binary-weights"):
        assert "reads" in BUILDER.build(Kind.ATTACK, name, "test").unsupported_reason(threat)
    assert BUILDER.build(Kind.ATTACK, "majority", "test").unsupported_reason(threat) == ""
    plain = ScoreChannel().threat(Setting(data=data))
    assert "reads sums of ranks" in BUILDER.build(Kind.ATTACK, "spaced-ranks", "test").unsupported_reason(plain)


def test_columns_of_a_detecting_matrix_number_as_proved() -> None:
    assert [n_columns(2**k - 1) for k in range(1, 9)] == [k * 2 ** (k - 1) for k in range(1, 9)]
    assert [n_columns(q, 3) for q in (1, 3, 7, 15, 63)] == [1, 3, 8, 20, 113]
    assert [n_columns(q, 10, 9) for q in (1, 3, 7, 15, 63)][:4] == [1, 4, 11, 26]
    assert [queries_needed(n) for n in (569, 1797, 2201, 5000, 25000)] == [163, 427, 497, 1009, 4197]


@pytest.mark.long
@pytest.mark.parametrize(("n_values", "largest", "n_labels"), [(2, 1, 10), (3, 1, 6), (3, 2, 6), (5, 4, 4)])
def test_a_detecting_matrix_tells_all_labels_apart(n_values: int, largest: int, n_labels: int) -> None:
    design = BitSets(n_queries=queries_needed(n_labels, n_values, largest), n_values=n_values, largest=largest)
    matrix = design.matrix()[:, :n_labels]
    assert matrix.min() >= 0
    assert matrix.max() <= largest
    for labels in itertools.product(range(n_values), repeat=n_labels):
        found = decode_bit_sets(design, matrix @ np.array(labels), n_labels)
        assert tuple(found) == labels


def test_answers_of_no_labels_are_refused() -> None:
    design = BitSets(n_queries=3)
    with pytest.raises(ValueError, match="no labels"):
        decode_bit_sets(design, np.array([4, 0, 0]), 4)


def test_two_adic_probes_have_every_valuation_once() -> None:
    for rest, top, known in itertools.product(range(1, 30, 3), range(1, 12, 2), (4, 9, 20, 50)):
        for bits in range(1, known.bit_length()):
            layout = two_adic(rest=rest, top=top, known=known, bits=bits)
            if layout is None:
                continue
            assert sorted(gap & -gap for gap in layout.gaps) == [1 << b for b in range(bits)]
            assert layout.modulus % (1 << bits) == 0
            total = rest + top + bits + known
            places = layout.predictions(
                total, np.arange(bits), np.arange(bits, bits + top), np.arange(bits + top, bits + top + known)
            )
            below, level = (places[:, None] > places).sum(axis=1), (places[:, None] == places).sum(axis=1)
            doubled = 2 * below + level + 1
            base = doubled[-1]
            assert tuple(doubled[:bits] - base) == layout.gaps
            assert (doubled[bits : bits + top] - base == layout.modulus).all()


def test_no_record_is_asked_about_twice_and_only_the_last_is_left() -> None:
    for n_records, width in ((40, 0), (300, 0), (300, 9), (1000, 0)):
        asked: list[int] = []
        batches = set()
        for query in rank_queries(n_records, width):
            asked += query.probes.tolist()
            batch = query.batch
            if batch is not None and batch.start not in batches:
                batches.add(batch.start)
                asked += range(batch.start, batch.stop)
        assert sorted(asked) == list(range(n_records - 1))
