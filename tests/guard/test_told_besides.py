"""What was told and stands in no ledger: the final scores, a board that was begun before, rows that were lost."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from labelinf_core.cli import main
from labelinf_core.contracts.errors import InputError
from labelinf_guard import files
from labelinf_guard.board import Board, TeamAnswer
from labelinf_guard.clock import StepClock
from labelinf_guard.files import State, derived, read_key
from labelinf_guard.ledger.store import Ledger
from labelinf_guard.ledger.verify import verify
from labelinf_guard.status import shown, status_of
from labelinf_privacy.words import SeededWords

pytestmark = pytest.mark.long

N = 600
LABELS = np.random.default_rng(5).integers(0, 2, N)
TOML = """\
[board]
labels = "labels.csv"
id = "id"
label = "label"
classes = ["0", "1"]
metric = "accuracy"
[public]
share = 0.1
[release]
beat = 1.0
{release}
[final]
scores = {scores}
[budget]
per_team_day = 90
per_board = 60
[target]
gain = 0.06
counts_known = false
{target}
"""


def begun(folder: Path, *, scores: int = 50, release: str = "", target: str = "") -> Board:
    (folder / "labels.csv").write_text("id,label\n" + "".join(f"r{at:03d},{y}\n" for at, y in enumerate(LABELS)))
    path = folder / "board.toml"
    path.write_text(TOML.format(scores=scores, release=release, target=target))
    return Board.init(path, clock=StepClock(), words=SeededWords(np.random.default_rng(1)))


def send(board: Board, rows: np.ndarray, team: str) -> None:
    text = "id,prediction\n" + "".join(f"r{at:03d},{int(row)}\n" for at, row in enumerate(rows))
    assert isinstance(board.submit(team, text.encode()), TeamAnswer)


def read_blocks(board: Board, teams: int) -> np.ndarray:
    """Guess all labels from the final scores, as whoever sends one block of records as positive for each team."""
    block = np.arange(N) % teams
    for team in range(teams):
        send(board, block == team, f"t{team}")
    told = {row["team"]: float(row["score"]) for row in board.release()}
    scores = np.array([told[f"t{team}"] for team in range(teams)])
    return np.asarray((scores > np.median(scores))[block], dtype=int)


def guard(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["guard", *arguments], catch_exceptions=False)


def restored(board: Board, tell: Callable[[Board], object]) -> State:
    """Put back a copy of the ledger that was made before something was told."""
    state = State.of(board._path)
    board.close()
    copy = state.ledger.with_name("copy")
    shutil.copy(state.ledger, copy)
    again = Board.open(board._path, clock=StepClock())
    tell(again)
    again.close()
    for name in ("ledger.sqlite-wal", "ledger.sqlite-shm"):
        (state.directory / name).unlink(missing_ok=True)
    copy.replace(state.ledger)
    return state


def test_an_audit_says_until_when_it_holds_and_certifies_nothing_once_the_final_scores_are_out(tmp_path: Path) -> None:
    """Fifty final scores are worth eight points to whoever sends blocks; the certificate is of 5.5."""
    board = begun(tmp_path)
    found = guard("audit", str(board._path), "--json")
    assert found.exit_code == 0
    assert "until the final release, after which 49.2 points" in json.loads(found.output)["certificate"]["says"]
    guess = read_blocks(board, 50)
    assert np.mean(guess == LABELS) > max(np.mean(LABELS), 1 - np.mean(LABELS)) + 0.06
    board.close()
    found = guard("audit", str(board._path))
    assert found.exit_code == 3
    assert "the final scores are out" in " ".join(found.output.split())


def test_an_audit_certifies_nothing_where_another_board_scores_the_same_labels(tmp_path: Path) -> None:
    board = begun(tmp_path, scores=0)
    board.close()
    assert guard("audit", str(board._path)).exit_code == 0
    other = tmp_path / "second.toml"
    other.write_text(board._path.read_text())
    Board.init(other, clock=StepClock()).close()
    found = guard("audit", str(board._path))
    assert found.exit_code == 3
    assert "second.toml" in " ".join(found.output.split())


def test_a_board_that_is_begun_again_says_that_it_was_begun_before(tmp_path: Path) -> None:
    """Each time another tenth is public: ten of them show every label, and each proves five points."""
    board = begun(tmp_path, scores=0)
    assert board.others() == []
    state = State.of(board._path)
    board.close()
    shutil.rmtree(state.directory)
    again = Board.init(board._path, clock=StepClock())
    assert again.others() == ["board.toml, begun before"]
    again.close()
    assert "board.toml, begun before" in guard("status", str(board._path)).output
    assert Board.open(board._path).others() == ["board.toml, begun before"]  # and the second one is itself


def test_what_an_earlier_version_noted_of_the_same_place_is_the_board_that_is_there_or_one_before(
    tmp_path: Path,
) -> None:
    labels, board, note = tmp_path / "labels.csv", tmp_path / "board.toml", tmp_path / "labels.csv.boards"
    note.write_text("board.toml\n")
    assert files.known_boards(labels, board, b"key") == []  # it goes on
    note.write_text("board.toml\n")
    for fresh in (True, False, False):
        assert files.known_boards(labels, board, b"key", fresh=fresh) == ["board.toml, begun before"]


def test_a_note_that_cannot_be_written_is_read_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(path: Path, data: bytes) -> None:
        raise PermissionError

    (tmp_path / "labels.csv.boards").write_text("earlier.toml\n")
    monkeypatch.setattr(files, "write_private", refused)
    assert files.known_boards(tmp_path / "labels.csv", tmp_path / "board.toml", b"key") == ["earlier.toml"]


def test_the_final_scores_are_not_released_again_from_a_copy_of_the_ledger(tmp_path: Path) -> None:
    board = begun(tmp_path, scores=5)
    send(board, np.arange(N) % 7 == 0, "t")
    state = restored(board, lambda again: again.release())
    assert verify(state.ledger, derived(read_key(state.key), "chain"), anchor=state.anchor).faults
    assert guard("verify", str(board._path)).exit_code == 1
    assert guard("adopt", str(board._path)).exit_code == 0
    again = Board.open(board._path, clock=StepClock())
    send(again, np.arange(N) % 7 == 1, "t")
    with pytest.raises(InputError, match="may be out already"):
        again.release()
    again.close()
    assert guard("verify", str(board._path)).exit_code == 0


def test_a_copy_from_which_no_final_score_can_be_missing_is_gone_on_with(tmp_path: Path) -> None:
    board = begun(tmp_path, scores=5)
    send(board, np.arange(N) % 7 == 0, "t")
    restored(board, lambda again: send(again, np.arange(N) % 7 == 1, "t"))
    assert guard("adopt", str(board._path)).exit_code == 0
    again = Board.open(board._path, clock=StepClock())
    assert [row["team"] for row in again.release()] == ["t"]


def test_final_scores_may_be_among_rows_that_no_anchor_tells_of(tmp_path: Path) -> None:
    board = begun(tmp_path, scores=5)
    send(board, np.arange(N) % 7 == 0, "t")
    state = State.of(board._path)
    board.close()
    Ledger.adopt(state.ledger, state.anchor, derived(read_key(state.key), "chain"), StepClock(), lost=1)
    again = Board.open(board._path, clock=StepClock())
    with pytest.raises(InputError, match="may be out already"):
        again.release()


def test_a_board_that_releases_nothing_is_closed_after_rows_were_lost_too(tmp_path: Path) -> None:
    board = begun(tmp_path, scores=0)
    send(board, np.arange(N) % 7 == 0, "t")
    board.close()
    assert guard("adopt", str(board._path), "--lost", "1").exit_code == 0
    again = Board.open(board._path, clock=StepClock())
    assert again.release() == again.release() == []
    assert again.ledger.book.closed == "This board is closed."
    again.close()
    assert guard("verify", str(board._path)).exit_code == 0


def test_an_odometer_counts_what_was_told_and_lost(tmp_path: Path) -> None:
    noisy = "noise = 0.05"
    board = begun(tmp_path, scores=0, release=noisy, target="perfect = 0.5")
    send(board, np.arange(N) % 7 == 0, "t")
    before = status_of(board, seconds=1)["odometer"]["bits"]

    def told(again: Board) -> None:
        for k in range(1, 6):
            send(again, np.arange(N) % 7 == k, "t")

    restored(board, told)
    assert guard("adopt", str(board._path)).exit_code == 0
    again = Board.open(board._path, clock=StepClock())
    assert status_of(again, seconds=1)["odometer"]["bits"] > before + 10


def test_no_line_of_one_list_is_shown_once_the_final_scores_are_out(tmp_path: Path) -> None:
    board = begun(tmp_path, scores=50, release="noise = 0.05", target="perfect = 0.5")
    send(board, np.arange(N) % 7 == 0, "t")
    told = " ".join(shown(status_of(board, seconds=1)))
    assert "one list of guesses" in told
    assert "before the final release" in told
    board.release()
    again = status_of(board, seconds=1)
    assert again["line"]["now"] is None
    assert "one list of guesses fixed by a rule is right" not in " ".join(
        line for line in shown(again) if not line.startswith("Game.")
    )
