"""Low bits of noise in floats: certificates of real numbers fall, noise on a grid stands."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from labelinf_core.contracts.components import LabelSet, NoiseModel, Outcome, Setting
from labelinf_privacy.label_dp import pure_accuracy
from labelinf_privacy.noise.gaussian import Gaussian
from labelinf_privacy.noise.geometric import Geometric
from labelinf_privacy.noise.grid import GridNoise
from labelinf_privacy.noise.grid_gaussian import GridGaussian
from labelinf_privacy.noise.grid_laplace import GridLaplace
from labelinf_privacy.noise.laplace import Laplace
from labelinf_scores.attacks.low_bits import LowBits, SupportOfTheSampler, UlpGrid
from labelinf_scores.bounds.private_scores import PrivateScores
from labelinf_scores.defences.clip import Clip
from labelinf_scores.defences.rounding import RoundScore
from labelinf_scores.defences.score_noise import ScoreNoise
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.game.curator import ScoreDefence
from labelinf_scores.metrics.log_loss import LogLoss
from labelinf_scores.plans.low_bits import laplace_draws, reaching_doubles

SPAN = math.log(99)


def _data(n: int, n_classes: int = 2) -> LabelSet:
    labels = np.random.default_rng(9).integers(0, n_classes, n)
    return LabelSet(labels=labels, class_names=tuple(map(str, range(n_classes))), title="made", provenance="made")


def _setting(attack: LowBits, data: LabelSet, *defences: ScoreDefence) -> Setting:
    return Setting(data=data, attack=attack, defences=(Clip(epsilon=0.01), *defences))


def _play(attack: LowBits, model: NoiseModel, n: int, queries: int, n_classes: int = 2) -> Outcome:
    channel = ScoreChannel(loss=LogLoss(), scorer="float64", queries=queries)
    setting = _setting(attack, _data(n, n_classes), ScoreNoise(model=model))
    assert attack.unsupported_reason(channel.threat(setting)) == ""
    return channel.play(setting, curator_rng=np.random.default_rng(1), attack_rng=np.random.default_rng(2))


@pytest.mark.parametrize("epsilon", [1.0, 0.05])
def test_laplace_noise_in_floats_gives_nearly_every_label_away_whatever_its_epsilon(epsilon: float) -> None:
    """One query a record and a few more; on paper no attack has more than 73.1 or 51.2 % of the labels."""
    n, queries = 200, 211
    played = _play(SupportOfTheSampler(), Laplace(scale=queries * SPAN / n / epsilon), n, queries)
    assert played.n_correct / n > 0.88 > pure_accuracy(epsilon, (0.5, 0.5)) + 0.14
    assert played.queries == queries
    assert played.evidence["answers explained"] == 1.0


def test_every_label_falls_in_a_few_more_queries() -> None:
    played = _play(SupportOfTheSampler(), Laplace(scale=10.0), 100, 0)
    assert played.n_correct == 100 == played.evidence["named"]
    assert played.queries < 150


def test_more_than_two_classes_fall_as_well() -> None:
    played = _play(SupportOfTheSampler(), Laplace(scale=5.0), 60, 0, n_classes=4)
    assert played.n_correct == 60


@pytest.mark.long
@pytest.mark.parametrize(
    "model",
    [Laplace(scale=2.0), pytest.param(Gaussian(scale=1.0), marks=pytest.mark.slow)],
    ids=["laplace", "gaussian"],
)
def test_the_units_of_doubles_betray_any_noise_in_floats(model: NoiseModel) -> None:
    """Three queries a record at a noise that hides a label 35 times over; a game's share has a deviation of .02."""
    played = _play(UlpGrid(), model, 200, 0)
    assert played.n_correct / 200 > 0.7
    assert played.evidence["answers explained"] == 1.0


@pytest.mark.parametrize(
    ("model", "before"),
    [
        pytest.param(GridLaplace(scale=0.2), (), marks=pytest.mark.slow),
        (GridGaussian(scale=0.2), ()),
        pytest.param(Geometric(scale=0.2, step=1e-4), (RoundScore(decimals=4),), marks=pytest.mark.slow),
    ],
    ids=["laplace", "gaussian", "geometric"],
)
def test_on_a_grid_the_law_of_the_noise_is_all_that_is_left(model: GridNoise, before: tuple[ScoreDefence, ...]) -> None:
    """It plays: right as often as the certificate allows, no more, and more than nothing."""
    n = 50
    channel, right = ScoreChannel(loss=LogLoss(), scorer="float64", queries=n), 0
    setting = _setting(UlpGrid(), _data(n), *before, ScoreNoise(model=model))
    for seed in range(8):
        played = channel.play(setting, curator_rng=np.random.default_rng(seed), attack_rng=np.random.default_rng(2))
        assert played.evidence["answers explained"] == 1.0
        right += played.n_correct
    ceiling = min(item.accuracy for item in PrivateScores().ceilings(channel.threat(setting)))
    assert 0.52 < right / (8 * n) <= ceiling + 3 * math.sqrt(0.25 / (8 * n))


