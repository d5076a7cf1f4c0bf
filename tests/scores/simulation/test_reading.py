"""Labels behind scorers that no name is told of: read by running them on made labels, and checked by replay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import (
    accuracy_score,
    adjusted_rand_score,
    average_precision_score,
    f1_score,
    log_loss,
    matthews_corrcoef,
    roc_auc_score,
)

from labelinf_core.contracts.errors import QueriesExhaustedError
from labelinf_scores.simulation.formats import Classes, Columns, Numbers, SubmissionFormat
from labelinf_scores.simulation.read import Read, read
from labelinf_scores.simulation.simulator import Simulator

N = 40
WEIGHTS = np.random.default_rng(5).uniform(0.3, 3, N)
GROUPS = np.arange(N) % 4


def half_auc_half_brier(y: Any, p: Any) -> float:
    """A mixture, rounded."""
    return round(0.5 * float(roc_auc_score(y, p)) - 0.5 * float(np.mean((y - p) ** 2)), 4)


def by_hidden_bars(y: Any, p: Any) -> float:
    """What nobody has a name for."""
    called = np.searchsorted([0.31, 0.64], p)
    return round(
        float(np.mean(np.array([0.0, -0.7, 1.3])[called] * y + np.array([0.4, 0.1, -1.0])[called] * (1 - y))), 3
    )


SCORERS: dict[str, tuple[Callable[[Any, Any], Any], SubmissionFormat, int, float]] = {
    "auc": (roc_auc_score, Numbers(), 2, 0.6),
    "average precision": (average_precision_score, Numbers(), 2, 0.6),
    "weighted log-loss": (lambda y, p: log_loss(y, p, sample_weight=WEIGHTS), Numbers(), 2, 1.0),
    "f1": (lambda y, p: f1_score(y, p > 0.5), Numbers(), 2, 1.0),
    "mcc": (lambda y, p: matthews_corrcoef(y, p > 0.5), Numbers(), 2, 1.0),
    "a mixture": (half_auc_half_brier, Numbers(), 2, 1.0),
    "bars": (by_hidden_bars, Numbers(), 2, 1.0),
    "a dictionary": (lambda y, p: {"auc": float(roc_auc_score(y, p)), "n": len(y)}, Numbers(), 2, 0.6),
    "a text": (lambda y, p: f"AUC {roc_auc_score(y, p):.5f}", Numbers(), 2, 1.0),
    "cases": (lambda y, p: -np.log(np.clip(np.where(y == 1, p, 1 - p), 1e-9, 1)), Numbers(), 2, 0.05),
    "top 2 of 4": (
        lambda y, p: np.mean([c in row.argsort()[-2:] for c, row in zip(y, p, strict=True)]),
        Columns(n_classes=4),
        4,
        3.0,
    ),
    "ratings": (lambda y, x: float(np.mean((y - x) ** 2)), Classes(values=np.arange(4.0)), 4, 3.0),
}


def host(score: Callable[[Any, Any], Any], truth: Any, limit: int) -> tuple[Callable[[Any], Any], list[Any]]:
    """Return what answers about the truth, so often, and what it was asked."""
    asked: list[Any] = []

    def ask(rows: Any) -> Any:
        if len(asked) >= limit:
            raise QueriesExhaustedError("spent")
        asked.append(rows)
        return score(truth, rows)

    return ask, asked


def play(
    score: Callable[[Any, Any], Any],
    form: SubmissionFormat,
    k: int,
    seed: int,
    *,
    limit: int = 10 * N,
    told: Any = None,
    simulations: int = 30_000,
) -> tuple[Read, Any, int]:
    """Read labels; return what was read, the truth and the queries."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(k, size=N, p=rng.dirichlet(np.full(k, 8.0)))
    ask, asked = host(score if told is None else told, truth, limit)
    game = Simulator(score=score, n_records=N, n_classes=k, limit=simulations)
    return read(game, ask, form, rng), truth, len(asked)


