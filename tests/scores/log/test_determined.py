"""A label that is called determined has one value in every labelling that fits the log; a witness shows the others."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from labelinf_scores.audit.log import given
from labelinf_scores.audit.log.certificate import Log, dual_bound, relax
from labelinf_scores.audit.log.determined import Clock, Known, determine
from labelinf_scores.audit.log.given import given_away
from labelinf_scores.audit.log.one_answer import consistent, proved_singly
from labelinf_scores.audit.log.witness import fitting_labels, other_labelling
from labelinf_scores.metrics.readings import Reading, Released, Totals
from labelinf_scores.metrics.readings.registry import metric

Labels = np.ndarray[Any, Any]


def log_of(labels: Labels, rows: Labels, slack: int = 0) -> Log:
    totals = rows @ labels
    readings = tuple(
        Reading(coefficients=row, low=Fraction(int(total) - slack), high=Fraction(int(total) + slack))
        for row, total in zip(rows, totals, strict=True)
    )
    return Log.of(readings, np.bincount(labels, minlength=2).tolist())


def auc_log(labels: Labels, skill: float, rows: int, rng: np.random.Generator, decimals: int | None = None) -> Log:
    totals = Totals.binary(n_records=labels.size, n_positive=int(labels.sum()))
    readings = []
    shared = rng.standard_normal(labels.size)
    for _ in range(rows):
        scores = skill * labels + 0.7 * shared + 0.7 * rng.standard_normal(labels.size)
        auc = float(roc_auc_score(labels, scores))
        printed = Fraction(auc) if decimals is None else Fraction(f"{auc:.{decimals}f}")
        readings.append(metric("roc-auc").reading(scores, printed, totals, Released(decimals=decimals)))
    return Log.of(readings, totals.counts)


def fitting(log: Log) -> Labels:
    """Every labelling that fits, by exhaustive search."""
    every = np.array(list(itertools.product((0, 1), repeat=log.n_records)))
    return every[[log.holds(labels) for labels in every]]


@pytest.mark.long
@hypothesis.given(st.integers(3, 9), st.integers(1, 5), st.integers(0, 2), st.integers(0, 10**6))
@hypothesis.settings(max_examples=60)
def test_nothing_is_called_determined_that_another_labelling_changes(n: int, q: int, slack: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, n)
    log = log_of(labels, rng.integers(-3, 4, (q, n)), slack)

    answer = determine(log, labels, seconds=5)

    constant = (fitting(log) == labels).all(axis=0)
    assert constant[answer.known >= Known.CLAIMED].all()
    assert not constant[answer.known == Known.OPEN].any()


@pytest.mark.long
@hypothesis.given(st.integers(3, 8), st.integers(1, 4), st.integers(0, 10**6))
@hypothesis.settings(max_examples=60)
def test_the_bound_holds_for_any_multipliers(n: int, q: int, seed: int) -> None:
    """Whatever the solver says: the bound is no less than what a labelling that fits really changes."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, n)
    log = log_of(labels, rng.integers(-3, 4, (q, n)), 1)
    wanted = rng.random(n) < 0.7
    solution = relax(log, labels, wanted)
    assert solution is not None
    solution.multipliers[:] = rng.normal(0, 2, q)

    bound = dual_bound(log, labels, wanted, solution)

    assert bound >= max(int(((other != labels) & wanted).sum()) for other in fitting(log))


@pytest.mark.slow
def test_many_small_moves_hide_no_open_label() -> None:
    """The first draft stopped when no record moved visibly: 200 boxed records, and record 0 was called determined."""
    n = 203
    labels = np.zeros(n, dtype=np.intp)
    labels[[201, 202]] = 1
    readings = []
    for record in range(1, 201):  # |x_i| <= .009 in thousandths
        row = np.zeros(n, dtype=np.int64)
        row[record] = 1000
        readings.append(Reading(coefficients=row, low=Fraction(-9), high=Fraction(9)))
    log = Log.of(readings, (n - 2, 2))
    exchanged = labels.copy()
    exchanged[[0, 202]] = (1, 0)
    assert log.holds(exchanged)

    answer = determine(log, labels, seconds=20, witnesses=False)

    assert answer.known[0] != Known.DETERMINED
    assert answer.known[202] != Known.DETERMINED
    assert (answer.known[1:201] == Known.DETERMINED).all()


