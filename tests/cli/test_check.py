"""One command for whatever a user has: told by what the file holds, three lines, the remedy as files that run."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import labelinf as li
from labelinf_core.cli import main
from labelinf_core.contracts.checked import CheckQuestion, functions_in, the_function
from labelinf_core.contracts.components import LabelSet
from labelinf_core.contracts.errors import InputError
from labelinf_core.contracts.exits import Exit
from labelinf_core.plugin.checkers import checked
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_guard.board import Board, TeamAnswer
from labelinf_guard.check import BoardCheck
from labelinf_guard.remedy import BoardRemedy
from labelinf_scores.game.solution import Solution

Check = Callable[..., Result]

BOARD = """
from sklearn.metrics import accuracy_score

def _helper(labels, predictions):
    return 0

def clipped(x, low=0, high=1):
    return min(max(x, low), high)

def score(y_true, y_pred):
    return accuracy_score(y_true, [p > .5 for p in y_pred])
"""
OWN = """
def rate(labels, predictions):
    return sum(w * (p - y) ** 2 for w, p, y in zip(range(1, 999), predictions, labels)) / 7
"""
CLIENT = """
import numpy as np

def model(n_inputs, n_classes):
    return [np.random.default_rng(0).normal(size=(n_classes, n_inputs)), np.zeros(n_classes)]

def client(model, records, labels):
    logits = records @ model[0].T + model[1]
    off = np.exp(logits - logits.max(axis=1, keepdims=True))
    off = off / off.sum(axis=1, keepdims=True) - np.eye(len(model[1]))[labels]
    return [off.T @ records, off.sum(axis=0)]
"""


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Check:
    """The command, in a folder with a host's, a client's and an auditor's files."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(5)
    labels = rng.integers(0, 2, 150)
    rows = "".join(f"r{i},{'yes' if label else 'no'}\n" for i, label in enumerate(labels))
    (tmp_path / "solution.csv").write_text(f"image,outcome\n{rows}")
    unique = tmp_path.name.replace("-", "_")
    (tmp_path / f"board_{unique}.py").write_text(BOARD)
    (tmp_path / f"own_{unique}.py").write_text(OWN)
    (tmp_path / f"client_{unique}.py").write_text(CLIENT)
    for name in ("board", "own", "client"):  # every test has modules of its own, which are imported once a process
        (tmp_path / f"{name}.txt").write_text(f"{name}_{unique}")

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(main, ["check", *arguments], catch_exceptions=False)

    return run


def module(name: str) -> str:
    return Path(f"{name}.txt").read_text()


