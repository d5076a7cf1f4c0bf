"""``labelinf audit log`` on a user's own files."""

from __future__ import annotations

import csv
import json
import stat
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from labelinf_core.cli import main
from labelinf_scores.audit.log.files import decimals_of

Board = dict[str, Any]


def written(path: Path, header: Iterable[str], rows: Iterable[Iterable[object]]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)
    return path


@pytest.fixture
def board(tmp_path: Path) -> Board:
    """Forty labels called no and yes, twenty-five honest submissions, AUC in full."""
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 2, 40)
    folder = tmp_path / "submissions"
    folder.mkdir()
    shared, scores = rng.standard_normal(40), []
    for index in range(25):
        predictions = 2 * labels + 0.7 * shared + 0.7 * rng.standard_normal(40)
        order = rng.permutation(40)
        written(folder / f"s{index:02}.csv", ("id", "p"), ((f"r{i}", repr(float(predictions[i]))) for i in order))
        scores.append((f"s{index:02}", repr(float(roc_auc_score(labels, predictions)))))
    names = np.array(["no", "yes"])[labels]
    return {
        "folder": str(folder),
        "scores": str(written(tmp_path / "scores.csv", ("submission", "score"), scores)),
        "labels": str(written(tmp_path / "labels.csv", ("id", "answer"), ((f"r{i}", names[i]) for i in range(40)))),
        "truth": labels,
        "positives": int(labels.sum()),
        "path": tmp_path,
    }


def audit(board: Board, *more: str, labels: bool = True, metric: str = "roc_auc") -> Result:
    truth = ["--labels", board["labels"], "--column", "answer"] if labels else []
    arguments = ["audit", "log", board["folder"], "--scores", board["scores"], "--metric", metric, *truth, *more]
    return CliRunner().invoke(main, arguments, catch_exceptions=False)


def test_the_index_that_pandas_writes_is_the_ids(board: Board) -> None:
    for path in [*Path(board["folder"]).glob("*.csv"), Path(board["labels"])]:
        path.write_text(path.read_text().replace("id,", ",", 1))

    result = audit(board)

    assert result.exit_code == 1, result.output
    assert "40 labels are DETERMINED (proved)" in result.output


def test_the_host_learns_what_her_board_gave_away(board: Board) -> None:
    result = audit(board)

    assert result.exit_code == 1
    assert "25 submissions, 40 labels, roc_auc" in result.output
    assert "40 labels are DETERMINED (proved), 0 by the solver only, 0 open" in result.output
    assert "by submission" in result.output


@pytest.mark.long
def test_an_outsider_needs_the_number_of_positives_only(board: Board) -> None:
    result = audit(board, "--counts", str(board["positives"]), labels=False)
    lacking = audit(board, labels=False)

    assert result.exit_code == 1
    assert "40 labels are DETERMINED" in result.output
    assert lacking.exit_code == 2
    assert "give them with --counts" in lacking.stderr
    both = audit(board, "--counts", "3")
    assert (both.exit_code, "the labels of --labels say it themselves" in both.stderr) == (2, True)


def test_the_host_asks_what_an_outsider_can_prove(board: Board) -> None:
    """Of her labels only the class totals are used, and nothing is said of how good a guess is."""
    result = audit(board, "--without-labels", "--json")
    document = json.loads(result.output)

    assert result.exit_code == 1
    assert (document["outsider"], document["guess"], document["labels"]["determined"]) == (True, None, 40)


def test_what_rests_on_an_outsiders_word_is_said(board: Board) -> None:
    """Nothing but the scores could contradict totals that are wrong, or records that were not scored."""
    alone = audit(board, "--counts", str(board["positives"]), "--timeout", "5", labels=False)

    assert "no label was looked at: what is proved is so if" in " ".join(alone.stdout.split())
    assert "all 40 records are scored" in " ".join(alone.stdout.split())
    assert "no label was looked at" not in audit(board, "--timeout", "5").stdout


def test_two_rows_of_little_skill_leave_every_label_open(board: Board) -> None:
    rng = np.random.default_rng(3)
    scores = []
    for name in ("s00", "s01"):
        predictions = rng.standard_normal(40)
        written(Path(board["folder"]) / f"{name}.csv", ("id", "p"), ((f"r{i}", p) for i, p in enumerate(predictions)))
        scores.append((name, f"{roc_auc_score(board['truth'], predictions):.2f}"))
    written(Path(board["scores"]), ("submission", "score"), scores)

    result = audit(board)

    assert result.exit_code == 0
    assert "0 labels are DETERMINED (proved)" in result.output
    assert "40 open (another labelling fits), 0 unknown" in result.output


def test_a_score_that_the_metric_does_not_give_is_inconclusive(board: Board) -> None:
    """A host who names the wrong metric, decimals or labels gets no verdict at all."""
    result = audit(board, metric="brier")

    assert result.exit_code == 3
    assert "INCONCLUSIVE: the score of submission 's00' is not what brier of these labels gives" in " ".join(
        result.output.split()
    )


