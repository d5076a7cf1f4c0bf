"""What a column may hold that labels are planted in: values on a grid, missing labels, rare classes, twins."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from sklearn.datasets import load_diabetes
from sklearn.neighbors import KNeighborsRegressor

from labelinf_core.contracts.documents import csv_text
from labelinf_core.contracts.errors import InputError
from labelinf_outputs.audit.planted import read_planted
from labelinf_outputs.commands import outputs, plant
from labelinf_outputs.game.view import Outputs, View

FEATURES, PROGRESS = load_diabetes(return_X_y=True)


def table(folder: Path, labels: list[str], features: np.ndarray | None = None) -> str:
    found = FEATURES[: len(labels)] if features is None else features
    rows = [[*map(str, row), label] for row, label in zip(found.tolist(), labels, strict=True)]
    (folder / "d.csv").write_text(csv_text([*"abcdefghij", "y"], rows))
    return str(folder / "d.csv")


def planted(folder: Path, labels: list[str], *more: str, features: np.ndarray | None = None) -> Result:
    data = table(folder, labels, features)
    return CliRunner().invoke(plant, [data, "--column", "y", "--out", str(folder / "plan"), "--seed", "1", *more])


def flat(result: Result) -> str:
    return " ".join(result.output.split())


def numbers(path: Path) -> tuple[list[str], np.ndarray]:
    _, *rows = [line.split(",") for line in path.read_text().splitlines()]
    return [row[0] for row in rows], np.array([row[1:] for row in rows], dtype=float)


@pytest.mark.long
def test_values_are_planted_on_a_grid_and_a_model_that_remembers_them_is_refuted(tmp_path: Path) -> None:
    told = planted(tmp_path, [f"{y:g}" for y in PROGRESS], "--grid", "25:345:5", "--share", "0.3", "--references", "0")
    plan = tmp_path / "plan"
    _, known = numbers(plan / "training.csv")
    ids, asked = numbers(plan / "query.csv")
    model = KNeighborsRegressor(1).fit(known[:, :-1], known[:, -1])
    for name, said in (("p.csv", model.predict(asked)), ("mean.csv", np.full(len(ids), known[:, -1].mean()))):
        (tmp_path / name).write_text(csv_text(["record", "y"], [[i, str(v)] for i, v in zip(ids, said, strict=True)]))
    audits = [
        CliRunner().invoke(
            outputs,
            [
                "--shows",
                "values",
                str(tmp_path / name),
                "--seal",
                str(plan / "sealed.json"),
                "--epsilon",
                "1",
                "--json",
            ],
        )
        for name in ("p.csv", "mean.csv")
    ]
    leaking, silent = (json.loads(found.output)["decision"] for found in audits)

    assert "132 planted labels of 5 points of a grid" in told.output
    assert "grid 25, 105, 185, 265, 345" in told.output
    assert "PREDICTIONS.csv --shows values" in told.output
    assert leaking["proof"]["correct"] > 125
    assert (leaking["word"], audits[0].exit_code) == ("leaks", 1)
    assert leaking["level"] > 3
    assert (silent["level"], audits[1].exit_code) == (0.0, 3)


@pytest.mark.parametrize(
    ("labels", "more", "said"),
    [
        ([f"{y:g}" for y in PROGRESS], [], "column 'y' holds 214 different numbers. If they are values"),
        (["a", "b"] * 20, ["--grid", "0:1:4"], "column 'y' must hold numbers: values on a grid"),
        (["1", "2"] * 20, ["--grid", "0:1"], "--grid 0:1 must be LOW:HIGH:K"),
        (["1", "2"] * 20, ["--grid", "1:1:3"], "--grid 1:1:3 must be LOW:HIGH:K"),
        (["1", "2"] * 20, ["--grid", "0:1e-323:9"], "2 to 1000 points between them"),
        (["a", "b", "nan", "a"] * 10, [], "'nan' in row 4 is no class"),
    ],
)
def test_a_column_that_cannot_be_planted_in_is_one_sentence(
    tmp_path: Path, labels: list[str], more: list[str], said: str
) -> None:
    assert said in str(planted(tmp_path, labels, *more).exception)
    assert not (tmp_path / "plan").exists()


def test_points_of_a_grid_are_as_many_as_are_asked_for(tmp_path: Path) -> None:
    """Six digits of them were planted: of 100, 100.00005 and 100.0001 two points."""
    told = planted(tmp_path, [f"{y:g}" for y in PROGRESS], "--grid", "100:100.0001:3", "--json")

    assert json.loads(told.output)["grid"] == ["100", "100.00005", "100.0001"]


def test_forty_classes_that_are_counted_are_classes(tmp_path: Path) -> None:
    assert "40 classes" in planted(tmp_path, [str(row % 40) for row in range(400)], "--control", "0").output


@pytest.mark.parametrize("name", ["NA", "None", "null"])
def test_a_class_that_pandas_reads_as_missing_is_warned_of(tmp_path: Path, name: str) -> None:
    assert f"Warning: class {name!r} is no label to pandas" in flat(planted(tmp_path, [name, "x"] * 100))


def test_one_class_under_two_numbers_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("label\n01\n10\n")
    (tmp_path / "p.csv").write_text("said\n1\n10\n")
    given = ["--shows", "top-1", str(tmp_path / "p.csv"), "--planted-by-me", str(tmp_path / "c.csv")]

    assert "has the number 01 also as 1: one or two?" in str(CliRunner().invoke(outputs, given).exception)


def test_a_rare_class_is_warned_of_with_the_numbers(tmp_path: Path) -> None:
    labels = ["often"] * 390 + ["rare"] * 10

    warned = flat(planted(tmp_path, labels, "--share", "0.2"))

    assert "Warning: class 'rare' has 10 records, and about 40 of 80 planted labels are of it" in warned
    assert "--share 0.05 plants as many as it has" in warned
    (tmp_path / "less").mkdir()
    assert "Warning" not in planted(tmp_path / "less", labels, "--share", "0.05").output


def test_records_that_no_model_can_tell_apart_are_found_and_planted_last(tmp_path: Path) -> None:
    features = FEATURES[:200].copy()
    features[:60] = features[60:120]

    told = flat(planted(tmp_path, ["a", "b"] * 100, "--share", "0.3", features=features))

    # 120 records are one of two; 80 are themselves, of which 60 are canaries and 20 the control.
    assert "Warning: 120 records have the features of another one; 0 of them are canaries." in told


TEN, ELEVEN = [str(k) for k in range(1, 11)], [str(k) for k in range(11)]


def told(folder: Path, classes: list[str], columns: list[str]) -> None:
    """Write what a model says that gives every planted label back, its columns in this order, counted and named."""
    assert planted(folder, classes * 20, "--control", "0", "--share", "0.3").exit_code == 0
    seal = json.loads((folder / "plan" / "sealed.json").read_text())
    shown = np.eye(len(classes))[[columns.index(seal["classes"][k]) for k in seal["labels"]]]
    rows = [[name, *map(str, row)] for name, row in zip(seal["records"], shown.tolist(), strict=True)]
    (folder / "p.csv").write_text(csv_text(["record", *map(str, range(len(classes)))], rows))
    np.savez(folder / "p.npz", probabilities=shown, record=seal["records"])
    np.savez(folder / "named.npz", probabilities=shown, record=seal["records"], classes=columns)
    (folder / "named.csv").write_text(csv_text(["record", *columns], rows))


def leaks(folder: Path, name: str) -> Result:
    seal = str(folder / "plan" / "sealed.json")
    return CliRunner().invoke(outputs, [str(folder / name), "--seal", seal])


@pytest.mark.parametrize("classes", [TEN, ELEVEN, ["-2", "-1", "0"]])
@pytest.mark.parametrize("key", [float, str])
def test_columns_that_are_counted_are_refused_where_classes_have_two_orders(
    tmp_path: Path, classes: list[str], key: Callable[[str], Any]
) -> None:
    """Columns in the order of text were read in that of numbers, which hid the leak."""
    told(tmp_path, classes, sorted(classes, key=key))

    for name in ("p.csv", "p.npz"):
        assert "as text than as numbers" in str(leaks(tmp_path, name).exception)
    assert leaks(tmp_path, "named.npz").exit_code == 1
    if classes is not ELEVEN or key is str:
        assert leaks(tmp_path, "named.csv").exit_code == 1


@pytest.mark.parametrize("classes", [["-1", "0", "1"], ["a", "10", "9"], [str(k) for k in range(10)]])
def test_columns_that_are_counted_have_the_one_order_of_the_classes(tmp_path: Path, classes: list[str]) -> None:
    told(tmp_path, classes, np.unique(classes).tolist())

    assert {leaks(tmp_path, name).exit_code for name in ("p.csv", "p.npz", "named.csv", "named.npz")} == {1}


def test_columns_of_eleven_classes_are_named_where_labels_were_planted_by_hand(tmp_path: Path) -> None:
    labels = np.random.default_rng(0).integers(0, 11, 200)
    (tmp_path / "c.csv").write_text("\n".join(["label", *map(str, labels)]) + "\n")
    np.save(tmp_path / "p.npy", np.eye(11)[labels])
    np.savez(tmp_path / "p.npz", probabilities=np.eye(11)[labels], classes=np.arange(11))

    with pytest.raises(InputError, match="as text than as numbers"):
        read_planted(str(tmp_path / "p.npy"), str(tmp_path / "c.csv"))
    assert read_planted(str(tmp_path / "p.npz"), str(tmp_path / "c.csv")).labels.tolist() == labels.tolist()


@pytest.mark.long
def test_classes_that_nothing_was_planted_of_lower_no_chance(tmp_path: Path) -> None:
    """A third class among the predictions, labels drawn from two: 18 % of audits proved what is not there."""
    false, rng = 0, np.random.default_rng(0)
    for _ in range(100):
        labels, said = rng.choice(["neg", "pos"], (2, 20)).astype("<U5")
        said[0] = "other"
        for name, header, cells in (("p", "said", said), ("c", "label", labels)):
            (tmp_path / f"{name}.csv").write_text("\n".join([header, *cells]) + "\n")
        given = ["--shows", "top-1", str(tmp_path / "p.csv"), "--planted-by-me", str(tmp_path / "c.csv")]
        found = CliRunner().invoke(outputs, [*given, "--attack", "lia-threshold", "--json"])
        false += json.loads(found.output)["decision"]["level"] > 0

    assert false <= 10  # of 100 at 5 %, more have a probability of 1.1 %; there are two or three


def test_what_was_planted_counts_the_classes_of_references_too(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    said = rng.dirichlet(np.ones(4), (3, 30))
    (tmp_path / "c.csv").write_text("\n".join(["label", *["a", "c"] * 15]) + "\n")
    rows = [[str(x) for x in row] for row in said[0].tolist()]
    (tmp_path / "p.csv").write_text(csv_text(["a", "b", "c", "d"], rows))
    labels = rng.choice([0, 2, 3], (2, 30))
    np.savez(tmp_path / "r.npz", probabilities=said[1:], labels=labels, trained=rng.integers(0, 4, (2, 30)))

    found = read_planted(str(tmp_path / "p.csv"), str(tmp_path / "c.csv"), str(tmp_path / "r.npz"))

    assert found.class_names == ("a", "c", "d")
    assert found.labels.tolist() == [0, 1] * 15
    np.testing.assert_allclose(
        found.release.probabilities, said[0][:, [0, 2, 3]] / said[0][:, [0, 2, 3]].sum(axis=1, keepdims=True)
    )
    assert found.references is not None
    assert found.references.log_probabilities.shape == (2, 30, 3)
    assert np.array_equal(np.array([0, 2, 3])[found.references.planted], labels)
    assert found.references.trained.min() == -1


def test_numbers_of_references_are_names_where_classes_have_these(tmp_path: Path) -> None:
    """Columns in the order of text, 0, 1, 10, 2: the 10 of a reference is no tenth column."""
    labels = np.random.default_rng(2).integers(0, 11, (3, 200))
    columns = sorted(ELEVEN)
    shown = np.eye(11)[np.array([columns.index(name) for name in ELEVEN])[labels]]
    (tmp_path / "p.csv").write_text(csv_text(columns, [[str(x) for x in row] for row in shown[0].tolist()]))
    (tmp_path / "c.csv").write_text("\n".join(["label", *map(str, labels[0])]) + "\n")
    np.savez(tmp_path / "r.npz", probabilities=shown[1:], labels=labels[1:])

    found = read_planted(str(tmp_path / "p.csv"), str(tmp_path / "c.csv"), str(tmp_path / "r.npz")).references

    assert found is not None
    assert np.array_equal(found.log_probabilities.argmax(axis=2), found.planted)


@pytest.mark.parametrize("classes", [["-1", "1"], ["10", "9", "8"]])
def test_a_first_row_of_the_planted_classes_is_a_header(tmp_path: Path, classes: list[str]) -> None:
    """It was read as the first record, and every other one moved down a row."""
    labels = np.random.default_rng(0).integers(0, len(classes), 40)
    rows = [[f"{x:.1f}" for x in row] for row in np.eye(len(classes))[labels].tolist()]
    (tmp_path / "p.csv").write_text(csv_text(classes, rows))
    known = csv_text(["record", "label"], [[str(row), classes[k]] for row, k in enumerate(labels)])
    (tmp_path / "c.csv").write_text(known)

    found = read_planted(str(tmp_path / "p.csv"), str(tmp_path / "c.csv"), view=View(outputs=Outputs.LOGITS))

    assert np.array_equal(found.release.log_probabilities.argmax(axis=1), found.labels)


def test_a_missing_prediction_is_no_class(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("said\na\nnan\n")
    (tmp_path / "c.csv").write_text("label\na\nb\n")
    given = ["--shows", "top-1", str(tmp_path / "p.csv"), "--planted-by-me", str(tmp_path / "c.csv")]

    assert "must have one column" in str(CliRunner().invoke(outputs, given).exception)
    (tmp_path / "p.csv").write_text("said\na\nb\n")
    (tmp_path / "c.csv").write_text("label\na\nnan\n")
    assert "row 3: label must be one of a" in str(CliRunner().invoke(outputs, given).exception)


def test_labels_of_references_may_be_names_of_classes(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    labels, said = rng.integers(0, 2, (3, 30)), rng.dirichlet(np.ones(2), (3, 30))
    names = np.array(["no", "yes"])
    (tmp_path / "p.csv").write_text(csv_text(["no", "yes"], [[str(x) for x in row] for row in said[0].tolist()]))
    (tmp_path / "c.csv").write_text("\n".join(["label", *names[labels[0]]]) + "\n")
    np.savez(tmp_path / "numbers.npz", probabilities=said[1:], labels=labels[1:])
    np.savez(tmp_path / "names.npz", probabilities=said[1:], labels=names[labels[1:]])
    np.savez(tmp_path / "wrong.npz", probabilities=said[1:], labels=np.char.add(names[labels[1:]], "?"))
    np.savez(tmp_path / "sure.npz", probabilities=np.eye(2, dtype=int)[labels[1:]], labels=labels[1:])
    (tmp_path / "tenths.csv").write_text(csv_text(["no", "yes"], [["0.9", "0.1"]] * 30))

    one, two = (
        read_planted(str(tmp_path / "p.csv"), str(tmp_path / "c.csv"), str(tmp_path / f"{kind}.npz"))
        for kind in ("numbers", "names")
    )

    assert one.references is not None
    assert two.references is not None
    assert np.array_equal(one.references.planted, two.references.planted)
    for name in ("p.csv", "tenths.csv"):
        sure = read_planted(str(tmp_path / name), str(tmp_path / "c.csv"), str(tmp_path / "sure.npz")).references
        assert sure is not None
        assert np.array_equal(sure.log_probabilities.argmax(axis=2), labels[1:])
    with pytest.raises(InputError, match=r"whole numbers in 0\.\.1, or names of the classes"):
        read_planted(str(tmp_path / "p.csv"), str(tmp_path / "c.csv"), str(tmp_path / "wrong.npz"))