def test_the_functions_of_a_module_are_read_and_not_run(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(f"{BOARD}\nraise SystemExit\n\ndef late(a, *, key, other=1): ...\n")
    (tmp_path / "broken.py").write_text("def (")

    found = functions_in(tmp_path / "m.py")

    assert found == {"clipped": ("x",), "score": ("y_true", "y_pred"), "late": ("a", "key")}
    assert functions_in(tmp_path / "broken.py") == {}


@pytest.mark.long
def test_a_board_is_checked_in_three_lines_and_a_page(check: Check) -> None:
    found = check(f"{module('board')}.py", "solution.csv", "--column", "outcome", "--gain", "40%", "--queries", "80")

    headings = [line.split()[0] for line in found.stdout.splitlines() if line and not line.startswith(" ")]
    assert headings[:3] == ["leaks", "remedy", "next"]
    assert found.stdout.startswith("leaks   yes: your scorer gives up")
    assert "a guarded board (" in found.stdout
    assert "--queries 80 --gain 40% --deploy board" in " ".join(found.stdout.split())
    assert found.exit_code == Exit.FOUND
    page = Path("report.html").read_text()
    assert "yes: your scorer gives up" in page
    assert "run on made labels" in page  # the details


@pytest.mark.long
@pytest.mark.parametrize("kind", ["board", "own"])
def test_a_deployed_board_answers_its_whole_budget(check: Check, kind: str) -> None:
    """Of the host's own function too, which is named of a module with two."""
    thing = f"{module(kind)}.py"
    if kind == "own":
        Path(thing).write_text(f"{OWN}\ndef other(labels, predictions): ...\n")
        thing = f"{thing}:rate"
    arguments = ("solution.csv", "--column", "outcome", "--gain", "40%", "--queries", "80", "--deploy", "kept")

    found = check(thing, *arguments, "--json")

    assert found.exit_code == Exit.FOUND, found.output
    assert json.loads(found.stdout)["next"] == "labelinf guard serve kept/board.toml"
    with closing(Board.open(Path("kept/board.toml"))) as board:
        ids = board.expected.ids
        assert set(ids) == {f"r{i}" for i in range(150)}
        proved = board.recommendation().proves
        assert board.expected.columns == ("image", "outcome")
        body = "image,outcome\n" + "".join(f"{name},.7\n" for name in ids)
        if board.expected.form.classes_predicted:
            body = "image,outcome\n" + "".join(f"{name},yes\n" for name in ids)
        told = [board.submit(f"team-{day}", body.encode()) for day in range(80)]
    assert [answer.reason for answer in told if not isinstance(answer, TeamAnswer)] == []
    assert proved <= 0.4


@pytest.mark.long
def test_a_board_that_cannot_be_useful_says_what_would_help(check: Check) -> None:
    found = check(f"{module('board')}.py", "solution.csv", "--column", "outcome")

    assert "none that is proved leaves the board useful: 150 labels are too few for 1000 exact answers" in " ".join(
        found.stdout.split()
    )
    assert "--gain" in found.stdout


def test_a_gain_that_may_be_all_labels_is_no_remedy() -> None:
    labels = LabelSet(labels=np.arange(1000) % 4 // 3, class_names=("a", "b"), title="made", provenance="made")
    for gain, said in ((0.25, True), (0.9, True), (0.2, False)):
        remedy = BoardRemedy.of(labels, None, gain, 10)
        assert ("may be all labels, of which a blind guess leaves 25.0 %" in remedy.why) is said
        assert remedy.wider < 0.25
        assert remedy.worth is None or remedy.worth.proves < 0.25


def test_ids_are_the_column_of_that_name_or_the_only_one_that_can_be(tmp_path: Path) -> None:
    labels = LabelSet(labels=np.array([0, 1, 0]), class_names=("a", "b"), title="made", provenance="made")
    for table, ids in (
        ("weight,ID,label\n.1,x,a\n.2,y,b\n.3,z,a\n", ("x", "y", "z")),
        ("ref,group,label\nx,1,a\ny,1,b\nz,2,a\n", ("x", "y", "z")),
        ("group,label\n1,a\n1,b\n2,a\n", ("0", "1", "2")),
        ("patient_id,image,label\n1,x,a\n1,y,b\n2,z,a\n", ("x", "y", "z")),
        ("paid,label\n1,a\n1,b\n2,a\n", ("0", "1", "2")),
        ("weight,ref,label\n.1,x,a\n.2,y,b\n.3,z,a\n", None),
    ):
        (tmp_path / "t.csv").write_text(table)
        file = str(tmp_path / "t.csv")
        if ids is None:
            with pytest.raises(InputError, match="columns 'weight' and 'ref' may be the ids; call one of them id"):
                Solution.read(file, "label", labels)
        else:
            assert Solution.read(file, "label", labels).ids == ids


def test_a_function_is_named_of_its_file() -> None:
    named, whole = (CheckQuestion(thing=thing, builder=Builder(Host.load())) for thing in ("a/b.py:score", "a/b.py"))
    assert [(asked.path, asked.function) for asked in (named, whole)] == [
        (Path("a/b.py"), "score"),
        (Path("a/b.py"), ""),
    ]
    assert CheckQuestion(thing="b:score", builder=Builder(Host.load())).function == ""
    assert the_function(named, lambda needed: False) == "b:score"


@pytest.mark.long
def test_a_client_is_checked_shielded_and_then_no_leak_is_shown(check: Check) -> None:
    name = module("client")

    found = check(f"{name}.py", "--model", f"{name}:model", "--deploy", "kept")
    again = check("kept/labelinf_client.py", "--model", f"{name}:model", "--html", "again.html")

    assert (found.exit_code, again.exit_code) == (Exit.FOUND, Exit.INCONCLUSIVE), again.output
    assert "next    labelinf check kept/labelinf_client.py --model" in found.stdout
    assert again.stdout.startswith("leaks   unknown: NO LEAK SHOWN")


@pytest.mark.long
@pytest.mark.parametrize("returns", ["change", "parameters"])
def test_a_client_is_deployed_with_what_it_imports_and_runs_where_only_that_lies(check: Check, returns: str) -> None:
    """A client of two modules and a package, with the model in another; it sends changes, or new parameters."""
    name = module("client")
    nets, slopes = f"nets_{name}", f"{name}_slopes"
    code = CLIENT.replace("def client", "def slopes").split("def model")
    Path(nets).mkdir()
    Path(f"{nets}/own.py").write_text(f"import numpy as np\n\ndef model{code[1]}")
    Path(f"{nets}/__init__.py").touch()
    Path(f"{slopes}.py").write_text(f"import labelinf\nfrom {nets}.own import slopes")
    Path("labelinf").mkdir()  # as in a clone of it, which is no code of the user's
    Path("labelinf/__init__.py").touch()
    new = "part - .1 * slope" if returns == "parameters" else "-.1 * slope"
    Path(f"{name}.py").write_text(
        f"from {slopes} import slopes\n\ndef client(model, records, labels):\n"
        f"    return [{new} for part, slope in zip(model, slopes(model, records, labels))]\n"
    )

    found = check(f"{name}.py", "--model", f"{nets}.own:model", "--deploy", "kept/here")

    assert found.exit_code == Exit.FOUND, found.output
    assert sorted(str(path.relative_to("kept/here")) for path in Path("kept/here").rglob("*.py")) == sorted(
        [f"{name}.py", "labelinf_client.py", f"{nets}/__init__.py", f"{nets}/own.py", f"{slopes}.py"]
    )
    assert ("before=before" in Path("kept/here/labelinf_client.py").read_text()) == (returns == "parameters")
    again = check("kept/here/labelinf_client.py", "--model", f"{nets}.own:model", "--html", "again.html")
    assert again.stdout.startswith("leaks   unknown: NO LEAK SHOWN"), again.output


@pytest.mark.long
@pytest.mark.parametrize("table", ["own.csv", "own.npz"])
def test_a_client_is_checked_on_a_table_of_the_users(check: Check, table: str) -> None:
    """All other columns are the records, or the array that is called features."""
    rng = np.random.default_rng(0)
    records, kinds = rng.normal(size=(120, 5)), rng.choice(["cat", "dog", "fox"], 120)
    rows = "".join(f"{','.join(map(str, row))},{kind}\n" for row, kind in zip(records, kinds, strict=True))
    Path("own.csv").write_text(f"a,b,c,d,e,kind\n{rows}")
    np.savez("own.npz", features=records, kind=kinds)
    name = module("client")

    found = check(f"{name}.py", table, "--column", "kind", "--model", f"{name}:model")

    assert found.exit_code == Exit.FOUND, found.output
    assert found.stdout.startswith("leaks   yes: 60 of 60 labels")
    assert f"--labels {table} --column kind" in " ".join(found.stdout.split())


@pytest.mark.long
def test_a_client_that_reads_what_is_not_copied_is_not_deployed(check: Check) -> None:
    name = module("client")
    Path("width.txt").write_text("1.0")
    Path(f"{name}.py").write_text(f"{CLIENT}\nimport pathlib\npathlib.Path('width.txt').read_text()\n")

    found = check(f"{name}.py", "--model", f"{name}:model", "--deploy", "kept")

    assert found.exit_code == Exit.INPUT
    assert "sends no update where only its own files lie" in found.stderr
    assert "next    mend what --deploy says; then labelinf audit client" in found.stdout
    assert not Path("kept").exists()


@pytest.mark.long
def test_a_board_is_deployed_with_what_it_imports(check: Check) -> None:
    name = module("own")
    Path(f"{name}_weights.py").write_text(OWN)
    Path(f"{name}.py").write_text(
        f"import {name}_weights as own\n\ndef score(labels, predictions):\n    return own.rate(labels, predictions)\n"
    )
    arguments = ("solution.csv", "--column", "outcome", "--gain", "40%", "--queries", "80", "--deploy", "kept")

    found = check(f"{name}.py", *arguments)

    assert found.exit_code == Exit.FOUND, found.output
    assert Path(f"kept/{name}_weights.py").is_file()


def solution_of_tables(usage: bool = True) -> None:
    """A table of patients with weights, of which only some count, beside a grader that takes tables."""
    rng = np.random.default_rng(1)
    rows = "".join(
        f"p{i:03d},{int(rng.random() < 0.4)},{i % 3 + 1},{'Public' if i % 2 else 'Private'}\n" for i in range(160)
    )
    lines = f"patient,sick,weight,Usage\n{rows}"
    Path("sol.csv").write_text(lines if usage else lines.replace(",Usage", "").replace(",Public", ""))


TABLES = """
import pandas as pd

def score(solution: pd.DataFrame, submission: pd.DataFrame, row_id_column_name: str) -> float:
    both = solution.merge(submission, on=row_id_column_name, suffixes=("", "_guess"))
    return float((both["weight"] * (both["sick"] - both["sick_guess"]).abs()).sum() / both["weight"].sum())
"""


@pytest.mark.long
def test_a_board_of_the_hosts_own_tables_runs_with_her_columns_and_is_closed(check: Check) -> None:
    """The function needs a column of weights, which no table of labels and predictions has."""
    name = f"tables_{module('own')}"
    Path(f"{name}.py").write_text(TABLES)
    solution_of_tables()

    found = check(f"{name}.py", "sol.csv", "--column", "sick", "--gain", "30%", "--queries", "20", "--deploy", "kept")

    said = " ".join(found.stdout.split())
    assert found.exit_code == Exit.FOUND, found.output
    assert "leaks yes: your grader gives up" in said
    assert "Audited: the 80 of 160 rows that are Public." in said
    assert "a guarded board that runs your function" in said
    assert "It draws the public rows anew, whatever Usage says." in said
    assert "columns patient, sick (the probability of 1)" in said
    table = Path("kept/table.csv").read_text().splitlines()
    assert table[0] == "patient,sick,weight"
    assert {line.split(",")[1] for line in table[1:]} == {"0"}  # no label lies there
    with closing(Board.open(Path("kept/board.toml"))) as board:
        ids, scored = board.expected.ids, set(np.array(board.expected.ids)[board.public])
        told = board.submit("a", ("patient,sick\n" + "".join(f"{name},.25\n" for name in ids)).encode())
    truth = {row.split(",")[0]: row.split(",")[1:3] for row in Path("sol.csv").read_text().splitlines()[1:]}
    weights = {name: int(truth[name][1]) for name in scored}
    away = sum(weights[name] * abs(int(truth[name][0]) - 0.25) for name in scored) / sum(weights.values())
    assert isinstance(told, TeamAnswer)
    assert float(told.score) == pytest.approx(away, abs=6e-4)

    closed = CliRunner().invoke(main, ["guard", "release", "kept/board.toml", "--final"])
    again = CliRunner().invoke(main, ["guard", "verify", "kept/board.toml"])

    assert "by the public labels" in closed.stdout
    assert "   1  " in closed.stdout
    assert again.exit_code == Exit.DONE, again.output
    with closing(Board.open(Path("kept/board.toml"))) as board:
        assert "This board is closed." in str(board.submit("b", b"patient,sick\n")) or board.ledger.book.closed


@pytest.mark.long
def test_a_board_of_all_rows_is_begun_and_says_that_it_scores_private_ones(check: Check) -> None:
    """Twenty answers are so few that noise alone keeps the target: no row is sealed, and no winner named by any."""
    name = f"right_{module('own')}"
    Path(f"{name}.py").write_text("def score(labels, predictions):\n    return float((labels == predictions).mean())\n")
    rows = (f"p{at:04d},{at * at % 7 % 2},{'Public' if at % 2 else 'Private'}\n" for at in range(3000))
    Path("sol.csv").write_text("id,label,Usage\n" + "".join(rows))

    found = check(f"{name}.py", "sol.csv", "--gain", "20%", "--queries", "20", "--deploy", "kept")

    assert "begun: kept/board.toml" in found.stdout, found.output
    assert "It scores all rows, whatever Usage says." in found.stdout
    assert "ranks" not in Path("kept/board.toml").read_text()


@pytest.mark.long
def test_tables_of_labels_and_predictions_alone_need_no_more_and_a_shipped_metric_is_begun(check: Check) -> None:
    name = f"auc_{module('own')}"
    Path(f"{name}.py").write_text(
        "from sklearn.metrics import roc_auc_score\n\ndef score(solution, submission, row_id_column_name):\n"
        "    del solution[row_id_column_name], submission[row_id_column_name]\n"
        "    return roc_auc_score(solution['outcome'], submission['outcome'])\n"
    )
    rows = Path("solution.csv").read_text().replace("yes", "1").replace("no", "0")
    Path("solution.csv").write_text(rows)

    found = check(f"{name}.py", "solution.csv", "--gain", "40%", "--queries", "40", "--deploy", "kept")

    assert found.exit_code == Exit.FOUND, found.output
    assert 'metric = "roc-auc"' in Path("kept/board.toml").read_text()
    written = Path("kept/board.toml").read_text()
    assert "# ranks = 3" in written
    assert "delete board.state and labels.csv.boards" in " ".join(written.split())

    shutil.rmtree("kept/board.state")  # as it says: no other board is known that scores these labels
    Path("kept/labels.csv.boards").unlink()
    Path("kept/board.toml").write_text(f"{written}\n[final]\nranks = 3\n")
    anew = CliRunner().invoke(main, ["guard", "init", "kept/board.toml"])
    assert anew.exit_code == Exit.DONE, anew.output
    assert "NOTE" not in anew.output


@pytest.mark.long
def test_ids_that_name_rows_twice_are_refused(check: Check) -> None:
    rows = Path("solution.csv").read_text().splitlines()
    Path("twice.csv").write_text("\n".join(["id,outcome", *(row.replace("r9,", "r7,") for row in rows[1:])]))

    found = check(f"{module('board')}.py", "twice.csv", "--column", "outcome", "--gain", "40%", "--deploy", "kept")

    assert found.exit_code == Exit.INPUT
    assert "column 'id' does not name every row once" in found.stderr


@pytest.mark.parametrize("name", ["Patient_ID", "image id", "rowId"])
@pytest.mark.parametrize("weights", [(1, 1, 2), (0.1, 0.2, 0.3)])
def test_ids_of_any_name_that_name_rows_twice_are_refused_with_the_row(
    tmp_path: Path, name: str, weights: tuple[float, ...]
) -> None:
    rows = "".join(f"{key},{weight},{label}\n" for key, weight, label in zip("xyx", weights, "aba", strict=True))
    (tmp_path / "t.csv").write_text(f"{name},weight,label\n{rows}")
    labels = LabelSet(labels=np.array([0, 1, 0]), class_names=("a", "b"), title="made", provenance="made")

    with pytest.raises(InputError, match=rf"column '{name}' does not name every row once \(row 4 is empty"):
        Solution.read(str(tmp_path / "t.csv"), "label", labels)


@pytest.mark.long
def test_a_board_of_several_targets_asks_for_a_submission_and_says_that_a_board_takes_one(check: Check) -> None:
    rng = np.random.default_rng(0)
    rows = [f"r{i},{int(rng.random() < 0.3)},{int(rng.random() < 0.5)}" for i in range(400)]
    Path("both").mkdir()
    Path("both/y.csv").write_text("\n".join(["id,toxic,insult", *rows]))
    Path("two_targets.py").write_text(
        "def score(solution, submission, row_id_column_name):\n"
        "    return sum(((solution[c] - submission[c]) ** 2).mean() for c in ('toxic', 'insult')) / 2\n"
    )
    asked = [
        "two_targets.py",
        "both/y.csv",
        "--column",
        "toxic",
        "--queries",
        "20",
        "--gain",
        "25%",
        "--deploy",
        "kept",
    ]

    alone = check(*asked)
    Path("both/sample.csv").write_text("\n".join(["id,toxic,insult", *(f"r{i},.5,.5" for i in range(400))]))
    found = check(*asked)

    assert alone.exit_code == Exit.INPUT
    assert "Put a submission that it scores beside both/y.csv" in alone.stderr
    said = " ".join(found.stdout.split())
    assert found.exit_code == Exit.FOUND
    assert "your function scores several columns of predictions, and a board takes one" in said  # nothing to deploy
    assert "a guarded board that" not in said
    assert "labelinf audit grader two_targets:score --solution both/y.csv --sample SUBMISSION.csv" in said
    assert "--deploy: no files deploy this; the remedy says what to do." in said
    assert not Path("kept").exists()


@pytest.mark.long
def test_a_log_is_told_by_its_scores(check: Check) -> None:
    Path("y.csv").write_text("id,y\n" + "".join(f"{i},{i % 2}\n" for i in range(6)))
    Path("subs").mkdir()
    scores = "submission,score\n"
    for asked in range(6):
        Path(f"subs/s{asked}.csv").write_text("id,y\n" + "".join(f"{i},{int(i == asked)}\n" for i in range(6)))
        scores += f"s{asked},{(3 + (1 if asked % 2 else -1)) / 6:.4f}\n"
    Path("scores.csv").write_text(scores)

    missing = check("subs", "y.csv")
    found = check("subs", "y.csv", "--column", "y", "--scores", "scores.csv", "--metric", "accuracy")

    assert missing.exit_code == Exit.INPUT
    assert "with --scores" in missing.stderr
    assert found.exit_code == Exit.FOUND, found.output
    assert found.stdout.startswith("leaks   yes: ")


@pytest.mark.long
def test_a_log_is_joined_by_what_the_solution_calls_its_ids(check: Check) -> None:
    """Submissions name the records from the last to the first: whoever counts rows finds scores that do not fit."""
    Path("y.csv").write_text("Patient_ID,Usage,y\n" + "".join(f"P{i},Public,{int(i < 2)}\n" for i in range(6)))
    Path("subs").mkdir()
    scores = "submission,score\n"
    for asked in range(6):
        rows = (f"P{i},{int(i == asked)}\n" for i in reversed(range(6)))
        Path(f"subs/s{asked}.csv").write_text("Patient_ID,y\n" + "".join(rows))
        scores += f"s{asked},{(4 + (1 if asked < 2 else -1)) / 6:.4f}\n"
    Path("scores.csv").write_text(scores)

    found = check("subs", "y.csv", "--column", "y", "--scores", "scores.csv", "--metric", "accuracy")

    assert found.exit_code == Exit.FOUND, found.output
    assert "6 of 6 labels" in " ".join(found.stdout.split())


def test_predictions_without_a_seal_are_unknown_with_the_commands_that_would_tell(check: Check) -> None:
    Path("predictions.csv").write_text("0,1\n" + ".4,.6\n" * 20)

    found = check("predictions.csv")

    assert found.exit_code == Exit.INCONCLUSIVE
    assert found.stdout.startswith("leaks   unknown: ")
    assert "labelinf plant training.csv" in found.stdout
    assert "labelinf audit finished observes" in " ".join(found.stdout.split())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nothing.py"], "nothing.py is not there."),
        (["board"], "name the table with the private labels after it"),
        (["client"], "say which function makes the client's model, f(n_inputs, n_classes), with --model"),
        (["board", "wide.csv"], "name the one with the labels, --column"),
        (["solution.txt"], "is none of what can be checked: "),
        (["weighted", "solution.csv"], "name the one that is meant"),
        (["strange", "solution.csv"], "which of evaluate is meant? Name it, as in strange_board.py:FUNCTION"),
        (["flower"], "say which function makes the client's model, f(n_inputs, n_classes), with --model"),
        (["classy", "--model", "classy_client:model"], "no function of three arguments, a model, records and labels"),
        (["two", "solution.csv"], "has 2 functions that can be meant; name one"),
        (["board", "solution.csv", "--deploy", "."], ". is there already; name a new folder."),
        (["board", "solution.csv", "--deploy", "mine.html/kept"], "no folder can be made in "),
        (["board", "solution.csv", "--html", "mine.html"], "no check has written it; name another with --html"),
        (["said.csv", "solution.csv"], "is taken for a model's predictions (predictions.csv, with --seal): sol"),
        (["said.csv", "--column", "y"], "--column is not used there; leave it out."),
        (["board", "solution.csv", "--seal", "sealed.json"], "--seal is not used there; leave it out."),
    ],
)
def test_what_is_missing_is_one_sentence(check: Check, arguments: list[str], said: str) -> None:
    Path("mine.html").write_text("mine")
    Path("said.csv").write_text("0,1\n" + ".4,.6\n" * 20)
    Path("wide.csv").write_text("image,outcome,stage\na,1,2\nb,0,3\nc,1,2\n")
    Path("solution.txt").write_text("")
    Path("two.txt").write_text("two_boards")
    Path("weighted.txt").write_text("weighted_board")
    Path("weighted_board.py").write_text("def score(y_true, y_pred, sample_weight): ...\n")
    Path("strange.txt").write_text("strange_board")
    Path("strange_board.py").write_text("def evaluate(outcomes, risks): ...\n")
    Path("flower.txt").write_text("flower_client")
    Path("flower_client.py").write_text("def fit(parameters, x, y): ...\n")
    Path("classy.txt").write_text("classy_client")
    Path("classy_client.py").write_text("def model(n, k): ...\n\nclass Client:\n    def fit(self, parameters): ...\n")
    Path("two_boards.py").write_text(f"{OWN}\ndef other(y, p): ...\n")
    arguments = [
        f"{module(name)}.py" if Path(f"{name}.txt").is_file() and "." not in name else name for name in arguments
    ]

    found = check(*arguments)

    assert found.exit_code == Exit.INPUT
    assert said in found.stderr
    assert Path("mine.html").read_text() == "mine"


