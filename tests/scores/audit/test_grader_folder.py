"""A benchmark's folder: its grader, answers and sample are found by what they hold, and nothing else is run."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from labelinf_core.cli import main

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "agent-benchmark"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(EXAMPLE, tmp_path / "task"))


def audit(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["audit", "grader", *map(str, arguments)])


def refused(*arguments: object) -> str:
    run = audit(*arguments)
    assert (run.exit_code, run.output.count("\n")) == (2, 1), run.output
    return run.output


@pytest.mark.long
def test_the_example_gives_up_its_labels_as_the_page_says() -> None:
    run = audit(EXAMPLE)
    said = " ".join(run.output.split())
    assert run.exit_code == 1, run.output
    quoted = "your grader gives up 100.0% of 60 labels in 14 queries"
    assert quoted in said
    assert quoted in (ROOT / "docs" / "howto.md").read_text(encoding="utf-8")
    assert "called as (submission: predictions, answers: labels) as data frames" in said
    assert "stopped by a guarded board, whatever the function is" in said
    assert f"next: labelinf check {EXAMPLE}/grade.py:grade {EXAMPLE}/private/test.csv --column insult" in said


@pytest.mark.long
def test_the_folder_itself_is_checked_and_its_board_begun(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its few labels leave no useful board at five points, and one at a larger gain."""
    monkeypatch.chdir(folder.parent)
    run = CliRunner().invoke(main, ["check", "task", "--queries", "8", "--gain", "30%", "--deploy", "kept"])
    said = " ".join(run.output.split())
    assert run.exit_code == 1, run.output
    assert "leaks yes: " in said
    assert "next labelinf guard serve kept/board.toml" in said
    assert 'label = "insult"' in Path("kept/board.toml").read_text()


@pytest.mark.long
def test_files_are_told_by_what_they_hold_and_not_by_their_names(folder: Path) -> None:
    (folder / "private" / "test.csv").rename(folder / "a.csv")
    (folder / "public" / "sample_submission.csv").rename(folder / "b.csv")
    (folder / "grade.py").rename(folder / "marks.py")
    assert "marks.py:grade: 60 labels of insult" in audit(folder).output


@pytest.mark.long
def test_only_the_grader_is_run_and_what_it_imports(folder: Path) -> None:
    (folder / "pandas.py").write_text("raise SystemExit('run')")
    (folder / "prepare.py").write_text("raise SystemExit('run')\ndef prepare(raw, public, private): ...")
    (folder / "classes.py").write_text("DECIMALS = 5\n")
    grader = (
        (folder / "grade.py").read_text().replace("import pandas as pd", "import pandas as pd\nfrom .classes import *")
    )
    (folder / "grade.py").write_text(grader.replace(", 5)", ", DECIMALS)"))
    assert audit(folder).exit_code == 1


@pytest.mark.long
def test_what_is_missing_is_asked_for_by_its_option(folder: Path) -> None:
    answers, sample = folder / "private" / "test.csv", folder / "public" / "sample_submission.csv"
    elsewhere = Path(shutil.move(answers, folder.parent / "answers.csv"))
    assert "give --solution FILE." in refused(folder)
    assert audit(folder, "--solution", elsewhere).exit_code == 1
    sample.unlink()
    assert "give --sample FILE." in refused(folder, "--solution", elsewhere)
    assert "give --solution FILE and --sample FILE." in refused(folder)
    assert "--solution FILE is missing" in refused(folder / "grade.py")


def test_several_of_a_kind_are_not_guessed_among(folder: Path) -> None:
    shutil.copy(folder / "private" / "test.csv", folder / "private" / "again.csv")
    assert "several tables in it may be the answers" in refused(folder)
    shutil.copy(folder / "grade.py", folder / "other.py")
    assert "has several graders" in refused(folder)
    for each in folder.glob("*.py"):
        each.write_text("def prepare(raw, public, private): ...")
    assert "no file of Python in it has a function grade, score, evaluate" in refused(folder)


def test_a_module_that_is_not_installed_is_named(folder: Path) -> None:
    (folder / "grade.py").write_text("import no_such_module\n" + (folder / "grade.py").read_text())
    assert "there is no module 'no_such_module'" in refused(folder)
