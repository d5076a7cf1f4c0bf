"""A function finds what its command finds, of arrays instead of files."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import labelinf as li
from labelinf_core.cli import main
from labelinf_core.contracts.errors import InputError, UnknownNameError

Y = np.array(["ham", "spam", "spam", "ham", "spam"] * 8)


def asked(*arguments: str, status: int) -> Any:
    """What a command prints for programs."""
    done = CliRunner().invoke(main, [*arguments, "--json"])
    assert done.exit_code == status, done.output
    return json.loads(done.stdout)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    pd.DataFrame({"label": Y}).to_csv("y.csv", index=False)


@pytest.fixture
def _no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*arguments: object, **settings: object) -> None:
        raise AssertionError("a file for what is in memory")

    for module, name in ((tempfile, "mkdtemp"), (tempfile, "mkstemp"), (np, "save"), (np, "savez")):
        monkeypatch.setattr(module, name, refused)


@pytest.mark.long
@pytest.mark.usefixtures("_no_file")
def test_an_attack_recovers_what_its_command_does() -> None:
    found = li.attack(Y, "prime-blocks", defences=["round(decimals=1)"], queries=3)
    told = asked("attack", "prime-blocks", "--labels", "y.csv", "--defence", "round(decimals=1)", "--queries", "3",
                 "--show", "40", status=0)  # fmt: skip

    assert list(found.rows()) == told["records"]
    assert found.report.trials[0].n_correct == told["cells"][0]["outcomes"][0]["n_correct"]
    assert str(found).startswith(repr(found)[:20])


@pytest.mark.long
@pytest.mark.parametrize("y", [list(Y), pd.Series(Y), pd.DataFrame({"label": Y}), pd.Series(Y, dtype="category")])
def test_labels_are_read_alike_however_they_are_held(y: Any) -> None:
    assert li.bounds(y).implied == li.bounds(Y).implied
    assert li.bounds(y).baseline == li.bounds(labels="y.csv").baseline == 0.6


def test_features_and_groups_are_frames_too_and_a_mistake_names_no_label() -> None:
    groups = pd.Series(np.repeat(np.arange(20), 2))
    plain, grouped = (
        li.bounds(Y, defences=["laplace-dp(epsilon=1)"]),
        li.bounds(Y, groups=groups, features=pd.DataFrame({"a": range(40)}), defences=["laplace-dp(epsilon=1)"]),
    )

    assert grouped.implied != plain.implied
    for wrong in ({"groups": groups[1:]}, {"features": pd.DataFrame({"a": Y})}):
        with pytest.raises(InputError) as told:
            li.bounds(Y, **wrong)
        assert "spam" not in str(told.value)
    with pytest.raises(InputError, match="the labels are passed: leave out records and labels"):
        li.bounds(Y, records=40)
    with pytest.raises(InputError, match="the labels are passed"):
        li.advise(Y, labels="y.csv", gain="5%")


@pytest.mark.long
def test_advice_about_labels_is_that_about_their_file() -> None:
    game: dict[str, Any] = {"gain": "5%", "only": "randomised-response", "questions": 0}

    assert str(li.advise(Y, **game)) == str(li.advise(labels="y.csv", **game))


@pytest.mark.long
@pytest.mark.usefixtures("_no_file")
def test_a_log_of_arrays_is_audited_as_its_files_are() -> None:
    rng = np.random.default_rng(0)
    truth = (Y == "spam").astype(int)
    submitted = {f"s{at}": rng.integers(0, 2, 40) for at in range(6)} | {"all": np.ones(40, dtype=int)}
    scores = {name: f"{np.mean(values == truth):.4f}" for name, values in submitted.items()}
    pd.DataFrame({"id": range(40), "label": truth}).to_csv("truth.csv", index=False)
    pd.DataFrame({"id": range(40), **submitted}).to_csv("log.csv", index=False)
    pd.DataFrame({"submission": [*scores], "score": [*scores.values()]}).to_csv("scores.csv", index=False)

    told = asked("audit", "log", "log.csv", "--scores", "scores.csv", "--labels", "truth.csv", "--metric", "accuracy",
                 "--timeout", "5", status=0)  # fmt: skip
    for held, given in (
        (submitted, scores.values()),
        (pd.DataFrame(submitted), scores.values()),
        ("log.csv", "scores.csv"),
    ):
        found = li.audit_log(truth, held, given, metric="accuracy", timeout=5.0)
        statuses = [row["status"] for row in found.rows()]
        assert {name: statuses.count(name) for name in told["labels"]} == told["labels"]
        assert (found.word.value, found.status) == ("certified", 0)
    outside = li.audit_log(None, submitted, scores.values(), metric="accuracy", counts=24, timeout=5.0)
    assert outside.report.outsider
    assert outside.report.said == (("0", 16), ("1", 24))


def test_a_log_that_cannot_be_read_is_one_sentence() -> None:
    for wrong, message in (
        ({"scores": ["0.5"]}, "1 scores for 2 submissions"),
        ({"scores": ["0.51", "none"]}, "the score of submission '1' is no finite number"),
        (
            {"scores": ["0.51", "0.49"], "metric": ["accuracy", "f1"]},
            "1 scores for 2|iterat|every submission|no finite",
        ),
        ({"scores": ["0.51", "0.49"], "metric": ()}, "either metric or scorer"),
        ({"scores": ["0.51", "0.49"], "positive": "eel"}, "--positive eel: y has no such class of two"),
    ):
        settings = {"metric": "accuracy", **wrong}
        with pytest.raises(InputError, match=message):
            li.audit_log(Y, [Y, Y], settings.pop("scores"), **settings)


@pytest.mark.long
@pytest.mark.usefixtures("_no_file")
def test_what_was_planted_in_python_is_audited_as_its_seal_is() -> None:
    """Classes -1 and 1: predictions are in scikit-learn's order, the seal has another."""
    y = np.where(Y.repeat(10) == "spam", 1, -1)
    planted = li.plant(y, share="30%", control=10, copies=4, references=2, seed=0)
    sure = np.where(planted.labels[:, None] == [-1, 1], 0.9, 0.1)
    others = [np.where(labels[:, None] == [-1, 1], 0.9, 0.1) for labels in planted.references]

    found = li.audit_outputs(planted, sure, references=others, attacks=["lia-threshold"])
    planted.seal.write(Path("sealed.json"))
    for name, said in (("p.csv", sure), ("r1.csv", others[0]), ("r2.csv", others[1])):
        pd.DataFrame({"record": range(400), "-1": said[:, 0], "1": said[:, 1]}).to_csv(name, index=False)
    told = asked("audit", "outputs", "p.csv", "--seal", "sealed.json", "--reference", "r1.csv",
                 "--reference", "r2.csv", "--attack", "lia-threshold", status=1)  # fmt: skip
    read = li.audit_outputs(
        None, "p.csv", seal="sealed.json", references=["r1.csv", "r2.csv"], attacks=["lia-threshold"]
    )

    assert (found.word.value, next(found.rows())["correct"]) == ("leaks", 120)
    assert list(found.rows()) == list(read.rows())
    assert told["findings"][0]["correct"] == 120
    assert planted.index.shape == (400 + 10 * 3,)
    left = np.setdiff1d(np.arange(400), [int(record) for record in (*planted.seal.records, *planted.seal.control)])
    assert left.size == 270
    assert (planted.labels[left] == y[left]).all()
    assert repr(planted).startswith("120 planted labels of 2 classes, 10 records of control.")


