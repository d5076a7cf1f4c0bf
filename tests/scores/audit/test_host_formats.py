"""Scorers of competition hosts are taken as they are written."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from labelinf_core.cli import main
from labelinf_scores.game.host_files import HostError
from labelinf_scores.game.host_formats import one_of
from labelinf_scores.game.host_programs import program_of_files
from labelinf_scores.game.scorers import ImportedScorer
from labelinf_scores.game.scoring import Query, ScorerFacts

HOSTS = """
import csv
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score

def kaggle(solution, submission, row_id_column_name):
    del solution[row_id_column_name]
    del submission[row_id_column_name]
    return roc_auc_score(solution.values[:, 0], submission.values[:, 0])

def read(path, column):
    with open(path) as file:
        return [float(row[column]) for row in csv.DictReader(file)]

def evalai(test_annotation_file, user_submission_file, phase_codename, **kwargs):
    hard = [p >= 0.5 for p in read(user_submission_file, "prediction")]
    score = accuracy_score(read(test_annotation_file, "label"), hard)
    return {"result": [{"split": {"Rows": len(hard), "Accuracy": score}}], "submission_result": {"Accuracy": score}}

def mine(solution, submission, row_id_column_name):
    return roc_auc_score(solution["diagnosis"], submission["diagnosis"])

def merged(solution, submission, row_id_column_name):
    both = solution.merge(submission, on=row_id_column_name)
    return log_loss(both["target_x"], both["target_y"].clip(0.01, 0.99), labels=[0, 1])

def pair(labels, predictions):
    return float(len(labels)), ((labels == 1) == (predictions >= 0.5)).mean()

def named(labels, predictions):
    return {"auc": roc_auc_score(labels, predictions)}
"""
PROGRAM = """
import csv, json, sys
def read(path, column):
    with open(path) as file:
        return [float(row[column]) for row in csv.DictReader(file)]
truth = read(sys.argv[1] + "/ref/labels.csv", "label")
guess = read(sys.argv[1] + "/res/predictions.csv", "prediction")
right = sum(t == (p >= 0.5) for t, p in zip(truth, guess)) / len(truth)
with open(sys.argv[2] + "/scores.json", "w") as file:
    json.dump({"accuracy": right}, file)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "theirhosts.py").write_text(HOSTS)
    (tmp_path / "program.py").write_text(PROGRAM)
    labels = np.random.default_rng(5).permutation(40) < 16
    (tmp_path / "y.csv").write_text("label\n" + "\n".join(map(str, labels.astype(int))) + "\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "theirhosts", raising=False)
    return tmp_path


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "metric"),
    [
        ("kaggle", "roc-auc"),
        ("mine@diagnosis", "roc-auc"),
        ("named", "roc-auc"),
        pytest.param("evalai#Accuracy", "accuracy", marks=pytest.mark.slow),
    ],
)
def test_a_hosts_function_is_attacked_as_it_stands(folder: Path, name: str, metric: str) -> None:
    pytest.importorskip("pandas")
    run = CliRunner().invoke(main, ["audit", "scorer", f"theirhosts:{name}", "--labels", "y.csv"])
    assert run.exit_code == 1, run.output
    assert f"agrees with {metric} " in run.output
    assert "all 40 labels" in run.output


@pytest.mark.long
def test_a_submission_of_one_row_is_scored_and_no_noise_is_enough_then(folder: Path) -> None:
    pytest.importorskip("pandas")
    told = ("--labels", "y.csv", "--attack", "hybrid", "--queries", "60", "--target", "80%")
    run = CliRunner().invoke(main, ["audit", "scorer", "theirhosts:merged", *told])
    assert run.exit_code == 1
    assert "laplace" not in run.output


def test_names_of_numbers_are_those_that_were_returned_for_made_labels() -> None:
    def score(labels: np.ndarray, predictions: np.ndarray) -> dict[str, float]:
        return {"loss": 0.5, "".join(map(str, labels)): 1.0}

    facts = ScorerFacts(arithmetic="float64", clip=0.0, summation="unknown", input_format="float64")
    scorer = ImportedScorer(target="theirs:score", function=score, facts=facts)
    for labels in ([0, 1], [1, 1]):
        scorer.score(np.array(labels), Query(predictions=np.array([0.5, 0.5])))
    assert "01" in scorer.among
    assert "11" not in scorer.among


