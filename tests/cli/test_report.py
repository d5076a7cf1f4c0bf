"""``labelinf report`` and ``labelinf compare`` read what matrix kept."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import attrs
import pytest
from click.testing import Result
from rich.console import Console

from labelinf_core.evaluator.records import Status
from labelinf_core.evaluator.store import Store

Labelinf = Callable[..., Result]


@pytest.fixture(scope="module")
def played_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("played") / "first"


@pytest.fixture
def kept(labelinf: Labelinf, suite: str, tmp_path: Path, played_once: Path) -> Path:
    if not played_once.exists():
        assert labelinf("matrix", suite, "--workers", "0", "--trials", "6", "--out", str(played_once)).exit_code == 0
    return Path(shutil.copytree(played_once, tmp_path / "runs" / "first"))


@pytest.mark.long
@pytest.mark.parametrize(("form", "file"), [("json", "results.json"), ("csv", "results.csv"), ("html", "report.html")])
def test_a_report_is_what_was_kept(labelinf: Labelinf, kept: Path, form: str, file: str) -> None:
    assert labelinf("report", str(kept), "--format", form).stdout == (kept / file).read_text()


@pytest.mark.long
def test_the_last_run_is_the_default_whatever_it_is_called(labelinf: Labelinf, suite: str, kept: Path) -> None:
    labelinf("matrix", suite, "--workers", "0", "--seed", "7", "--out", "runs/a-later-one")

    assert json.loads(labelinf("report", "--format", "json").stdout)["seed"] == 7


def test_junit_is_xml(labelinf: Labelinf, kept: Path) -> None:
    assert ET.fromstring(labelinf("report", str(kept), "--format", "junit").stdout).tag == "testsuites"


def test_by_defence_shows_the_strongest_attack_only(labelinf: Labelinf, kept: Path) -> None:
    shown = labelinf("report", str(kept), "--by", "defence").stdout

    assert "fake-reader" in shown
    assert "fake-constant" not in shown.splitlines()[3]
    assert "fake-noise" in shown


def test_by_defence_fits_a_narrow_terminal(labelinf: Labelinf, kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("labelinf_core.report.console.make_console", lambda: Console(width=60))

    shown = labelinf("report", str(kept), "--by", "defence").stdout

    assert "% (at least 92) by fake-reader, ▣ broken, observed" in shown
    assert max(map(len, shown.splitlines())) <= 60


def test_by_defence_is_for_the_table(labelinf: Labelinf, kept: Path) -> None:
    result = labelinf("report", str(kept), "--by", "defence", "--format", "csv")

    assert result.exit_code == 2
    assert "--by defence is for the table" in result.stderr


def test_a_plugin_may_be_blocked_where_a_run_is_read_and_must_be_there(labelinf: Labelinf, kept: Path) -> None:
    assert labelinf("report", str(kept), "-p", "no:papers").stdout == labelinf("report", str(kept)).stdout
    assert "cannot block plugin 'nothing'" in labelinf("report", str(kept), "-p", "no:nothing").stderr


def test_reading_changes_nothing(labelinf: Labelinf, kept: Path) -> None:
    before = {path.name: path.read_bytes() for path in kept.iterdir()}

    labelinf("report", str(kept))

    assert {path.name: path.read_bytes() for path in kept.iterdir()} == before


def test_a_run_equals_itself(labelinf: Labelinf, kept: Path) -> None:
    result = labelinf("compare", str(kept), str(kept), "--fail-on-worse")

    assert result.exit_code == 0
    assert "0 games changed, 4 did not" in result.stdout


@pytest.mark.slow
def test_only_what_both_played_is_compared(labelinf: Labelinf, suite: str, kept: Path) -> None:
    labelinf("matrix", suite, "--workers", "0", "--trials", "6", "--only", "fake-reader/none", "--out", "more")

    document = json.loads(labelinf("compare", str(kept), "more", "--json").stdout)

    assert document["same"] == 1
    assert len(document["only_before"]) == 3


def rewritten(run: Path, share: int, **changes: Any) -> str:
    """Let every trial of a record have recovered all labels, or none, and be as told."""
    reading = Store.reopen(run)
    plan = reading.plan
    reading.close()
    store = Store.open(run, plan)
    for cell in plan.cells:
        for number, trial in enumerate(store.trials(cell.id)):
            store.keep_trial(cell.id, number, attrs.evolve(trial, n_correct=share * trial.n_records, **changes))
    store.close()
    return str(run)


def test_a_leak_that_grew_can_be_gated_on(labelinf: Labelinf, kept: Path, tmp_path: Path) -> None:
    shutil.copytree(kept, tmp_path / "copy")
    none, everything = rewritten(kept, 0), rewritten(tmp_path / "copy", 1)

    result = labelinf("compare", none, everything, "--fail-on-worse")

    assert result.exit_code == 1
    assert "worse" in result.stdout
    assert labelinf("compare", everything, none, "--fail-on-worse").exit_code == 0


def test_a_gate_on_what_grew_does_not_pass_on_what_shows_nothing(
    labelinf: Labelinf, kept: Path, tmp_path: Path
) -> None:
    shutil.copytree(kept, tmp_path / "copy")
    before, after = rewritten(kept, 1), rewritten(tmp_path / "copy", 0, doubt="it was played on a guess")

    result = labelinf("compare", before, after, "--fail-on-worse")

    assert result.exit_code == 3
    assert "it was played on a guess; so nothing is known of what leaks there" in result.stderr
    assert labelinf("compare", before, after).exit_code == 0
    failed = rewritten(tmp_path / "copy", 0, status=Status.CRASHED)
    assert labelinf("compare", before, failed, "--fail-on-worse").exit_code == 4


def test_where_there_is_no_run(labelinf: Labelinf, tmp_path: Path) -> None:
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "run.sqlite").write_text("not a database" * 100)

    for arguments, told in [
        (["report"], "there is no run under runs/ yet"),
        (["report", "nowhere"], "nowhere holds no run"),
        (["report", "bad"], "bad/run.sqlite is damaged (file is not a database)"),
        (["compare", "nowhere", "nowhere"], "nowhere holds no run"),
    ]:
        result = labelinf(*arguments)
        assert result.exit_code == 2
        assert told in result.stderr
