"""``labelinf attack`` shows one bout in full."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Labelinf = Callable[..., Result]


@pytest.mark.long
def test_recovered_labels_stand_beside_the_evidence(labelinf: Labelinf, fakes: Path) -> None:
    result = labelinf("attack", "fake-reader", "--labels", "fake-labels", "--scorer", "float64", "--show", "2")

    assert result.exit_code == 0
    assert "recovered  12 of 12 labels: 100 % (majority guess: 50.0 %)" in result.stdout
    assert "spent      13 queries" in result.stdout
    assert "theory     not certified: stopped by noise above 0.0208, 0 can be present" in result.stdout
    assert "evidence   labels per query: 1" in result.stdout
    rows = [line.split() for line in result.stdout.splitlines() if line.strip().startswith(("0 ", "1 "))]
    assert rows == [["0", "class", "0", "class", "0"], ["1", "class", "1", "class", "1"]]
    assert "10 more" in result.stdout


def test_labels_come_back_in_the_users_order_and_names(labelinf: Labelinf, tmp_path: Path) -> None:
    names = ["yes", "no", "no", "yes", "no", "yes", "yes", "no", "no"]
    (tmp_path / "y.csv").write_text("\n".join(["label", *names]) + "\n")

    result = labelinf("attack", "powers-blocks", "--labels", "y.csv", "--out", "out.csv")

    assert result.exit_code == 0, result.stderr
    rows = list(csv.DictReader((tmp_path / "out.csv").read_text().splitlines()))
    assert [row["recovered"] for row in rows] == [row["true"] for row in rows] == names
    assert [row["record"] for row in rows] == [str(i) for i in range(9)]


@pytest.mark.long
def test_a_real_scorer_gives_its_labels_away(labelinf: Labelinf, tmp_path: Path) -> None:
    """A function of the user's, found in the current directory, through scikit-learn's own log_loss."""
    scorer = "from sklearn.metrics import log_loss\ndef score(y, p): return log_loss(y, p)\n"
    (tmp_path / "spam_board.py").write_text(scorer)
    (tmp_path / "y.csv").write_text("label\n" + "spam\nham\nspam\nspam\nham\n" * 8)

    result = labelinf("attack", "prime-blocks", "--labels", "y.csv", "--scorer", "spam_board:score")

    assert result.exit_code == 0, result.stderr
    assert "recovered  40 of 40 labels" in result.stdout


@pytest.mark.long
def test_a_defence_changes_what_is_recovered(labelinf: Labelinf, fakes: Path) -> None:
    options = ["--labels", "fake-labels(n=200)", "--scorer", "float64", "--seed", "3"]

    result = labelinf("attack", "fake-reader", "--defence", "none", "--defence", "fake-noise(scale=1)", *options)

    assert "against fake-noise(scale=1)" in result.stdout
    assert "recovered  200 of 200" not in result.stdout


@pytest.mark.long
def test_a_broken_promise_is_loud(labelinf: Labelinf, fakes: Path) -> None:
    result = labelinf("attack", "fake-liar", "--labels", "fake-labels", "--scorer", "float64")

    assert "‼ CONTRADICTION  fake-liar against none" in result.stdout


def test_a_file_that_cannot_be_saved_is_told(labelinf: Labelinf, fakes: Path) -> None:
    result = labelinf("attack", "fake-constant", "--labels", "fake-labels", "--out", "nowhere/out.csv")

    assert result.exit_code == 2
    assert "'--out': nowhere/out.csv cannot be written: there is no folder nowhere to write into." in result.stderr


def test_labels_are_not_written_over(labelinf: Labelinf, tmp_path: Path) -> None:
    """Whoever names the same file twice keeps her private labels."""
    labels = tmp_path / "labels.csv"
    labels.write_text("label\n0\n1\n")

    result = labelinf("attack", "fake-constant", "--labels", str(labels), "--out", str(labels))

    assert result.exit_code == 2
    assert "labels.csv is read by this command; write to another file." in result.stderr
    assert labels.read_text() == "label\n0\n1\n"


def test_an_attack_is_played_on_its_own_channel(labelinf: Labelinf) -> None:
    result = labelinf("attack", "idlg", "--labels", "digits", "--channel", "gradient(samples=20)")

    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("gradient channel")
    assert "of 20 labels" in result.stdout


@pytest.mark.long
def test_a_users_own_features_are_trained_on(labelinf: Labelinf, tmp_path: Path) -> None:
    rows = "".join(f"{i},{i % 2},{i % 2 + i / 100},{(i * 7) % 5}\n" for i in range(60))
    (tmp_path / "d.csv").write_text("id,outcome,a,b\n" + rows)
    options = ["--labels", "d.csv", "--column", "outcome"]

    without = labelinf("attack", "blind-guess", *options)
    given = labelinf("attack", "blind-guess", *options, "--features", "a,b")

    assert (without.exit_code, given.exit_code) == (2, 0)
    assert "come without features" in without.stderr
    assert "output channel · d.csv (60 labels" in given.stdout


def test_a_mistake_is_named_by_its_option(labelinf: Labelinf) -> None:
    for options, told in [
        (["--labels", "digts"], "labelinf: --labels: no label source is called 'digts'"),
        (["--defence", "rond"], "labelinf: --defence: no defence is called 'rond'"),
    ]:
        result = labelinf("attack", "majority", *options)
        assert result.exit_code == 2
        assert told in result.stderr


@pytest.mark.long
def test_a_machine_can_read_a_bout(labelinf: Labelinf, fakes: Path) -> None:
    result = labelinf("attack", "fake-reader", "--labels", "fake-labels", "--show", "2", "--json")

    document = json.loads(result.stdout)
    (cell,) = document["cells"]
    assert cell["attack"].startswith("fake-reader")
    assert cell["outcomes"][0]["status"] == "ok"
    assert [row["record"] for row in document["records"]] == [0, 1]
