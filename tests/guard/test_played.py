"""Every attack on scores plays the deployed board through its public interface; none is above its certificate."""

from __future__ import annotations

import contextlib
import gc
import math
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from labelinf_core.cli import main
from labelinf_core.contracts.components import LabelSet, Setting
from labelinf_core.contracts.errors import InputError
from labelinf_core.contracts.exits import Exit
from labelinf_core.contracts.guarantees import Ceiling
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_core.testing.rules import NotApplicableError
from labelinf_guard import played
from labelinf_guard.bounds import GuardedGain
from labelinf_guard.played import GuardedBoard
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.game.curator import Query
from labelinf_scores.metrics.log_loss import LogLoss
from labelinf_scores.rules import RULES

POLICIES = [
    GuardedBoard(share=0.25),
    GuardedBoard(bits=60, rule="uniform"),
    GuardedBoard(bits=40),
    GuardedBoard(noise=0.5, answers=20),
    GuardedBoard(share=0.5, bits=60),
    GuardedBoard(share=0.3, noise=0.3, answers=20),
    GuardedBoard(decimals=1, bits=60),
    GuardedBoard(decimals=5, bits=60, rule="uniform"),
    GuardedBoard(noise=0.2, decimals=1, answers=10),
    GuardedBoard(noise=1.0, answers=100),
    GuardedBoard(share=0.1),
    GuardedBoard(flip=0.35),
    GuardedBoard(show="records", decimals=1),
    GuardedBoard(show="records", decimals=2, bits=60),
    GuardedBoard(show="ranks", answers=15),
    GuardedBoard(show="ranks", bits=40),
    GuardedBoard(show="ranks", share=0.3),
]
ATTACKS = (
    "ladder-descent",
    "rank-comparisons",
    "camouflage",
    "hadamard",
    "subset-inference",
    "hybrid",
    "adaptive-weights",
    "majority",
)
LABELS = np.random.default_rng(8).permutation(np.repeat([0, 1], [90, 110])).astype(np.intp)
DATA = LabelSet(labels=LABELS, class_names=("no", "yes"), title="made", provenance="made")
CHANNEL = ScoreChannel(loss=LogLoss(), queries=12)
HOST = Host.load()


def reached(policy: GuardedBoard, name: str, games: int) -> np.ndarray:
    """Shares of right guesses, one a game; none where the attack does not fit."""
    attack = Builder(HOST).build(Kind.ATTACK, name, "attack")
    setting = Setting(data=DATA, attack=attack, defences=(policy,))
    if attack.unsupported_reason(CHANNEL.threat(setting)):
        return np.array([])
    played = [
        CHANNEL.play(setting, curator_rng=np.random.default_rng([game, 1]), attack_rng=np.random.default_rng([game, 2]))
        for game in range(games)
    ]
    return np.array([outcome.n_correct / outcome.n_records for outcome in played])


def held(policy: GuardedBoard, games: int, attacks: tuple[str, ...]) -> int:
    """Hold means against the ceiling and three standard errors, and every game against the line of one in a million."""
    threat = CHANNEL.threat(Setting(data=DATA, defences=(policy,)))
    ceiling = min((item.accuracy for item in GuardedGain().ceilings(threat)), default=1.0)
    line = policy.certificate(threat).line or 1.0
    shares = [found for name in attacks if (found := reached(policy, name, games)).size]
    for found in shares:
        error = max(found.std(), 0.5 / math.sqrt(LABELS.size)) / math.sqrt(found.size)
        assert found.mean() <= ceiling + 3 * error
        assert found.max() <= line
    return len(shares)


@pytest.mark.long
@pytest.mark.parametrize("policy", [POLICIES[at] for at in (0, 2, 12, 14)], ids=repr)
def test_no_attack_is_above_the_certificate(policy: GuardedBoard) -> None:
    assert held(policy, 2, ATTACKS[:4])


def test_a_record_board_is_descended_and_ranks_are_compared_through_the_public_interface() -> None:
    """Each of the two attacks reads labels where nothing limits it, and what it reads is right."""
    channel = ScoreChannel(loss=LogLoss(), queries=0)
    small = LabelSet(labels=LABELS[:24], class_names=("no", "yes"), title="made", provenance="made")
    for policy, name in (
        (GuardedBoard(show="records", decimals=4), "ladder-descent"),
        (GuardedBoard(show="ranks", answers=100), "rank-comparisons"),
    ):
        setting = Setting(data=small, attack=Builder(HOST).build(Kind.ATTACK, name, "attack"), defences=(policy,))
        threat = channel.threat(setting)
        assert setting.attack is not None
        assert setting.attack.unsupported_reason(threat) == ""
        played = channel.play(setting, curator_rng=np.random.default_rng(1), attack_rng=np.random.default_rng(2))
        assert played.n_correct == played.n_records
        assert GuardedGain().ceilings(threat) == ()  # of so many answers nothing is proved, and nothing is printed


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_no_attack_of_thirty_games_is_above_the_certificate(policy: GuardedBoard) -> None:
    assert held(policy, 30, ATTACKS) >= 3


