"""A board's files as hosts keep them: one each, one wide table, arrays, other names, ids in any order or none."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.metrics import f1_score, mean_squared_error, roc_auc_score

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


@pytest.mark.long
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


@pytest.mark.long
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


@pytest.mark.long
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
    assert "every --metric needs a --score-column" in run(*told)[1]


@pytest.mark.long
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

    status, said = run(*asked, "--timeout", "5")

    assert status == 3
    assert "the other class is positive: --positive names it, 'nein' here" in " ".join(said.split())
    assert run(*asked, "--timeout", "5", "--positive", "ja")[0] == 1


@pytest.fixture
def archive(tmp_path: Path, made: tuple[Array, Array, list[float]]) -> tuple[Path, list[str]]:
    """Submissions as a platform's archive has them, and the arguments that audit them."""
    labels, rows, scores = made
    place, names = folder_of_csv(tmp_path, rows, [f"é {at}" for at in range(Q)]), [f"é {at}" for at in range(Q)]
    listed = [f"{name}.csv,{score:.5f}" for name, score in zip(names, scores, strict=True)]
    return Path(place), [
        place, "--scores", table(tmp_path / "s.csv", "submission,score", listed), "--metric", "roc-auc",
        "--labels", table(tmp_path / "y.csv", "row_id,y", [f"r{i},{labels[i]}" for i in range(N)]), "--id", "ROW_ID",
    ]  # fmt: skip


def test_what_has_no_score_is_not_read(archive: tuple[Path, list[str]]) -> None:
    """Forks of a Mac, an empty file, a folder; endings in capitals, accents written as letters of their own."""
    place, told = archive
    (place / "._é 0.csv").write_bytes(b"\0\5\x16\7\xff")
    (place / "late.csv").write_text("")
    (place / "folder.csv").mkdir()
    (place / "é 3.csv").rename(place / "e\u0301 3.CSV")

    assert run(*told)[0] == 1


def test_a_submission_that_is_there_twice_is_refused(archive: tuple[Path, list[str]]) -> None:
    place, told = archive
    np.save(place / "é 0.npy", np.zeros(N))

    assert "holds submission 'é 0' twice, as .csv and as .npy" in run(*told)[1]


@pytest.mark.parametrize(("values", "message"), [(5.0, "must hold an array of numbers"), ("ab", "must hold an array")])
def test_an_array_that_is_none_is_refused(archive: tuple[Path, list[str]], values: object, message: str) -> None:
    place, told = archive
    (place / "é 0.csv").unlink()
    np.save(place / "é 0.npy", np.array(values))

    status, said = run(*told)

    assert (status, message in said) == (2, True)


def test_scores_in_single_precision_are_refused(archive: tuple[Path, list[str]], tmp_path: Path) -> None:
    """Their doubles have seventeen decimals, of which seven are so."""
    _, told = archive
    np.save(tmp_path / "s.npy", np.full(Q, 0.75, dtype=np.float32))

    status, said = run(*told, "--scores", str(tmp_path / "s.npy"))

    assert (status, "holds float32, which is not how scores are printed" in said) == (2, True)


def test_ids_that_differ_are_not_joined_by_order(tmp_path: Path, made: tuple[Array, Array, list[float]]) -> None:
    """Records 0 to 19 of the submissions are not records 1 to 20 of the labels, even if there are as many."""
    labels, rows, scores = made
    names = [f"s{at}" for at in range(Q)]
    lines = [",".join([str(i), *(repr(float(row[i])) for row in rows)]) for i in range(N)]
    told = [
        table(tmp_path / "w.csv", ",".join(["id", *names]), lines), "--metric", "roc-auc", "--timeout", "5", "--scores",
        table(tmp_path / "s.csv", "submission,score", [f"{n},{s!r}" for n, s in zip(names, scores, strict=True)]),
        "--labels",
    ]  # fmt: skip

    status, said = run(*told, table(tmp_path / "y.csv", "id,y", [f"{i + 1},{labels[i]}" for i in range(N)]))

    assert (status, "lacks 1 of the 20 records" in said) == (2, True)
    assert run(*told, table(tmp_path / "z.csv", "y", [str(label) for label in labels]))[0] == 1


