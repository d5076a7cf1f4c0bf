"""``labelinf plugins new`` writes a plugin that works as it stands."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Labelinf = Callable[..., Result]


def installed(project: Path) -> dict[str, str]:
    """Lay metadata beside the package, as an installer would; return an environment that finds both."""
    described = tomllib.loads((project / "pyproject.toml").read_text())["project"]
    info = project / f"{described['name'].replace('-', '_')}-{described['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {described['name']}\nVersion: {described['version']}\n"
    )
    entries = "".join(f"{name} = {target}\n" for name, target in described["entry-points"]["labelinf"].items())
    (info / "entry_points.txt").write_text(f"[labelinf]\n{entries}")
    return {**os.environ, "PYTHONPATH": str(project)}


def run(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


KINDS = [
    *("attack", "defence", "loss", "metric", "noise", "bound", "channel"),
    *("attack --channel output", "defence --channel output", "attack --channel gradient", "defence --channel gradient"),
]
PLAYED = {"defence", "bound", "channel", "attack --channel output"}  # by default; all are among the slow tests


@pytest.mark.long
@pytest.mark.parametrize(
    "kind", [kind if kind in PLAYED else pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS]
)
def test_it_keeps_the_contract_as_it_stands(labelinf: Labelinf, tmp_path: Path, kind: str) -> None:
    written = labelinf("plugins", "new", "labelinf-my-idea", "--kind", *kind.split())
    assert written.exit_code == 0, written.stderr
    assert "labelinf plugins check my-idea" in written.stdout
    environment = installed(tmp_path / "labelinf-my-idea")

    checked = run(environment, "labelinf_core", "plugins", "check", "my-idea")

    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "0 failed" in checked.stdout
    assert " 0 passed" not in checked.stdout


@pytest.mark.long
def test_its_own_tests_pass(labelinf: Labelinf, tmp_path: Path) -> None:
    labelinf("plugins", "new", "labelinf-my-idea", "--kind", "noise")
    environment = installed(tmp_path / "labelinf-my-idea")

    tests = tmp_path / "labelinf-my-idea" / "tests"
    tested = run(environment, "pytest", "-q", "--import-mode=importlib", "-p", "no:cacheprovider", str(tests))

    assert tested.returncode == 0, tested.stdout


@pytest.mark.long
@pytest.mark.parametrize("kind", ["loss", "metric", "channel"])
def test_what_its_readme_says_runs(labelinf: Labelinf, tmp_path: Path, kind: str) -> None:
    labelinf("plugins", "new", "labelinf-my-idea", "--kind", kind)
    project = tmp_path / "labelinf-my-idea"
    (command,) = re.findall(r"^labelinf (?!plugins check)(.*)$", (project / "README.md").read_text(), re.MULTILINE)

    ran = run(installed(project), "labelinf_core", *command.replace("suite.toml", str(project / "suite.toml")).split())

    assert ran.returncode == 0, ran.stderr


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_it_passes_its_own_lint(labelinf: Labelinf, tmp_path: Path, kind: str) -> None:
    pytest.importorskip("ruff")
    labelinf("plugins", "new", "labelinf-my-idea", "--kind", *kind.split())

    project = str(tmp_path / "labelinf-my-idea")
    linted = run(dict(os.environ), "ruff", "check", "--no-cache", "--extend-select", "I", project)

    assert linted.returncode == 0, linted.stdout


def test_a_program_reads_where_it_was_written(labelinf: Labelinf) -> None:
    written = labelinf("plugins", "new", "labelinf-my-idea", "--kind", "noise", "--json")

    said = json.loads(written.stdout)

    assert said["plugin"] == "my-idea"
    assert Path(said["component"]).is_relative_to(said["directory"])
    assert Path(said["component"]).is_file()


@pytest.mark.slow
def test_a_new_defence_is_played_in_the_shipped_suite(labelinf: Labelinf, tmp_path: Path) -> None:
    labelinf("plugins", "new", "labelinf-mydefence", "--kind", "defence", "--out", "here")
    environment = installed(tmp_path / "here")

    options = ["--defence", "mydefence", "--only", "majority/mydefence", "--trials", "1", "--workers", "0"]
    played = run(environment, "labelinf_core", "matrix", *options)

    assert played.returncode == 0, played.stderr
    assert "mydefence 0.01" in played.stdout


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["My_Plugin", "--kind", "attack"], "'My_Plugin' cannot name a plugin"),
        (["labelinf-", "--kind", "attack"], "cannot name a plugin"),
        (["class", "--kind", "metric"], "'class' is a word of Python"),
        (["json", "--kind", "metric"], "has a package 'json' already"),
        (["labelinf-core", "--kind", "metric"], "has a package 'labelinf_core' already"),
        (["labelinf-2x", "--kind", "attack"], "cannot name a plugin"),
        (["labelinf-round", "--kind", "defence"], "'round' is taken"),
        (["labelinf-scores", "--kind", "defence"], "'scores' is taken"),
        (["labelinf-mine", "--kind", "loss", "--channel", "output"], "output channel offers no template for losses"),
        (["labelinf-mine", "--kind", "attack", "--channel", "outptu"], "no channel is called 'outptu'"),
        (["labelinf-mine", "--kind", "noise", "--channel", "output"], "a noise model belongs to none"),
        (["labelinf-mine", "--kind", "attack", "--out", "full"], "full is there already and not empty"),
    ],
)
def test_what_cannot_be_written(labelinf: Labelinf, tmp_path: Path, arguments: list[str], told: str) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").write_text("mine")

    result = labelinf("plugins", "new", *arguments)

    assert result.exit_code == 2
    assert told in result.stderr
    assert (tmp_path / "full" / "notes.txt").read_text() == "mine"