def test_what_a_model_shows_is_declared_as_on_the_command_line() -> None:
    planted = np.random.default_rng(0).integers(0, 2, 200)
    for shown in ({"top_1": planted}, {"logits": np.where(planted == 1, 2.0, -2.0)}, {"rounded": 1}):
        said = [] if "rounded" not in shown else [np.where(planted[:, None] == [0, 1], 0.9, 0.1)]
        assert li.audit_outputs(planted, *said, **shown, attacks=["lia-threshold"]).word.value == "leaks"
    names = np.where(planted == 1, "yes", "no")
    said = np.where(names[:, None] == ["yes", "no"], 0.9, 0.1)
    assert li.audit_outputs(names, said, classes=["yes", "no"], attacks=["lia-threshold"]).word.value == "leaks"
    otherwise = li.audit_outputs(names, said, attacks=["lia-threshold"])  # sorted: no, yes
    assert next(otherwise.rows())["correct"] == 0
    for low, high in ((-1, -2), (1, 2), (9, 10)):
        told = np.where(np.where(planted == 1, high, low)[:, None] == sorted((low, high)), 0.9, 0.1)
        found = li.audit_outputs(np.where(planted == 1, high, low), told, attacks=["lia-threshold"])
        assert next(found.rows())["correct"] == 200
    for wrong, message in (
        ({}, "one of probabilities, logits and top_1"),
        ({"probabilities": said, "logits": said}, "one of probabilities"),
        ({"logits": said, "rounded": 2}, "rounded belongs to probabilities"),
        ({"probabilities": said[1:]}, "200 planted labels for predictions of 199"),
        ({"probabilities": said, "mu": 1.0, "delta": "5%"}, "claim epsilon"),
        ({"probabilities": said, "seal": "sealed.json"}, "say what was planted"),
    ):
        with pytest.raises(InputError, match=message):
            li.audit_outputs(planted, **wrong)


CODE = """
import numpy as np
def model(n_inputs, n_classes):
    return [np.random.normal(size=(n_classes, n_inputs)), np.zeros(n_classes)]
def client(weights, x, labels):
    logits = x @ weights[0].T + weights[1]
    off = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True) - np.eye(len(weights[1]))[labels]
    return [off.T @ x, off.sum(axis=0)]
def grade(submission, answers):
    return float((submission["label"] == answers["label"]).mean())
"""


