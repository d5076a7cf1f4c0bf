"""``labelinf audit scorer`` on real labels: how near a guess is counts, and nothing is proved."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

import labelinf as li
from labelinf_core.cli import main
from labelinf_core.contracts.errors import InputError
from labelinf_core.evaluator.labels import load_labels
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder, Spec

N = 24
TARGETS = np.round(np.random.default_rng(3).gamma(2, 30, N), 3)
REGRESSIONS = """
import random
import numpy as np
from scipy.stats import spearmanr
from sklearn.metrics import mean_absolute_error, r2_score

def explained(y, x):
    return round(r2_score(y, x), 12)

def ranks(y, x):
    return spearmanr(y, x)[0]

def constant(y, x):
    return 0.5

def noisy(y, x):
    return mean_absolute_error(y, x) + random.random()

def of_every_case(y, x):
    return {"mean": 0.0, "cases": np.abs(y - x)}

def in_words(y, x):
    return f"the error is {mean_absolute_error(y, x):.9f}"

def columns(y, x):
    return float(np.mean((y - x[:, 1]) ** 2))
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "regressions.py").write_text(REGRESSIONS)
    (tmp_path / "y.csv").write_text("amount\n" + "".join(f"{value}\n" for value in TARGETS))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def audit(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["audit", "scorer", *arguments])


@pytest.mark.long
def test_all_labels_come_out_within_a_hundredth_of_their_interquartile_range(folder: Path) -> None:
    result = audit("regressions:explained", "--labels", "y.csv", "--json")
    document = json.loads(result.stdout)
    (leak,) = document["attacks"]
    width = np.subtract(*np.quantile(TARGETS, [0.75, 0.25])) / 100

    assert result.exit_code == 1
    assert leak["exact"]
    assert leak["measure"] == f"within {width:.3g}"
    assert leak["baseline"] < 0.2
    assert leak["queries"] <= 2 * N
    assert document["labels"]["n_classes"] is None


@pytest.mark.long
@pytest.mark.parametrize("function", ["of_every_case", "in_words"])
def test_everything_that_is_answered_is_read(folder: Path, function: str) -> None:
    (leak,) = json.loads(audit(f"regressions:{function}", "--labels", "y.csv", "--json").stdout)["attacks"]

    assert leak["exact"]


@pytest.mark.long
def test_a_scorer_of_ranks_gives_up_the_order(folder: Path) -> None:
    result = audit("regressions:ranks", "--labels", "y.csv")

    assert result.exit_code == 1
    assert f"all {N} labels, by rank, in" in result.stdout


@pytest.mark.parametrize(
    ("function", "said"),
    [
        ("constant", "no submission that was tried shows anything of a label"),
        ("noisy", "real labels are not read through noise"),
        ("columns", "the scorer takes no submission that was tried"),
    ],
)
def test_what_is_not_read_is_never_safe(folder: Path, function: str, said: str) -> None:
    result = audit(f"regressions:{function}", "--labels", "y.csv")

    assert result.exit_code == 3
    assert said in " ".join(result.stdout.split())
    assert "No proof of safety" in " ".join(result.stdout.split())


def test_stages_prove_nothing_of_real_labels(folder: Path) -> None:
    result = audit("regressions:explained", "--labels", "y.csv", "--defence", "subset(share=0.1)", "--gain", "50%")

    assert result.exit_code == 3
    assert "CERTIFIED" not in result.stdout
    assert "real labels are not attacked through stages yet" in " ".join(result.stdout.split())


@pytest.mark.long
def test_a_budget_of_queries_is_kept(folder: Path) -> None:
    result = audit("regressions:explained", "--labels", "y.csv", "--queries", "9", "--json")
    (leak,) = json.loads(result.stdout)["attacks"]

    assert leak["queries"] <= 9
    assert not leak["exact"]


def mean_error(y: Any, x: Any) -> float:
    return float(np.mean(np.abs(y - x)))


@pytest.mark.long
def test_whoever_sets_the_tolerance_sets_the_baseline_too() -> None:
    near, far = (
        li.audit_scorer(TARGETS, mean_error, tolerance=tolerance).report.leaks[0] for tolerance in (0.01, 50.0)
    )

    assert near.baseline == pytest.approx(1 / N)
    assert far.baseline > 0.5
    assert near.exact
    assert far.exact


@pytest.mark.long
def test_a_privacy_budget_is_refused_as_a_target(folder: Path) -> None:
    result = audit("regressions:explained", "--labels", "y.csv", "--target", "epsilon<=1")

    assert result.exit_code == 2
    assert "what a privacy budget leaves of real labels is not known here" in " ".join(result.output.split())


def test_attacks_on_classes_are_refused_by_name(folder: Path) -> None:
    result = audit("regressions:explained", "--labels", "y.csv", "--attack", "binary-weights")

    assert result.exit_code == 2
    assert "simulate alone attacks" in " ".join(result.output.split())


def test_nobody_is_handed_real_labels_who_did_not_ask(folder: Path) -> None:
    builder, spec = Builder(Host.load()), Spec("csv", {"path": str(folder / "y.csv")})

    with pytest.raises(InputError, match=f"have {N} different values in {N} rows, too many for classes"):
        load_labels(builder, spec, "labels")

    assert load_labels(builder, spec, "labels", reals=True).reals.tolist() == TARGETS.tolist()  # type: ignore[union-attr]