def test_an_outsiders_submissions_have_the_same_records(tmp_path: Path) -> None:
    (tmp_path / "subs").mkdir()
    for at, size in enumerate((3, 4)):
        table(tmp_path / "subs" / f"s{at}.csv", "id,p", [f"{i},0.{i}" for i in range(size)])
    scores = table(tmp_path / "s.csv", "submission,score", ["s0,0.50", "s1,0.75"])

    status, said = run(str(tmp_path / "subs"), "--scores", scores, "--counts", "1", "--metric", "roc-auc")

    assert (status, "submission 's1' has 4 records, and the first one 3" in said) == (2, True)


def outsiders(path: Path, rows: Array, header: str, scores: list[float]) -> list[str]:
    """A folder of hard predictions and the arguments that audit them without labels."""
    (path / "subs").mkdir()
    for at, row in enumerate(rows):
        table(path / "subs" / f"s{at}.csv", header, [f"r{i},{cell}" for i, cell in enumerate(row)])
    listed = [f"s{at},{score!r}" for at, score in enumerate(scores)]
    return [str(path / "subs"), "--scores", table(path / "s.csv", "submission,score", listed), "--timeout", "5"]


def test_an_outsiders_positive_class_is_the_one_that_is_named(tmp_path: Path) -> None:
    """Four cats among eight dogs: --counts counted the dogs, whatever --positive said."""
    rng = np.random.default_rng(1)
    labels = rng.permutation([0] * 8 + [1] * 4)
    rows = np.where(rng.random((15, 12)) < 0.7, labels, 1 - labels)
    told = outsiders(tmp_path, np.array(["dog", "cat"])[rows], "id,p", [float(f1_score(labels, row)) for row in rows])

    status, said = run(*told, "--metric", "f1", "--counts", "4", "--positive", "cat")

    assert (status, "(8 of class dog, 4 of class cat)" in " ".join(said.split())) == (1, True)
    assert "there is no such class of two; they are cat, dog" in run(
        *told, "--metric", "f1", "--counts", "4", "--positive", "owl"
    )[1]  # fmt: skip


@pytest.mark.long
def test_an_outsiders_classes_are_not_guessed(tmp_path: Path) -> None:
    """Of classes 1, 2 and 3 the submissions predict two: they were taken for the second and the third of 0, 1 and 2."""
    rng = np.random.default_rng(1)
    labels = rng.permutation([1] * 3 + [2] * 4 + [3] * 5)
    rows = np.where((rng.random((20, 12)) < 0.8) & (labels < 3), labels, rng.integers(1, 3, (20, 12)))
    told = outsiders(tmp_path, rows, "id,p", [float((row == labels).mean()) for row in rows])

    status, said = run(*told, "--metric", "accuracy", "--counts", "3,4,5")

    assert (status, "the submissions predict 2 classes, and there are 3: write their names" in said) == (2, True)
    assert run(*told, "--metric", "accuracy", "--counts", "1=3,2=4,3=5")[0] == 1
    assert run(*told, "--metric", "accuracy", "--counts", "1=3,2=4,2=5")[0] == 2


@pytest.mark.long
def test_an_outsiders_predictions_are_not_taken_for_the_values_of_classes(tmp_path: Path) -> None:
    """Who predicts .2 and .8 throughout of labels 0 and 1."""
    rng = np.random.default_rng(1)
    labels = rng.permutation([0, 1] * 6)
    rows = np.where(rng.random((12, 12)) < 0.7, labels, 1 - labels) * 0.6 + 0.2
    told = outsiders(tmp_path, rows, "id,p", [float(mean_squared_error(labels, row)) for row in rows])

    assert run(*told, "--metric", "mse", "--counts", "6")[0] == 1
    assert run(*told, "--metric", "mse", "--counts", "0=6,1=6")[0] == 1
    status, said = run(*told, "--metric", "mse", "--counts", "6,6")
    assert (status, "this metric is of values; write them beside the totals" in said) == (2, True)


