"""Every guarantee under the simplest attack that is known to be best for it; planted faults exceed their ceilings.

Games are many and small. Labels are drawn independently, as the ceilings assume. Intervals are Wilson's at five
standard errors: a true ceiling would be flagged with probability below 1e-6 for a seed chosen at random.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np
import pytest
from numpy.typing import NDArray

from labelinf_core.contracts.components import LabelSet, Setting
from labelinf_core.contracts.guarantees import Ceiling, Interval, Verdict, judge
from labelinf_privacy.noise.geometric import Geometric
from labelinf_privacy.noise.grid_gaussian import GridGaussian
from labelinf_privacy.noise.grid_laplace import GridLaplace
from labelinf_privacy.words import SeededWords
from labelinf_scores.bounds.counting import Counting
from labelinf_scores.bounds.gaussian_capacity import GaussianCapacity
from labelinf_scores.bounds.label_dp import LabelDp
from labelinf_scores.bounds.private_scores import PrivateScores
from labelinf_scores.bounds.unseen import Unseen
from labelinf_scores.bounds.worst_case import hiding_noise
from labelinf_scores.constructions.hadamard_matrix import Hadamard
from labelinf_scores.defences.clip import Clip
from labelinf_scores.defences.ladder import Ladder
from labelinf_scores.defences.laplace_dp import LaplaceDp
from labelinf_scores.defences.permute_labels import PermuteLabels
from labelinf_scores.defences.query_limit import QueryLimit
from labelinf_scores.defences.randomised_response import PerturbedLabels
from labelinf_scores.defences.rounding import RoundScore
from labelinf_scores.defences.score_noise import ScoreNoise
from labelinf_scores.defences.subset import Subset
from labelinf_scores.defences.worst_case_noise import WorstCaseNoise
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.game.curator import ActiveScoreDefence, Answer, Ask, Query, ScoreDefence
from labelinf_scores.game.oracle import ScoreOracle
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.metrics.log_loss import LogLoss

BOUNDS = (LabelDp(), PrivateScores(), Counting(), GaussianCapacity(), Unseen())
CHANNEL = ScoreChannel(loss=LogLoss(), scorer="float64")
CLIP = Clip(epsilon=0.01)
SPAN = math.log(99)
FINE = 2.0**-40  # so fine a grid that rounding to it is not seen
Attack = Callable[[ScoreOracle], NDArray[np.intp]]


@attrs.frozen(kw_only=True)
class Tally:
    """Guesses right and made, and the ceilings that were to hold."""

    right: int
    made: int
    ceilings: tuple[Ceiling, ...]

    @property
    def accuracy(self) -> float:
        return self.right / self.made

    @property
    def interval(self) -> Interval:
        z, n, p = 5.0, self.made, self.accuracy
        middle, half = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        scale = 1 + z * z / n
        return Interval(value=p, low=max(0.0, min(p, (middle - half) / scale)), high=min(1.0, (middle + half) / scale))

    @property
    def verdict(self) -> Verdict:
        exact = Interval(value=0, low=0, high=1)
        return judge(accuracy=self.interval, exact=exact, baseline=0.5, promise=None, ceilings=self.ceilings)

    @property
    def ceiling(self) -> float:
        return min(ceiling.accuracy for ceiling in self.ceilings)


def tally(
    pipeline: tuple[ScoreDefence, ...],
    attack: Attack,
    *,
    n_records: int,
    games: int,
    targets: Sequence[int] | None = None,
    balanced: bool = False,
) -> Tally:
    """Play many games on fresh labels; guesses are counted on ``targets`` (all records when None)."""
    right = made = 0
    threat = _threat(pipeline, n_records)
    for game in range(games):
        rng = np.random.default_rng([game, n_records])
        labels = rng.permutation(np.arange(n_records) % 2) if balanced else rng.integers(0, 2, n_records)
        guess = attack(ScoreOracle(threat, CHANNEL.curator(labels, threat, rng).answer))
        hits = (guess == labels)[list(targets) if targets is not None else slice(None)]
        right, made = right + int(hits.sum()), made + hits.size
    found = tuple(ceiling for bound in BOUNDS for ceiling in bound.ceilings(threat))
    return Tally(right=right, made=made, ceilings=found)


def _threat(pipeline: tuple[ScoreDefence, ...], n_records: int) -> ScoreThreat:
    data = LabelSet(labels=np.arange(n_records) % 2, class_names=("a", "b"), title="made", provenance="made")
    return CHANNEL.threat(Setting(data=data, defences=pipeline))


def push(n_records: int, row: int, side: int = 1) -> NDArray[np.float64]:
    """Ask about one record as loudly as the clip allows."""
    query = np.full(n_records, 0.5)
    query[row] = 0.01 if side > 0 else 0.99
    return query


def one_by_one(oracle: ScoreOracle) -> NDArray[np.intp]:
    """Ask about one record per query: half the span above or below the middle."""
    n = oracle.threat.n_records
    answers = [float(oracle.query(push(n, row))) for row in range(n)]
    middle = math.log(2) + ((-math.log(0.01) - math.log(0.99)) / 2 - math.log(2)) / n
    return np.array([answer > middle for answer in answers], dtype=np.intp)


def hammer(queries: int, soft: Callable[[NDArray[np.float64]], NDArray[np.float64]] | None = None) -> Attack:
    """Spend every query on record 0 and decide by the mean, or by a sum of softened answers; guess 0 elsewhere."""

    def attack(oracle: ScoreOracle) -> NDArray[np.intp]:
        n = oracle.threat.n_records
        middle = math.log(2) + ((-math.log(0.01) - math.log(0.99)) / 2 - math.log(2)) / n
        seen = np.array([float(oracle.query(push(n, 0))) for _ in range(queries)]) - middle
        guess = np.zeros(n, dtype=np.intp)
        guess[0] = (seen if soft is None else soft(seen)).sum() > 0
        return guess

    return attack


@pytest.mark.long
def test_randomised_response_once_is_read_and_no_more() -> None:
    result = tally((CLIP, PerturbedLabels(epsilon=1.0)), one_by_one, n_records=40, games=60)
    assert result.verdict is not Verdict.CONTRADICTION
    assert result.interval.low <= result.ceiling == pytest.approx(0.7310586, abs=1e-7)
    assert result.interval.high >= result.ceiling


@pytest.mark.long
def test_labels_perturbed_anew_are_averaged_out_exactly_as_far_as_composition_says() -> None:
    pipeline = (CLIP, PerturbedLabels(epsilon=0.5, fresh=True), QueryLimit(queries=5))
    result = tally(pipeline, hammer(5, np.sign), n_records=2, games=500, targets=[0])
    assert result.verdict is not Verdict.CONTRADICTION
    assert result.interval.low <= result.ceiling <= result.interval.high


@pytest.mark.long
@pytest.mark.parametrize("queries", [1, pytest.param(4, marks=pytest.mark.slow)])
def test_gaussian_noise_on_one_label_meets_its_ceiling(queries: int) -> None:
    noise = ScoreNoise(model=GridGaussian(step=FINE, scale=SPAN / 2 * math.sqrt(queries)))
    pipeline = (CLIP, noise, QueryLimit(queries=queries))
    result = tally(pipeline, hammer(queries), n_records=2, games=1000, targets=[0])
    # The privacy ceiling Phi(1/2); capacity says less about a single label.
    assert result.ceiling == pytest.approx(0.69146, abs=5e-6)
    assert result.interval.low <= result.ceiling <= result.interval.high


@pytest.mark.long
@pytest.mark.parametrize("queries", [1, pytest.param(4, marks=pytest.mark.slow)])
def test_laplace_noise_on_one_label_meets_its_ceiling(queries: int) -> None:
    scale = SPAN / 2 * math.sqrt(queries)

    def likelihood(seen: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.abs(seen + SPAN / 4) - np.abs(seen - SPAN / 4)

    pipeline = (CLIP, ScoreNoise(model=GridLaplace(step=FINE, scale=scale)), QueryLimit(queries=queries))
    result = tally(pipeline, hammer(queries, likelihood), n_records=2, games=1000, targets=[0])
    assert result.interval.low <= result.ceiling <= result.interval.high


@pytest.mark.long
@pytest.mark.parametrize(
    "noise",
    [
        pytest.param((ScoreNoise(model=Geometric(scale=SPAN / 2, step=2.0**-6)),), marks=pytest.mark.slow),
        (RoundScore(decimals=1), ScoreNoise(model=Geometric(scale=2.4, step=0.1))),
    ],
    ids=["geometric", "rounded"],
)
def test_other_private_noise_stays_below_its_ceiling(noise: tuple[ScoreDefence, ...]) -> None:
    result = tally((CLIP, *noise, QueryLimit(queries=3)), hammer(3), n_records=2, games=500, targets=[0])
    assert result.ceilings
    assert result.verdict is not Verdict.CONTRADICTION
    assert result.accuracy > 0.6


@attrs.frozen(kw_only=True)
class FloatSum(ScoreDefence):
    """Geometric noise as it must not be: added to the score in doubles, the sum not put back on the grid."""

    model: Geometric

    def start(self, threat: ScoreThreat, rng: np.random.Generator) -> ActiveScoreDefence:
        return _FloatSum(self.model, rng)


@attrs.frozen
class _FloatSum(ActiveScoreDefence):
    model: Geometric
    rng: np.random.Generator

    def answer(self, labels: NDArray[np.intp], query: Query, ask: Ask) -> Answer:
        drawn = int(self.model.steps(SeededWords(self.rng), 1)[0])
        return float(ask(labels, query)) + drawn * self.model.step


def by_low_bits(decimals: int, step: float) -> Attack:
    """One query a record: the label from whose rounded score a whole number of steps leads to the very bits seen."""

    def attack(oracle: ScoreOracle) -> NDArray[np.intp]:
        n = oracle.threat.n_records
        guess = np.zeros(n, dtype=np.intp)
        for row in range(n):
            answer = float(oracle.query(push(n, row)))
            scores = [round((-math.log(p) + (n - 1) * math.log(2)) / n, decimals) for p in (0.99, 0.01)]
            counts = [round((answer - score) / step) for score in scores]
            fits = [score + count * step == answer for score, count in zip(scores, counts, strict=True)]
            guess[row] = int(fits[1]) if fits[0] != fits[1] else int(abs(counts[1]) < abs(counts[0]))
        return guess

    return attack


@pytest.mark.slow
def test_geometric_noise_on_a_rounded_score_leaves_nothing_in_the_low_bits() -> None:
    """Added in doubles, the same noise on the same multiples of a ten-thousandth tells what it was added to."""
    n, step = 60, 1e-4
    model = Geometric(scale=SPAN * 5, step=step)
    attack = by_low_bits(4, step)
    before = (CLIP, RoundScore(decimals=4))
    result = tally((*before, ScoreNoise(model=model), QueryLimit(queries=n)), attack, n_records=n, games=30)
    assert result.ceiling < 0.6
    assert result.interval.low <= result.ceiling
    assert tally((*before, FloatSum(model=model)), attack, n_records=n, games=30).interval.low > result.ceiling


@pytest.mark.slow
def test_hadamard_signs_meet_the_gaussian_ceiling_for_all_labels_at_once() -> None:
    n = 64
    signs = np.array([Hadamard.of_order(n).row(index) for index in range(n)])

    def attack(oracle: ScoreOracle) -> NDArray[np.intp]:
        answers = np.array([oracle.query(np.where(row > 0, 0.01, 0.99)) for row in signs])
        return (signs.T @ (answers - (-math.log(0.01) - math.log(0.99)) / 2) > 0).astype(np.intp)

    pipeline = (CLIP, ScoreNoise(model=GridGaussian(step=FINE, scale=SPAN / math.sqrt(n))), QueryLimit(queries=n))
    result = tally(pipeline, attack, n_records=n, games=60)
    assert result.ceiling == pytest.approx(0.69146, abs=5e-6)
    assert result.interval.low <= result.ceiling <= result.interval.high


def test_a_fixed_subset_is_read_and_the_rest_guessed() -> None:
    result = tally((CLIP, Subset(share=0.3)), _members, n_records=40, games=50, balanced=True)
    assert result.verdict is not Verdict.CONTRADICTION
    assert result.accuracy >= 0.65 - 0.02


def _members(oracle: ScoreOracle) -> NDArray[np.intp]:
    """One query per record tells whether it is scored, and its label; the others follow the rest of the counts."""
    n = oracle.threat.n_records
    silent = math.log(2)
    answers = np.array([float(oracle.query(push(n, row))) for row in range(n)])
    scored = np.abs(answers - silent) > 1e-9
    known = answers > silent
    rest = n // 2 - int(known[scored].sum()) > (n - int(scored.sum())) / 2
    return np.where(scored, known, rest).astype(np.intp)


@pytest.mark.long
@pytest.mark.parametrize("hidden", [1, 5, 20])
def test_worst_case_noise_hides_its_records_and_no_others(hidden: int) -> None:
    tau = hiding_noise(SPAN, 20, hidden)
    result = tally((CLIP, WorstCaseNoise(tau=tau)), one_by_one, n_records=20, games=60, balanced=True)
    assert result.verdict is not Verdict.CONTRADICTION
    assert result.accuracy == pytest.approx(1 - hidden / 40, abs=0.05)


def test_a_secret_order_leaves_the_majority_guess() -> None:
    result = tally((CLIP, PermuteLabels()), one_by_one, n_records=20, games=80, balanced=True)
    assert result.ceiling == 0.5
    assert result.interval.low <= 0.5 <= result.interval.high


def test_rounded_scores_give_no_more_than_they_count() -> None:
    # Blocks of 5 labels in powers of two, scores to one decimal: two queries on ten labels.
    def blocks(oracle: ScoreOracle) -> NDArray[np.intp]:
        guess = np.zeros(10, dtype=np.intp)
        for start in (0, 5):
            gaps = np.zeros(10)
            gaps[start : start + 5] = SPAN / 2.0 ** np.arange(5)
            query = 1 / (1 + np.exp(gaps))
            base = -np.log(1 - query).sum() / 10
            left = (oracle.query(query) - base) * 10
            for row in range(start, start + 5):
                guess[row] = left > gaps[row] / 2
                left -= gaps[row] * guess[row]
        return guess

    result = tally(
        (CLIP, RoundScore(decimals=0), QueryLimit(queries=2)), blocks, n_records=10, games=200, balanced=True
    )
    assert result.ceiling < 1
    assert result.verdict is not Verdict.CONTRADICTION


def test_an_unclipped_ladder_gives_twelve_labels_in_one_answer() -> None:
    # Gaps 2**i N eta / 2: every labelling has a rung of its own.
    n, step = 12, 0.01
    gaps = 2.0 ** np.arange(1, n + 1) * n * step / 2

    def attack(oracle: ScoreOracle) -> NDArray[np.intp]:
        query = 1 / (1 + np.exp(gaps))
        base = np.log1p(np.exp(-gaps)).sum() / n
        rung = round((float(oracle.query(query)) - base) / step)
        return (rung >> np.arange(n)) & 1

    # The base lies a third of a step above a rung, so that no labelling ties.
    assert tally((Ladder(step=step),), attack, n_records=n, games=100).accuracy == 1.0


# --- planted faults --------------------------------------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class ReusedSeed(ScoreNoise):
    """Broken: every query draws the same noise, whatever it asks."""

    def start(self, threat: ScoreThreat, rng: np.random.Generator) -> ActiveScoreDefence:
        return _Reused(self.model, int(rng.integers(2**32)))


class _Reused(ActiveScoreDefence):
    def __init__(self, model: Any, seed: int) -> None:
        self._model = model
        self._seed = seed

    def answer(self, labels: NDArray[np.intp], query: Query, ask: Ask) -> Answer:
        return ask(labels, query) + self._model.sample(np.random.default_rng(self._seed), 1)[0]


@attrs.frozen(kw_only=True)
class OffByN(LaplaceDp):
    """Broken: tells the right scale and draws with one that is N times too small."""

    def start(self, threat: ScoreThreat, rng: np.random.Generator) -> ActiveScoreDefence:
        right = self.model(threat)
        return ScoreNoise(model=GridLaplace(step=FINE, scale=right.scale / threat.n_records)).start(threat, rng)


def _difference(oracle: ScoreOracle) -> NDArray[np.intp]:
    """Subtract the answer to a query that says nothing: noise drawn twice from one seed cancels."""
    n = oracle.threat.n_records
    silent = oracle.query(np.full(n, 0.5))
    answers = np.array([oracle.query(push(n, row)) for row in range(n)])
    return (answers - silent > 0).astype(np.intp)


@pytest.mark.long
@pytest.mark.parametrize(
    ("broken", "sound", "attack"),
    [
        (
            ReusedSeed(model=GridGaussian(step=FINE, scale=SPAN)),
            ScoreNoise(model=GridGaussian(step=FINE, scale=SPAN)),
            _difference,
        ),
        (OffByN(epsilon=0.2), LaplaceDp(epsilon=0.2), one_by_one),
    ],
    ids=["reused-seed", "off-by-n"],
)
def test_a_planted_fault_contradicts_its_ceiling(broken: ScoreDefence, sound: ScoreDefence, attack: Attack) -> None:
    limit = QueryLimit(queries=41)
    caught = tally((CLIP, broken, limit), attack, n_records=40, games=10)
    passed = tally((CLIP, sound, limit), attack, n_records=40, games=10)
    assert caught.ceiling == pytest.approx(passed.ceiling)
    assert caught.verdict is Verdict.CONTRADICTION
    assert passed.verdict is not Verdict.CONTRADICTION