def test_the_worked_example() -> None:
    """For y = (1, 1, 0, 0) ranks (4, 3, 2, 1) determine all; so do (4, 2, 3, 1), which the relaxation misses."""
    labels = np.array([1, 1, 0, 0])
    perfect = determine(log_of(labels, np.array([[8, 6, 4, 2]])), labels)
    swapped = determine(log_of(labels, np.array([[8, 4, 6, 2]])), labels, seconds=5)

    assert perfect.count(Known.DETERMINED) == 4
    assert swapped.count(Known.OPEN) == 0


@pytest.mark.slow
def test_honest_rows_determine_every_label_and_half_of_them_few() -> None:
    """300 labels, 60 rows of mean AUC .95 in full; the numbers belong to this log, not to leaderboards."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 300)
    log = auc_log(labels, 2.3, 60, rng)

    assert determine(log, labels, seconds=30).count(Known.DETERMINED) == 300
    assert determine(log.until(15), labels, seconds=2, witnesses=False).count(Known.DETERMINED) == 0


def test_it_says_which_submission_gave_the_labels_away() -> None:
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 2, 30)
    honest = auc_log(labels, 1.0, 3, rng, decimals=2)
    top = np.argsort(-labels, kind="stable").argsort()  # a submission that is right about everything
    perfect = log_of(labels, 2 * (labels.size - top)[None, :])
    log = Log(entries=(*honest.entries, *perfect.entries, *honest.entries), counts=honest.counts)

    (culprit,) = given_away(log, labels)

    assert (culprit.first, culprit.last, culprit.before, culprit.after) == (3, 3, 0, 30)


def test_a_submission_that_gives_labels_away_alone_is_named() -> None:
    """Powers of two prove every label by themselves, where no joint certificate proves one."""
    labels = np.random.default_rng(1).permutation([0, 1] * 7)
    log = log_of(labels, np.array([np.ones(14), 2.0 ** np.arange(14), np.ones(14)]).astype(int))

    (culprit,) = given_away(log, labels)

    assert (culprit.first, culprit.last, culprit.before, culprit.after) == (1, 1, 0, 14)


def test_where_time_runs_out_a_stretch_is_named_and_nobody_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A prefix that was not tried in time determines nothing that is known: whoever follows it is not accused."""
    labels = np.random.default_rng(1).permutation([0, 1] * 7)
    rows = np.array([*np.eye(14, dtype=int)[:8]])
    exact, tried = log_of(labels, rows), 0

    def slow(log: Log, labels: Labels, clock: Clock) -> Labels:
        nonlocal tried
        tried += 1
        clock.end -= 10**6 if tried > 1 else 0
        return np.arange(14) < len(log.entries)

    monkeypatch.setattr(given, "jointly", slow)
    monkeypatch.setattr(given, "proved_singly", lambda log, labels, end: np.zeros(14, dtype=bool))

    (stretch,) = given_away(exact, labels)

    assert (stretch.first, stretch.last, stretch.before, stretch.after) == (0, 7, 0, 8)


@pytest.mark.long
def test_what_only_a_solver_says_is_said_apart() -> None:
    """Weights of twenty-four bits determine every label; no relaxation shows it, and there are too many sums to try."""
    rng = np.random.default_rng(1)
    labels = rng.permutation([0, 1] * 9)
    answer = determine(log_of(labels, rng.integers(2**20, 2**24, (2, 18))), labels, seconds=20)

    assert answer.count(Known.OPEN) == 0
    assert answer.count(Known.CLAIMED) > 0
    assert answer.count(Known.CLAIMED) + answer.count(Known.DETERMINED) == 18


