"""The demo keeps the contract, and plays in a matrix beside the built-in components."""

import csv
import subprocess
from pathlib import Path

import pytest

from labelinf_core.testing import Check, checks_of, discovery_imports

HERE = Path(__file__).parent.parent


@pytest.mark.parametrize("check", checks_of("demo"), ids=str)
def test_contract(check: Check) -> None:
    check.run()


def test_discovery_imports_nothing_heavy() -> None:
    assert discovery_imports("labelinf_demo.plugin") == frozenset()


def test_a_matrix_run_shows_the_demo_beside_the_built_in_components(tmp_path: Path) -> None:
    out = tmp_path / "run"
    command = ["labelinf", "matrix", str(HERE / "suite.toml"), "--out", str(out)]

    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    rows = {
        (row["attack"].partition("(")[0], row["defences"].partition("(")[0]): row
        for row in csv.DictReader((out / "results.csv").read_text().splitlines())
    }
    attacks = {attack for attack, _ in rows}
    assert {"majority"} < attacks, attacks
    exact = [float(row["accuracy"]) for (a, d), row in rows.items() if (a, d) == ("one-by-one", "none")]
    assert exact == [1.0]
