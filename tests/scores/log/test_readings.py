"""What an answer is read as holds for the true labels, on scikit-learn's own functions and every rounding."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics

from labelinf_core.contracts.errors import InputError
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_scores.metrics.readings import Released, ScoredMetric, Totals
from labelinf_scores.metrics.readings.average_precision import CountSums, count_limits
from labelinf_scores.metrics.readings.base import exact
from labelinf_scores.metrics.readings.ranks import doubled_midranks
from labelinf_scores.metrics.readings.registry import metric as found

BUILDER = Builder(Host.load())


def metric(name: str) -> ScoredMetric:
    built: ScoredMetric = BUILDER.build(Kind.METRIC, name, "test")
    return built


HARD: dict[str, Callable[..., float]] = {
    "accuracy": metrics.accuracy_score,
    "error": metrics.zero_one_loss,
    "precision": lambda y, p: metrics.precision_score(y, p, zero_division=0),
    "recall": metrics.recall_score,
    "specificity": lambda y, p: metrics.recall_score(y, p, pos_label=0),
    "balanced-accuracy": metrics.balanced_accuracy_score,
    "f1": metrics.f1_score,
    "f2": lambda y, p: metrics.fbeta_score(y, p, beta=2),
    "jaccard": metrics.jaccard_score,
    "cohen-kappa": metrics.cohen_kappa_score,
    "mcc": metrics.matthews_corrcoef,
    "youden": lambda y, p: metrics.balanced_accuracy_score(y, p, adjusted=True),
    "f-beta": metrics.f1_score,
    "lift": lambda y, p: metrics.precision_score(y, p, zero_division=0) * len(y) / y.sum(),
}
SOFT: dict[str, Callable[..., float]] = {
    "roc-auc": metrics.roc_auc_score,
    "log-loss": metrics.log_loss,
    "affine-log-loss": metrics.log_loss,
    "d2-log-loss": metrics.d2_log_loss_score,
    "brier": metrics.brier_score_loss,
    "gini": lambda y, p: 2 * metrics.roc_auc_score(y, p) - 1,
    "mean-loss": metrics.log_loss,
    "mse": metrics.mean_squared_error,
    "rmse": metrics.root_mean_squared_error,
    "r2": metrics.r2_score,
    "ndcg": lambda y, p: metrics.ndcg_score([y], [p]),
    "average-precision": metrics.average_precision_score,
    "reciprocal-rank": lambda y, p: 1 / np.count_nonzero(p >= p[y == 1].max()),
    "precision-at-k": lambda y, p: _top(y, p, 10),
    "lift-at-k": lambda y, p: _top(y, p, 10) * len(y) / y.sum(),
}
#: Of any number of classes.
GRADED: dict[str, Callable[..., float]] = {
    "macro-f1": lambda y, p: metrics.f1_score(y, p, average="macro", zero_division=0),
    "micro-f1": lambda y, p: metrics.f1_score(y, p, average="micro", zero_division=0),
    "weighted-f1": lambda y, p: metrics.f1_score(y, p, average="weighted", zero_division=0),
    "quadratic-kappa": lambda y, p: metrics.cohen_kappa_score(y, p, weights="quadratic"),
    "linear-kappa": lambda y, p: metrics.cohen_kappa_score(y, p, weights="linear"),
}
#: Of numbers.
VALUED: dict[str, Callable[..., float]] = {
    "mae": metrics.mean_absolute_error,
    "rmsle": metrics.root_mean_squared_log_error,
    "pinball": metrics.mean_pinball_loss,
    "d2-absolute": metrics.d2_absolute_error_score,
}


def _top(labels: np.ndarray[Any, Any], predictions: np.ndarray[Any, Any], k: int) -> float:
    """Return the share of positives among the k records predicted highest, ties averaged."""
    k = min(k, len(labels))
    cut = np.sort(predictions)[-k]
    above, across = predictions > cut, predictions == cut
    return float(labels[above].sum() + labels[across].mean() * (k - above.sum())) / k


def labels_of(n: int, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    labels = rng.integers(0, 2, n)
    labels[:2] = (0, 1)
    return labels


def test_every_metric_is_held_to_its_function() -> None:
    provided = BUILDER.host.catalogue(Kind.METRIC)
    named = {item.descriptor.name for item in provided if item.plugin.name == "scores"}
    assert named == set(HARD) | set(SOFT) | set(GRADED) | set(VALUED) | {"roc-auc-ovr", "roc-auc-ovo"}


Game = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], Totals, float]


def scored(name: str, seed: int, sizes: tuple[int, ...]) -> Iterator[Game]:
    """Yield drawn labels, predictions such as the metric takes, the totals, and what the library answers."""
    rng = np.random.default_rng(seed)
    for n in sizes:
        labels = labels_of(n, rng)
        for _ in range(8):
            predictions = rng.random(n).round(2)
            if name in HARD or name in GRADED:
                predictions = rng.integers(0, 2, n).astype(float)
            totals = Totals.binary(n_records=n, n_positive=int(labels.sum()))
            yield labels, predictions, totals, float((HARD | SOFT | GRADED | VALUED)[name](labels, predictions))


@pytest.mark.parametrize("name", [*HARD, *SOFT, *GRADED, *VALUED])
def test_the_true_labels_fit_what_scikit_learn_answers(name: str) -> None:
    read = metric(name)
    for labels, predictions, totals, score in scored(name, 0, (8, 57, 200)):
        for decimals in (None, 5, 3):
            printed = Fraction(score) if decimals is None else Fraction(f"{score:.{decimals}f}")
            assert read.fits(labels, predictions, printed, totals, Released(decimals=decimals))


@pytest.mark.parametrize("name", [*HARD, *SOFT, *GRADED, *VALUED])
def test_a_score_that_is_cut_off_is_read_the_way_it_was_cut(name: str) -> None:
    """Towards zero, whatever level or affine form lies behind the score: it is the printed number that was cut."""
    read = metric(name)
    for labels, predictions, totals, score in scored(name, 1, (8, 40)):
        printed = Fraction(int(Fraction(score) * 100), 100)
        assert read.fits(labels, predictions, printed, totals, Released(decimals=2, truncated=True))


@pytest.mark.parametrize("name", list(HARD))
def test_links_are_scikit_learns_functions_for_every_count(name: str) -> None:
    """All confusion matrices of five records: shown in full, the count that is read is the true one alone."""
    n = 5
    for positives, hits, others in itertools.product(range(1, n), range(n), range(n)):
        if hits > positives or others > n - positives or not 0 < hits + others < n:
            continue
        labels = np.arange(n) < positives
        predictions = np.concatenate([np.arange(positives) < hits, np.arange(n - positives) < others]).astype(float)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            score = float(HARD[name](labels.astype(int), predictions))
        totals = Totals.binary(n_records=n, n_positive=positives)
        told = metric(name).reading(predictions, Fraction(score), totals, Released())
        assert (told.low, told.high) == (hits, hits)


@pytest.mark.long
@given(st.lists(st.integers(0, 4), min_size=3, max_size=9), st.data())
@settings(max_examples=150)
def test_an_exact_auc_is_the_sum_of_doubled_midranks(scores: list[int], data: st.DataObject) -> None:
    n = len(scores)
    labels = np.array(data.draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)))
    if not 0 < labels.sum() < n:
        return
    predictions = np.array(scores, dtype=float)
    wins = sum(
        Fraction(int(p > q)) + Fraction(int(p == q), 2)
        for p in predictions[labels == 1]
        for q in predictions[labels == 0]
    )
    totals = Totals.binary(n_records=n, n_positive=int(labels.sum()))
    auc = wins / (totals.n_positive * totals.n_negative)
    total = int(doubled_midranks(predictions)[labels == 1].sum())

    assert 2 * totals.n_positive * totals.n_negative * auc + totals.n_positive * (totals.n_positive + 1) == total
    told = metric("roc-auc").reading(predictions, auc, totals, Released())
    assert (told.low, told.high) == (total, total)


@pytest.mark.parametrize("convention", ["half to even", "half up", "printf", "truncated"])
def test_intervals_cover_every_way_to_round(convention: str) -> None:
    """round, numpy.round and %.df differ on 46 of 100 exact halves; a host that cuts digits says so."""
    ways: dict[str, Callable[[float], str]] = {
        "half to even": lambda x: repr(float(np.round(x, 2))),
        "half up": lambda x: repr(float(np.floor(x * 100 + 0.5) / 100)),
        "printf": lambda x: f"{x:.2f}",
        "truncated": lambda x: repr(float(np.trunc(x * 100) / 100)),
    }
    released = Released(decimals=2, truncated=convention == "truncated")
    for score in [k / 200 for k in range(-200, 201)]:
        low, high = released.interval(Fraction(ways[convention](score)), Fraction(0))
        assert low <= Fraction(score) <= high
        assert released.shows(Fraction(ways[convention](score)), score)
        assert high - low <= Fraction(21, 1000)


def test_what_cannot_be_scored_is_said() -> None:
    totals = Totals.binary(n_records=3, n_positive=1)
    with pytest.raises(ValueError, match="finite"):
        metric("roc-auc").reading(np.array([0.1, np.nan, 1]), Fraction(1, 2), totals, Released())
    with pytest.raises(ValueError, match="a probability"):
        metric("log-loss").reading(np.array([0.1, 2, 1]), Fraction(1, 2), totals, Released())
    with pytest.raises(ValueError, match="no number of true positives"):
        metric("accuracy").reading(np.array([0.0, 1, 1]), Fraction(1, 2), totals, Released())
    with pytest.raises(ValueError, match="must be between 1 and 2"):
        Totals.binary(n_records=3, n_positive=3)
    with pytest.raises(InputError, match="no metric of that name can be read; choose accuracy, affine"):
        found("bleu")


@pytest.mark.parametrize("beyond", [[], [1e300]])
def test_costs_are_held_as_fractions_would_round_them(beyond: list[float]) -> None:
    """Halves to even, what is next to nothing, what has no fraction, and what is too large for doubles."""
    values = np.array([0.0, -0.0, 5e-324, 2.0**-61, 3 * 2.0**-61, -(2.0**-61), 2.0**-60, 0.1, 36.04, 745.1, *beyond])
    assert exact(values, 60).tolist() == [round(Fraction(value) * 2**60) for value in values.tolist()]


def test_underscores_read_as_hyphens() -> None:
    assert found("roc_auc") == metric("roc-auc")


@pytest.mark.parametrize("seed", range(40))
def test_counts_down_a_list_are_limited_by_its_average_precision(seed: int) -> None:
    """Held to the sums as they are defined, count by count; the true counts lie within."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 30))
    labels = rng.permutation(n) < rng.integers(1, n)
    list_ = rng.integers(0, rng.integers(2, 25), n) if seed % 2 else rng.random(n)
    _, place, sizes = np.unique(-list_, return_inverse=True, return_counts=True)
    ends, counts = np.cumsum(sizes), np.cumsum(np.bincount(place, weights=labels))
    score, room = Fraction(float(metrics.average_precision_score(labels, list_))), Fraction(1, 10 ** (1 + seed % 6))
    p = int(labels.sum())
    least, most = count_limits(sizes, (score - room, score + room), p)
    assert ((least <= counts) & (counts <= most)).all()

    weights = [Fraction(1, int(a)) - Fraction(1, int(b)) for a, b in itertools.pairwise(ends)]
    sums = CountSums.of(sizes, ends)
    for given_counts in (least, most, (least + most) // 2):
        for g, c in enumerate(given_counts):
            high = np.minimum(most, np.where(ends <= ends[g], c, c + ends - ends[g]))
            low = np.maximum(least, np.where(ends < ends[g], c - (ends[g] - ends), c))
            for most_of, beside in ((sums.greatest(most), high), (sums.smallest(least), low)):
                defined = sum(int(b) * (int(b) + 1) * w for b, w in zip(beside, weights, strict=False))
                assert abs(most_of(given_counts)[g] - float(defined)) <= sums.error