def test_tables_without_pandas_name_the_extra(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("weights.csv").write_text("id,weight,y\n" + "".join(f"r{i},{i % 3},{i % 2}\n" for i in range(30)))
    Path("framed.py").write_text("def score(solution, submission, row_id_column_name): ...\n")
    monkeypatch.setitem(sys.modules, "pandas", None)

    found = check("framed.py", "weights.csv", "--column", "y")

    assert found.exit_code == Exit.INPUT
    assert "a function of tables needs pandas: pip install 'labelinf[frame]'" in found.stderr


def test_a_checker_that_fails_costs_only_its_own_kind(monkeypatch: pytest.MonkeyPatch, check: Check) -> None:
    def fails(self: object, asked: CheckQuestion) -> bool:
        raise ZeroDivisionError

    monkeypatch.setattr(BoardCheck, "takes", fails)
    Path("predictions.csv").write_text("0,1\n" + ".4,.6\n" * 20)

    assert check("predictions.csv").exit_code == Exit.INCONCLUSIVE
    host = Host.load()
    with pytest.raises(InputError, match=r"The checker board failed: ZeroDivisionError\."):
        checked(CheckQuestion(thing=f"{module('board')}.py", builder=Builder(host)), host)


@pytest.mark.long
def test_the_same_from_python(check: Check) -> None:
    found = li.check(f"{module('board')}.py", "solution.csv", column="outcome", gain="40%", deploy="kept")

    assert found.status is Exit.FOUND
    assert str(found).startswith("leaks   yes")
    assert Path("kept/board.toml").is_file()


@pytest.mark.long
def test_a_column_that_a_function_may_score_by_is_not_lost(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without her weights it is the accuracy, and a board of that was begun: her table alone shows what they do."""
    asked: list[str] = []

    def graded(scorer: str, table: str, *more: object, **chosen: object) -> None:
        asked.append(table)
        raise InputError("on her own table.")

    monkeypatch.setattr("labelinf_guard.check.graded", graded)
    monkeypatch.setattr("labelinf_guard.check.audited", lambda *given, **chosen: pytest.fail("without her weights"))
    name = f"weighed_{module('own')}"
    Path(f"{name}.py").write_text(TABLES)
    solution_of_tables()

    found = check(f"{name}.py", "sol.csv", "--column", "sick")

    assert found.exit_code == Exit.INPUT, found.output
    assert asked == ["sol.csv"]