@pytest.mark.long
@pytest.mark.usefixtures("_no_file")
@pytest.mark.filterwarnings("ignore:Setting the shape on a NumPy array")
def test_a_client_is_audited_as_its_command_audits_it() -> None:
    from sklearn.datasets import load_digits

    Path("mine_28.py").write_text(CODE)
    import mine_28  # type: ignore[import-not-found]

    x, y = load_digits(return_X_y=True)
    found = li.audit_client(y, mine_28.client, mine_28.model, features=x, samples=12, own=40)
    told = asked("audit", "client", "mine_28:client", "--model", "mine_28:model", "--samples", "12", "--own", "40",
                 status=1)  # fmt: skip

    assert [(row["attack"], row["correct"]) for row in found.rows()] == [
        (score["attack"], score["correct"]) for score in told["scores"]
    ]
    assert (found.word.value, found.status) == ("leaks", 1)

    np.random.seed(0)  # noqa: NPY002 -- as the model is made
    weights = [part.astype(np.float32) for part in mine_28.model(64, 10)]
    updates = [mine_28.client(weights, x[at : at + 1] / 16, y[at : at + 1]) for at in range(4)]
    arrays = {"layers.0.weight": np.array([u[0] for u in updates]), "layers.0.bias": np.array([u[1] for u in updates])}
    saved = li.audit_client(y, arrays, mine_28.model, features=x)
    assert (saved.report.n_updates, saved.report.certain, saved.word.value) == (4, 4, "leaks")
    with pytest.raises(InputError, match="must hold an array for every parameter"):
        li.audit_client(y, {"weight": arrays["layers.0.bias"]}, mine_28.model, features=x)
    with pytest.raises(InputError, match="leave out batch and clients"):
        li.audit_client(y, arrays, mine_28.model, features=x, batch=2)


@pytest.mark.long
@pytest.mark.usefixtures("_no_file")
def test_a_grader_is_audited_as_its_command_audits_it() -> None:
    Path("mine_28g.py").write_text(CODE)
    import mine_28g  # type: ignore[import-not-found]

    truth = pd.DataFrame({"id": range(40), "label": (Y == "spam").astype(int)})
    sample = truth.assign(label=0)
    truth.to_csv("truth.csv", index=False)
    sample.to_csv("sample.csv", index=False)
    settings = ("--simulations", "3000", "--seed", "1")

    told = asked("audit", "grader", "mine_28g:grade", "--solution", "truth.csv", "--sample", "sample.csv", *settings,
                 status=1)  # fmt: skip
    for solution in (truth, "truth.csv"):
        found = li.audit_grader(solution, sample, mine_28g.grade, simulations=3000, seed=1)
        assert (found.word.value, found.status) == (told["word"], told["status"])
        assert next(found.rows())["queries"] == told["attacks"][0]["queries"]


@pytest.mark.long
@pytest.mark.parametrize(
    ("find", "arguments"),
    [
        (lambda: li.metrics(records=[40], decimals=3, metric="accuracy"),
         ["metrics", "--records", "40", "--decimals", "3", "--metric", "accuracy"]),
        (lambda: li.metrics((Y == "spam") * 1, metric="f1", decimals=None),
         ["metrics", "--records", "40", "--share", "60%", "--metric", "f1", "--decimals", "15"]),
        (lambda: li.theorems("S16"), ["theorems", "S16"]),
        (lambda: li.theorems(), ["theorems"]),
        (lambda: li.reproduce(), ["reproduce"]),
    ],
)  # fmt: skip
def test_what_is_known_is_listed_as_its_command_lists_it(find: Callable[[], li.Listing], arguments: list[str]) -> None:
    told, rows = asked(*arguments, status=0), list(find().rows())

    shared = {"metric", "records", "labels_per_query", "key", "title", "name", "summary"}
    assert [{key: row[key] for key in shared & row.keys()} for row in rows] == [
        {key: row[key] for key in shared & row.keys()} for row in told
    ]
    assert rows


def test_what_is_not_known_is_one_sentence() -> None:
    with pytest.raises(UnknownNameError, match="no statement is called 'nonsuch'"):
        li.theorems("nonsuch")
    with pytest.raises(UnknownNameError, match="no reproduction is called 'nonsuch'"):
        li.reproduce("nonsuch")
    with pytest.raises(InputError, match="y has 3 classes; a board here has two"):
        li.metrics([0, 1, 2] * 4)


@pytest.mark.long
def test_a_published_table_is_computed_and_written(tmp_path: Path) -> None:
    name = "blia-tables"
    found = li.reproduce(name, out=tmp_path / "again")

    assert found.report.title == str(found).splitlines()[0]
    assert {path.suffix for path in (tmp_path / "again").iterdir()} >= {".csv"}
    assert len(list(found.pictures())) == len(found.report.pictures)


@pytest.mark.long
def test_two_runs_are_compared_as_their_command_compares_them(tmp_path: Path) -> None:
    runs = [str(tmp_path / name) for name in ("before", "after")]
    for run, defence in zip(runs, ("none", "none"), strict=True):
        li.matrix(Y, attacks=["prime-blocks"], defences=[defence], trials=1, seed=len(run), out=run)

    assert list(li.compare(*runs).rows()) == asked("compare", *runs, status=0)["changes"]
