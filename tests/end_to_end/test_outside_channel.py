"""A channel that somebody else wrote gets all that a built-in one gets, and no line of the core knows of it."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner, Result

from labelinf_core.cli import main
from labelinf_core.plugin.host import Host

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "examples" / "labelinf-channel-demo"

Labelinf = Callable[..., Result]


@pytest.fixture
def labelinf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Labelinf:
    """Install the outside distribution for one test; return a function that runs the command line."""
    info = tmp_path / "site" / "labelinf_channel_demo-0.1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: labelinf-channel-demo\nVersion: 0.1.0\n")
    (info / "entry_points.txt").write_text("[labelinf]\nequality = labelinf_equality.plugin\n")
    monkeypatch.setattr(sys, "path", [str(info.parent), str(DEMO), *sys.path])
    monkeypatch.setattr(os, "environ", {**os.environ, "COLUMNS": "120"})
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(main, arguments, catch_exceptions=False)

    return run


@pytest.mark.long
def test_it_joins_the_shipped_suite_and_the_report_has_its_columns(labelinf: Labelinf, tmp_path: Path) -> None:
    only = ["--only", "partition", "--only", "most-frequent-class"]
    played = labelinf("matrix", "quick", *only, "--trials", "2", "--workers", "0", "--out", "run", "-v")

    assert played.exit_code == 0, played.stderr
    assert played.stdout.startswith("equality channel, 60 made labels: a blind guess is right on ")
    assert "equality channel · 60 made labels" in played.stdout
    assert re.search(r"^wrong answers +0 % +\d", played.stdout, re.MULTILINE)
    assert re.search(r"pairs\s*\n.* told %", played.stdout)
    assert "labelinf advise --channel equality --labels" in played.stdout
    cells = json.loads((tmp_path / "run" / "results.json").read_text())["cells"]
    assert {cell["versions"]["labelinf-channel-demo"] for cell in cells} == {"0.1.0"}
    assert "pairs told" in (tmp_path / "run" / "report.html").read_text()


def test_it_is_held_to_its_own_rules(labelinf: Labelinf) -> None:
    checked = labelinf("plugins", "check", "equality")

    assert checked.exit_code == 0, checked.stdout
    assert re.search(r"\d+ checks: \d+ passed, 0 failed, 3 skipped", checked.stdout)


@pytest.mark.slow
def test_advice_turns_its_knobs(labelinf: Labelinf) -> None:
    """A third party's bound certifies nothing, so that nothing is called proved; attacks are played all the same."""
    given = labelinf("advise", "--channel", "equality(queries=20)", "--records", "60", "--target", "90%")

    assert given.exit_code == 0, given.stderr
    assert (
        "probability that an answer is the opposite\n    proved     nothing certifies it\n    attacks    >= 0."
        in given.stdout
    )


@pytest.mark.long
def test_theory_and_attack_read_their_channel_from_the_attack_or_defence(labelinf: Labelinf) -> None:
    bounds = labelinf("bounds", "--records", "60", "--queries", "2", "--defence", "randomised-answers(flip=0.4)")
    attack = labelinf("attack", "partition", "--labels", "made(n_records=30, seed=2)", "--show", "3")

    assert "labels recovered under label-DP" in bounds.stdout
    assert attack.stdout.startswith("equality channel")


def test_a_new_attack_for_it_works_as_written(labelinf: Labelinf, tmp_path: Path) -> None:
    written = labelinf("plugins", "new", "labelinf-my-idea", "--kind", "attack", "--channel", "equality")

    assert written.exit_code == 0, written.stderr
    source = (tmp_path / "labelinf-my-idea" / "labelinf_my_idea" / "attack.py").read_text()
    assert "class MyIdea(EqualityAttack)" in source
    assert 'channel="equality"' in (tmp_path / "labelinf-my-idea" / "labelinf_my_idea" / "plugin.py").read_text()
    assert isinstance(compile(source, "attack.py", "exec").co_names, tuple)


@pytest.mark.long
def test_its_own_audit_says_what_answers_gave_away(labelinf: Labelinf, tmp_path: Path) -> None:
    def audited(*rows: str) -> Result:
        (tmp_path / "a.csv").write_text("\n".join(["one,other,equal", *rows]) + "\n")
        return labelinf("audit", "equality", "a.csv")

    assert "equality" in labelinf("audit", "--help").stdout
    found, open_, torn = audited("a,b,1", "b,c,0"), audited("a,b,0"), audited("a,b,1", "a,b,0")
    assert (found.exit_code, open_.exit_code, torn.exit_code) == (1, 0, 2)
    assert "3 records were asked about; they fall into 2 groups" in found.stdout
    assert "the answers contradict one another" in torn.stderr


def test_the_docs_list_its_components_where_it_is_installed(
    labelinf: Labelinf, loaded: Callable[[Path], ModuleType]
) -> None:
    generate = loaded(ROOT / "docs" / "generate.py")

    page = "\n".join(generate.components(Host.load(), installed=True))

    assert "| `equality` | equality | a curator says whether two records have the same label |" in page
    assert "randomised-answers" not in "\n".join(generate.components(Host.load()))
