"""Files beside the ledger: one that was changed, swapped or lost is noticed, and what is lost can be sent again."""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from labelinf_core.contracts.errors import InputError
from labelinf_guard.board import Board, TeamAnswer
from labelinf_guard.clock import StepClock
from labelinf_guard.files import State, derived, read_key
from labelinf_guard.kept import SealedFiles
from labelinf_guard.ledger.verify import Verified, verify
from labelinf_guard.status import shown, status_of

N = 60
BOARD = """
[board]
labels = "labels.csv"
id = "id"
label = "label"
classes = ["0", "1"]
metric = "accuracy"
[public]
share = 0.5
[final]
scores = 2
[target]
accept_void = true
"""


def csv(rows: np.ndarray) -> bytes:
    return ("id,prediction\n" + "".join(f"r{at:02d},{row}\n" for at, row in enumerate(rows))).encode()


GOOD, BAD = np.arange(N) % 2, np.ones(N, dtype=int)


def begun(folder: Path) -> Path:
    """A board of a team that sent a good file, and then another."""
    folder.mkdir(exist_ok=True)
    (folder / "labels.csv").write_text("id,label\n" + "".join(f"r{at:02d},{at % 2}\n" for at in range(N)))
    path = folder / "board.toml"
    path.write_text(BOARD)
    board = Board.init(path, clock=StepClock())
    for rows in (BAD, GOOD):
        assert isinstance(board.submit("a", csv(rows)), TeamAnswer)
    board.close()
    return path


def verified(path: Path) -> Verified:
    state = State.of(path)
    key = read_key(state.key)
    return verify(state.ledger, derived(key, "chain"), files=SealedFiles(state=state, key=key).faults)


def _other_rows(data: bytes) -> bytes:
    """The same file with other predictions, and the seal of the old ones."""
    fresh = io.BytesIO()
    np.save(fresh, 1 - np.load(io.BytesIO(data)))
    return fresh.getvalue() + data[-32:]


CHANGES: dict[str, Callable[[State], object]] = {
    "other rows": lambda state: state.submission(1).write_bytes(_other_rows(state.submission(1).read_bytes())),
    "no seal": lambda state: state.submission(1).write_bytes(state.submission(1).read_bytes()[:-32]),
    "another submission": lambda state: shutil.copy(state.submission(0), state.submission(1)),
    "gone": lambda state: state.submission(1).unlink(),
    "empty": lambda state: state.submission(1).write_bytes(b""),
}


@pytest.mark.long
def test_a_submission_that_is_not_what_was_kept_is_never_released_and_can_be_sent_again(tmp_path: Path) -> None:
    path = begun(tmp_path)
    board = Board.open(path, clock=StepClock())
    spent = board.ledger.book.spent
    for change in CHANGES.values():
        assert verified(path).faults == ()
        change(State.of(path))
        assert [fault.rpartition(":")[0] for fault in verified(path).faults] == [
            f"{State.of(path).submission(1)} was changed or is gone"
        ]
        status = status_of(board, seconds=1)
        assert status["labels"]["status"] == "files of submissions were changed or are gone"
        assert "1.npy was changed or is gone: restore it from a copy" in "\n".join(shown(status))
        with pytest.raises(InputError, match="or send that submission again, which costs nothing"):
            board.release()
        assert isinstance(board.submit("a", csv(GOOD)), TeamAnswer)
    assert (board.ledger.book.spent, verified(path).faults, board.faults()) == (spent, (), [])
    assert [row["score"] for row in board.release()] == ["1.000"]


def test_a_split_that_was_changed_or_is_of_another_board_is_refused(tmp_path: Path) -> None:
    """Half of a split that is turned round shows, answer by answer, the labels that the first one kept."""
    path, other = begun(tmp_path / "one"), begun(tmp_path / "two")
    split = State.of(path).split
    kept = split.read_bytes()
    with np.load(io.BytesIO(kept)) as drawn:  # readers of npz files pass over the seal
        fresh = io.BytesIO()
        np.savez(fresh, public=~drawn["public"], ids=drawn["ids"], codes=drawn["codes"])
    for changed in (fresh.getvalue(), fresh.getvalue() + kept[-32:], State.of(other).split.read_bytes()):
        split.write_bytes(changed)
        with pytest.raises(InputError, match=r"split\.npz was changed"):
            Board.open(path, clock=StepClock())
        assert "split.npz was changed" in verified(path).faults[0]
    split.write_bytes(kept)
    assert verified(path).faults == ()
    Board.open(path, clock=StepClock()).close()


def test_what_a_lost_row_has_left_is_not_taken_for_the_submission_that_got_its_number(tmp_path: Path) -> None:
    path = begun(tmp_path)
    state = State.of(path)
    kept = SealedFiles(state=state, key=read_key(state.key))
    kept.write_rows(2, "of a row that was lost", GOOD)
    assert kept.rows(2, "of a row that was lost") is not None
    assert kept.rows(2, "of the next") is None
    assert verified(path).faults == ()
