"""A host's own tables, columns and all: which labels her function gives away, whatever it is called."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

from labelinf_core.cli import main as labelinf

N = 40
GRADERS = '''
import numpy as np
import pandas as pd
from sklearn.metrics import accuracy_score, roc_auc_score


def grade(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    """MLE-bench's layout; it writes into what it is given."""
    answers["copy"] = answers["insult"]
    both = answers.merge(submission, on="id", suffixes=("_true", "_shown"))
    return roc_auc_score(both["insult_true"], both["insult_shown"])


def score(solution: pd.DataFrame, submission: pd.DataFrame, row_id_column_name: str) -> float:
    """Kaggle's; weights are a column of the solution."""
    assert "Usage" not in solution
    return float(np.average((solution["insult"] - submission["insult"]) ** 2, weights=solution["weight"]))


def of_strings(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    return round(accuracy_score(answers["kind"], submission["kind"]), 4)


def of_columns(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    columns = ["toxic", "obscene"]
    return float(np.mean([roc_auc_score(answers[name], submission[name]) for name in columns]))


def of_numbers(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    return round(float(np.sqrt(np.mean((answers["price"] - submission["price"]) ** 2))), 5)


def of_arrays(y_true, y_pred):
    return float(np.mean(np.abs(y_true - y_pred)))


def constant(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    return 0.5


def broken(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    raise ValueError(f"label {answers['insult'].iloc[0]}")


def of_two_samples(y_true, y_pred):
    """The same when the classes are exchanged: only their totals say which is which."""
    from scipy.stats import ks_2samp

    return float(ks_2samp(y_pred[y_true == 1], y_pred[y_true == 0], method="asymp").statistic)


def of_public_rows(submission, answers):
    both = answers[answers["Usage"] == "Public"].merge(submission, on="id", suffixes=("_true", "_shown"))
    return roc_auc_score(both["insult_true"], both["insult_shown"])


def of_class_columns(submission, answers):
    """A class in the solution, a probability for each of them in the submission."""
    from sklearn.metrics import log_loss

    names = ["blast", "normal", "tungro"]
    return log_loss(answers["kind"], submission[names], labels=names)


def of_codes(submission, answers):
    assert all(len(code) == 3 for code in [*answers["id"], *submission["id"]])
    return float(np.mean((answers["insult"] - submission["insult"]) ** 2))


def of_three(submission, answers, more): ...


def nothing(submission, answers): ...


def quits(submission, answers):
    __import__("os")._exit(3)
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "graders.py").write_text(GRADERS)
    return tmp_path


def tables(folder: Path, **columns: Any) -> None:
    """Write a solution with these columns, and a sample of what is predicted, in another order."""
    ids = [f"r{i}" for i in range(N)]
    public = {name: columns.pop(name) for name in ("weight", "Usage") if name in columns}
    pd.DataFrame({"id": ids, **columns, **public}).to_csv(folder / "solution.csv", index=False)
    shown = {
        name: np.full(N, values[0]) if values.dtype == object else np.full(N, 0.5) for name, values in columns.items()
    }
    pd.DataFrame({"id": ids, **shown}).iloc[::-1].to_csv(folder / "sample.csv", index=False)


def audit(folder: Path, function: str, *options: str) -> Result:
    files = ["--solution", str(folder / "solution.csv"), "--sample", str(folder / "sample.csv")]
    return CliRunner().invoke(labelinf, ["audit", "grader", f"{folder}/graders.py:{function}", *files, *options])


RNG = np.random.default_rng(3)
BITS = (RNG.random(N) < 0.4).astype(int)
TABLES = {
    "grade": {"insult": BITS},
    "score": {"insult": BITS, "weight": np.round(RNG.gamma(2, 0.5, N) + 0.1, 2)},
    "of_strings": {"kind": RNG.choice(np.array(["blast", "normal", "tungro"], dtype=object), N)},
    "of_columns": {"toxic": BITS, "obscene": 1 - BITS[::-1]},
    "of_numbers": {"price": np.round(RNG.lognormal(3, 0.4, N), 3)},
    "of_arrays": {"insult": BITS},
    "of_two_samples": {"insult": BITS},
}


@pytest.mark.long
@pytest.mark.parametrize("function", TABLES)
def test_all_labels_come_out(folder: Path, function: str) -> None:
    tables(folder, **TABLES[function])

    result = audit(folder, function, "--json")
    found = json.loads(result.output)

    assert result.exit_code == found["status"] == 1
    assert found["attacks"][0]["accuracy"]["value"] == 1.0
    assert found["confirmed"]


def test_rows_that_are_not_public_are_left_out_and_counted(folder: Path) -> None:
    usage = np.where(np.arange(N) % 4 == 0, "Private", "Public")
    tables(folder, insult=BITS, weight=np.ones(N), Usage=usage)

    found = json.loads(audit(folder, "score", "--json").output)

    assert found["labels"]["places"] == 30
    assert found["left out"] == 10
    assert found["read"] == 30


@pytest.mark.long
def test_the_answer_says_what_was_read_and_quotes_no_label(folder: Path) -> None:
    tables(folder, **TABLES["of_strings"])

    said = audit(folder, "of_strings").output

    assert "gives up 100.0% of 40 labels" in said
    assert "a replay gives every answer" in " ".join(said.split())
    assert not any(name in said for name in ("blast", "normal", "tungro"))


def test_a_grader_that_tells_nothing_is_inconclusive_and_never_safe(folder: Path) -> None:
    tables(folder, insult=BITS)

    result = audit(folder, "constant", "--simulations", "3000")

    assert result.exit_code == 3
    assert "No proof of safety" in result.output


@pytest.mark.long
def test_a_budget_ends_it(folder: Path) -> None:
    tables(folder, insult=BITS)

    found = json.loads(audit(folder, "grade", "--queries", "4", "--simulations", "3000", "--json").output)

    assert found["attacks"][0]["queries"] == 4
    assert found["read"] < N


@pytest.mark.parametrize(
    ("function", "why"),
    [
        ("broken", "it raised ValueError"),
        ("of_three", "it needs more than labels and predictions (more)"),
        ("nothing", "it returned NoneType, without a finite number"),
        ("quits", "its process ended with exit code 3"),
    ],
)
def test_a_grader_that_scores_nothing_is_told_why_and_not_in_its_own_words(
    folder: Path, function: str, why: str
) -> None:
    tables(folder, insult=BITS)

    result = audit(folder, function)
    said = " ".join(result.output.split())

    assert result.exit_code == 2
    assert "it was given 40 rows and 1 column of numbers, and made labels" in said
    assert why in said
    assert "label 0" not in said
    assert "label 1" not in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("missing",), "has no function missing"),
        (("grade", "--target", "insults"), "has no column 'insults'; of the sample's it has 'id', 'insult'"),
    ],
)
def test_what_cannot_be_meant_is_one_sentence(folder: Path, arguments: tuple[str, ...], said: str) -> None:
    tables(folder, insult=BITS)

    result = audit(folder, *arguments)

    assert result.exit_code == 2
    assert said in " ".join(result.output.split())


def test_tables_that_do_not_belong_together_are_one_sentence(folder: Path) -> None:
    tables(folder, insult=BITS)
    pd.DataFrame({"row": range(N), "insult": 0.5}).to_csv(folder / "sample.csv", index=False)

    said = " ".join(audit(folder, "grade").output.split())
    assert "must share a column that names their rows; 'insult' repeats itself in 38 rows of the solution" in said


@pytest.mark.parametrize(
    ("spoilt", "said"),
    [
        (lambda text: text.replace(",", ";"), "are commas its separators?"),
        (lambda text: "\n".join(text.splitlines()[:-2]), "'id' lacks 2 rows of the solution in the sample"),
        (lambda text: text + text.splitlines()[-1], "'id' repeats itself in 1 row of the sample"),
        (lambda text: text.splitlines()[0], "has no rows"),
        (
            lambda text: text.replace("id,", "row,").replace("insult", "shown"),
            "the solution has none of the sample's: 'row', 'shown'",
        ),
    ],
)
def test_a_sample_that_cannot_be_used_is_told_why(folder: Path, spoilt: Callable[[str], str], said: str) -> None:
    tables(folder, insult=BITS)
    sample = folder / "sample.csv"
    sample.write_text(spoilt(sample.read_text()))

    result = audit(folder, "grade")

    assert result.exit_code == 2
    assert said in " ".join(result.output.split())


def test_a_solution_without_a_line_of_names_is_not_quoted(folder: Path) -> None:
    tables(folder, kind=np.full(N, "secret", dtype=object))
    solution = folder / "solution.csv"
    solution.write_text("\n".join(solution.read_text().splitlines()[1:]))
    (folder / "sample.csv").write_text("id,kind\nr0,open\nr1,open\n")

    for options in ((), ("--target", "kind")):
        result = audit(folder, "of_strings", *options)

        assert result.exit_code == 2
        assert "secret" not in result.output


@pytest.mark.parametrize("usage", ["Private", "private", ""])
def test_a_solution_without_a_public_row_is_not_scored_whole(folder: Path, usage: str) -> None:
    tables(folder, insult=BITS, Usage=np.full(N, usage))

    result = audit(folder, "grade")

    assert result.exit_code == 2
    assert "no row of the solution is public: Usage must say Public" in " ".join(result.output.split())


@pytest.mark.parametrize("rows", [1, N])
def test_labels_that_are_all_alike_leak_nothing(folder: Path, rows: int) -> None:
    pd.DataFrame({"id": range(rows), "insult": 1}).to_csv(folder / "solution.csv", index=False)
    pd.DataFrame({"id": range(rows), "insult": 0.5}).to_csv(folder / "sample.csv", index=False)

    result = audit(folder, "of_arrays", "--simulations", "3000")

    assert result.exit_code == 3
    assert "NOTHING TO FIND" in result.output


@pytest.mark.parametrize(
    ("column", "classes"),
    [
        (np.arange(N) % 32, 32),  # class numbers that are shared
        (np.arange(N) * 17, 0),  # counts: every row has its own
        (np.round(RNG.normal(size=N), 3), 0),
        (np.arange(N) % 4 / 4, 4),
    ],
)
def test_what_many_rows_share_are_classes_and_other_numbers_are_not(folder: Path, column: Any, classes: int) -> None:
    tables(folder, price=column)

    found = json.loads(audit(folder, "of_numbers", "--queries", "1", "--simulations", "60", "--json").output)

    assert found["labels"]["classes"] == classes


@pytest.mark.long
def test_a_grader_that_leaves_out_private_rows_itself_is_given_the_column_that_says_which(folder: Path) -> None:
    tables(folder, insult=BITS, Usage=np.where(np.arange(N) % 4 == 0, "Private", "Public"))

    found = json.loads(audit(folder, "of_public_rows", "--json").output)

    assert (found["read"], found["left out"], found["status"]) == (30, 10, 1)


@pytest.mark.long
def test_a_class_may_be_predicted_by_a_column_for_each(folder: Path) -> None:
    tables(folder, **TABLES["of_strings"])
    third = np.full(N, 1 / 3)
    shown = {"id": [f"r{i}" for i in range(N)], "blast": third, "normal": third, "tungro": third}
    pd.DataFrame(shown).to_csv(folder / "sample.csv", index=False)

    found = json.loads(audit(folder, "of_class_columns", "--json").output)

    assert (found["labels"]["columns"], found["read"]) == (["kind"], N)


@pytest.mark.long
def test_numbers_that_begin_with_a_nought_are_texts(folder: Path) -> None:
    ids = [f"{i:03d}" for i in range(N)]
    pd.DataFrame({"id": ids, "insult": BITS}).to_csv(folder / "solution.csv", index=False)
    pd.DataFrame({"id": ids, "insult": 0.5}).to_csv(folder / "sample.csv", index=False)

    assert json.loads(audit(folder, "of_codes", "--json").output)["read"] == N


def test_an_empty_label_is_one_sentence(folder: Path) -> None:
    tables(folder, insult=np.where(np.arange(N) == 3, np.nan, BITS))

    result = audit(folder, "grade")

    assert (result.exit_code, result.output.count("\n")) == (2, 1)
    assert "a private column has empty cells" in result.output


def test_labels_that_are_all_alike_are_said_to_be_so_before_the_grader_refuses_them(folder: Path) -> None:
    tables(folder, insult=np.ones(N, dtype=int))

    result = audit(folder, "grade")

    assert result.exit_code == 3
    assert "NOTHING TO FIND: the labels are all alike" in " ".join(result.output.split())


@pytest.mark.long
def test_a_few_fractions_that_all_differ_are_numbers_and_no_classes(folder: Path) -> None:
    ids = range(12)
    pd.DataFrame({"id": ids, "price": np.round(RNG.lognormal(3, 0.4, 12), 3)}).to_csv(
        folder / "solution.csv", index=False
    )
    pd.DataFrame({"id": ids, "price": 20.0}).to_csv(folder / "sample.csv", index=False)

    found = json.loads(audit(folder, "of_numbers", "--json").output)

    assert found["labels"]["classes"] == 0
    assert found["read"] == 12


def test_an_attack_that_breaks_is_no_traceback(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(*given: Any) -> None:
        raise ZeroDivisionError(f"labels {given}")

    monkeypatch.setattr("labelinf_scores.audit.simulated.played", breaks)
    tables(folder, insult=BITS)

    result = audit(folder, "grade")

    assert result.exit_code == 4
    assert "INCOMPLETE: simulate broke: ZeroDivisionError" in " ".join(result.output.split())
    assert "labels (" not in result.output
