"""``labelinf audit log --scorer``: labels that a search finds by running a user's own function."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from labelinf_core.cli import main

SCORERS = """
import numpy as np

def correlation(labels, predictions):
    return float(np.corrcoef(np.argsort(np.argsort(predictions)), labels)[0, 1])

def constant(labels, predictions):
    return 0.25

def names(labels, predictions):
    return float((np.asarray(labels) == "yes") @ predictions / len(labels))

def fails(labels, predictions):
    raise RuntimeError(str(list(labels)))
"""


def correlation(labels: np.ndarray, predictions: np.ndarray) -> float:
    return float(np.corrcoef(np.argsort(np.argsort(predictions)), labels)[0, 1])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Thirty labels, twenty honest submissions, a rank correlation to six decimals."""
    rng = np.random.default_rng(4)
    labels = rng.permutation(np.arange(30) % 3 == 0).astype(int)
    rows = labels + rng.standard_normal((20, 30))
    np.save(tmp_path / "rows.npy", rows)
    write_scores(tmp_path, [f"{correlation(labels, row):.6f}" for row in rows])
    (tmp_path / "labels.csv").write_text("\n".join(["label", *np.array(["no", "yes"])[labels], ""]))
    (tmp_path / "log_scorers.py").write_text(SCORERS)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def write_scores(folder: Path, scores: list[str]) -> None:
    lines = [f"{at},{score}" for at, score in enumerate(scores)]
    (folder / "scores.csv").write_text("\n".join(["submission,score", *lines, ""]))


def audit(folder: Path, scorer: str, *more: str, labels: bool = True) -> Result:
    files = [str(folder / "rows.npy"), "--scores", str(folder / "scores.csv")]
    truth = ["--labels", str(folder / "labels.csv")] if labels else []
    arguments = ["audit", "log", *files, *truth, "--scorer", f"log_scorers:{scorer}", *more]
    return CliRunner().invoke(main, arguments, catch_exceptions=False)


@pytest.mark.long
@pytest.mark.parametrize("more", [(), ("--counts", "hidden")])
def test_a_search_that_runs_the_function_finds_the_labels(folder: Path, more: tuple[str, ...]) -> None:
    """It says likely, never determined; the placebo finds no more than chance, and a seed has one end."""
    one, again = (audit(folder, "correlation", "--simulations", "20000", "--json", *more) for _ in range(2))
    found = json.loads(one.stdout)

    assert one.exit_code == 1
    assert (found["labels"], found["likely"]["fits"]) == ({}, True)
    assert found["likely"]["right"] >= 27
    assert found["likely"]["placebo"] <= 25
    assert found["likely"]["calls"] <= 20000
    same = json.loads(again.stdout)["likely"]
    assert same == found["likely"]


def test_answers_that_say_nothing_are_inconclusive(folder: Path) -> None:
    write_scores(folder, ["0.25"] * 20)
    result = audit(folder, "constant", "--simulations", "2000")

    assert result.exit_code == 3
    assert "found no more labels than luck does; not a proof of safety" in " ".join(result.output.split())


def test_a_few_calls_search_a_few_answers_and_say_so(folder: Path) -> None:
    result = audit(folder, "correlation", "--simulations", "800")

    assert "so that 3 of 20 answers were searched" in " ".join(result.output.split())


@pytest.mark.long
def test_classes_are_called_as_the_function_calls_them(folder: Path) -> None:
    rows, names = np.load(folder / "rows.npy"), (folder / "labels.csv").read_text().split()[1:]
    write_scores(folder, [f"{(np.array(names) == 'yes') @ row / 30:.6f}" for row in rows])

    assert audit(folder, "names", "--simulations", "20000").exit_code == 1


def test_a_score_that_the_function_does_not_give_is_one_sentence(folder: Path) -> None:
    write_scores(folder, ["0.123456"] * 20)
    result = audit(folder, "correlation")

    assert result.exit_code == 3
    assert "the score of submission '0' is not what log_scorers:correlation of these labels gives" in " ".join(
        result.output.split()
    )


def test_what_cannot_be_searched_is_refused(folder: Path) -> None:
    """Without labels nothing is counted; a function that raises is named, and its words are not shown."""
    unlabelled, raising = audit(folder, "correlation", labels=False), audit(folder, "fails")

    assert (unlabelled.exit_code, raising.exit_code) == (2, 2)
    assert "--scorer needs --labels" in unlabelled.stderr
    assert "raised RuntimeError" in raising.stderr
    assert "[" not in raising.stderr.split("RuntimeError")[1]
    assert "either --metric or --scorer" in audit(folder, "correlation", "--metric", "roc-auc").stderr
