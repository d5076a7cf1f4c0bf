"""Boards whose answers depend on what was submitted before: the simulated one is given the same past."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from labelinf_scores.simulation.formats import Numbers
from labelinf_scores.simulation.read import Read, read
from labelinf_scores.simulation.simulator import Simulator

N = 16


class BestSoFar:
    """Shows the best of all scores so far."""

    def __init__(self) -> None:
        self.best = -1.0

    def __call__(self, y: Any, x: Any) -> float:
        self.best = max(self.best, float(1 - np.mean((y - x) ** 2)))
        return self.best


def simulator(limit: int) -> Simulator:
    """Return the board, with a way to begin anew."""
    return Simulator(score=BestSoFar(), restarted=BestSoFar, n_records=N, n_classes=2, limit=limit)


def play(seed: int, *, limit: int = 10 * N) -> tuple[Read, Any, int]:
    """Read labels; return what was read, the truth and the queries."""
    rng = np.random.default_rng(seed)
    truth, host, asked = rng.integers(2, size=N), BestSoFar(), []

    def ask(rows: Any) -> float:
        asked.append(rows)
        return host(truth, rows)

    return read(simulator(60_000), ask, Numbers(), rng), truth, len(asked)


def test_a_simulated_board_has_the_past_that_it_is_given() -> None:
    rng, game, host = np.random.default_rng(0), simulator(100), BestSoFar()
    labels, rows = rng.integers(2, size=N), [rng.random(N) for _ in range(5)]
    answers = [host(labels, one) for one in rows]

    game.remembers, game.history = True, rows[:3]

    assert np.ravel(game.each(labels, rows[3:])).tolist() == answers[3:]
    assert np.ravel(game.each(labels, rows[3:])).tolist() == answers[3:]
    assert game.calls == 10


@pytest.mark.long
def test_the_best_score_so_far_gives_the_labels_away() -> None:
    for seed in range(2):
        found, truth, queries = play(seed)

        assert found.labels.tolist() == truth.tolist()
        assert queries <= 6 * N