def test_the_certificate_is_the_ceiling() -> None:
    """And a board of which nothing is proved has none."""
    threat = CHANNEL.threat(Setting(data=DATA, defences=(POLICIES[1],)))
    (ceiling,) = GuardedGain().ceilings(threat)
    assert ceiling.accuracy == pytest.approx(0.55 + POLICIES[1].certificate(threat).now)
    assert GuardedGain().ceilings(CHANNEL.threat(Setting(data=DATA, defences=(GuardedBoard(),)))) == ()


def test_a_game_leaves_no_labels_on_the_disk_while_it_plays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A game that is killed cannot clean up behind itself."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    threat = CHANNEL.threat(Setting(data=DATA, defences=(POLICIES[0],)))
    playing = POLICIES[0].start(threat, np.random.default_rng(0))
    playing._begun(LABELS)  # type: ignore[attr-defined]
    assert list(tmp_path.rglob("ledger.sqlite"))
    assert not list(tmp_path.rglob("labels.csv"))


@pytest.mark.long
def test_what_a_killed_game_left_is_removed_by_the_next_and_a_running_one_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    threat = CHANNEL.threat(Setting(data=DATA, defences=(POLICIES[0],)))
    left = tmp_path / "labelinf-board-killed"
    left.mkdir()
    (left / "held").touch()
    playing = [POLICIES[0].start(threat, np.random.default_rng(at)) for at in range(2)]
    for one in playing:
        one._begun(LABELS)  # type: ignore[attr-defined]
    assert not left.exists()
    assert len(list(tmp_path.iterdir())) == 2
    del one, playing
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_nothing_stands_before_a_board() -> None:
    with pytest.raises(InputError, match="put nothing before it"):
        CHANNEL.threat(Setting(data=DATA, defences=(GuardedBoard(), GuardedBoard())))


@pytest.mark.long
def test_the_board_keeps_the_contract_of_defences() -> None:
    kept = 0
    for _, rule in RULES[Kind.DEFENCE]:
        with contextlib.suppress(NotApplicableError):
            rule(GuardedBoard())
            kept += 1
    assert kept >= 6


def test_the_plugin_is_found_by_its_name(install_fake: Callable[..., Path]) -> None:
    if "guard" not in {entry.name for entry in entry_points(group="labelinf")}:
        install_fake("labelinf-guard", entry="guard", module="labelinf_guard.plugin")
    host = Host.load(strict=True)
    assert host.find(Kind.DEFENCE, "guarded-board").load() is GuardedBoard
    assert "guard" in {command.name for command in host.commands()}


@pytest.mark.slow
def test_a_board_that_says_less_than_it_tells_fails_the_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, install_fake: Callable[..., Path]
) -> None:
    """``labelinf matrix guarded --fail-on contradiction`` is played by continuous integration; here one board lies."""
    if "guard" not in {entry.name for entry in entry_points(group="labelinf")}:
        install_fake("labelinf-guard", entry="guard", module="labelinf_guard.plugin")
    monkeypatch.chdir(tmp_path)
    said = Ceiling(accuracy=0.55, statement="s", conditions="c")
    monkeypatch.setattr(GuardedGain, "ceilings", lambda self, threat: (said,))
    board = "guarded-board(decimals=5)"  # nothing limits it: every label is read
    command = ["matrix", "--labels", "made(n_records=24)", "--channel", "score", "--attack", "hybrid"]
    command += ["--defence", board, "--only", "hybrid/guarded*", "--trials", "12", "--workers", "0", "--out", "run"]
    done = CliRunner().invoke(main, [*command, "--fail-on", "contradiction"], catch_exceptions=False)
    assert done.exit_code == Exit.FOUND, done.output
    assert "contradict" in done.output


def test_a_game_that_begins_is_not_swept_away_by_one_that_sweeps_just_then(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process looks for what was left between the moment a folder is there and the moment it is held."""
    lock = played.fcntl.flock

    def late(file: Any, how: int) -> None:
        if how == played.fcntl.LOCK_EX:
            played._swept()
        lock(file, how)

    monkeypatch.setattr(played.fcntl, "flock", late)
    data = LabelSet(labels=np.arange(8) % 2, class_names=("0", "1"), title="made", provenance="made")
    channel = ScoreChannel(loss=LogLoss(), scorer="float64")
    threat = channel.threat(Setting(data=data, defences=(GuardedBoard(share=0.5),)))
    curator = channel.curator(data.labels, threat, np.random.default_rng(0))
    assert math.isfinite(float(curator.answer(Query(predictions=np.full(8, 0.5)))))
