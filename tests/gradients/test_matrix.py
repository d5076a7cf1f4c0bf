"""The gradient channel in a matrix: real digits, a trained network, verdicts."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SUITE = """
title = "gradients"
trials = 2
seed = 0

[[matrix]]
channel = "gradient"
labels = "digits"
attacks = ["idlg", "exact-solver"]
defences = ["none", "gradient-sign"]
"""


@pytest.mark.long
def test_labels_come_out_of_gradients_of_a_trained_network(tmp_path: Path) -> None:
    (tmp_path / "suite.toml").write_text(SUITE)
    command = [sys.executable, "-m", "labelinf_core", "matrix", str(tmp_path / "suite.toml"), "--json"]

    done = subprocess.run(
        [*command, "--out", str(tmp_path / "run"), "--workers", "0"], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    cells = {
        (cell["attack"].partition("(")[0], cell["defences"][0].partition("(")[0]): cell
        for cell in json.loads(done.stdout)["cells"]
    }
    assert cells["exact-solver", "none"]["accuracy"]["value"] > 0.95
    assert cells["idlg", "gradient-sign"]["accuracy"]["value"] > 0.95
    assert cells["exact-solver", "gradient-sign"]["status"] in ("n/a", "ok")
