"""A log of any metric that ships: what is said of a label is true of every labelling that fits, by trying all."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import hadamard

from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_scores.audit.log.certificate import Entry, Log, Row, dual_bound, relax
from labelinf_scores.audit.log.determined import Known, determine
from labelinf_scores.audit.log.guess import point, vote
from labelinf_scores.audit.log.scored import ScoredLog, log_of, together
from labelinf_scores.audit.log.suspects import suspects
from labelinf_scores.metrics.readings import Reading, Released, Rows, ScoredMetric, Totals
from labelinf_scores.metrics.readings.registry import metric

Array = np.ndarray[Any, Any]
NAMES = sorted(item.descriptor.name for item in Host.load().catalogue(Kind.METRIC))


def predicted(scored: ScoredMetric, labels: Array, classes: int, rng: np.random.Generator) -> Array:
    """Something that a team of some skill may submit."""
    n = labels.size
    if scored.columns:
        odds = rng.normal(0, 1, (n, classes)) + 1.5 * np.eye(classes)[labels]
        return np.asarray(np.exp(odds) / np.exp(odds).sum(axis=1, keepdims=True))
    if scored.rows in (Rows.COUNTS, Rows.CLASSES, Rows.GRADES):
        return np.where(rng.random(n) < 0.7, labels, rng.integers(0, classes, n)).astype(float)
    if scored.of_values:
        return np.abs(labels + rng.normal(0, 0.7, n))
    return np.asarray(1 / (1 + np.exp(-np.round(2 * labels - 1 + rng.normal(0, 1, n), 1))))


def board(scored: ScoredMetric, labels: Array, classes: int, rows: int, decimals: int | None, seed: int) -> ScoredLog:
    rng = np.random.default_rng(seed)
    asked = tuple(predicted(scored, labels, classes, rng) for _ in range(rows))
    scores = [scored.score(labels, item) for item in asked]
    return ScoredLog(
        ids=tuple(map(str, range(labels.size))),
        classes=tuple(map(str, range(classes))),
        names=tuple(f"s{at}" for at in range(rows)),
        predictions=asked,
        scores=tuple(Fraction(s) if decimals is None else Fraction(f"{s:.{decimals}f}") for s in scores),
        decimals=(decimals or 17,) * rows,
        totals=Totals(counts=tuple(np.bincount(labels, minlength=classes).tolist())),
        labels=labels,
    )


def arrangements(labels: Array) -> Array:
    """Every labelling with the same class totals."""
    return np.array(sorted(set(itertools.permutations(labels.tolist()))))


@pytest.mark.parametrize(
    ("name", "classes"),
    [(name, k) for name in NAMES for k in (2, 3) if k == 2 or not metric(name).of_classes(k).two_classes],
)
def test_what_a_log_of_any_metric_says_is_true_of_every_labelling(name: str, classes: int) -> None:
    """By every labelling, with what the scorer itself gives; a wrong word about one label would be a false proof."""
    scored = metric(name).of_classes(classes)
    for seed in range(4):
        labels = np.random.default_rng(seed).permutation([0, 1, 2 % classes, 0, 1, 2 % classes])
        decimals = (None, 1, 2, 3)[seed]
        told = board(scored, labels, classes, 1 + seed % 3, decimals, seed)
        shown = [Released(decimals=decimals)] * len(told.names)
        log, misfit = log_of(told, scored, shown)
        assert log is not None, misfit
        fits = np.array(
            [
                other
                for other in arrangements(labels)
                if all(
                    scored.fits(other, item, score, told.totals, printed)
                    for item, score, printed in zip(told.predictions, told.scores, shown, strict=True)
                )
            ]
        )
        assert all(row.holds(other) for other in fits for row in log.rows)

        answer = determine(log, labels, seconds=5)

        constant = (fits == labels).all(axis=0)
        assert constant[answer.known >= Known.CLAIMED].all()
        assert not constant[answer.known == Known.OPEN].any()
        assert decimals is None or answer.count(Known.UNKNOWN) == 0  # so few labellings are all tried


@pytest.mark.long
@pytest.mark.parametrize("name", ["log-loss", "rmse"])
def test_two_records_alike_are_not_open_where_scores_are_shown_in_full(name: str) -> None:
    """The sum is the same when their labels are exchanged, and the last bits of what is added up in order are not."""
    labels, scored = np.array([0, 1, 0, 1, 1, 0, 0, 1, 0, 1]), metric(name)
    rows = np.random.default_rng(0).random((20, 10))
    rows[:, 3] = rows[:, 8]
    told = attrs.evolve(
        board(scored, labels, 2, 20, None, 0),
        predictions=tuple(rows),
        scores=tuple(Fraction(scored.score(labels, row)) for row in rows),
    )
    exact, rounded = (log_of(told, scored, [Released(decimals=shown)] * 20)[0] for shown in (None, 9))
    assert exact is not None
    assert rounded is not None

    fits = [other for other in arrangements(labels) if exact.shows(other)]

    assert np.array_equal(fits, [labels])
    assert determine(exact, labels, seconds=5).count(Known.OPEN) == 0
    assert determine(rounded, labels, seconds=5).count(Known.OPEN) == 2

    turned = np.arange(9, -1, -1)  # the scorer adds up in another order, and what its last bits tell is not known
    moved, _ = log_of(
        attrs.evolve(told, predictions=tuple(rows[:, turned]), labels=labels[turned]), scored, [Released()] * 20
    )
    assert moved is not None
    assert not moved.shows(labels[turned])
    assert determine(moved, labels[turned], seconds=5).count(Known.OPEN) == 0


@pytest.mark.long
@given(st.integers(4, 7), st.integers(0, 10**6), st.sampled_from([None, 2, 3]), st.booleans())
@settings(max_examples=40)
def test_an_average_precision_lies_between_two_sums(n: int, seed: int, decimals: int | None, near: bool) -> None:
    """For every labelling that has the score, ties or none; about the true labels the first sum is the score."""
    rng, scored = np.random.default_rng(seed), metric("average-precision")
    labels = rng.permutation([0, 1, *rng.integers(0, 2, n - 2)])
    predictions = rng.integers(0, rng.integers(2, 12), n).astype(float)
    precision = scored.score(labels, predictions)
    score = Fraction(precision) if decimals is None else Fraction(f"{precision:.{decimals}f}")
    totals, shown = Totals.binary(n_records=n, n_positive=int(labels.sum())), Released(decimals=decimals)

    told = scored.readings(predictions, score, totals, shown, labels if near else None)

    for other in arrangements(labels):
        if scored.fits(other, predictions, score, totals, shown):
            assert all(item.holds(other) for item in told)


def test_honest_average_precisions_determine_labels() -> None:
    """No sum over the records says what such an answer tells, and sixty labels come out of thirty of them."""
    labels = np.random.default_rng(0).integers(0, 2, 60)
    scored = metric("average-precision")
    log, _ = log_of(board(scored, labels, 2, 30, None, 0), scored, [Released()] * 30)
    assert log is not None

    assert determine(log, labels, seconds=20, witnesses=False, singly=False).count(Known.DETERMINED) == 60


@given(st.integers(3, 6), st.integers(1, 4), st.integers(0, 10**6))
@settings(max_examples=30)
def test_the_bound_of_many_classes_holds_for_any_multipliers(n: int, q: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    labels = rng.permutation([0, 1, 2, *rng.integers(0, 3, n - 3)])
    tables = rng.integers(-3, 4, (q, n, 3))
    sums = tables[:, np.arange(n), labels].sum(axis=1)
    log = Log.of(
        [
            Reading(coefficients=t, low=Fraction(int(s) - 1), high=Fraction(int(s) + 1))
            for t, s in zip(tables, sums, strict=True)
        ],
        np.bincount(labels, minlength=3).tolist(),
    )
    wanted = rng.random(n) < 0.7
    solution = relax(log, labels, wanted)
    assert solution is not None
    solution.multipliers[:] = rng.normal(0, 2, q)

    bound = dual_bound(log, labels, wanted, solution)

    fits = [other for other in arrangements(labels) if log.holds(other)]
    assert bound >= max(int(((other != labels) & wanted).sum()) for other in fits)


def test_a_row_adds_what_a_reading_does_up_to_what_is_the_same_for_all_labels() -> None:
    """In every form that a reading has: one coefficient, one that numbers multiply, a column for every class."""
    rng = np.random.default_rng(0)
    for numbers, shape in ((None, (5,)), ((Fraction(1, 2), 3, 7), (5,)), (None, (5, 3))):
        told = Reading(coefficients=rng.integers(-5, 9, shape), low=Fraction(4), high=Fraction(9), numbers=numbers)
        row = Row.of(told, 3)
        for labels in itertools.product(range(3), repeat=5):
            assert told.holds(np.array(labels)) == row.holds(np.array(labels))


def _scores_log(rows: Array, labels: Array, name: str = "roc-auc") -> Log:
    totals, scored = Totals.binary(n_records=labels.size, n_positive=int(labels.sum())), metric(name)
    told = [scored.readings(row, Fraction(scored.score(labels, row)), totals, Released(), labels) for row in rows]
    entries = (Entry(rows=tuple(Row.of(each, 2) for each in item)) for item in told)
    return Log(entries=tuple(entries), counts=totals.counts)


@pytest.mark.long
def test_probes_stand_out_among_honest_submissions() -> None:
    """A block above tied records, weights that grow like powers of two, rows of a random design; nobody else."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 300)
    honest = 2.0 * labels + rng.standard_normal((12, 300))

    def looked_at(rows: Array, name: str = "roc-auc") -> dict[int, str]:
        return suspects(_scores_log(rows, labels, name), rows)

    block = np.zeros(300)
    block[:8] = 1 + np.arange(8)
    assert looked_at(np.vstack([honest, block])) == {12: "most records share one prediction"}
    single = (np.arange(300) == 7).astype(float)
    assert looked_at(np.vstack([honest, single])) == {12: "sets 1 record apart from all others"}

    chances = 1 / (1 + np.exp(-honest + 1))
    weights = 1 / (1 + np.exp(-(30.0 / 2.0 ** np.arange(300))))
    assert list(looked_at(np.vstack([chances, weights[None]]), "log-loss")) == [12]

    design = (hadamard(64)[1:9] > 0).astype(float)
    models = (honest[:, :64] > 1).astype(float)
    found_design = suspects(_scores_log(np.vstack([models, design]), labels[:64], "accuracy"), [*models, *design])
    assert found_design == dict.fromkeys(range(12, 20), "is balanced against others more exactly than chance has it")


