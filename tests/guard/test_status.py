"""What the host alone is shown: labels that are determined, what noise has told, and who asks instead of predicting."""

from __future__ import annotations

import math
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from labelinf_core.contracts.errors import InputError
from labelinf_guard.audit import odometer
from labelinf_guard.board import Board, TeamAnswer
from labelinf_guard.certificate.gain import game_line
from labelinf_guard.clock import StepClock
from labelinf_guard.status import shown, status_of
from labelinf_privacy.words import SeededWords

HEAD = '[board]\nlabels = "labels.csv"\nid = "id"\nlabel = "label"\nclasses = ["0", "1"]\nmetric = "{metric}"\n'
TAIL = (
    "[budget]\nper_team = 99\nper_team_day = 99\nper_board = 500\n[target]\ngain = 0.5\naccept_void = true\n{target}\n"
)


def begin(folder: Path, labels: np.ndarray, text: str, metric: str = "accuracy", target: str = "") -> Board:
    folder.mkdir(exist_ok=True)
    rows = "".join(f"r{at:04d},{label}\n" for at, label in enumerate(labels))
    (folder / "labels.csv").write_text(f"id,label\n{rows}")
    (folder / "board.toml").write_text(HEAD.format(metric=metric) + text + TAIL.format(target=target))
    words = SeededWords(np.random.default_rng(1))
    return Board.init(folder / "board.toml", clock=StepClock(), words=words)


def send(board: Board, rows: Any, team: str = "a") -> str:
    text = "id,prediction\n" + "".join(f"r{at:04d},{row}\n" for at, row in enumerate(rows))
    answer = board.submit(team, text.encode())
    assert isinstance(answer, TeamAnswer)
    return answer.score


@pytest.mark.parametrize("metric", ["accuracy", "log-loss", "roc-auc"])
def test_labels_that_answers_determine_are_counted(tmp_path: Path, metric: str) -> None:
    """Twelve labels, of which the public ones are read one by one; then all of those are determined, and no others."""
    labels = np.random.default_rng(3).permutation(np.repeat([0, 1], 6))
    board = begin(tmp_path, labels, "[public]\nshare = 0.75\n[release]\ndecimals = 4\n", metric)
    inside = np.flatnonzero(board.public)
    assert status_of(board, seconds=5)["labels"] == {"status": "nothing was told"}
    base = np.full(12, 0) if metric == "accuracy" else np.full(12, 0.5)
    send(board, base)
    first = status_of(board, seconds=5)["labels"]
    assert (first["status"], first["determined"], first["open"]) == ("audited", 0, inside.size)
    for at in inside:
        changed = base.copy()
        changed[at] = 1 if metric == "accuracy" else 0.9
        send(board, changed)
    found = status_of(board, seconds=5)
    assert found["labels"]["determined"] == inside.size
    assert f"labels already determined: {inside.size} (proved)" in "\n".join(shown(found))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[public]\nshare = 1.0\nflip = 0.3\n", "labels are replaced"),
        ("[public]\nshare = 1.0\n[release]\nnoise = 0.1\n", "answers are noisy"),
        ('[public]\nshare = 1.0\n[release]\nshow = "records"\n', "records, ranks and cut scores"),
    ],
)
def test_what_is_not_read_is_said(tmp_path: Path, text: str, said: str) -> None:
    board = begin(tmp_path, np.random.default_rng(0).integers(0, 2, 40), text)
    send(board, np.ones(40, dtype=int))
    assert said in "\n".join(shown(status_of(board, seconds=1)))


def test_labels_that_were_changed_since_are_noticed(tmp_path: Path) -> None:
    labels = np.random.default_rng(0).integers(0, 2, 40)
    board = begin(tmp_path, labels, "[public]\nshare = 1.0\n")
    send(board, labels)
    board._codes[:] = 1 - board._codes
    assert "they were changed" in status_of(board, seconds=1)["labels"]["status"]


@pytest.mark.long
def test_sealed_labels_that_were_changed_are_refused_and_a_board_of_0_1_still_opens(tmp_path: Path) -> None:
    """Nobody's answers follow the sealed labels: without a digest the final scores would be of other ones."""
    labels = np.random.default_rng(3).integers(0, 2, 40)
    board = begin(tmp_path, labels, "[public]\nshare = 0.5\n[release]\ndecimals = 2\n")
    at = int(np.flatnonzero(~board.public)[0])
    board.close()
    text = (tmp_path / "labels.csv").read_text()
    (tmp_path / "labels.csv").write_text(text.replace(f"r{at:04d},{labels[at]}", f"r{at:04d},{1 - labels[at]}"))

    with pytest.raises(InputError, match="other ids or labels than when the board was begun"):
        Board.open(tmp_path / "board.toml")

    (tmp_path / "labels.csv").write_text(text)
    with closing(Board.open(tmp_path / "board.toml", clock=StepClock())) as again:
        assert again.public.sum() == board.public.sum()


