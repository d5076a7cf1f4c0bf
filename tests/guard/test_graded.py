"""A guarded board stands where a benchmark's grader stood, and an agent is told what the board tells."""

from __future__ import annotations

import runpy
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from labelinf_core.cli import main
from labelinf_guard.board import Board
from labelinf_guard.clock import StepClock
from labelinf_guard.graded import guarded

ROOT = Path(__file__).parents[2]


@pytest.fixture
def task(tmp_path: Path) -> Path:
    task = Path(shutil.copytree(ROOT / "examples" / "agent-benchmark", tmp_path / "task"))
    policy = task / "guarded" / "board.toml"
    policy.write_text(policy.read_text().replace("beat = 1.0", "beat = 0.05"))
    Board.init(policy, clock=StepClock()).close()
    return task


@pytest.mark.long
def test_the_example_answers_an_agent_out_of_its_ledger(task: Path) -> None:
    grade = runpy.run_path(str(task / "guarded" / "marks.py"))["grade"]
    submission = pd.read_csv(task / "public" / "sample_submission.csv")

    assert grade(submission, answers=None) == 0.5
    told = grade(submission.assign(insult=np.linspace(0, 1, len(submission))), None)

    assert 0 <= told <= 1
    assert told == round(told, 3)
    board = Board.open(task / "guarded" / "board.toml")
    assert len(board.ledger.book.entries) == 2
    board.close()


@pytest.mark.long
def test_what_is_not_answered_is_a_sentence_without_a_label(task: Path) -> None:
    grade = guarded(task / "guarded" / "board.toml", team="another")
    submission = pd.read_csv(task / "public" / "sample_submission.csv")

    with pytest.raises(ValueError, match=r"^An expected id is missing\.$"):
        grade(submission.head(5), None)
    for at in range(20):
        grade(submission.assign(insult=(submission.index + at) % 60 / 60), None)
    with pytest.raises(ValueError, match=r"(?i)submissions|budget|left"):
        grade(submission.assign(insult=submission.index**2 / 3600), None)


@pytest.mark.long
def test_the_commands_of_the_page_print_what_it_says(task: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs" / "howto.md").read_text(encoding="utf-8")
    section = page.partition("## Audit a benchmark of agents")[2].partition("\n## ")[0]
    commands = [line.split()[1:] for line in section.splitlines() if line.startswith("labelinf ")]
    monkeypatch.chdir(task)
    printed = {}
    for words in commands[:-2]:  # the last two begin and audit a board; the one above was begun
        words = ["." if word.startswith("examples/") else word for word in words]
        printed[" ".join(words[:2])] = CliRunner().invoke(main, words).output

    assert list(printed) == ["audit grader", "audit log", "guard plan"]
    for line in section.splitlines():
        if line.startswith("leaks "):
            assert any(" ".join(line.split()) in " ".join(text.split()) for text in printed.values()), line
    policy = (task / "guarded" / "board.toml").read_text()
    assert "share = 0.3249" in policy
    assert "share = 0.3249" in printed["guard plan"]