@pytest.mark.long
@pytest.mark.parametrize("name", ["roc-auc", "ndcg(k=10)", "mae", "average-precision", "precision-at-k"])
def test_nobody_honest_is_looked_at(name: str) -> None:
    """What shares a coefficient need not share a prediction: beyond rank k, or beside all values."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 300)
    honest = np.vstack([2.0 * labels + rng.standard_normal((12, 300)), 4.0 * labels - 2 + rng.standard_normal(300)])
    assert suspects(_scores_log(honest, labels, name), honest) == {}


def _honest_rows(rng: np.random.Generator, labels: Array) -> list[Array]:
    """A log of teams: one model handed in ten times, beginners that guess, families of models, a tree's few leaves."""

    def model(skill: float, shared: Array) -> Array:
        own = rng.uniform(0.2, 0.9)
        return skill * labels + own * shared + np.sqrt(1 - own**2) * rng.standard_normal(labels.size)

    one, other = rng.standard_normal((2, labels.size))
    first = model(rng.uniform(1, 3), one)
    rows = [first + 0.02 * rng.standard_normal(labels.size) for _ in range(10)]
    rows += [model(rng.uniform(0.5, 3), other) for _ in range(rng.integers(1, 4))]
    rows += [model(rng.uniform(0, 0.2), rng.standard_normal(labels.size)) for _ in range(rng.integers(1, 6))]
    chances = [1 / (1 + np.exp(row.mean() - row)) for row in rows]
    leaves = rng.integers(3, 12)
    return [*chances, np.round(chances[0] * leaves) / leaves]


