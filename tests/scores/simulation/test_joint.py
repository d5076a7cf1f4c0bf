"""What is read where an answer moves with many records: neighbours, orbits, one record at a time, and what mends it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from labelinf_scores.simulation.formats import Numbers
from labelinf_scores.simulation.joint import JointReading
from labelinf_scores.simulation.knowledge import Knowledge
from labelinf_scores.simulation.orbits import orbits
from labelinf_scores.simulation.read import Read, read
from labelinf_scores.simulation.simulator import Simulator
from labelinf_scores.simulation.statistics import Hypotheses, Statistic, Told, Values
from labelinf_scores.simulation.window import Bases, Family, QueryPlan

N = 20
GROUPS = np.arange(N) % 4


def area(y: Any, x: Any) -> float:
    """AUC; a half where there is one class."""
    ones, zeros = x[y == 1], x[y == 0]
    if not ones.size or not zeros.size:
        return 0.5
    apart = ones[:, None] - zeros[None, :]
    return float(np.mean((apart > 0) + 0.5 * (apart == 0)))


def known(score: Callable[[Any, Any], float], k: int = 2) -> Knowledge:
    """Return knowledge of nothing, with a truth of alternating classes behind it."""
    game = Simulator(score=score, n_records=N, n_classes=k, limit=100_000)
    return Knowledge.none(game, lambda rows: score(np.arange(N) % k, rows), np.random.default_rng(0))


def counted(score: Callable[[Any, Any], float], truth: Any, limit: int = 60_000) -> tuple[Read, int]:
    """Return what is read of a scorer of two classes, and the queries that it took."""
    asked: list[Any] = []

    def ask(rows: Any) -> float:
        asked.append(rows)
        return score(truth, rows)

    game = Simulator(score=score, n_records=len(truth), n_classes=2, limit=limit)
    return read(game, ask, Numbers(), np.random.default_rng(1)), len(asked)


def explained(y: Any, x: Any) -> float:
    """R2; no number where all are alike."""
    return float(1 - np.square(y - x).sum() / np.square(y - y.mean()).sum()) if np.ptp(y) else float("nan")


def deviation(y: Any, x: Any) -> float:
    """Mean over the classes of their mean absolute error."""
    return float(np.mean([np.abs(x[y == k] - k).mean() for k in np.unique(y)]))


@pytest.mark.parametrize("score", [explained, deviation], ids=["R2", "mean of classes"])
def test_classes_are_read_one_record_at_a_time_where_an_answer_moves_with_sums_over_all(
    score: Callable[[Any, Any], float],
) -> None:
    """Sums over all labels are the same in all answers, so that a query a record tells all labels."""
    game = Simulator(score=score, n_records=40, n_classes=5, limit=20_000)
    truth = np.random.default_rng(5).choice(5, 40, p=[0.3, 0.2, 0.1, 0.25, 0.15])

    found = read(game, lambda x: score(truth, x), Numbers(low=0, high=4), np.random.default_rng(0))

    assert found.labels.tolist() == truth.tolist()
    assert found.confirmed


def test_records_that_answer_alike_get_one_class_and_others_another() -> None:
    knowledge = known(area)
    reading = JointReading(knowledge=knowledge, bases=Bases.of(Numbers(), N, knowledge.rng))

    off = reading.read(np.arange(N))

    assert off == 0
    assert knowledge.labels.tolist() == (np.arange(N) % 2).tolist()
    assert len(knowledge.asked) == N + 1


def test_a_label_that_no_answer_tells_is_not_read() -> None:
    """Of two records one only is scored, whichever submission is asked: the other's label may be anything."""

    def score(y: Any, x: Any) -> float:
        return float(explained(y[1:], x[1:]) + (y[0] * x[0] > 9))

    truth = np.random.default_rng(1).permutation(N) % 3
    game = Simulator(score=score, n_records=N, n_classes=3, limit=20_000)

    found = read(game, lambda x: score(truth, x), Numbers(low=0, high=2), np.random.default_rng(0))

    assert found.labels[0] == -1
    assert found.labels[1:].tolist() == truth[1:].tolist()


def test_a_plan_that_rarely_moves_with_other_records_does_not_hold() -> None:
    knowledge = known(lambda y, x: float(y[0] + y[1] * y[2]))
    hypotheses = Hypotheses(places=np.array([0]), values=np.array([[0], [1]]))
    clean = Told(statistic=Statistic(submission=np.zeros(N)), clean=np.ones(1, dtype=bool), off=np.zeros(1))
    values = Values(each=np.array([[0.0], [1.0]]), error=np.zeros(1))
    plan = QueryPlan(told=clean, values=values, added=False, family=Family(base=0, kind="top"), cost=1, bits=1.0)

    assert not plan.holds(knowledge, hypotheses)


@pytest.mark.long
def test_ties_that_an_order_breaks_are_read_in_fewer_queries_than_labels() -> None:
    """Neighbours in rows without ties are asked about together: what they do depends on no other record."""

    def gini(y: Any, x: Any) -> float:
        order = np.lexsort((np.arange(len(y)), -x))
        return float((y[order].cumsum().sum() / max(1, y.sum()) - (len(y) + 1) / 2) / len(y))

    truth = np.random.default_rng(3).permutation(40) % 3 // 2

    found, queries = counted(gini, truth)

    assert found.labels.tolist() == truth.tolist()
    assert found.confirmed
    assert queries <= 20


def test_orbits_are_what_a_mean_of_groups_has() -> None:
    def score(y: Any, x: Any) -> float:
        return float(sum(area(y[g == GROUPS], x[g == GROUPS]) ** (g + 1) for g in range(4)))

    game = Simulator(score=score, n_records=N, n_classes=2, limit=3000)

    assert orbits(game, Numbers(), np.random.default_rng(0)).tolist() == GROUPS.tolist()


@pytest.mark.long
def test_the_mean_auc_of_groups_is_read_in_two_queries_a_label_and_few_simulations() -> None:
    """Its class totals are four unknown numbers, which no hypothesis names."""

    def score(y: Any, x: Any) -> float:
        return float(np.mean([area(y[g == GROUPS], x[g == GROUPS]) for g in range(4)]))

    truth = np.random.default_rng(2).permutation(N) % 2

    found, queries = counted(score, truth, 8000)

    assert found.labels.tolist() == truth.tolist()
    assert found.confirmed
    assert queries <= 2 * N


def test_one_wrong_label_is_mended_by_the_answers() -> None:
    knowledge = known(area)
    for _ in range(12):
        knowledge.answer(Numbers().spread(N, knowledge.rng))
    knowledge.labels[:] = np.arange(N) % 2
    knowledge.labels[6] = 1

    assert knowledge.misfits() > 0
    assert knowledge.mended()
    assert knowledge.labels.tolist() == (np.arange(N) % 2).tolist()


def test_what_no_query_tells_is_not_confirmed() -> None:
    """Each half is scored by its own scale: two classes of a half that has no third can change places."""

    def score(y: Any, x: Any) -> float:
        return float(
            sum(np.dot(y[h], x[h]) / max(1, y[h].max()) * w for h, w in ((slice(0, 6), 1.0), (slice(6, 12), 0.7)))
        )

    truth = np.array([0, 2, 0, 2, 1, 0, 0, 1, 1, 0, 1, 0])
    game = Simulator(score=score, n_records=12, n_classes=3, limit=40_000)

    found = read(game, lambda rows: score(truth, rows), Numbers(), np.random.default_rng(0))

    assert not found.confirmed or found.labels.tolist() == truth.tolist()
