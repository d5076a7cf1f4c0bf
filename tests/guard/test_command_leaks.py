"""The leak test of the command line: labels that no answer depends on change no byte of what a team or a host sees."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from click.testing import CliRunner

from labelinf_core.cli import main
from labelinf_core.plugin.host import Host
from labelinf_guard import board as module
from labelinf_guard.board import Board, TeamRefusal
from labelinf_guard.clock import StepClock
from labelinf_privacy.words import SeededWords

Twins = Callable[[str], tuple[Path, Path, Path]]

N = 200
OWN = (
    "import os, sys\n"
    "def score(labels, rows):\n"
    "    print(labels.tolist()); print(labels.tolist(), file=sys.stderr); os.write(2, bytes(labels.tolist()))\n"
    "    if rows[:, 1].min() > .9: raise ValueError(labels)\n"
    "    return 1 - abs(labels - rows[:, 1]).mean()\n"
)
POLICY = (
    '[board]\nlabels = "labels.csv"\nid = "id"\nlabel = "label"\nclasses = ["0", "1"]\n{metric}\n'
    "[public]\nshare = 0.2\n[release]\n{release}\n[budget]\nper_team_day = 50\nper_board = 200\n"
    "[target]\ngain = 0.2\naccept_void = true\n"
)
BOARDS = {
    "accuracy": POLICY.format(metric='metric = "accuracy"', release="decimals = 3"),
    "log-loss with noise": POLICY.format(metric='metric = "log-loss"', release="noise = 0.2"),
    "mse with noise": POLICY.format(metric='metric = "mse"', release="noise = 0.2"),
    "records": POLICY.format(metric='metric = "brier"', release='show = "records"\ndecimals = 2'),
    "ranks": POLICY.format(metric='metric = "accuracy"', release='show = "ranks"'),
    "flips": POLICY.format(metric='metric = "accuracy"', release="decimals = 3").replace(
        "share = 0.2\n", "share = 0.2\nflip = 0.3\n"
    ),
    "the host's own": POLICY.format(metric='ours = "ours:score"\nlow = 0.0\nhigh = 1.0', release="decimals = 2"),
}
QUICK = {"accuracy", "flips", "records"}  # by default; all are among the slow tests


def submissions() -> dict[str, bytes]:
    """Files that are scored, and one for each thing that can be wrong with one."""
    rng = np.random.default_rng(3)

    def csv(rows: Any) -> bytes:
        return ("id,prediction\n" + "".join(f"r{at:03d},{row}\n" for at, row in enumerate(rows))).encode()

    good = csv(rng.integers(0, 2, N))
    return {
        "good.csv": good,
        "again.csv": b"id,prediction\n" + b"\n".join(sorted(good.splitlines()[1:], reverse=True)),
        "other.csv": csv([1] * N),
        "nonsense.csv": b"\0",
        "columns.csv": b"id,guess\nr000,1\n",
        "unknown.csv": b"id,prediction\nq000,1\n",
        "duplicate.csv": good + b"r000,1\n",
        "missing.csv": good[:-7],
        "value.csv": csv(["nan"] * N),
        "range.csv": csv([7] * N),
    }


FILES = (*submissions(), "absent.csv")


def seen(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], files: Iterable[str] = FILES
) -> tuple[Any, ...]:
    """All that the commands print, exit with and leave behind, and when, under recorded keys, noise and clock."""
    clock, told = StepClock(), []
    installed = Host.load()
    with monkeypatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(Host, "load", lambda: installed)  # once for all commands
        patch.setattr(module, "SystemClock", lambda: clock)
        patch.setattr(module, "SystemWords", lambda: SeededWords(np.random.default_rng(1)))
        commands = [["score", "board.toml", "--team", "a", name] for name in files]
        commands += [["score", "board.toml", "--team", "a b", "good.csv"], ["status", "board.toml"]]
        commands += [["status", "board.toml", "--json"], ["verify", "board.toml"]]
        for command in commands:
            result = CliRunner().invoke(main, ["guard", *command])
            told.append((command, result.exit_code, result.stdout_bytes, result.stderr_bytes, clock.time))
            assert result.exception is None or isinstance(result.exception, SystemExit)
    told.append(capfd.readouterr())
    left = {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
    host = ("labels.csv", "board.state/split.npz")  # the host's own: her labels, and a digest of them under her key
    return told, {name: data for name, data in left.items() if "__pycache__" not in name and name not in host}


@pytest.fixture
def twins(begun_twins: Callable[..., tuple[Path, Path, Path]]) -> Twins:
    """Begin a board, a copy whose sealed labels are all flipped, and one whose public labels are."""
    return lambda text: begun_twins(text, {"ours.py": OWN.encode(), **submissions()})


@pytest.mark.long
@pytest.mark.parametrize(
    "kind",
    [kind if kind in QUICK else pytest.param(kind, marks=pytest.mark.slow) for kind in sorted(BOARDS)],
)
def test_sealed_labels_change_no_byte_of_the_command_line(
    kind: str, twins: Twins, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Standard output and error, exit codes, every file, and the beats; public ones change answers, unless replaced."""
    first, second, third = (seen(folder, monkeypatch, capfd) for folder in twins(BOARDS[kind]))
    assert first == second
    assert (first == third) is (kind == "flips")
    assert {code for _, code, *_ in first[0][:-1]} == {0, 2}


def _sealed_label(board: Board) -> int:
    return int(board._labels.codes[~board.public][0])


def _traceback(board: Board, team: str, data: bytes, submit: Callable[..., Any]) -> Any:
    if _sealed_label(board):
        raise SystemExit(f"label {_sealed_label(board)}")
    return submit(board, team, data)


def _aside(board: Board, team: str, data: bytes, submit: Callable[..., Any]) -> Any:
    import os

    os.write(2, b"debug\n" * _sealed_label(board))
    return submit(board, team, data)


def _code(board: Board, team: str, data: bytes, submit: Callable[..., Any]) -> Any:
    if _sealed_label(board):
        click.get_current_context().exit(3)
    return submit(board, team, data)


def _warning(board: Board, team: str, data: bytes, submit: Callable[..., Any]) -> Any:
    click.echo(" " * _sealed_label(board), err=True)
    return submit(board, team, data)


def _slow(board: Board, team: str, data: bytes, submit: Callable[..., Any]) -> Any:
    board.ledger.clock.wait(60_000 * _sealed_label(board))
    return submit(board, team, data)


def _log(board: Board, team: str, data: bytes, submit: Callable[..., Any]) -> Any:
    (board._path.parent / "log").write_text(str(_sealed_label(board)))
    return submit(board, team, data)


def _refused(board: Board, team: str, data: bytes, submit: Callable[..., Any]) -> Any:
    return TeamRefusal(reason="Busy.") if _sealed_label(board) else submit(board, team, data)


@pytest.mark.parametrize(
    "leak", [_traceback, _aside, _code, _warning, _slow, _log, _refused], ids=lambda leak: leak.__name__
)
def test_planted_leaks_of_the_command_line_are_caught(
    leak: Any, twins: Twins, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    submit = Board.submit
    monkeypatch.setattr(Board, "submit", lambda self, team, data: leak(self, team, data, submit))
    first, second, _ = twins(BOARDS["accuracy"])
    once = ["good.csv"]
    assert seen(first, monkeypatch, capfd, once) != seen(second, monkeypatch, capfd, once)
