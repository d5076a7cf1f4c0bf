"""Metrics of values, grades and many classes: scikit-learn's functions read backwards, and every label through them."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics

from labelinf_core.contracts.components import LabelSet, Outcome, Setting
from labelinf_core.contracts.guarantees import Promise
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_data.bundled import load_bunch
from labelinf_scores.decoders.labelling_sums import labellings_between
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.metrics.readings import Released, ScoredMetric, Totals

BUILDER = Builder(Host.load())
CLASSES: dict[str, Callable[..., float]] = {
    "accuracy": metrics.accuracy_score,
    "error": metrics.zero_one_loss,
    "balanced-accuracy": lambda y, p: metrics.recall_score(y, p, labels=np.unique(y), average="macro", zero_division=0),
    "cohen-kappa": metrics.cohen_kappa_score,
    "mcc": metrics.matthews_corrcoef,
    "macro-f1": lambda y, p: metrics.f1_score(y, p, average="macro", zero_division=0),
    "micro-f1": lambda y, p: metrics.f1_score(y, p, average="micro", zero_division=0),
    "weighted-f1": lambda y, p: metrics.f1_score(y, p, average="weighted", zero_division=0),
    "quadratic-kappa": lambda y, p: metrics.cohen_kappa_score(y, p, labels=range(4), weights="quadratic"),
    "linear-kappa": lambda y, p: metrics.cohen_kappa_score(y, p, labels=range(4), weights="linear"),
}
NUMBERS: dict[str, Callable[..., float]] = {
    "mse": metrics.mean_squared_error,
    "rmse": metrics.root_mean_squared_error,
    "r2": metrics.r2_score,
    "rmsle": metrics.root_mean_squared_log_error,
    "mae": metrics.mean_absolute_error,
    "pinball": metrics.mean_pinball_loss,
    "pinball(alpha=0.9)": lambda y, p: metrics.mean_pinball_loss(y, p, alpha=0.9),
    "d2-absolute": metrics.d2_absolute_error_score,
}
VALUES = (0.1, 2.5, 19.99, 400.0)
ATTACKS = {
    **dict.fromkeys(CLASSES, "detecting-classes"),
    **dict.fromkeys(["quadratic-kappa", "linear-kappa"], "detecting-grades"),
    **dict.fromkeys(["mse", "rmse", "r2", "rmsle"], "linear-weights"),
    **dict.fromkeys(["mae", "pinball", "pinball(alpha=0.9)", "d2-absolute"], "thresholds"),
}


def metric_of(name: str, n_classes: int = 4) -> ScoredMetric:
    built: ScoredMetric = BUILDER.build(Kind.METRIC, name, "test")
    return built.of_classes(n_classes)


def play(
    name: str, labels: list[int], class_names: tuple[str, ...], *defences: str, **game: object
) -> tuple[Outcome, Promise | None]:
    channel = ScoreChannel(metric=BUILDER.build(Kind.METRIC, name, "test"), **game)
    data = LabelSet(labels=np.array(labels, dtype=np.intp), class_names=class_names, title="t", provenance="made")
    attack = BUILDER.build(Kind.ATTACK, ATTACKS[name], "test")
    setting = Setting(data=data, attack=attack, defences=BUILDER.pipeline(defences, "test"))
    threat = channel.threat(setting)
    assert attack.unsupported_reason(threat) == ""
    rng = np.random.default_rng
    return channel.play(setting, curator_rng=rng(0), attack_rng=rng(1)), attack.promise(threat)


@pytest.mark.parametrize("name", [*CLASSES, *NUMBERS])
def test_the_true_labels_fit_what_scikit_learn_answers(name: str) -> None:
    rng, metric = np.random.default_rng(0), metric_of(name)
    for n in (9, 60, 300):
        labels = np.concatenate([np.arange(4), rng.integers(0, 4, n - 4)])
        counts, values = tuple(np.bincount(labels).tolist()), tuple(map(Fraction, VALUES))
        valued = name in NUMBERS
        totals = Totals(counts=counts, values=values) if valued else Totals(counts=counts)
        for scale in (1.0, 1e6):
            predictions = rng.random(n) * scale if valued else rng.integers(0, 4, n).astype(float)
            truth = np.array(VALUES)[labels] if valued else labels
            score = float((CLASSES | NUMBERS)[name](truth, predictions))
            assert metric.score(truth, predictions) == pytest.approx(score, abs=1e-15)
            for decimals in (None, 5, 2):
                printed = Fraction(score) if decimals is None else Fraction(f"{score:.{decimals}f}")
                told = metric.reading(predictions, printed, totals, Released(decimals=decimals))
                assert told.holds(labels)
                if decimals is None:  # and it is no empty saying
                    wrong = np.roll(labels, 1)
                    moved = float((CLASSES | NUMBERS)[name](np.array(VALUES)[wrong] if valued else wrong, predictions))
                    assert told.holds(wrong) == (abs(moved - score) < 1e-12 * max(1, abs(score)))


@pytest.mark.parametrize("name", list(CLASSES))
def test_every_labelling_of_five_records_of_three_classes_reads_as_it_scores(name: str) -> None:
    """Two labellings with the same class totals fit the same answer exactly when scikit-learn scores them alike."""
    rng, checked = np.random.default_rng(2), 0
    function = CLASSES[name]
    for _ in range(1):
        predictions = rng.integers(0, 3, 5)
        by_counts: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
        for labelling in itertools.product(range(3), repeat=5):
            by_counts.setdefault(tuple(np.bincount(labelling, minlength=3).tolist()), []).append(labelling)
        for counts, alike in by_counts.items():
            if max(counts) == 5 or min(counts) == 0:
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                scores = [float(function(np.array(y), predictions)) for y in alike]
            told = metric_of(name, 3).reading(
                predictions.astype(float), Fraction(scores[0]), Totals(counts=counts), Released()
            )
            for labelling, score in zip(alike, scores, strict=True):
                assert told.holds(np.array(labelling)) == (abs(score - scores[0]) < 1e-12)
                checked += 1
    assert checked > 120


@pytest.mark.parametrize("name", list(ATTACKS))
@given(st.lists(st.integers(0, 3), min_size=4, max_size=30), st.booleans())
@settings(max_examples=5)
def test_small_boards_of_any_labels_are_read(name: str, labels: list[int], money: bool) -> None:
    if len(set(labels)) < 2 or (name not in NUMBERS and set(labels) != {0, 1, 2, 3}):
        return
    outcome, promise = play(name, labels, ("0.1", "2.5", "19.99", "400") if money else ("0", "1", "2", "3"))
    assert "contradiction" not in outcome.evidence
    assert outcome.n_correct == len(labels)
    assert promise is None or promise.certified


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "n", "mark"),
    [("mae", 300, 34), ("rmsle", 300, 36), ("quadratic-kappa", 300, 161), ("accuracy", 120, 209)],
)
def test_digits_come_out_in_few_queries(name: str, n: int, mark: int) -> None:
    digits = [int(label) for label in load_bunch("digits").target[:n]]
    outcome, _ = play(name, digits, tuple(map(str, range(10))))
    assert outcome.n_correct == n
    assert outcome.queries <= mark


@pytest.mark.long
@pytest.mark.parametrize(("name", "mark"), [("macro-f1", 69), ("balanced-accuracy", 61), ("accuracy", 95)])
def test_an_average_over_classes_is_several_counters(name: str, mark: int) -> None:
    """Wine's counts: accuracy reads one counter a query, a macro average the hits of both classes it predicts."""
    labels = [0] * 59 + [1] * 71 + [2] * 48
    outcome, promise = play(name, labels, ("0", "1", "2"))
    assert outcome.n_correct == 178
    assert outcome.queries <= mark
    assert (promise is not None and promise.certified) == (name == "accuracy")