@pytest.mark.long
def test_a_few_numbers_in_a_tuple_are_named_by_their_places(folder: Path) -> None:
    run = CliRunner().invoke(main, ["audit", "scorer", "theirhosts:pair#1", "--labels", "y.csv"])
    assert (run.exit_code, "agrees with accuracy " in run.output) == (1, True), run.output


@pytest.mark.long
@pytest.mark.parametrize("arguments", [("attack", "binary-weights"), ("advise", "--target", "60%")])
def test_what_is_played_of_several_numbers_is_named(folder: Path, arguments: tuple[str, ...]) -> None:
    run = CliRunner().invoke(
        main, [*arguments, "--labels", "y.csv", "--scorer", "theirhosts:pair", "--channel", "score"]
    )
    assert run.exit_code == 2, run.output
    assert "name the one to play: theirhosts:pair#0, theirhosts:pair#1." in " ".join(run.output.split())


def test_a_scoring_program_of_a_folder_layout_is_run(folder: Path) -> None:
    score = program_of_files(f"{sys.executable} program.py")
    assert score(np.array([0, 1, 1, 0]), np.array([0.1, 0.9, 0.2, 0.3])) == {"accuracy": 0.75}


@pytest.mark.long
def test_a_scoring_program_that_fails_is_told_what_it_is_given(folder: Path) -> None:
    (folder / "fails.py").write_text("import sys; sys.exit('label 1')")
    run = CliRunner().invoke(main, ["audit", "scorer", f"codabench:{sys.executable} fails.py", "--labels", "y.csv"])
    assert (run.exit_code, "ended with status 1; it is run as PROGRAM INPUT OUTPUT" in run.output) == (2, True)
    assert "label 1" not in run.output


CONTAINER = """
import csv, json, os
def read(path, column):
    with open(path) as file:
        return {row["patient"]: float(row[column]) for row in csv.DictReader(file)}
truth, guess = read(os.environ["TRUTH"], "outcome"), read(os.environ["ANSWERS"], "score")
right = sum(truth[patient] == (guess[patient] >= 0.5) for patient in truth) / len(truth)
os.makedirs(os.environ["OUT"] + "/results")
with open(os.environ["OUT"] + "/results/metrics.json", "w") as file:
    json.dump({"accuracy": right}, file)
"""
PRINTS = """
import csv, sys
def read(path, column):
    with open(path) as file:
        return [float(row[column]) for row in csv.DictReader(file)]
truth, guess = read(sys.argv[1], "label"), read(sys.argv[2], "prediction")
right = sum(t == (p >= 0.5) for t, p in zip(truth, guess)) / len(truth)
print("scored", len(truth), "rows")
print(sys.argv[3] % right)
"""


def test_a_container_of_other_files_and_variables_is_run_as_it_is(folder: Path) -> None:
    (folder / "container.py").write_text(CONTAINER)
    places = "env TRUTH={labels} ANSWERS={predictions} OUT={output}"
    score = program_of_files(f"{places} {sys.executable} container.py", "outcome,score,patient")
    assert score(np.array([0, 1, 1, 0]), np.array([0.1, 0.9, 0.2, 0.3])) == {"accuracy": 0.75}


@pytest.mark.parametrize("line", ["%.4f", "accuracy: %.4f", "accuracy = %.4f", "'{\"accuracy\": %s}'", "auc 1: .5\n%s"])
def test_a_program_that_prints_its_score_is_read(folder: Path, line: str) -> None:
    (folder / "prints.py").write_text(PRINTS)
    score = program_of_files(f"{sys.executable} prints.py {{labels}} {{predictions}} '{line.strip(chr(39))}'")
    found = score(np.array([0, 1, 1, 0]), np.array([0.1, 0.9, 0.2, 0.3]))
    assert 0.75 in found.values() if isinstance(found, dict) else found == 0.75


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("pass", "wrote nothing into OUTPUT, and the last line that it printed is no number"),
        ("print('label 1')", "wrote nothing into OUTPUT, and the last line"),
        ("import sys; open(sys.argv[2] + '/a.csv', 'w')", "and not one .json or .txt file alone"),
        ("import sys; open(sys.argv[2] + '/a.json', 'w').write('label 1')", "wrote a .json file that cannot be read"),
        ("import sys; sys.exit('label 1')", "Other columns are named after it, as in PROGRAM@LABEL,PREDICTION,ID"),
    ],
)
def test_a_program_without_a_score_is_one_sentence(folder: Path, program: str, said: str) -> None:
    (folder / "fails.py").write_text(program)
    with pytest.raises(HostError, match=r"(?s)^(?!.*label 1)") as told:
        program_of_files(f"{sys.executable} fails.py")(np.array([0, 1]), np.array([0.1, 0.9]))
    assert said in str(told.value)


