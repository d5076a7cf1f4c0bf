"""Labels behind medals, passes and ranks: read next to a bar, each label by one answer."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score, roc_auc_score

from labelinf_core.contracts.errors import QueriesExhaustedError
from labelinf_scores.simulation.bars import few_symbols
from labelinf_scores.simulation.formats import Classes, Numbers, SubmissionFormat
from labelinf_scores.simulation.read import Read, read
from labelinf_scores.simulation.simulator import Simulator

N = 40
CALLED = Classes(values=np.array([0, 1]))


def failing(y: Any, x: Any) -> str:
    """A test that fails by an exception."""
    if f1_score(y, x, zero_division=0) < 0.4:
        raise AssertionError("below the baseline")
    return "ok"


BOARDS: dict[str, tuple[Callable[[Any, Any], Any], SubmissionFormat]] = {
    "passed": (lambda y, x: bool(accuracy_score(y, x) >= 0.55), CALLED),
    "medals": (lambda y, x: ["none", "bronze", "silver", "gold"][int(4 * accuracy_score(y, x) * 0.99)], CALLED),
    "failing": (failing, CALLED),
    "rank": (lambda y, p: int(np.sum(np.linspace(0.3, 0.9, 15) > roc_auc_score(y, p))), Numbers()),
}


def played(board: str, seed: int, limit: int = 1000, simulations: int = 30_000) -> tuple[Read, Any, int]:
    score, form = BOARDS[board]
    rng, asked = np.random.default_rng(seed), 0
    truth = (rng.random(N) < 0.4).astype(int)

    def ask(rows: Any) -> Any:
        nonlocal asked
        if asked == limit:
            raise QueriesExhaustedError("spent")
        asked += 1
        return score(truth, rows)

    game = Simulator(score=score, n_records=N, n_classes=2, limit=simulations)
    return read(game, ask, form, rng), truth, asked


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("board", BOARDS)
def test_every_label_is_read_in_a_few_queries_a_label(board: str, seed: int) -> None:
    found, truth, asked = played(board, seed)

    assert found.confirmed
    np.testing.assert_array_equal(found.labels, truth)
    assert asked <= 4 * N


@pytest.mark.long
@pytest.mark.parametrize("board", BOARDS)
def test_a_budget_leaves_labels_open_and_says_so(board: str) -> None:
    limit = 30
    found, truth, asked = played(board, 0, limit=limit)
    known = found.labels >= 0

    assert asked == limit
    assert not found.confirmed
    assert 0 < known.sum() < N
    np.testing.assert_array_equal(found.labels[known], truth[known])


def test_simulations_that_are_spent_end_it() -> None:
    found, _, _ = played("rank", 0, simulations=500)

    assert not found.confirmed
    assert (found.labels < 0).any()


@pytest.mark.parametrize(
    ("score", "few"),
    [
        (BOARDS["passed"][0], True),
        (lambda y, x: 1.0, False),
        (lambda y, x: float(np.mean((y - np.linspace(0, 1, N)) ** 2)), False),
    ],
)
def test_few_answers_are_seen_to_be_few(score: Callable[[Any, Any], Any], few: bool) -> None:
    game = Simulator(score=score, n_records=N, n_classes=2, limit=1000)

    assert few_symbols(game, CALLED, np.random.default_rng(0)) is few


@pytest.mark.long
def test_a_host_who_answers_of_other_labels_every_time_is_not_confirmed() -> None:
    rng = np.random.default_rng(0)
    game = Simulator(score=BOARDS["passed"][0], n_records=N, n_classes=2, limit=20_000)

    found = read(game, lambda rows: BOARDS["passed"][0](rng.integers(2, size=N), rows), CALLED, rng)

    assert not found.confirmed


@pytest.mark.parametrize(
    "score",
    [
        lambda y, x: abs(np.mean(y == x) - 0.5) >= 0.1,  # the same when the classes are exchanged
        lambda y, x: int(np.sum(y == x)) % 2,
        lambda y, x: int(y.sum() > 16),
        lambda y, x: zlib.crc32(y.tobytes() + x.tobytes()) % 2,
    ],
)
def test_what_cannot_be_read_is_not_confirmed(score: Callable[[Any, Any], Any]) -> None:
    truth = (np.random.default_rng(0).random(N) < 0.4).astype(int)
    game = Simulator(score=score, n_records=N, n_classes=2, limit=8_000)

    found = read(game, lambda rows: score(truth, rows), CALLED, np.random.default_rng(1))

    assert not found.confirmed
    assert (found.labels < 0).any()
