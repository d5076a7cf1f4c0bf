"""Labels behind scorers that draw: their law is learnt from draws, and read as well as one who knows it reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from sklearn.metrics import accuracy_score, brier_score_loss, roc_auc_score

from labelinf_core.contracts.errors import QueriesExhaustedError
from labelinf_scores.simulation.formats import Classes, Columns, Numbers, SubmissionFormat
from labelinf_scores.simulation.noisy import is_noisy, read_noisy
from labelinf_scores.simulation.read import read
from labelinf_scores.simulation.simulator import Simulator

Draws = np.random.Generator
Score = Callable[[Any, Any, Draws], Any]
BITS = Classes(values=np.arange(2))
N = 40


def noisy_auc(y: Any, x: Any, rng: Draws) -> float:
    return float(roc_auc_score(y, x) + rng.normal(0, 0.01)) if 0 < y.sum() < len(y) else 0.5


def swelling_accuracy(y: Any, x: Any, rng: Draws) -> float:
    return float(accuracy_score(y, x) * (1 + 0.3 * rng.normal()))


def accuracy_of_a_half(y: Any, x: Any, rng: Draws) -> float:
    half = rng.permutation(len(y))[: len(y) // 2]
    return float(accuracy_score(y[half], x[half]))


def host(score: Score, truth: Any, seed: int) -> Callable[[Any], Any]:
    rng = np.random.default_rng(seed)
    return lambda x: score(truth, x, rng)


def simulator(score: Score, seed: int, k: int = 2, n: int = N) -> Simulator:
    rng = np.random.default_rng(seed)
    return Simulator(score=lambda y, x: score(y, x, rng), n_records=n, n_classes=k, limit=60_000)


def play(
    score: Score, form: SubmissionFormat, seed: int, *, n: int = N, draws: int = 900, queries: int | None = None
) -> Any:
    """Return what was read, and the truth."""
    truth = (np.random.default_rng(seed).random(n) < 0.4).astype(int)
    game, told = simulator(score, seed + 1, n=n), host(score, truth, seed + 2)
    rng = np.random.default_rng(seed + 3)
    return read_noisy(game, told, form, rng=rng, limit=queries, draws=draws, sweeps=30), truth


def hypergeometric(n: int) -> NDArray[np.float64]:
    """Return log-probabilities of k right ones in a random half, of K right ones: ``[K, k]``."""
    right, k = np.arange(n + 1)[:, None], np.arange(n // 2 + 1)
    return np.maximum(stats.hypergeom.logpmf(k, n, right, n // 2), -60)


def known(score: Score, y: Any, upper: NDArray[Any], answers: NDArray[Any]) -> float:
    """Return the log-likelihood of answers by who knows the law."""
    right = (y == upper).sum(axis=1)
    if score is accuracy_of_a_half:
        return float(hypergeometric(len(y))[right, np.rint(answers * (len(y) // 2)).astype(int)].sum())
    if score is swelling_accuracy:
        mean = np.maximum(right, 0.5) / len(y)
        return float(stats.norm.logpdf(answers, mean, 0.3 * mean).sum())
    ones = y.sum()
    auc = 0.5 + 0.5 * ((upper & (y == 1)).sum(axis=1) / ones - (upper & (y == 0)).sum(axis=1) / (len(y) - ones))
    return float(stats.norm.logpdf(answers, auc, 0.01).sum())


def gibbs(score: Score, truth: Any, queries: int, seed: int, sweeps: int = 60) -> NDArray[np.bool_]:
    """Return the likelier labels of one who knows the law, by random submissions of two rows."""
    rng, n = np.random.default_rng(seed), len(truth)
    upper, told = rng.random((queries, n)) < 0.5, host(score, truth, seed + 1)
    answers = np.array([told(u.astype(int)) for u in upper])
    y = (rng.random(n) < 0.4).astype(int)
    now, seen = known(score, y, upper, answers), np.zeros(n)
    for sweep in range(sweeps):
        for i in rng.permutation(n):
            y[i] ^= 1
            then = known(score, y, upper, answers) if 0 < y.sum() < n else -np.inf
            if np.log(rng.random()) < then - now:
                now = then
            else:
                y[i] ^= 1
        seen += y if sweep >= sweeps // 2 else 0
    return seen > sweeps / 4


LAWS = [(noisy_auc, Numbers()), (swelling_accuracy, BITS), (accuracy_of_a_half, BITS)]


@pytest.mark.long
@pytest.mark.parametrize(("score", "form"), LAWS, ids=[score.__name__ for score, _ in LAWS])
def test_it_is_nearly_as_right_as_one_who_knows_the_law(score: Score, form: SubmissionFormat) -> None:
    ours, theirs = [], []
    for seed in range(2):
        found, truth = play(score, form, seed=10 * seed)
        ours.append((found.labels == truth).mean())
        theirs.append((gibbs(score, truth, 5 * N // 2, seed=10 * seed + 5) == truth).mean())

    assert np.mean(ours) > np.mean(theirs) - 0.08
    assert np.mean(ours) > 0.62


@pytest.mark.slow
@pytest.mark.parametrize(("score", "form"), LAWS, ids=[score.__name__ for score, _ in LAWS])
def test_the_mark_at_full_size(score: Score, form: SubmissionFormat) -> None:
    ours, theirs = [], []
    for seed in range(3):
        found, truth = play(score, form, seed=10 * seed, n=120, draws=3000)
        ours.append((found.labels == truth).mean())
        theirs.append((gibbs(score, truth, 300, seed=10 * seed + 5) == truth).mean())

    assert np.median(ours) >= np.median(theirs) - 0.05, (ours, theirs)


@pytest.mark.long
def test_all_labels_come_out_of_heavy_tails_and_it_says_that_it_is_sure() -> None:
    found, truth = play(lambda y, x, rng: brier_score_loss(y, x) + rng.laplace(0, 0.004), Numbers(), seed=3)

    assert found.labels.tolist() == truth.tolist()
    assert found.sure.all()
    assert found.replayed
    assert len(found.answers) < 5 * N // 2


def test_a_simulator_whose_labels_are_redrawn_reads_nothing() -> None:
    """The placebo: code that answers about labels of its own tells nothing of those that are asked about."""
    made = np.random.default_rng(0)

    def elsewhere(y: Any, x: Any, rng: Draws) -> float:
        return swelling_accuracy(made.permutation(np.arange(len(y)) % 2), x, rng)

    found, _ = play(elsewhere, BITS, seed=3)

    assert not found.sure.any()
    assert found.answers.size == 0


@pytest.mark.long
def test_answers_about_other_labels_are_not_those_of_the_truth() -> None:
    truth, other = (np.random.default_rng(seed).random(N) < 0.5 for seed in (1, 2))
    game, told = simulator(accuracy_of_a_half, 5), host(accuracy_of_a_half, other.astype(int), 6)

    found = read_noisy(game, told, BITS, rng=np.random.default_rng(7), draws=900, sweeps=30)

    assert (found.labels == other).mean() > 0.85
    assert abs((found.labels == truth).mean() - 0.5) < 0.25


@pytest.mark.parametrize(
    "score",
    [
        lambda y, x, rng: rng.random(),
        lambda y, x, rng: float(np.mean(y) + rng.normal(0, 0.01)),
        lambda y, x, rng: float(np.mean(x) + rng.normal(0, 0.01)),
    ],
    ids=["draws alone", "totals", "submission"],
)
def test_what_tells_nothing_of_a_record_is_asked_nothing(score: Score) -> None:
    found, _ = play(score, Numbers(), seed=1)

    assert not found.sure.any()
    assert found.answers.size == 0
    assert found.expected == 0.5


@pytest.mark.long
def test_the_number_of_an_answer_that_tells_is_found() -> None:
    def several(y: Any, x: Any, rng: Draws) -> dict[str, float]:
        return {"a draw": rng.random(), "brier": brier_score_loss(y, x) + rng.normal(0, 0.004)}

    found, truth = play(several, Numbers(), seed=2)

    assert found.labels.tolist() == truth.tolist()


@pytest.mark.long
def test_a_host_that_answers_no_more_ends_it_with_what_was_read() -> None:
    truth = (np.random.default_rng(0).random(N) < 0.4).astype(int)
    asked: list[Any] = []
    told = host(accuracy_of_a_half, truth, 1)

    def ask(rows: Any) -> Any:
        if len(asked) == 30:
            raise QueriesExhaustedError("spent")
        asked.append(rows)
        return told(rows)

    found = read_noisy(simulator(accuracy_of_a_half, 2), ask, BITS, rng=np.random.default_rng(3), draws=900, sweeps=30)

    assert len(found.answers) == 30
    assert 0.6 < found.expected < 1
    assert (found.labels == truth).mean() > 0.6


def test_what_is_drawn_is_told_from_what_is_not() -> None:
    y, x = np.arange(N) % 2, np.linspace(0, 1, N)
    shown: list[float] = []

    def improved(y: Any, x: Any, rng: Draws) -> bool:
        shown.append(roc_auc_score(y, x))
        return len(shown) == 1

    assert is_noisy(simulator(noisy_auc, 1), y, x)
    assert not is_noisy(simulator(lambda y, x, rng: roc_auc_score(y, x), 1), y, x)
    assert not is_noisy(simulator(improved, 1), y, x)


@pytest.mark.long
def test_the_one_way_in_takes_what_draws_and_never_calls_it_confirmed() -> None:
    truth = (np.random.default_rng(3).random(N) < 0.4).astype(int)
    told = host(lambda y, x, rng: brier_score_loss(y, x) + rng.normal(0, 0.004), truth, 1)
    game = simulator(lambda y, x, rng: brier_score_loss(y, x) + rng.normal(0, 0.004), 2)

    found = read(game, told, Numbers(), np.random.default_rng(4))

    assert found.likely is not None
    assert found.likely.tolist() == truth.tolist()
    assert not found.confirmed


def test_more_than_two_classes_are_not_read_through_noise() -> None:
    truth = np.arange(N) % 3

    def score(y: Any, x: Any, rng: Draws) -> float:
        return float(np.mean(x.argmax(axis=1) == y) + rng.normal(0, 0.01))

    found = read(simulator(score, 1, k=3), host(score, truth, 2), Columns(n_classes=3), np.random.default_rng(3))

    assert (found.labels < 0).all()
    assert found.likely is None
    assert not found.confirmed