@pytest.mark.long
def test_records_are_told_to_a_private_file_only(board: Board) -> None:
    saved = board["path"] / "status.csv"
    result = audit(board, "--out", str(saved), "--json")

    document = json.loads(result.output)
    assert document["labels"] == {"unknown": 0, "open": 0, "claimed": 0, "determined": 40}
    assert "r17" not in result.output
    header, *rows = saved.read_text().splitlines()
    assert header == "id,status"
    assert sorted(rows) == sorted(f"r{i},determined" for i in range(40))
    assert stat.S_IMODE(saved.stat().st_mode) == 0o600


@pytest.mark.parametrize("place", ["labels.csv", "scores.csv", "submissions/s03.csv"])
def test_nothing_that_is_read_is_written_over(board: Board, place: str) -> None:
    file = board["path"] / place
    before = file.read_text()

    result = audit(board, "--out", str(board["path"] / "submissions" / ".." / place))

    assert result.exit_code == 2
    assert "is read by this command; write to another file" in result.stderr
    assert file.read_text() == before


@pytest.mark.long
@pytest.mark.parametrize(
    "written_as", ["%.6g", "%.3g", "%.6f", "%.2e", "%r"], ids=["%.6g", "%.3g", "%.6f", "%.2e", "round(x, 4)"]
)
@given(
    st.lists(st.floats(1e-4, 1e7) | st.floats(1e-3, 1).map(lambda value: round(value, 2)) | st.just(0.0), min_size=1)
)
def test_decimals_of_a_column_are_never_more_than_it_was_rounded_to(written_as: str, scores: list[float]) -> None:
    """``%.6g`` shows .0123456 beside 1.23457: taken for a column of seven decimals, the second would prove too much."""
    values = [round(score, 4) if written_as == "%r" else score for score in scores]
    texts = [written_as % value for value in values]

    for score, text, decimals in zip(scores, texts, decimals_of(texts), strict=True):
        if float(text):  # zero is told apart by no digit
            assert abs(Fraction(score) - Fraction(text)) <= Fraction(10) ** -decimals / 2 + Fraction(score) / 2**50


def test_decimals_of_a_column_are_as_many_as_that_allows() -> None:
    assert decimals_of(["0.9312", "0.93", "0.9"]) == [4, 4, 4]
    assert decimals_of(["1.23457", "0.0123456"]) == [5, 7]
    assert decimals_of(["1.23457e+06", "123457"]) == [-1, 0]
    assert decimals_of(["0.70", "0.80"]) == [2, 2]


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("scores", "submission,score\ns99,0.5\n", "1 scored submissions are not in"),
        ("scores", "submission,score\ns00,nan\n", "the score of submission 's00' is no finite number"),
        ("scores", "submission,score\ns00,1e999999999\n", "is no finite number"),
        ("scores", "name,score\ns00,1\n", "needs the columns 'submission' and 'score'"),
        ("scores", "submission,score\ns00,1\ns00,1\n", "has the same id twice"),
        ("labels", "id,answer\nx,yes\nz,no\n", "lacks 2 of the 2 records; their ids must agree"),
        ("labels", "id,other\nr0,yes\n", "name the column of labels with --column; it has other"),
    ],
)
def test_bad_files_are_one_sentence(board: Board, file: str, text: str, message: str) -> None:
    Path(board[file]).write_text(text)

    result = audit(board)

    assert result.exit_code == 2
    assert message in result.stderr
    assert "yes" not in result.stderr


def test_a_prediction_that_is_no_number_is_named_by_its_submission(board: Board) -> None:
    file = Path(board["folder"]) / "s03.csv"
    file.write_text(file.read_text().replace("-", "x"))

    result = audit(board)

    assert result.exit_code == 2
    assert "submission 's03' has a prediction that is no number" in result.stderr


@pytest.mark.parametrize("cell", ["nan", "inf"])
def test_no_infinite_prediction_is_taken_for_a_wrong_score(board: Board, cell: str) -> None:
    file = Path(board["folder"]) / "s03.csv"
    file.write_text("id,p\n" + "".join(f"r{i},{cell if i == 5 else i}\n" for i in range(40)))

    result = audit(board)

    assert result.exit_code == 2
    assert "submission 's03' has a prediction that is no finite number" in result.stderr


def test_a_class_that_no_label_has_is_not_taken_for_the_positive_one(tmp_path: Path) -> None:
    """A fourth record's label was called proved by an accuracy of 1/4, which labels 1, 1, 0, 0 give as well."""
    folder = tmp_path / "submissions"
    folder.mkdir()
    written(folder / "s.csv", ("id", "class"), zip("abcd", (2, 2, 1, 0), strict=True))
    scores = written(tmp_path / "scores.csv", ("submission", "score"), [("s", "0.25")])
    truth = written(tmp_path / "labels.csv", ("id", "answer"), zip("abcd", (0, 0, 1, 1), strict=True))

    result = audit({"folder": str(folder), "scores": str(scores), "labels": str(truth)}, metric="accuracy")

    assert result.exit_code == 2
    assert "submission 's' predicts something that is none of the 2 classes" in result.stderr
