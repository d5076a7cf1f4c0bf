"""Whatever a scorer shows is numbers: by place, by name, in a text, or an exception that is a symbol of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from labelinf_scores.simulation.formats import telling, usual
from labelinf_scores.simulation.read import read
from labelinf_scores.simulation.simulator import NOT_FINITE, BudgetSpentError, Simulator, as_vector


@pytest.mark.parametrize(
    ("answer", "numbers"),
    [
        (0.25, [0.25]),
        (np.float32(0.5), [0.5]),
        (True, [1.0]),
        ([1, (2, 3)], [1, 2, 3]),
        ({"b": 2, "a": [0, 1]}, [0, 1, 2]),
        ("AUC 0.75, rank 3", [0.75, 3]),
        (b"-1e-3", [-0.001]),
        ({"result": [{"test_split": {"F1": 0.25, "AUC": 0.5}}], "submission_result": {"F1": 0.25}}, [0.5, 0.25, 0.25]),
        (np.eye(2), [1, 0, 0, 1]),
        (np.array(["2", "x 3"], dtype=object), [2, 3]),
    ],
)
def test_an_answer_is_numbers(answer: Any, numbers: list[float]) -> None:
    assert as_vector(answer).tolist() == numbers


def test_texts_without_numbers_are_told_apart() -> None:
    assert as_vector("gold").size == 1
    assert as_vector("gold").tolist() != as_vector("silver").tolist()


def board(answer: Any) -> Simulator:
    def score(labels: Any, rows: Any) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    return Simulator(score=score, n_records=2, n_classes=2, limit=3)


def test_exceptions_and_what_is_not_finite_are_symbols_that_differ() -> None:
    labels, rows = np.zeros(2, dtype=np.intp), np.zeros(2)
    shown = [board(answer)(labels, rows)[0] for answer in (np.nan, np.inf, -np.inf, ValueError(), KeyError())]

    assert len(set(shown)) == 5
    assert np.abs(shown).min() >= NOT_FINITE
    assert not board(np.nan).accepts(labels, rows)
    assert board(0.1).accepts(labels, rows)


def test_a_scorer_that_always_raises_is_read_by_its_messages() -> None:
    truth, rng = np.array([0, 1, 1, 0, 1, 0, 0, 1]), np.random.default_rng(0)

    def grade(labels: Any, rows: Any) -> Any:
        raise AssertionError(f"mean error {np.mean((labels - rows) ** 2):.6f} is above the baseline")

    game = Simulator(score=grade, n_records=8, n_classes=2, limit=20_000)
    form = telling(game, usual(2), lambda: rng.integers(2, size=8), rng)
    assert form is not None

    found = read(game, lambda rows: grade(truth, rows), form, rng)

    assert found.labels.tolist() == truth.tolist()
    assert found.confirmed


def test_a_message_that_is_always_the_same_shows_nothing() -> None:
    game, rng = board(ValueError("needs 3 columns")), np.random.default_rng(0)
    game.limit = 1000

    assert telling(game, usual(2), lambda: rng.integers(2, size=2), rng) is None
    assert not game.refuses


def test_messages_are_told_apart() -> None:
    labels, rows = np.zeros(2, dtype=np.intp), np.zeros(2)

    assert board(ValueError("low"))(labels, rows) != board(ValueError("high"))(labels, rows)


def test_calls_are_counted_and_end() -> None:
    game, labels, rows = board(1.0), np.zeros(2, dtype=np.intp), np.zeros(2)
    for _ in range(3):
        game(labels, rows)

    with pytest.raises(BudgetSpentError):
        game(labels, rows)
    assert game.calls == 3
