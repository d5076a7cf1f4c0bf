"""``labelinf audit scorer`` on a user's own scorer: what it finds, what it says, and how it exits."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from labelinf_core.advise.search import Advice
from labelinf_core.cli import main
from labelinf_core.components import Knob

BOARD = """
import numpy as np
from sklearn.metrics import log_loss

def score(labels, predictions, decimals=4):
    return round(log_loss(labels, np.clip(predictions, 1e-15, 1 - 1e-15), labels=[0, 1]), decimals)

def five(labels, predictions):
    return score(labels, predictions, 5)

def constant(labels, predictions):
    return 0.5
"""

PROGRAM = """
import json, sys
from ownboard import score
import numpy as np
for line in sys.stdin:
    asked = json.loads(line)
    print(json.dumps({"score": score(np.array(asked["labels"]), np.array(asked["predictions"]))}), flush=True)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's folder: a scorer, and 306 labels."""
    (tmp_path / "ownboard.py").write_text(BOARD)
    (tmp_path / "program.py").write_text(PROGRAM)
    write_labels(tmp_path / "private.csv", 306)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "ownboard", raising=False)
    return tmp_path


def write_labels(path: Path, n: int) -> None:
    labels = np.random.default_rng(n).integers(0, 2, n)
    path.write_text("label\n" + "\n".join(map(str, labels)) + "\n")


def audit(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["audit", "scorer", *arguments], catch_exceptions=False)


def test_four_decimals_give_more_than_eleven_labels_a_query(folder: Path) -> None:
    run = audit("ownboard:score", "--labels", "private.csv", "--queries", "200", "--attack", "hybrid", "--json")

    assert run.exit_code == 1
    report = json.loads(run.stdout)
    (leak,) = report["attacks"]
    assert (report["findings"]["loss"], report["findings"]["decimals"]) == ("log-loss", 4)
    assert leak["exact"]
    assert leak["certified"]
    assert leak["labels_per_query"] >= 11
    changes = {change["defence"].partition("(")[0] for change in report["changes that stop exact recovery"]}
    assert {"randomised-response", "query-limit"} <= changes
    assert all(change["costs"] for change in report["changes that stop exact recovery"])


def test_a_program_in_any_language_is_audited_alike_and_a_gate_of_ones_own_decides(folder: Path) -> None:
    program = f"cmd:{sys.executable} program.py"
    run = audit(
        program, "--labels", "private.csv", "--queries", "60", "--attack", "hybrid", "--max-labels-per-query", "50"
    )

    assert run.exit_code == 0
    assert "found by probing" in run.stdout
    assert "all 306 labels in 24 queries, by hybrid" in run.stdout
    assert "Smallest changes that are proved to stop exact recovery" in run.stdout
    assert "query-limit(queries=" in run.stdout
    assert "costs honest models" in run.stdout


def test_a_scorer_that_is_no_known_loss_is_one_sentence(folder: Path) -> None:
    run = audit("ownboard:constant", "--labels", "private.csv")
    assert run.exit_code == 2
    assert "is no mean over records of a loss that is known here" in run.stderr
    missing = audit("ownboard:nothing", "--labels", "private.csv")
    assert missing.exit_code == 2
    assert "cannot be imported" in missing.stderr


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_five_decimals_and_25000_labels_give_more_than_twelve_labels_a_query(folder: Path) -> None:
    write_labels(folder / "large.csv", 25_000)
    run = audit("ownboard:five", "--labels", "large.csv", "--queries", "2500", "--attack", "hybrid", "--json")

    (leak,) = json.loads(run.stdout)["attacks"]
    assert leak["exact"]
    assert leak["queries"] <= 1989
    assert leak["labels_per_query"] >= 12


@pytest.mark.parametrize(
    ("strength", "weakest", "strongest", "written"),
    [
        (0.130261, 0.0, 9.0, "0.1303"),
        (3.9089, 20.0, 0.1, "3.908"),
        (0.0, 15.0, 0.0, "0"),
        (0.00123411, 0, 1, "0.001235"),
    ],
)
def test_a_setting_is_rounded_to_the_stronger_side(
    strength: float, weakest: float, strongest: float, written: str
) -> None:
    knob = Knob(title="k", template="k({})", weakest=weakest, strongest=strongest, integer=strength == 0)
    assert Advice(knob=knob, certified=strength).setting == f"k({written})"
    with pytest.raises(ValueError, match="no strength is certified"):
        Advice(knob=knob).setting  # noqa: B018