def test_columns_of_classes_are_told_by_name_or_not_at_all(tmp_path: Path) -> None:
    """Every team has them in an order of its own; a prefix makes names of which nobody knows the class."""
    rng = np.random.default_rng(1)
    labels, names = rng.permutation([0, 1, 2] * 4), np.array(["cat", "dog", "eel"])
    scores = []
    for prefix in ("", "p_"):
        (tmp_path / f"subs{prefix}").mkdir()
    for at in range(15):
        odds = np.exp(rng.normal(0, 1, (12, 3)) + 1.5 * np.eye(3)[labels])
        share, order = odds / odds.sum(axis=1, keepdims=True), rng.permutation(3)
        scores.append(f"s{at},{float(roc_auc_score(labels, share, multi_class='ovr'))!r}")
        lines = [",".join([f"r{i}", *map(repr, share[i, order].tolist())]) for i in range(12)]
        for prefix in ("", "p_"):
            header = ",".join(["id", *(prefix + name for name in names[order])])
            table(tmp_path / f"subs{prefix}" / f"s{at}.csv", header, lines)
    told = [
        "--scores", table(tmp_path / "s.csv", "submission,score", scores), "--metric", "roc-auc-ovr", "--timeout", "5",
    ]  # fmt: skip
    truth = table(tmp_path / "y.csv", "id,y", [f"r{i},{names[label]}" for i, label in enumerate(labels)])

    assert run(str(tmp_path / "subs"), *told, "--counts", "4,4,4")[0] == 1
    status, said = run(str(tmp_path / "subsp_"), *told, "--labels", truth)
    assert (status, "submissions differ in the names or the order of their columns" in said) == (2, True)


def test_ones_alone_are_not_taken_for_a_half_and_more(tmp_path: Path) -> None:
    """%g prints the accuracy of who has every label right as 1, and "no label is determined" was said of it."""
    told = outsiders(tmp_path, np.array([[0, 1, 1, 0]]), "id,p", [1])

    status, said = run(*told, "--metric", "accuracy", "--counts", "2")

    assert (status, "all scores have one decimal at most; say with --decimals" in said) == (2, True)
    assert run(*told, "--metric", "accuracy", "--counts", "2", "--decimals", "4")[0] == 1
    assert run(*told, "--metric", "accuracy", "--counts", "2", "--decimals", "0")[0] == 0


def test_an_outsider_needs_no_sum_where_all_labellings_can_be_tried(tmp_path: Path) -> None:
    """An AUC of pairs of classes bounds no sum, so that no programme finds labels that fit."""
    labels = np.array([0, 1, 2, 0, 1, 2])
    rows = np.eye(3)[labels] * 0.7 + 0.1
    (tmp_path / "subs").mkdir()
    table(tmp_path / "subs" / "s.csv", "id,0,1,2", [",".join(map(str, [i, *row])) for i, row in enumerate(rows)])
    scores = table(tmp_path / "s.csv", "submission,score", ["s,1.0000"])

    assert run(
        str(tmp_path / "subs"), "--scores", scores, "--counts", "2,2,2", "--metric", "roc-auc-ovo", "--timeout", "5"
    )[0] == 1  # fmt: skip


def test_a_column_of_usage_says_which_rows_were_scored(tmp_path: Path, made: tuple[Array, Array, list[float]]) -> None:
    """Scores are of the public rows; the others are left out, and said to be."""
    labels, rows, _ = made
    public = np.arange(N) % 2 == 0
    names = [f"team{at}" for at in range(Q)]
    listed = [
        f"{name},{float(roc_auc_score(labels[public], row[public]))!r}" for name, row in zip(names, rows, strict=True)
    ]
    usage = [f"r{i},{labels[i]},{'Public' if public[i] else 'Private'}" for i in range(N)]

    code, said = run(
        folder_of_csv(tmp_path, rows, names),
        "--scores", table(tmp_path / "lb.csv", "submission,score", listed),
        "--labels", table(tmp_path / "y.csv", "row_id,target,Usage", usage), "--id", "row_id", "--metric", "roc_auc",
    )  # fmt: skip

    assert code == 1, said
    assert f"{Q} submissions, {N // 2} labels" in said
    assert f"{N // 2} rows that are not Public (Usage) left out" in said
