"""Functions that keep state are run on their first day, with the past that the host's has had."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from labelinf_core.cli import main
from labelinf_scores.game.begun import Begun, loaded_anew

N = 20
LABELS = (np.random.default_rng(1).random(N) < 0.4).astype(int)
BOARDS = """
from sklearn.metrics import roc_auc_score

best, shown, calls = -1.0, {}, 0

def best_so_far(y, p):
    global best
    best = max(best, roc_auc_score(y, p))
    return best

def cached(y, p):
    return shown.setdefault(p.tobytes(), roc_auc_score(y, p))

def limited(y, p):
    global calls
    calls += 1
    if calls > 30:
        raise RuntimeError("enough")
    return roc_auc_score(y, p)

def of_predictions_alone(y, p):
    return float(p.mean())

def grade(submission, answers):
    return cached(answers["label"], submission["label"].to_numpy())
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "boards.py").write_text(BOARDS)
    ids = "".join(f"r{i},{label}\n" for i, label in enumerate(LABELS))
    (tmp_path / "y.csv").write_text("id,label\n" + ids)
    (tmp_path / "sample.csv").write_text("id,label\n" + "".join(f"r{i},0.5\n" for i in range(N)))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "boards", raising=False)
    return tmp_path


def test_a_board_begins_anew_and_then_remembers(folder: Path) -> None:
    __import__("boards")
    days = Begun(name="a board", load=lambda: loaded_anew("boards", "best_so_far"))
    good, bad = np.arange(4.0), -np.arange(4.0)
    y = np.array([0, 0, 1, 1])

    board = days.board()
    assert [board(y, rows) for rows in (bad, good, bad)] == [0, 1, 1]
    assert [days.anew(y, rows) for rows in (good, bad)] == [1, 0]
    assert days.board()(y, bad) == 0
    assert sys.modules["boards"].best == -1


@pytest.mark.long
@pytest.mark.parametrize("name", ["best_so_far", "cached", "limited"])
def test_what_a_scorer_remembers_hides_no_label(folder: Path, name: str) -> None:
    run = CliRunner().invoke(
        main, ["audit", "scorer", f"boards:{name}", "--labels", "y.csv", "--column", "label", "--json"]
    )
    attacks = json.loads(run.stdout)["attacks"]

    assert run.exit_code == 1
    assert attacks[-1]["exact"]
    assert attacks[-1]["queries"] <= 6 * N


@pytest.mark.long
def test_a_graders_board_that_remembers_is_read(folder: Path) -> None:
    arguments = ["boards.py:grade", "--solution", "y.csv", "--sample", "sample.csv"]
    run = CliRunner().invoke(main, ["audit", "grader", *arguments, "--json"])

    assert run.exit_code == 1, run.output
    assert json.loads(run.stdout)["read"] == N


@pytest.mark.long
def test_what_depends_on_no_label_is_never_read(folder: Path) -> None:
    run = CliRunner().invoke(
        main, ["audit", "scorer", "boards:of_predictions_alone", "--labels", "y.csv", "--column", "label"]
    )

    assert run.exit_code == 3
    assert "No proof of safety" in run.stdout
