"""Whoever has installed a wheel has the files of the tutorials, too."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from labelinf_core.cli import main


def test_an_empty_folder_gets_the_files_of_the_tutorials(tmp_path: Path) -> None:
    told = CliRunner().invoke(main, ["samples", str(tmp_path / "new")])

    assert told.exit_code == 0, told.output
    names = ["audit_sklearn.py", "board.py", "labels.csv", "observe_sklearn.py", "training.csv"]
    assert sorted(file.name for file in (tmp_path / "new").iterdir()) == names
    assert (tmp_path / "new" / "labels.csv").read_text().count("\n") == 121


def test_nothing_of_the_users_is_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("board.py").write_text("mine")

    told = CliRunner().invoke(main, ["samples"])

    assert told.exit_code == 2
    assert "board.py would be overwritten" in told.output
    assert [file.name for file in tmp_path.iterdir()] == ["board.py"]
    assert Path("board.py").read_text() == "mine"