@attrs.frozen(kw_only=True)
class InFloats(Geometric):
    """Geometric noise that meets its score in doubles: it says that it is certified, and is not."""

    def together(self, values: NDArray[Any], steps: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.asarray(values + steps * self.step)


def test_noise_that_only_says_that_it_is_on_a_grid_is_seen_through() -> None:
    n = 50
    channel = ScoreChannel(loss=LogLoss(), scorer="float64", queries=4 * n)
    setting = _setting(UlpGrid(), _data(n), RoundScore(decimals=4), ScoreNoise(model=InFloats(scale=20.0, step=1e-4)))
    played = channel.play(setting, curator_rng=np.random.default_rng(0), attack_rng=np.random.default_rng(2))
    honest = _setting(UlpGrid(), _data(n), RoundScore(decimals=4), ScoreNoise(model=Geometric(scale=20.0, step=1e-4)))
    assert played.n_correct / n > min(item.accuracy for item in PrivateScores().ceilings(channel.threat(honest))) + 0.1
    assert PrivateScores().ceilings(channel.threat(setting)) == ()  # what derives from it is somebody's own


@pytest.mark.parametrize(
    ("defences", "scorer", "reason"),
    [
        ((), "float64", "one stage of noise"),
        ((ScoreNoise(model=Laplace()), ScoreNoise(model=Laplace())), "float64", "one stage of noise"),
        ((ScoreNoise(model=Laplace()), RoundScore(decimals=3)), "float64", "noise on it and nothing else"),
        ((ScoreNoise(model=Gaussian()),), "float64", "NumPy's Laplace sampler only"),
        ((ScoreNoise(model=Laplace()),), "exact", "to the last bit, in doubles"),
    ],
)
def test_it_says_what_it_lacks(defences: tuple[ScoreDefence, ...], scorer: str, reason: str) -> None:
    channel = ScoreChannel(loss=LogLoss(), scorer=scorer)
    threat = channel.threat(_setting(SupportOfTheSampler(), _data(10), *defences))
    assert reason in SupportOfTheSampler().unsupported_reason(threat)


@given(st.floats(0.01, 100), st.floats(-2, 2), st.integers(0, 2**32 - 1))
def test_the_draw_that_was_made_is_always_found(scale: float, score: float, seed: int) -> None:
    """NumPy's own sampler, both of its branches: the inverse never loses the draw it looks for."""
    for noise in np.random.default_rng(seed).laplace(0.0, scale, 20).tolist():
        counted = laplace_draws(score + noise, score, scale)
        assert math.isnan(counted) or counted >= 1
        assert reaching_doubles(score + noise, score) > 0


@example(score=0.8899056293718188, noise=-8.0)  # doubles lie twice as close on one side as on the other
@given(st.floats(0.5, 1), st.floats(-8, 8))
def test_reaching_doubles_are_those_whose_sum_is_the_answer(score: float, noise: float) -> None:
    answer = score + noise
    near = {answer - score}
    for _ in range(4):
        near |= {math.nextafter(value, side) for value in near for side in (-math.inf, math.inf)}
    hits = [value for value in near if score + value == answer]
    assert hits
    if math.ulp(answer - score) > math.ulp(answer):
        widths = [math.nextafter(value, math.inf) - math.nextafter(value, -math.inf) for value in hits]
        assert reaching_doubles(answer, score) == sum(widths) / 2


def test_what_no_double_reaches_weighs_nothing() -> None:
    # -4.3 + s for s in [1/2, 1): the noise is a multiple of 2**-50, the answer of 2**-51.
    score, noise = 0.5 + 2.0**-51, -4.25
    answer = score + noise
    assert Fraction(answer) == Fraction(score) + Fraction(noise)
    assert reaching_doubles(answer, score) > 0
    assert reaching_doubles(answer, 0.5) == 0