@pytest.mark.parametrize(("name", "defence"), [("mae", "round(decimals=4)"), ("quadratic-kappa", "round(decimals=5)")])
def test_rounding_that_hides_steps_is_no_contradiction(name: str, defence: str) -> None:
    digits = [int(label) for label in load_bunch("digits").target[:60]]
    outcome, promise = play(name, digits, tuple(map(str, range(10))), defence)
    assert "contradiction" not in outcome.evidence
    assert promise is None or not promise.certified or outcome.n_correct == 60
    assert int(outcome.evidence["labels decided"]) <= outcome.n_correct


def test_all_labellings_in_a_window_are_found() -> None:
    """Against plain enumeration, costs in no order and windows of any width."""
    rng = np.random.default_rng(4)
    for _ in range(40):
        costs = rng.integers(-20, 20, (5, 3)).tolist()
        low = int(rng.integers(-60, 40))
        high = low + int(rng.integers(0, 15))
        every = [
            labelling
            for labelling in itertools.product(range(3), repeat=5)
            if low <= sum(row[k] for row, k in zip(costs, labelling, strict=True)) <= high
        ]
        assert labellings_between(costs, low, high) == every


@pytest.mark.parametrize("name", list(NUMBERS))
def test_true_labels_fit_where_values_are_large_against_how_far_they_are_apart(name: str) -> None:
    """Days as seconds since 1970, dearly priced lots: R2 read its own scores as those of other labels."""
    rng, scored = np.random.default_rng(0), metric_of(name)
    for start, n in itertools.product((1e8, 1.7e9, 1e12), (3, 40)):
        values = start + np.array([0.0, 0.5, 3.0])
        labels = np.concatenate([np.arange(3), rng.integers(0, 3, n - 3)])
        counts = tuple(np.bincount(labels).tolist())
        totals = Totals(counts=counts, values=tuple(map(Fraction, values.tolist())))
        for _ in range(20):
            predictions = values[rng.integers(0, 3, n)] + rng.standard_normal(n)
            score = scored.score(values[labels], predictions)
            assert scored.reading(predictions, Fraction(score), totals, Released()).holds(labels)


@pytest.mark.parametrize("alpha", [1e-5, 1e-12, 0.0123456789, 1 - 1e-7])
def test_a_pinball_loss_of_any_share_is_read(alpha: float) -> None:
    """A share below one in two thousand was taken for none, and divided by."""
    rng, scored = np.random.default_rng(0), metric_of(f"pinball(alpha={alpha!r})")
    totals = Totals(counts=(3, 3, 2))
    for _ in range(20):
        labels, predictions = rng.permutation([0, 0, 0, 1, 1, 1, 2, 2]), 3 * rng.random(8)
        told = scored.reading(predictions, Fraction(scored.score(labels, predictions)), totals, Released())
        assert told.holds(labels)
        assert told.high - told.low < Fraction(1, 1000) * abs(told.high)


def test_classes_without_records_come_first_and_all_others_out() -> None:
    """Two empty classes at the head of the list ended the attack with a ``min()`` of nothing."""
    outcome, _ = play("weighted-f1", [2, 3, 4, 2, 2, 3, 4, 4, 2, 3], tuple("01234"))
    assert outcome.n_correct == 10
