"""Predicted values cut to the range of the labels: what noise and rounding need before they count."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from labelinf_core.contracts.components import LabelSet, Setting
from labelinf_core.contracts.errors import InputError, UnfitError
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.game.scoring import Query
from labelinf_scores.game.threat import ScoreThreat

BUILDER = Builder(Host.load())
VALUES = (-1.0, 0.5, 3.0)


def made(n_records: int, names: tuple[str, ...] = ("-1", "0.5", "3")) -> LabelSet:
    labels = np.arange(n_records) % len(names)
    return LabelSet(labels=labels, class_names=names, title="made", provenance="made")


def board(metric: str, queries: int = 0) -> ScoreChannel:
    return ScoreChannel(metric=BUILDER.build(Kind.METRIC, metric, "test"), queries=queries)


def threat(metric: str, *defences: str, n: int = 24, queries: int = 0) -> ScoreThreat:
    setting = Setting(data=made(n), defences=BUILDER.pipeline(defences, "test"))
    return board(metric, queries).threat(setting)


@pytest.mark.parametrize("metric", ["mse", "rmse", "mae", "pinball(alpha=0.2)", "pinball(alpha=0.7)"])
@pytest.mark.parametrize("ends", [(-1.0, 3.0), (0.0, 1.0), (-2.0, 4.0)])
def test_no_label_moves_a_confined_score_further_than_is_said(metric: str, ends: tuple[float, float]) -> None:
    """Every labelling of three records, every prediction at an end, every label exchanged for every other."""
    scored, grid, moved = BUILDER.build(Kind.METRIC, metric, "test"), ends, 0.0
    for predictions in itertools.product(grid, repeat=3):
        rows = np.array(predictions)
        scores = {labels: scored.score(np.array(labels), rows) for labels in itertools.product(VALUES, repeat=3)}
        for labels, score in scores.items():
            moved = max(moved, *(abs(score - scores[(other, *labels[1:])]) for other in VALUES))
    width = max(ends[1], 3.0) - min(ends[0], -1.0)
    assert moved <= scored.moved(3, width) * (1 + 1e-12)
    if ends == (-1.0, 3.0):
        assert moved == pytest.approx(scored.moved(3, width))


def test_what_lies_beyond_counts_as_the_end() -> None:
    data, channel = made(6), board("mae")
    setting = Setting(data=data, defences=BUILDER.pipeline(("confine",), "test"))
    curator = channel.curator(data.labels, channel.threat(setting), np.random.default_rng(0))
    far = float(curator.answer(Query(predictions=np.full(6, 2.0**80))))
    assert far == float(curator.answer(Query(predictions=np.full(6, 3.0)))) == pytest.approx((4 + 2.5 + 0) / 3)


@pytest.mark.parametrize("metric", ["mse", "rmse", "mae", "pinball"])
def test_behind_it_noise_is_calibrated_and_certified(metric: str) -> None:
    with pytest.raises(InputError, match=r"predictions have no bound.*put confine nearer to the scorer"):
        threat(metric, "laplace-dp(epsilon=1, queries=20)", queries=20)
    told = threat(metric, "confine", "laplace-dp(epsilon=1, queries=20)", queries=20)
    assert told.label_epsilon == 1.0
    assert told.facts.span == 24 * BUILDER.build(Kind.METRIC, metric, "test").moved(24, 4.0)


@pytest.mark.parametrize("metric", ["r2", "rmsle", "d2-absolute"])
def test_where_nothing_is_proved_of_a_metric_confining_it_proves_nothing(metric: str) -> None:
    names = ("0", "1", "3")
    setting = Setting(data=made(24, names), defences=BUILDER.pipeline(("confine",), "test"))
    assert math.isinf(board(metric).threat(setting).facts.span)
    noisy = Setting(data=made(24, names), defences=BUILDER.pipeline(("confine", "laplace-dp(epsilon=1)"), "test"))
    with pytest.raises(InputError, match="nobody has proved by how much one label moves"):
        board(metric).threat(noisy)


def test_it_suits_values_only_and_leaves_some() -> None:
    with pytest.raises(UnfitError, match="clip is for probabilities"):
        board("accuracy").threat(Setting(data=made(9), defences=BUILDER.pipeline(("confine",), "test")))
    with pytest.raises(InputError, match="low must be less than high"):
        threat("mse", "confine(low=5)")


@pytest.mark.parametrize(("power", "names"), [(4, ("0", "3", "9")), (2, ("100", "100.5", "101"))])
def test_what_derives_from_a_shipped_metric_has_no_sensitivity_in_any_range(power: int, names: tuple[str, ...]) -> None:
    """Between 0 and 1 a power of errors, or errors of powers, move no further than errors: elsewhere they do."""
    kind = type(BUILDER.build(Kind.METRIC, "mse", "test"))

    class Copied(kind):  # type: ignore[misc, valid-type]
        def score(self, labels: np.ndarray, predictions: np.ndarray) -> float:
            if power == 4:
                return float(np.mean((labels - predictions) ** 4))
            return float(np.mean(np.abs(labels**2 - predictions**2)))

    setting = Setting(data=made(24, names), defences=BUILDER.pipeline(("confine",), "test"))
    assert math.isinf(ScoreChannel(metric=Copied()).threat(setting).sensitivity)
    assert math.isfinite(board("mse").threat(setting).sensitivity)


def test_a_confined_score_in_whole_numbers_has_few_values_which_a_limit_on_queries_makes_count() -> None:
    """Rounding alone leaves an error of values as many as it likes."""
    bound = BUILDER.build(Kind.BOUND, "counting", "test")
    loose = threat("mse", "round(decimals=0)", queries=3)
    tight = threat("mse", "confine", "round(decimals=0)", queries=3)
    assert bound.ceilings(loose) == ()
    (ceiling,) = bound.ceilings(tight)
    assert ceiling.exact < 1e-2


@pytest.mark.long
@pytest.mark.parametrize(
    ("metric", "decimals"),
    [("mse", 0), ("rmse", 1), ("rmsle", 2), ("r2", 1), ("mae", 1), ("pinball(alpha=0.3)", 1), ("d2-absolute", 1)],
)
def test_confined_and_rounded_scores_give_every_label_away_all_the_same(metric: str, decimals: int) -> None:
    """The level of all others shifts the score to where its rounding changes, within the range too."""
    attack, stages = BUILDER.build(Kind.ATTACK, "shifted-levels", "test"), ("confine", f"round(decimals={decimals})")
    data = made(18, ("0", "1", "2.5", "4"))
    setting = Setting(data=data, attack=attack, defences=BUILDER.pipeline(stages, "test"))
    assert attack.unsupported_reason(board(metric).threat(setting)) == ""
    outcome = board(metric).play(setting, curator_rng=np.random.default_rng(0), attack_rng=np.random.default_rng(1))
    assert outcome.n_correct >= 17
    assert "contradiction" not in outcome.evidence


def test_a_range_that_is_less_than_that_of_the_labels_is_not_read() -> None:
    attack = BUILDER.build(Kind.ATTACK, "shifted-levels", "test")
    assert "less than the range" in attack.unsupported_reason(threat("mse", "confine(high=2)", "round(decimals=0)"))


@pytest.mark.parametrize(
    "ranges",
    list(itertools.permutations(["confine(low=0, high=1)", "confine(low=5, high=6)", "confine(low=0.5, high=9)"], 2)),
)
def test_two_ranges_leave_what_is_left_of_one_after_the_other(ranges: tuple[str, str]) -> None:
    """Ranges that lie apart leave one of their ends, beyond all labels perhaps, and not their least common range."""
    data, channel = made(4, ("0", "1")), board("mse")
    setting = Setting(data=data, defences=BUILDER.pipeline(ranges, "test"))
    told, predictions = channel.threat(setting), Query(predictions=np.full(4, 7.0))
    labels = [data.labels, np.array([1 - data.labels[0], *data.labels[1:]])]
    rng = np.random.default_rng(0)
    scores = [float(channel.curator(some, told, rng).answer(predictions)) for some in labels]
    assert abs(scores[0] - scores[1]) <= told.sensitivity * (1 + 1e-12)


def test_a_floor_of_noise_is_not_said_of_predictions_that_are_cut_to_a_range() -> None:
    """It is without limit where predictions are: here noise of the range of the score hides every label."""
    bound = BUILDER.build(Kind.BOUND, "metric-noise", "test")
    assert [line.value for line in bound.evaluate(threat("mse"))] == [math.inf]
    assert bound.evaluate(threat("mse", "confine")) == ()


@pytest.mark.parametrize("attack", ["labelling-table", "thresholds", "linear-weights"])
@pytest.mark.parametrize("confined", ["confine", "confine(low=0.7)", "confine(low=-2, high=2)"])
@pytest.mark.parametrize("metric", ["mse", "rmse", "mae", "pinball(alpha=0.3)"])
def test_attacks_read_the_predictions_that_are_scored(metric: str, confined: str, attack: str) -> None:
    """What was sent lay beyond the range, and the host was told that her scorer is another than was assumed."""
    played = BUILDER.build(Kind.ATTACK, attack, "test")
    setting = Setting(data=made(12), attack=played, defences=BUILDER.pipeline((confined,), "test"))
    if played.unsupported_reason(board(metric).threat(setting)):
        return
    outcome = board(metric).play(setting, curator_rng=np.random.default_rng(0), attack_rng=np.random.default_rng(1))
    assert "contradiction" not in outcome.evidence
    assert outcome.n_correct >= outcome.evidence["labels decided"]


@pytest.mark.parametrize("metric", ["mse", "mae"])
def test_amounts_that_lie_far_apart_are_read_in_little_memory(metric: str) -> None:
    attack = BUILDER.build(Kind.ATTACK, "shifted-levels", "test")
    stages = BUILDER.pipeline(("round(decimals=4)",), "test")
    setting = Setting(data=made(6, ("1", "1000000000")), attack=attack, defences=stages)
    rngs = np.random.default_rng(0), np.random.default_rng(1)
    outcome = board(metric, queries=4).play(setting, curator_rng=rngs[0], attack_rng=rngs[1])
    assert outcome.n_correct >= outcome.evidence["labels decided"]
