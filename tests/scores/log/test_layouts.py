"""A board's files as hosts keep them: one each, one wide table, arrays, other names, ids in any order or none."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.metrics import mean_squared_error, roc_auc_score

from labelinf_core.cli import main

Array = np.ndarray[Any, Any]
N, Q = 20, 12


def table(path: Path, header: str, rows: list[str]) -> str:
    path.write_text("\n".join([header, *rows]) + "\n")
    return str(path)


@pytest.fixture
def made() -> tuple[Array, Array, list[float]]:
    rng = np.random.default_rng(0)
    labels = rng.permutation([0, 1] * (N // 2))
    rows = 2.5 * labels + rng.standard_normal((Q, N))
    return labels, rows, [float(roc_auc_score(labels, row)) for row in rows]


def folder_of_csv(path: Path, rows: Array, names: list[str]) -> str:
    (path / "subs").mkdir()
    for name, row in zip(names, rows, strict=True):
        table(path / "subs" / f"{name}.csv", "row_id,prob", [f"r{i},{float(row[i])!r}" for i in reversed(range(N))])
    return str(path / "subs")


def wide_csv(path: Path, rows: Array, names: list[str]) -> str:
    lines = [",".join([f"r{i}", *(repr(float(row[i])) for row in rows)]) for i in range(N)]
    return table(path / "wide.csv", ",".join(["row_id", *names]), lines)


def one_array(path: Path, rows: Array, names: list[str]) -> str:
    np.save(path / "rows.npy", rows)
    return str(path / "rows.npy")


def arrays(path: Path, rows: Array, names: list[str]) -> str:
    (path / "subs").mkdir()
    for name, row in zip(names, rows, strict=True):
        np.save(path / "subs" / f"{name}.npy", row)
    return str(path / "subs")


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["audit", "log", *arguments], catch_exceptions=False)
    return result.exit_code, result.output + result.stderr


@pytest.mark.parametrize("layout", [folder_of_csv, wide_csv, one_array, arrays])
def test_every_layout_gives_the_same_answer(
    layout: Callable[[Path, Array, list[str]], str], tmp_path: Path, made: tuple[Array, Array, list[float]]
) -> None:
    """Ids are called row_id, scores public_score beside a column of dates, and names end in .csv as they were sent."""
    labels, rows, scores = made
    names = [f"team{at}" for at in range(Q)]
    listed = [
        f"{name}.csv,2026-01-0{1 + at % 9},{score!r}"
        for at, (name, score) in enumerate(zip(names, scores, strict=True))
    ]
    listed.append("late.csv,2026-02-01,")  # was never answered
    place = layout(tmp_path, rows, names)

    code, said = run(
        place, "--scores", table(tmp_path / "lb.csv", "file,date,public_score", listed), "--submission-column", "file",
        "--labels", table(tmp_path / "y.csv", "row_id,target", [f"r{i},{'ab'[labels[i]]}" for i in range(N)]),
        "--id", "row_id", "--metric", "roc_auc", "--json",
    )  # fmt: skip

    assert (code, json.loads(said)["labels"]["determined"]) == (1, N)


def test_records_without_a_label_were_not_scored(tmp_path: Path, made: tuple[Array, Array, list[float]]) -> None:
    """A public split: submissions have all records, the labels a part of them; a submission that lacks one is named."""
    labels, rows, _ = made
    place, names = folder_of_csv(tmp_path, rows, [f"s{at}" for at in range(Q)]), [f"s{at}" for at in range(Q)]
    part = np.arange(N) % 4 != 0
    scores = [
        f"{name},{float(roc_auc_score(labels[part], row[part]))!r}" for name, row in zip(names, rows, strict=True)
    ]
    told = [
        "--scores", table(tmp_path / "scores.csv", "submission,score", scores), "--id", "row_id",
        "--labels", table(tmp_path / "y.csv", "row_id,y", [f"r{i},{labels[i]}" for i in np.flatnonzero(part)]),
        "--metric", "roc-auc",
    ]  # fmt: skip

    code, said = run(place, *told)
    short = Path(place) / "s3.csv"
    short.write_text("\n".join(short.read_text().splitlines()[:-2]) + "\n")

    assert code == 1
    assert "15 of 15 labels are DETERMINED" in " ".join(said.split())
    assert "submission 's3' lacks 1 of the 15 records" in run(place, *told)[1]


def test_ratings_count_as_what_they_are_called(tmp_path: Path) -> None:
    """Labels 1, 3 and 7 under a squared error, from one CSV file; an outsider gives the class totals."""
    rng = np.random.default_rng(1)
    labels = rng.permutation([1, 3, 7] * 5)
    rows = np.round(labels + rng.normal(0, 1, (10, 15)), 3)
    header = ",".join(["id", *(f"s{at}" for at in range(10))])
    place = table(tmp_path / "w.csv", header, [",".join([str(i), *map(repr, rows[:, i].tolist())]) for i in range(15)])
    listed = [f"s{at},{float(mean_squared_error(labels, row))!r}" for at, row in enumerate(rows)]
    scores = table(tmp_path / "scores.csv", "submission,score", listed)
    truth = table(tmp_path / "y.csv", "id,label", [f"{i},{labels[i]}" for i in range(15)])

    code, said = run(place, "--scores", scores, "--labels", truth, "--metric", "mse")

    assert code == 1
    assert "15 of 15 labels are DETERMINED" in " ".join(said.split())


def test_classes_are_predicted_by_their_names(tmp_path: Path) -> None:
    """An accuracy of three classes; an outsider gives how many there are of each, in the order of their names."""
    rng = np.random.default_rng(2)
    labels = rng.permutation([0, 1, 2] * 4)
    names = np.array(["cat", "dog", "eel"])
    rows = np.where(rng.random((40, 12)) < 0.6, labels, rng.integers(0, 3, (40, 12)))
    header = ",".join(["id", *(f"s{at}" for at in range(40))])
    place = table(tmp_path / "w.csv", header, [",".join([str(i), *names[rows[:, i]]]) for i in range(12)])
    listed = [f"s{at},{float((row == labels).mean())!r}" for at, row in enumerate(rows)]
    told = [place, "--scores", table(tmp_path / "scores.csv", "submission,score", listed), "--metric", "accuracy"]
    truth = table(tmp_path / "y.csv", "id,label", [f"{i},{names[labels[i]]}" for i in range(12)])

    host, outsider = run(*told, "--labels", truth), run(*told, "--counts", "4,4,4")

    for code, said in (host, outsider):
        assert code == 1
        assert "12 of 12 labels are DETERMINED" in " ".join(said.split())
    assert run(*told, "--counts", "4,4,5")[0] == 2
    assert run(*told, "--counts", "four")[0] == 2


def test_a_board_of_two_metrics_is_read_at_once(tmp_path: Path, made: tuple[Array, Array, list[float]]) -> None:
    labels, rows, scores = made
    place, names = wide_csv(tmp_path, rows, [f"s{at}" for at in range(Q)]), [f"s{at}" for at in range(Q)]
    listed = [
        f"{name},{auc!r},{float(((row > 0.5) == labels).mean())!r}"
        for name, auc, row in zip(names, scores, rows, strict=True)
    ]
    told = [
        place, "--scores", table(tmp_path / "lb.csv", "submission,auc,acc", listed), "--id", "row_id",
        "--labels", table(tmp_path / "y.csv", "row_id,y", [f"r{i},{labels[i]}" for i in range(N)]),
        "--metric", "roc-auc", "--metric", "accuracy",
    ]  # fmt: skip

    code, said = run(*told, "--score-column", "auc", "--score-column", "acc")

    assert code == 1
    assert "roc-auc and accuracy" in said
    assert "need a --score-column each" in run(*told)[1]


def test_a_score_of_the_other_positive_class_says_which_one_is_taken(
    tmp_path: Path, made: tuple[Array, Array, list[float]]
) -> None:
    """Of "ja" and "nein" the later one is not the one that a board counts."""
    labels, rows, scores = made
    names = [f"team{at}" for at in range(Q)]
    place = wide_csv(tmp_path, rows, names)
    listed = table(tmp_path / "s.csv", "submission,score", [f"{n},{s!r}" for n, s in zip(names, scores, strict=True)])
    named = table(tmp_path / "y.csv", "row_id,y", [f"r{at},{('nein', 'ja')[label]}" for at, label in enumerate(labels)])
    asked = [place, "--scores", listed, "--labels", named, "--column", "y", "--id", "row_id", "--metric", "roc-auc"]

    status, said = run(*asked, "--seconds", "5")

    assert status == 3
    assert "the other class is positive: --positive names it, 'nein' here" in " ".join(said.split())
    assert run(*asked, "--seconds", "5", "--positive", "ja")[0] == 1
