"""Real targets behind scorers that nobody names: read to a hundredth of their spread, or to their order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from sklearn import metrics

from labelinf_scores.simulation.designs import digits
from labelinf_scores.simulation.formats import Numbers
from labelinf_scores.simulation.reals import RealReading, read_reals
from labelinf_scores.simulation.simulator import Simulator

Floats = NDArray[Any]
N = 24
WEIGHTS = np.linspace(0.2, 3, N)
GROUPS = np.arange(N) % 3


def amounts(n: int, seed: int) -> Floats:
    return np.exp(np.random.default_rng(seed).normal(3, 0.7, n))


def play(score: Callable[[Floats, Floats], float], seed: int = 1) -> tuple[RealReading, Floats]:
    truth, prior = amounts(N, seed), amounts(400, seed + 50)
    game = Simulator(score=score, n_records=N, n_classes=0, limit=20_000)
    form = Numbers(low=prior.min(), high=prior.max())
    return read_reals(game, lambda x: score(truth, x), [form], prior, rng=np.random.default_rng(seed)), truth


SCORES: dict[str, Callable[[Floats, Floats], float]] = {
    "squared": metrics.mean_squared_error,
    "pinball": lambda y, x: float(metrics.mean_pinball_loss(y, x, alpha=0.9)),
    "explained": metrics.r2_score,
    "squared logarithms": metrics.mean_squared_log_error,
    "shares": metrics.mean_absolute_percentage_error,
    "absolute": lambda y, x: float(np.abs(y - x).mean()),
    "logarithms, three digits": lambda y, x: round(float(np.sqrt(np.mean(((y - x) / y) ** 2))), 3),
    "explained, weighted": lambda y, x: float(1 - WEIGHTS @ (y - x) ** 2 / (WEIGHTS @ (y - y.mean()) ** 2)),
    "median": lambda y, x: float(np.median(np.abs(y - x))),
    "groups": lambda y, x: float(np.mean([np.log(np.abs(y - x)[k == GROUPS].mean()) for k in range(3)])),
}


@pytest.mark.long
@pytest.mark.parametrize("name", SCORES)
def test_targets_are_read_to_a_hundredth_of_their_spread_in_two_queries_a_record(name: str) -> None:
    reading, truth = play(SCORES[name])
    near = np.subtract(*np.quantile(amounts(400, 51), [0.75, 0.25])) / 100
    assert reading.read.all()
    assert not reading.ranks_only
    assert np.abs(reading.values - truth).max() < near
    assert reading.queries <= 2 * N


def test_digits_are_found_where_answers_are_large() -> None:
    """An answer of ten digits is a multiple of its last one only as far as doubles go."""
    answers = np.round(np.random.default_rng(1).uniform(60_000, 70_000, (20, 1)), 5)
    assert digits(answers).tolist() == [1e-5]
    assert digits(answers + np.pi * 1e-8).tolist() == [0]


def test_a_scorer_of_ranks_gives_the_order_and_says_so() -> None:
    reading, truth = play(lambda y, x: float(stats.spearmanr(y, x).statistic))
    assert reading.ranks_only
    assert reading.read.all()
    assert (reading.values.argsort() == truth.argsort()).all()


def test_what_no_answer_tells_is_not_read() -> None:
    half = np.arange(N) < N // 2
    reading, truth = play(lambda y, x: float(np.square(y - x)[half].mean()))
    assert (reading.read == half).all()
    assert np.allclose(reading.values[half], truth[half], rtol=1e-4)
    assert not play(lambda y, x: float(x.mean()))[0].read.any()


@pytest.mark.parametrize(
    "score",
    [
        lambda y, x: 0.5,
        lambda y, x: float(x.mean()),
        lambda y, x: float(np.mean((np.random.default_rng().permutation(amounts(N, 7)) - x) ** 2)),
        lambda y, x: float(np.mean((y - x) ** 2) + np.random.default_rng().normal()),
    ],
    ids=["constant", "submission", "labels redrawn", "noise"],
)
def test_nothing_is_asked_of_what_shows_nothing_or_draws(score: Callable[[Floats, Floats], float]) -> None:
    reading, _ = play(score)
    assert not reading.read.any()
    assert reading.queries == 0


@pytest.mark.long
def test_a_board_that_is_not_what_was_handed_out_is_never_called_replayed() -> None:
    truth, prior = amounts(N, 1), amounts(400, 51)
    game = Simulator(score=metrics.mean_squared_error, n_records=N, n_classes=0, limit=5000)
    form, rng = Numbers(low=prior.min(), high=prior.max()), np.random.default_rng(1)

    reading = read_reals(game, lambda x: metrics.mean_absolute_error(truth, x), [form], prior, rng=rng)

    assert not reading.replayed
    assert not reading.read.any()
