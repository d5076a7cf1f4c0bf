"""A plan for some records serves others that can change places with them, and what cannot is found out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from labelinf_scores.simulation.formats import Numbers
from labelinf_scores.simulation.knowledge import OPEN, Knowledge
from labelinf_scores.simulation.read import read
from labelinf_scores.simulation.simulator import Simulator
from labelinf_scores.simulation.statistics import Hypotheses, Statistic
from labelinf_scores.simulation.symmetry import Template, holds
from labelinf_scores.simulation.window import Family, weighed

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


def template(knowledge: Knowledge, rows: Any, places: Any) -> Template:
    """Return a plan that was simulated for some records."""
    places = np.array(places)
    values = np.array(list(np.ndindex(*[2] * places.size)))
    hypotheses = Hypotheses(places=places, values=values)
    statistic = Statistic(submission=rows)
    plan = weighed(knowledge, statistic, hypotheses, Family(base=0, kind="uniform"), care=4)
    assert plan is not None
    return Template(plan=plan, hypotheses=hypotheses, known=knowledge.known)


def moved(places: Any) -> Any:
    """Return a half for all but a few records."""
    rows = np.full(N, 0.5)
    rows[places] = [0.9, 0.7, 0.6][: len(places)]
    return rows


def test_what_is_used_again_is_what_would_be_simulated() -> None:
    """The mean of squares, in all hypotheses of records that were never simulated."""
    knowledge = known(lambda y, x: float(np.mean((y - x) ** 2 * (x != 0.5))))
    made = template(knowledge, moved([0, 1, 2]), [0, 1, 2])
    window = Hypotheses(places=np.array([7, 11, 3]), values=made.hypotheses.values[[0, 3, 5, 6]])

    plan = made.applied(knowledge, window)

    assert plan is not None
    seen = window.value(knowledge, plan.told.statistic, 2)
    assert seen is not None
    assert plan.values.fits(seen).tolist() == [False, False, True, False]
    assert holds(knowledge, plan, window)


def test_known_records_fill_up_a_window_that_is_too_small() -> None:
    knowledge = known(lambda y, x: float(np.mean((y - x) ** 2 * (x != 0.5))))
    made = template(knowledge, moved([0, 1, 2]), [0, 1, 2])
    knowledge.labels[[4, 5]] = 0, 1
    window = Hypotheses(places=np.array([9]), values=np.array([[0], [1]]))

    plan = made.applied(knowledge, window)

    assert plan is not None
    assert plan.bits == 1
    assert sorted(np.flatnonzero(plan.told.statistic.submission != 0.5).tolist()) == [4, 5, 9]
    knowledge.labels[[4, 5]] = OPEN
    assert made.applied(knowledge, window) is None


def test_records_that_an_order_tells_apart_are_found_out() -> None:
    """Records count by where they stand in the table: what was simulated for the first holds for no other."""
    knowledge = known(lambda y, x: float(((x != 0.5) * y * np.arange(N)).sum()))
    made = template(knowledge, moved([1]), [1])
    window = Hypotheses(places=np.array([9]), values=np.array([[0], [1]]))

    plan = made.applied(knowledge, window)

    assert plan is not None
    assert not holds(knowledge, plan, window)


@pytest.mark.long
def test_the_mean_auc_of_groups_is_read_in_two_queries_a_label_and_few_simulations() -> None:
    """Its class totals are four unknown numbers, which no hypothesis names."""

    def score(y: Any, x: Any) -> float:
        return float(np.mean([area(y[g == GROUPS], x[g == GROUPS]) for g in range(4)]))

    truth, asked = np.random.default_rng(2).permutation(N) % 2, []
    game = Simulator(score=score, n_records=N, n_classes=2, limit=8000)

    def ask(rows: Any) -> float:
        asked.append(rows)
        return score(truth, rows)

    found = read(game, ask, Numbers(), np.random.default_rng(1))

    assert found.labels.tolist() == truth.tolist()
    assert found.confirmed
    assert len(asked) <= 2 * N


def test_one_wrong_label_is_mended_by_the_answers() -> None:
    knowledge = known(area)
    for _ in range(12):
        knowledge.answer(Numbers().spread(N, knowledge.rng))
    knowledge.labels[:] = np.arange(N) % 2
    knowledge.labels[6] = 1

    assert knowledge.misfits() > 0
    assert knowledge.mended()
    assert knowledge.labels.tolist() == (np.arange(N) % 2).tolist()