def test_one_answer_with_powers_of_two_proves_every_label() -> None:
    """No linear relaxation shows it; the sums that the others can make do, in whole numbers."""
    labels = np.random.default_rng(1).permutation([0, 1] * 7)

    assert proved_singly(log_of(labels, np.array([2 ** np.arange(14)])), labels).all()
    assert not proved_singly(log_of(labels, np.ones((1, 14), dtype=int)), labels).any()


@hypothesis.given(st.integers(3, 9), st.integers(0, 3), st.integers(0, 10**6))
@hypothesis.settings(max_examples=80)
def test_what_one_answer_determines_is_what_all_that_fit_it_share(n: int, slack: int, seed: int) -> None:
    """By every labelling, whatever its class totals: groups that are all of one class and cannot be otherwise."""
    rng = np.random.default_rng(seed)
    labels, row = rng.integers(0, 2, n), rng.integers(-6, 7, (1, n))
    (told,) = log_of(labels, row, slack).rows
    every = np.array(list(itertools.product((0, 1), repeat=n)))
    fits = every[[told.holds(other) for other in every]]

    assert np.array_equal(consistent(told, labels), (fits == labels).all(axis=0))


@pytest.mark.long
def test_an_outsider_finds_the_labels_and_knows_that_they_are_the_only_ones() -> None:
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 2, 40)
    log = auc_log(labels, 2.0, 25, rng)

    found = fitting_labels(log, 20)

    assert found is not None
    answer = determine(log, found, seconds=20)
    assert answer.count(Known.DETERMINED) == 40
    assert np.array_equal(found, labels)


def test_a_witness_is_checked_in_whole_numbers() -> None:
    labels = np.array([1, 0, 1, 0])
    log = log_of(labels, np.array([[1, 1, 1, 1]]))
    other = other_labelling(log, labels, np.ones(4, dtype=bool), 5).labels

    assert other is not None
    assert log.holds(other)
    assert (other != labels).any()


def test_an_empty_log_says_nothing() -> None:
    answer = determine(Log(entries=(), counts=(1, 1)), np.array([0, 1]))

    assert answer.count(Known.UNKNOWN) == 2


@pytest.mark.slow
@pytest.mark.parametrize(("skill", "rows", "decimals", "least"), [(2.3, 200, 4, 850), (2.3, 100, None, 300)])
def test_a_thousand_labels(skill: float, rows: int, decimals: int | None, least: int) -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 1000)
    log = auc_log(labels, skill, rows, rng, decimals)

    assert determine(log, labels, seconds=60, witnesses=False).count(Known.DETERMINED) >= least


@pytest.mark.long
@pytest.mark.parametrize("name", ["rmsle", "mae", "weighted-f1"])
def test_what_a_metric_of_values_determines_is_so(name: str) -> None:
    """A log of RMSLEs called labels proved that others contradict: what the classes stand for in its sum was left out.

    The sum is of ``log(1 + p) log(1 + y)``, in which label 1 counts as 0.69.
    """
    scored, said = metric(name), 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        labels = rng.permutation([0, 1, *rng.integers(0, 2, 4)])
        totals = Totals.binary(n_records=6, n_positive=int(labels.sum()))
        asked = [
            (rng.random(6) > 0.5).astype(float) if name == "weighted-f1" else rng.random(6) for _ in range(1 + seed % 3)
        ]
        told = [(p, Fraction(f"{scored.score(labels, p):.2f}")) for p in asked]
        shown = Released(decimals=2)
        readings = tuple(scored.reading(p, score, totals, shown) for p, score in told)

        answer = determine(Log.of(readings, totals.counts), labels, seconds=5)

        others = (np.array(y) for y in itertools.product((0, 1), repeat=6) if sum(y) == totals.n_positive)
        fits = np.array([y for y in others if all(scored.fits(y, p, s, totals, shown) for p, s in told)])
        constant = (fits == labels).all(axis=0)
        assert constant[answer.known >= Known.CLAIMED].all()
        assert not constant[answer.known == Known.OPEN].any()
        said += int((answer.known == Known.DETERMINED).sum())
    assert said
