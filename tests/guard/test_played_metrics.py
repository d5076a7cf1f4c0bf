"""Metrics of the score channel on the deployed board: their attacks play it, and none is above its certificate."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from labelinf_core.contracts.components import LabelSet, Setting
from labelinf_core.contracts.errors import InputError
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder, parse
from labelinf_guard import scoring
from labelinf_guard.bounds import GuardedGain
from labelinf_guard.metrics import UnscorableError
from labelinf_guard.played import GuardedBoard, _Here
from labelinf_guard.terms import metric_of
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.game.utility import honest_panel, utility
from labelinf_scores.metrics.readings.registry import metric

BUILDER = Builder(Host.load())


def made(n: int, classes: int = 2) -> LabelSet:
    """So many labels, of classes of nearly equal size."""
    labels = np.random.default_rng(classes).permutation(np.arange(n) * classes // n).astype(np.intp)
    return LabelSet(labels=labels, class_names=tuple(str(k) for k in range(classes)), title="made", provenance="made")


def played(word: str, attack: str, policy: GuardedBoard, data: LabelSet, games: int) -> tuple[np.ndarray, float, float]:
    """Shares of right guesses of every game, the ceiling, and the line of one game."""
    channel = ScoreChannel(metric=metric(word))
    chosen = BUILDER.build(Kind.ATTACK, *_spec(attack))
    setting = Setting(data=data, attack=chosen, defences=(policy,))
    threat = channel.threat(setting)
    assert chosen.unsupported_reason(threat) == ""
    shares = []
    for game in range(games):
        outcome = channel.play(
            setting, curator_rng=np.random.default_rng([game, 1]), attack_rng=np.random.default_rng([game, 2])
        )
        assert outcome.evidence.get("contradiction") is None
        shares.append(outcome.n_correct / outcome.n_records)
    ceiling = min((item.accuracy for item in GuardedGain().ceilings(threat)), default=1.0)
    return np.array(shares), ceiling, policy.certificate(threat).line or 1.0


def _spec(attack: str) -> tuple[object, str]:
    return parse(attack, "attack"), "attack"


def held(word: str, attack: str, policy: GuardedBoard, data: LabelSet, games: int) -> np.ndarray:
    shares, ceiling, line = played(word, attack, policy, data, games)
    error = max(shares.std(), 0.5 / math.sqrt(data.n_records)) / math.sqrt(games)
    assert shares.mean() <= ceiling + 3 * error
    assert shares.max() <= line
    return shares


READ = [
    ("accuracy", "detecting-counts", 2),
    ("f1", "dithered-counts", 2),
    ("roc-auc", "spaced-ranks", 2),
    ("balanced-accuracy", "detecting-counts", 2),
    ("mse", "linear-weights", 4),
    ("rmse", "linear-weights", 4),
    ("mae", "thresholds", 4),
    ("accuracy", "detecting-classes", 3),
]  #: the guard's own metrics, what reads them, and classes
QUICK = (0, 2, 4, 6)


@pytest.mark.long
@pytest.mark.parametrize(
    ("word", "attack", "classes"),
    [case if at in QUICK else pytest.param(*case, marks=pytest.mark.slow) for at, case in enumerate(READ)],
)
def test_attacks_on_metrics_read_every_label_of_a_board_that_nothing_limits(
    word: str, attack: str, classes: int
) -> None:
    """So they play it: what the board makes of a query is what they take it for, whatever the metric."""
    policy = GuardedBoard(decimals=5)
    shares, ceiling, _ = played(word, attack, policy, made(16, classes), 1)
    assert shares.tolist() == [1.0]
    assert ceiling == 1.0  # nothing is proved there, and nothing is printed


LIMITED = [
    ("accuracy", "detecting-counts", GuardedBoard(bits=60), 2),
    ("accuracy", "scored-subset", GuardedBoard(share=0.3), 2),
    ("error", "scored-subset", GuardedBoard(share=0.5, decimals=4), 2),
    ("f1", "dithered-counts", GuardedBoard(bits=60, decimals=2, rule="uniform"), 2),
    ("roc-auc", "spaced-ranks", GuardedBoard(bits=60, rule="uniform"), 2),
    ("balanced-accuracy", "detecting-counts", GuardedBoard(bits=60), 2),
    ("mcc", "detecting-counts", GuardedBoard(bits=60), 2),
    ("ndcg", "ranked-block", GuardedBoard(bits=40, decimals=4), 2),
    ("mse", "linear-weights", GuardedBoard(bits=60, decimals=4), 4),
    ("rmse", "linear-weights", GuardedBoard(bits=60, decimals=5), 4),
    ("mae", "thresholds", GuardedBoard(bits=60, decimals=5), 4),
    ("accuracy", "detecting-classes", GuardedBoard(bits=60), 3),
]


@pytest.mark.long
@pytest.mark.parametrize(("word", "attack", "policy", "classes"), [LIMITED[at] for at in (1, 4, 9)])
def test_no_attack_on_a_metric_is_above_the_certificate(
    word: str, attack: str, policy: GuardedBoard, classes: int
) -> None:
    held(word, attack, policy, made(60, classes), 1)


@pytest.mark.slow
@pytest.mark.parametrize(("word", "attack", "policy", "classes"), LIMITED)
def test_no_attack_on_a_metric_of_many_games_is_above_the_certificate(
    word: str, attack: str, policy: GuardedBoard, classes: int
) -> None:
    held(word, attack, policy, made(120, classes), 30)


@pytest.mark.slow
def test_a_split_gives_its_part_away_and_no_more() -> None:
    """All of the scored records are read through three decimals: the certificate of a split is nearly attained."""
    data = made(120)
    shares, ceiling, _ = played("accuracy", "scored-subset", GuardedBoard(share=0.3), data, 4)
    assert 0.3 + 0.7 * 0.5 - 0.1 <= shares.mean() <= ceiling < 0.85


def test_honest_teams_send_classes_where_classes_are_scored() -> None:
    """A board takes no probabilities for accuracy: it was said to refuse all honest submissions."""
    found = utility(
        ScoreChannel(metric=metric("accuracy")),
        (GuardedBoard(),),
        honest_panel("breast-cancer"),
        np.random.default_rng(0),
        repeats=1,
    )
    assert found.refused == 0
    assert found.mean_error < 1e-3


def test_what_a_board_cuts_an_attack_is_told() -> None:
    """Rows sum to one: who relies on more says that it cannot play."""
    chosen = BUILDER.build(Kind.ATTACK, *_spec("ranked-columns"))
    setting = Setting(data=made(24, 3), attack=chosen, defences=(GuardedBoard(),))
    assert "sum to one" in chosen.unsupported_reason(ScoreChannel(metric=metric("roc-auc-ovr")).threat(setting))


def test_a_metric_without_a_range_must_be_given_one_and_what_is_cut_promises_nothing() -> None:
    channel = ScoreChannel(metric=metric("r2"))
    with pytest.raises(InputError, match="nothing is known of the range of r2"):
        channel.threat(Setting(data=made(24), defences=(GuardedBoard(),)))
    threat = channel.threat(Setting(data=made(24), defences=(GuardedBoard(low=0.0, high=1.0),)))
    assert math.isinf(threat.noise_bound)


def test_noise_on_what_one_label_moves_by_nobody_knows_how_far_is_refused() -> None:
    with pytest.raises(InputError, match="noise proves nothing for this metric"):
        ScoreChannel(metric=metric("f1")).threat(Setting(data=made(24), defences=(GuardedBoard(noise=0.1),)))


@pytest.mark.long
def test_a_game_starts_no_child_for_a_query(monkeypatch: pytest.MonkeyPatch) -> None:
    """What honest teams lose, and games of thousands of queries, took minutes at a second for each."""
    monkeypatch.setattr(scoring.subprocess, "Popen", None)
    for word in ("mcc", "average-precision"):
        found = utility(
            ScoreChannel(metric=metric(word)),
            (GuardedBoard(decimals=5),),
            honest_panel("breast-cancer").resized(40, np.random.default_rng(40)),
            np.random.default_rng(0),
            repeats=1,
        )
        assert found.refused == 0
        assert found.mean_error < 1e-5


@pytest.mark.long
def test_a_metric_is_in_a_game_what_it_is_in_a_child(tmp_path: Path) -> None:
    policy = GuardedBoard()
    threat = ScoreChannel(metric=metric("average-precision")).threat(Setting(data=made(24)))
    child = metric_of(policy._policy(threat), tmp_path)
    assert isinstance(child, scoring.OwnMetric)
    labels, rows = np.arange(24) % 2, np.random.default_rng(0).random((24, 2))
    assert _Here.of(child).score(labels, rows, 2) == child.score(labels, rows, 2)
    for game in (child, _Here.of(child)):
        with pytest.raises(UnscorableError):
            game.score(labels, np.full((24, 2), np.nan), 2)