def test_a_ledger_that_is_ahead_of_the_clock_says_so(tmp_path: Path) -> None:
    labels = np.random.default_rng(3).integers(0, 2, 40)
    board = begin(tmp_path, labels, "[public]\nshare = 0.5\n[release]\ndecimals = 2\n")
    assert "ahead" not in "\n".join(shown(status_of(board, seconds=1)))
    board.ledger.clock.wait(3 * 86_400_000)
    send(board, labels)
    board.close()

    with closing(Board.open(tmp_path / "board.toml", clock=StepClock())) as late:
        assert "time is 72.0 hours after this machine" in "\n".join(shown(status_of(late, seconds=1)))


def test_the_odometer_is_below_the_charge_and_no_game_beats_its_line(tmp_path: Path) -> None:
    """B5 by play: signs of noisy comparisons, guessed by their sums."""
    n, games, beaten, bits, charges = 48, 3, 0, [], []
    for seed in range(games):
        labels = np.random.default_rng([seed, 1]).integers(0, 2, n)
        text = "[public]\nshare = 1.0\n[release]\nnoise = 0.1\ndecimals = 2\n"
        board = begin(tmp_path / str(seed), labels, text, target="perfect = 0.5\ncounts_known = false\ndoubt = 0.001")
        rng, votes = np.random.default_rng(seed), np.zeros(n)
        for _ in range(25):
            rows = rng.integers(0, 2, n)
            votes += (float(send(board, rows)) - 0.5) * (2 * rows - 1)
        found = odometer(board)
        allowed = max(0.0, found["bits"]) + math.log2(n + 1)  # without it games beat the line now and then
        assert found["line"] == game_line(allowed, n, 0.5, doubt=0.001)
        right = int(np.sum((votes > 0) == labels))
        beaten += found["line"] is not None and right / n >= found["line"]
        bits.append(found["bits"])
        charges.append(board.ledger.book.spent / 1024)
        tail = binom.sf(right - 1, n, 0.5)
        assert tail > 0.001 * 2 ** -(max(0.0, found["bits"]) + math.log2(n + 1))
    assert beaten == 0
    assert np.mean(bits) < np.mean(charges) / 2
    assert 25 / 2 * math.log2(1 + 1 / (4 * n * 0.01)) * 0.5 < np.mean(bits)


def test_the_line_rises_with_what_was_charged(tmp_path: Path) -> None:
    labels = np.random.default_rng(0).integers(0, 2, 3000)
    board = begin(tmp_path, labels, "[public]\nshare = 1.0\n", target="perfect = 0.5")
    lines = [status_of(board, seconds=0.1)["line"]["now"]]
    for seed in range(3):
        send(board, np.random.default_rng(seed).integers(0, 2, 3000))
        lines.append(status_of(board, seconds=0.1)["line"]["now"])
    assert lines == sorted(set(lines))
    assert 0.5 < lines[0] < lines[-1] < 0.6
    said = "\n".join(shown(status_of(board, seconds=0.1)))
    assert f"fixed by a rule is right on {100 * lines[-1]:.1f} % or more" in said
    assert "with probability 1e-06 at most, if a perfect model is right on 50 % on average (your assumption" in said


@pytest.mark.long
def test_who_asks_is_dearer_than_who_predicts(tmp_path: Path) -> None:
    """Honest teams of skill .86 stay near each other; one that asks by blocks does not, cheap as it becomes."""
    rng = np.random.default_rng(4)
    labels = rng.integers(0, 2, 1000)
    board = begin(tmp_path, labels, "[public]\nshare = 1.0\n")
    for at in range(24):
        send(board, np.where(rng.random(1000) < 0.86, labels, 1 - labels), f"t{at % 6}")
        if at % 3 == 0:
            block = np.isin(np.arange(1000) // 125, rng.choice(8, 3, replace=False))
            send(board, np.where(block, labels, 1 - labels), "asks")
    found = {team["team"]: team["surprising"] for team in status_of(board, seconds=0.1)["teams"]}
    own = [entry.charge for entry in board.ledger.book.entries if entry.team == "asks"]
    assert own[-1] < own[0] / 3
    assert found == {**{f"t{at}": False for at in range(6)}, "asks": True}