def test_a_program_that_is_not_there_or_may_not_be_run_is_one_sentence(folder: Path) -> None:
    for name, said in (("./nosuch", "which is not there"), ("./program.py", "which may not be run")):
        with pytest.raises(HostError, match=said):
            program_of_files(name)(np.array([0, 1]), np.array([0.1, 0.9]))


def test_of_named_numbers_the_first_is_scored_or_the_one_that_is_named() -> None:
    told = {"": [{"train": {"F1": 0.25, "note": "x"}}, {"test": {"F1": np.float32(0.5), "AUC": 0.75}}]}
    assert one_of(told, "") == (0.25, ("train.F1", "test.F1", "test.AUC"))
    assert one_of(told, "test.AUC")[0] == 0.75
    assert one_of({"AUC": 0.75}, "") == (0.75, ())
    assert one_of(0.5, "") == (0.5, ())
    with pytest.raises(KeyError, match="AUC"):
        one_of({"AUC": 0.75}, "auc")


def test_a_column_that_is_called_otherwise_is_one_sentence_that_says_what_to_do(folder: Path) -> None:
    pytest.importorskip("pandas")
    run = CliRunner().invoke(main, ["audit", "scorer", "theirhosts:mine", "--labels", "y.csv"])
    assert run.exit_code == 2, run.output
    assert "labels and predictions are called 'target': if it wants another name, add that" in run.output
    assert "'diagnosis'" not in run.output


def test_class_names_are_written_as_they_are(folder: Path) -> None:
    (folder / "names.py").write_text(PROGRAM.replace("float(row[column])", "row[column]").replace('"label")', '"y")'))
    (folder / "names.py").write_text(
        (folder / "names.py").read_text().replace("(p >= 0.5)", '("a" if p < "0.5" else "b")')
    )
    score = program_of_files(f"{sys.executable} names.py", "y")
    with pytest.raises(HostError, match="ended with status 1"):  # predictions are called y, too
        score(np.array(["a", "b"]), np.array([0.1, 0.9]))
    (folder / "names.py").write_text((folder / "names.py").read_text().replace('"prediction")', '"y")'))
    assert score(np.array(["a", "b"]), np.array([0.1, 0.9])) == {"accuracy": 1.0}


def test_a_number_that_is_not_there_is_one_sentence(folder: Path) -> None:
    run = CliRunner().invoke(main, ["audit", "scorer", "theirhosts:named#f1", "--labels", "y.csv"])
    assert (run.exit_code, "returned no number 'f1'; it has auc." in run.output) == (2, True), run.output


@pytest.mark.long
@pytest.mark.parametrize(
    ("arguments", "said", "status"),
    [
        (("--days", "2", "--per-day", "3", "--teams", "2"), "budget: 12 queries (2 teams x 2 days x 3)", 1),
        (("--days", "2", "--queries", "3"), "--queries and --days both say what the budget is; give one.", 2),
    ],
)
def test_the_life_of_a_board_is_a_budget(folder: Path, arguments: tuple[str, ...], said: str, status: int) -> None:
    options = ("--labels", "y.csv", "--attack", "binary-weights", *arguments)
    run = CliRunner().invoke(main, ["audit", "scorer", "sklearn", *options])
    assert said in run.output
    assert run.exit_code == status, run.output


def test_numbers_of_one_name_are_told_apart_by_their_places() -> None:
    """A program that wrote a list under one name ended in a traceback, and no name reached its second number."""
    assert one_of({"folds": {"f1": [0.1, 0.2]}}, "") == (0.1, ("folds.f1.0", "folds.f1.1"))
    assert one_of([{"a": 1}, {"a": 2}], "") == ([{"a": 1}, {"a": 2}], ())
    assert one_of({"": [{"a": 1}, {"a": 2}]}, "a.1") == (2, ("a.0", "a.1"))