@pytest.mark.long
@pytest.mark.parametrize("name", ["roc-auc", "brier", "accuracy", "f1"])
def test_made_honest_logs_accuse_nobody(name: str) -> None:
    """Of 260 honest logs 72 had somebody named: near-equal rows made whoever differed, and who guesses, strangers."""
    for seed in range(65):
        rng = np.random.default_rng(seed)
        labels = rng.permutation(np.arange(rng.integers(40, 300)) % 4 == 0).astype(int)
        rows = _honest_rows(rng, labels)
        rows = [(row > 0.5).astype(float) for row in rows] if name in ("accuracy", "f1") else rows
        assert suspects(_scores_log(np.array(rows), labels, name), rows) == {}, seed


def test_answers_correct_a_vote_and_from_nothing_do_worse_than_it() -> None:
    """The point of a flat prior, as M44 has it, is worse than a plain vote; from the vote as prior it is better."""
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 2, 300)
    shared = rng.standard_normal(300)
    rows = 1.5 * labels + 0.7 * shared + 0.7 * rng.standard_normal((40, 300))
    log = _scores_log(rows, labels)

    def right(score: Array) -> float:
        chosen = np.argsort(-score)[: labels.sum()]
        return float((np.isin(np.arange(300), chosen) == labels).mean())

    voted = vote(rows)
    prior = 1 / (1 + np.exp(-2 * (voted - voted.mean()) / voted.std()))
    assert right(point(log, np.full(300, labels.mean()))) < right(voted) < right(point(log, prior))


def test_metrics_that_are_published_at_once_tell_more_than_each() -> None:
    """Accuracy, AUC and average precision of one submission: by every labelling, and more than any one of them."""
    labels, rng = np.random.default_rng(3).permutation([0, 1] * 4), np.random.default_rng(2)
    asked = (np.round(labels + rng.normal(0, 1, 8), 1),)
    totals, boards, logs = Totals.binary(n_records=8, n_positive=4), [], []
    for name in ("accuracy", "roc-auc", "average-precision"):
        scored = metric(name)
        scores = tuple(Fraction(f"{scored.score(labels, row):.2f}") for row in asked)
        boards.append(
            ScoredLog(
                ids=tuple("01234567"), classes=("0", "1"), names=("a",), predictions=asked, scores=scores,
                decimals=(2,), totals=totals, labels=labels,
            )
        )  # fmt: skip
        log, _ = log_of(boards[-1], scored, [Released(decimals=2)])
        assert log is not None
        logs.append(log)

    both = together(boards, logs)
    fits = np.array([other for other in arrangements(labels) if all(log.holds(other) for log in logs)])
    found, alone = determine(both, labels, seconds=5), [determine(log, labels, seconds=5) for log in logs]

    assert np.array_equal(found.known == Known.DETERMINED, (fits == labels).all(axis=0))
    assert found.count(Known.DETERMINED) > max(each.count(Known.DETERMINED) for each in alone)
