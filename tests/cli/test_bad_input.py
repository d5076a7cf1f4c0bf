"""A mistake of the user's is one sentence on standard error and exit status 2, never a traceback."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Labelinf = Callable[..., Result]

SCORERS = """
import numpy as np
import sklearn.metrics
def raises(labels, predictions): raise RuntimeError("boom")
def nan(labels, predictions): return float("nan")
def text(labels, predictions): return "high"
def vector(labels, predictions): return np.ones(3)
def late(labels, predictions):
    if (predictions == 0.75).sum() == 1: raise RuntimeError("no single record, please")
    return sklearn.metrics.log_loss(labels, predictions)
"""


def told(result: Result) -> str:
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    assert result.stderr.startswith("labelinf: ")
    return result.stderr.removeprefix("labelinf: ").strip()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "y.csv is empty"),
        ("label\n", "has a header (label) and no rows"),
        ("label\na\na\n", "one class only in all 2 rows"),
        ("label\na\n\nb\n", "empty cell"),
        ("x,z\n1,2\n3,4\n", "y.csv has 2 columns; name the one with the labels"),
    ],
)
def test_a_label_file_that_cannot_be_used(
    labelinf: Labelinf, suite: str, tmp_path: Path, text: str, sentence: str
) -> None:
    (tmp_path / "y.csv").write_text(text)

    assert sentence in told(labelinf("matrix", suite, "--labels", "y.csv"))
    assert not (tmp_path / "runs").exists()


@pytest.mark.long
def test_a_missing_column_or_file(labelinf: Labelinf, suite: str, tmp_path: Path) -> None:
    (tmp_path / "y.csv").write_text("label\na\nb\n")

    assert "y.csv has no column 'lable'; did you mean 'label'?" in told(
        labelinf("matrix", suite, "--labels", "y.csv", "--column", "lable")
    )
    assert "nowhere.csv cannot be read" in told(labelinf("matrix", suite, "--labels", "nowhere.csv"))
    assert "--column belongs to a file, and --labels digits is none" in told(
        labelinf("matrix", suite, "--labels", "digits", "--column", "a")
    )
    assert "no label source is called" in told(labelinf("matrix", suite, "--labels", "digitz"))


def test_every_fault_of_a_suite_at_once(labelinf: Labelinf, fakes: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text(
        """
        [[matrix]]
        labels = "nowhere"
        loss = "log-lost"
        attacks = ["fake-coin(fails='often')", "fake-cone"]
        defences = ["round(decimals=-1)", "clip(epsilon=2)", 3]
        """
    )

    lines = told(labelinf("matrix", "bad.toml")).splitlines()

    assert len(lines) == 7
    assert all(line.startswith("bad.toml: matrix[0].") for line in lines)


def test_malformed_toml_names_file_and_line(labelinf: Labelinf, tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("trials = 3\nseed = = 4\n")

    assert told(labelinf("matrix", "bad.toml")).startswith("bad.toml is not valid TOML: Invalid value (at line 2")


@pytest.mark.parametrize(
    ("written", "sentence"),
    [
        ("trials = 1e23", "trials: expected int, got 1e+23"),
        (f"trials = {10**23}", f"trials={10**23} must be <= 1000000"),
        (f"seed = {'7' * 5000}", "is not valid TOML: Exceeds the limit (4300 digits)"),
    ],
)
def test_a_number_beyond_all_measure(
    labelinf: Labelinf, suite: str, tmp_path: Path, written: str, sentence: str
) -> None:
    table = Path(suite).read_text()
    (tmp_path / "huge.toml").write_text(f"{written}\n{table[table.index('[[matrix]]') :]}")

    assert sentence in told(labelinf("matrix", "huge.toml", "--out", "run"))


def test_an_output_directory_that_cannot_be_written(labelinf: Labelinf, suite: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    assert "--out file/run: a run record cannot be kept there" in told(labelinf("matrix", suite, "--out", "file/run"))


@pytest.mark.long
def test_an_output_directory_of_another_run(labelinf: Labelinf, suite: str) -> None:
    labelinf("matrix", suite, "--workers", "0", "--out", "here")

    assert "--out here holds another run" in told(labelinf("matrix", suite, "--seed", "1", "--out", "here"))


@pytest.mark.long
@pytest.mark.parametrize(
    ("scorer", "sentence"),
    [
        ("scorers_of_mine:raises", "raised RuntimeError."),
        ("scorers_of_mine:nan", "returned a number that is not finite"),
        ("scorers_of_mine:text", "returned str, expected one number"),
        ("scorers_of_mine:vector", "expected one number"),
        ("scorers_of_mine:nowhere", "has no 'nowhere'"),
        ("no_such_file:score", "cannot be imported"),
        ("float65", "float65"),
    ],
)
def test_a_scorer_that_does_not_work_is_found_before_the_run(
    labelinf: Labelinf, suite: str, tmp_path: Path, scorer: str, sentence: str
) -> None:
    (tmp_path / "scorers_of_mine.py").write_text(SCORERS)
    text = (tmp_path / suite).read_text().replace('"float64"', f'"{scorer}"')
    (tmp_path / suite).write_text(text)

    assert sentence in told(labelinf("matrix", suite, "--workers", "0", "--out", "here", "--allow-code"))
    assert not (tmp_path / "here" / "results.json").exists()


@pytest.mark.long
def test_a_scorer_that_fails_in_mid_run_fails_only_its_trials(labelinf: Labelinf, suite: str, tmp_path: Path) -> None:
    (tmp_path / "scorers_of_mine.py").write_text(SCORERS)
    text = (tmp_path / suite).read_text().replace('"float64"', '"scorers_of_mine:late"')
    (tmp_path / suite).write_text(text)

    result = labelinf("matrix", suite, "--workers", "0", "--allow-code")

    assert result.exit_code == 4
    assert "error in 2 of 2 trials: InputError: scorer 'scorers_of_mine:late' raised RuntimeError" in " ".join(
        result.stdout.split()
    )
    assert "shows nothing" in " ".join(result.stdout.split())


def test_a_block_must_name_a_plugin(labelinf: Labelinf, suite: str) -> None:
    assert "-p fakes: expected no:NAME" in told(labelinf("matrix", suite, "-p", "fakes"))
    assert "cannot block plugin 'fake': it is not installed" in told(labelinf("matrix", suite, "-p", "no:fake"))


@pytest.mark.parametrize(
    "options", [["--trials", "0"], ["--seed", "-1"], ["--timeout", "0"], ["--fail-on", "xml"], ["--workers", "-1"]]
)
def test_an_option_out_of_range(labelinf: Labelinf, suite: str, options: list[str]) -> None:
    result = labelinf("matrix", suite, *options)

    assert result.exit_code == 2
    assert "Invalid value" in result.stderr


@pytest.mark.long
def test_the_other_commands_say_what_is_wrong(labelinf: Labelinf, fakes: Path) -> None:
    assert "no attack is called 'prime-block'. Did you mean 'prime-blocks'" in told(labelinf("attack", "prime-block"))
    assert "this is a grid of 2 bouts" in told(
        labelinf("attack", "fake-coin(fails=[0, 1])", "--labels", "fake-labels", "--scorer", "float64")
    )
    assert "cannot be played: needs a full moon" in told(labelinf("attack", "fake-picky", "--labels", "fake-labels"))
    broken = labelinf("attack", "fake-raises", "--labels", "fake-labels")
    assert (broken.exit_code, "ZeroDivisionError: this attack" in broken.stderr) == (4, True)
    assert "say either how many labels" in told(labelinf("bounds"))
    assert "--records 2 must be at least --classes 3" in told(labelinf("bounds", "--records", "2", "--classes", "3"))
    assert "no component is called 'nothing'" in told(labelinf("plugins", "show", "nothing"))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--target", "150%"], "write a fraction as 5% or .05, from 0 to 1"),
        (["--target", "30%"], "guessing the most frequent class has 50.0% of the labels already"),
        (["--target", "60%", "--channel", "output"], "--records says too little for the output channel"),
        (["--target", "60%", "--channel", "output"], "labels that have them with --labels, for example breast-cancer."),
        (["--target", "60%", "--shares", ".5,.6"], ".5,.6 must not be negative and sum to one"),
        (["--target", "60%", "--shares", "nan,1"], "nan,1 must not be negative and sum to one"),
        (["--target", "60%", "--shares", ".2,.3,.5"], "--shares names 3 shares, and there are 2 classes"),
        (["--target", "60%", "--shares", ".99,.01"], "--shares leaves one class only of 10 records"),
        (["--target", "60%", "--defence", "clp"], "no defence is called 'clp'"),
        (["--target", "60%", "--metric", "brie"], "no metric is called 'brie'. Did you mean 'brier'"),
    ],
)
def test_what_advice_cannot_be_asked_for(labelinf: Labelinf, options: list[str], told: str) -> None:
    result = labelinf("advise", "--records", "10", *options)

    assert result.exit_code == 2
    assert told in result.stderr


def test_classes_called_differently_in_two_files_are_no_all_clear(labelinf: Labelinf, tmp_path: Path) -> None:
    (tmp_path / "top.csv").write_text("prediction\n" + "benign\nmalignant\n" * 20)
    (tmp_path / "canaries.csv").write_text("label\n" + "class 0\nclass 1\n" * 20)

    result = labelinf("audit", "outputs", "--shows", "top-1", "top.csv", "--planted-by-me", "canaries.csv")

    assert result.exit_code == 2
    assert "top.csv and the planted labels have no name of a class in common" in result.stderr


def test_a_message_does_not_quote_a_number_of_five_thousand_digits(labelinf: Labelinf) -> None:
    done = labelinf("attack", "majority", "--seed", "9" * 5000)

    assert done.exit_code == 2
    assert "Invalid value for '--seed': '99999" in done.output
    assert len(done.output) < 400