@pytest.mark.long
@pytest.mark.parametrize("name", SCORERS)
def test_every_label_comes_out_and_the_replay_says_so(name: str) -> None:
    """In the median of three sets: where a label was read wrongly, and contradicted, answers are asked for again."""
    score, form, k, most = SCORERS[name]
    spent: list[int] = []
    while len(spent) < 3 and not (spent and spent[0] <= most * N + 1):
        found, truth, queries = play(score, form, k, seed=3 + len(spent))
        assert found.labels.tolist() == truth.tolist()
        assert found.confirmed
        spent.append(queries)

    assert np.median(spent) <= most * N + 1


@pytest.mark.long
def test_what_is_rounded_from_another_scorer_is_never_confirmed_wrongly() -> None:
    """The code that was handed out is not the host's: a wrong reading cannot give the answers, a right one may."""
    for seed in range(4):
        found, truth, _ = play(
            roc_auc_score, Numbers(), 2, seed, told=lambda y, p: round(float(roc_auc_score(y, p**3 % 0.7)), 6)
        )

        assert not found.confirmed or found.labels.tolist() == truth.tolist()


@pytest.mark.parametrize(
    "score",
    [lambda y, p: 0.5, lambda y, p: float(np.mean(y)), lambda y, p: float(p.mean()), lambda y, p: "thank you"],
    ids=["constant", "totals", "submission", "text"],
)
def test_what_tells_nothing_of_a_record_reads_nothing(score: Any) -> None:
    found, _, queries = play(score, Numbers(), 2, seed=1)

    assert (found.labels < 0).all()
    assert queries <= 2


@pytest.mark.long
def test_labels_that_are_alike_upside_down_are_not_read_and_not_asked_about() -> None:
    """No answer tells a labelling from its reverse; unequal class totals do."""

    def folded(y: Any, p: Any) -> float:
        return abs(roc_auc_score(y, p) - 0.5)

    found, _, queries = play(folded, Numbers(), 2, seed=0, simulations=4000)

    assert found.unnamed
    assert not found.confirmed
    assert (found.labels < 0).all()
    assert queries == 0

    truth = np.arange(N) % 3 // 2
    game = Simulator(score=folded, n_records=N, n_classes=2, limit=60_000)
    told = read(game, host(folded, truth, 10 * N)[0], Numbers(), np.random.default_rng(0), np.bincount(truth).tolist())

    assert not told.unnamed
    assert told.labels.tolist() == truth.tolist()


@pytest.mark.long
def test_classes_that_no_answer_names_are_told_from_a_constant() -> None:
    for score, unnamed in ((adjusted_rand_score, True), (lambda y, x: 0.5, False), (accuracy_score, False)):
        found, _, _ = play(score, Classes(values=np.arange(3)), 3, seed=0, simulations=2000)

        assert found.unnamed == unnamed


def test_records_that_no_answer_depends_on_are_named() -> None:
    """A hidden public part: its labels come out, and no other record is guessed."""
    public = np.random.default_rng(8).permutation(N) < 0.3 * N

    found, truth, _ = play(lambda y, p: float(np.mean((y - p)[public] ** 2)), Numbers(), 2, seed=2)

    assert found.labels[public].tolist() == truth[public].tolist()
    assert (found.labels[~public] < 0).all()


def test_groups_are_found_by_what_may_be_swapped() -> None:
    def score(y: Any, p: Any) -> float:
        return float(np.mean([np.corrcoef(y[g == GROUPS], p[g == GROUPS])[0, 1] for g in range(4)]))

    found, truth, _ = play(score, Numbers(), 2, seed=2)
    known = found.labels >= 0

    assert (found.labels[known] == truth[known]).all()


def test_a_budget_of_queries_ends_it_with_what_was_read_so_far() -> None:
    found, truth, queries = play(roc_auc_score, Numbers(), 2, seed=4, limit=6)
    known = found.labels >= 0

    assert queries == 6
    assert 0 < known.sum() < N
    assert (found.labels[known] == truth[known]).all()
    assert not found.confirmed


def test_a_budget_of_simulations_ends_it_before_anything_is_asked() -> None:
    truth = np.arange(N) % 2
    ask, asked = host(roc_auc_score, truth, 10)
    game = Simulator(score=roc_auc_score, n_records=N, n_classes=2, limit=20)

    found = read(game, ask, Numbers(), np.random.default_rng(0))

    assert game.calls == 20
    assert asked == []
    assert (found.labels < 0).all()
