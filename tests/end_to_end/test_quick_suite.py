"""The first command of the README: real labels, a real scorer, every verdict explained."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

SCHEMA = Path(__file__).parents[2] / "docs" / "schema" / "results.schema.json"


def run(folder: Path, *options: str) -> str:
    command = [sys.executable, "-m", "labelinf_core", "matrix", *options]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


def played(folder: Path, *options: str) -> dict[tuple[str, str], dict[str, Any]]:
    document = json.loads(run(folder, "--json", *options))
    jsonschema.validate(document, json.loads(SCHEMA.read_text()))
    return {
        (cell["attack"].partition("(")[0], " + ".join(stage.partition("(")[0] for stage in cell["defences"])): cell
        for cell in document["cells"]
    }


@pytest.mark.long
@pytest.mark.timeout(180)
def test_attacks_recover_real_labels_through_scikit_learns_own_log_loss(tmp_path: Path) -> None:
    cells = played(tmp_path, "--trials", "1", "--only", "*blocks/none", "--only", "majority/none")

    assert cells["powers-blocks", "none"]["verdict"] == "broken, certified"
    assert cells["powers-blocks", "none"]["accuracy"]["value"] == 1
    assert cells["prime-blocks", "none"]["queries"] <= 569 / 5 + 1
    assert cells["majority", "none"]["accuracy"]["value"] == pytest.approx(357 / 569)
    assert "scorer='sklearn'" in cells["majority", "none"]["channel"]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_whole_quick_suite_is_free_of_contradictions(tmp_path: Path) -> None:
    """And stays under 1 GiB in any process."""
    cells = played(tmp_path)

    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 2**20
    verdicts = {key: cell["verdict"] for key, cell in cells.items()}
    assert "contradiction" not in verdicts.values()
    assert {cell["status"] for cell in cells.values()} <= {"ok", "n/a"}
    assert {cell["channel"].partition("(")[0] for cell in cells.values()} == {"score", "gradient", "output"}
    assert verdicts["hybrid", "none"] == "broken, certified"
    assert verdicts["hybrid", "round"] == "broken, certified"
    assert verdicts["hybrid", "randomised-response"] == "certified, much left"
