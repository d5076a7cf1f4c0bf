"""What labelinf 0.1 wrote still opens: a run, a suite, and a guard that is deployed.

``begun_by_0_1`` was made by the last commit before contract 2: ``labelinf matrix suite.toml``, and a board of 200 made
labels, begun, which had answered two submissions.
"""

from __future__ import annotations

import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path

import attrs
import pytest
from click.testing import CliRunner

from labelinf_core.cli import main
from labelinf_core.contracts.components import Attack, Channel, Defence
from labelinf_core.plugin.markers import CONTRACT

BEGUN = Path(__file__).with_name("begun_by_0_1")


def labelinf(*arguments: str | Path, status: int = 0) -> str:
    shown = CliRunner().invoke(main, [str(one) for one in arguments], catch_exceptions=False)
    assert shown.exit_code == status, shown.output
    return shown.output


@pytest.fixture
def board(tmp_path: Path) -> Path:
    zipfile.ZipFile(BEGUN / "guard.zip").extractall(tmp_path)
    for file in (tmp_path / "board.state").rglob("*"):
        file.chmod(0o700 if file.is_dir() else 0o600)
    return tmp_path / "board.toml"


@pytest.mark.long
def test_a_guard_goes_on_under_the_terms_it_was_begun_with(board: Path) -> None:
    """Known class totals cost bits when it was begun, and cost less since; its certificate is that of then."""
    assert "more than 20.3 points" in labelinf("guard", "status", board)
    assert "all of it follows" in labelinf("guard", "verify", board)
    assert "97 submissions left" in labelinf("guard", "score", board, "--team", "alice", board.with_name("sub2.csv"))
    shown = labelinf("guard", "verify", board)
    assert "charged as one more answer, as when the board was begun" in shown
    assert "all of it follows" in shown
    assert "more than 20.3 points" in labelinf("guard", "status", board)


@pytest.mark.long
def test_a_run_is_shown_and_compared(tmp_path: Path) -> None:
    zipfile.ZipFile(BEGUN / "run.zip").extractall(tmp_path)
    shown = labelinf("report", tmp_path)
    assert "broken, certified" in shown
    assert "guarded-board 0.5" in shown
    assert "no more than before" in labelinf("compare", tmp_path, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("given", [["--out", "runs/old"], ["--resume"]])
def test_a_run_is_not_continued_and_is_read_still(
    given: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was proved along other roads; what it holds stays as it is."""
    monkeypatch.chdir(tmp_path)
    zipfile.ZipFile(BEGUN / "run.zip").extractall(tmp_path / "runs" / "old")
    record = tmp_path / "runs" / "old" / "run.sqlite"
    before = record.read_bytes()
    said = labelinf("matrix", BEGUN / "suite.toml", *given, status=2)
    assert said == (
        "labelinf: --out runs/old holds a run of labelinf 0.1, which proved and counted along other roads, so that it "
        "cannot be continued: labelinf report runs/old shows what it has finished; choose another directory to begin "
        "anew.\n"
    )
    assert record.read_bytes() == before
    assert "guarded-board 0.5" in labelinf("report", "runs/old")
    labelinf("matrix", BEGUN / "suite.toml", "--trials", "1", "--workers", "0")
    assert len(list(Path("runs").iterdir())) == 2


@pytest.mark.long
def test_a_run_of_today_says_by_which_contract_it_was_played(tmp_path: Path) -> None:
    """So that it is continued."""
    for trials in ("1", "2"):
        labelinf("matrix", BEGUN / "suite.toml", "--trials", trials, "--workers", "0", "--out", tmp_path)
    with closing(sqlite3.connect(tmp_path / "run.sqlite")) as record:
        assert record.execute("SELECT value FROM meta WHERE key = 'contract'").fetchone() == (str(CONTRACT),)


@pytest.mark.long
def test_a_suite_is_played(tmp_path: Path) -> None:
    shown = labelinf("matrix", BEGUN / "suite.toml", "--trials", "1", "--out", tmp_path / "run")
    assert "broken, certified" in shown
    assert "guarded-board 0.5" in shown


def test_a_component_that_goes_a_road_that_is_gone_is_told_which_replaced_it() -> None:
    def ceilings(self: object, threat: object) -> tuple[()]:
        return ()

    for base, name, instead in (
        (Defence, "ceilings", "a Bound says what they deny"),
        (Defence, "tell", "a Bound says what they deny"),
        (Defence, "knobs", r"tunable_parameters\(\)"),
        (Attack, "refusal", r"unsupported_reason\(\)"),
        (Attack, "lacks", r"unsupported_reason\(\)"),
        (Channel, "threat", r"undefended\(\)"),
        (Channel, "play", r"trial\(\)"),
    ):
        with pytest.raises(TypeError, match=rf"Old\.{name}\(\) is not asked any more: .*{instead}"):
            attrs.frozen(type("Old", (base,), {name: ceilings}))
