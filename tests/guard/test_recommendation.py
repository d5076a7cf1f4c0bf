"""What is recommended is begun as it is printed, and answers as often as was said before it closes."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import attrs
import numpy as np
import pytest
from click.testing import CliRunner

from labelinf_core.cli import main
from labelinf_core.contracts.errors import InputError
from labelinf_guard.board import Board, TeamAnswer, TeamRefusal
from labelinf_guard.certificate.statement import counted
from labelinf_guard.clock import StepClock
from labelinf_guard.commands import guard
from labelinf_guard.plan import PlanQuestion, lines, table
from labelinf_guard.policy import read_policy
from labelinf_guard.recommendation import toml
from labelinf_privacy.words import SeededWords

N = 2000
DAY = 86_400_000


def begun(folder: Path, text: str, records: int = N) -> Board:
    """Begin what was printed, beside labels of its own."""
    labels = np.random.default_rng(3).integers(0, 2, records)
    (folder / "labels.csv").write_text("id,label\n" + "".join(f"r{at},{y}\n" for at, y in enumerate(labels)))
    (folder / "board.toml").write_text(text)
    return Board.init(folder / "board.toml", clock=StepClock(DAY), words=SeededWords(np.random.default_rng(4)))


def played(board: Board, teams: int) -> int:
    """Send what nobody expects, day after day, until the board has closed; return how many answers it gave."""
    rng, answers, ids = np.random.default_rng(5), 0, board.expected.ids
    while True:
        day = 0
        for team in range(teams):
            for _ in range(board.policy.budget.per_team_day):
                rows = (
                    rng.random(len(ids)) if not board.expected.form.classes_predicted else rng.integers(0, 2, len(ids))
                )
                text = "id,prediction\n" + "".join(f"{name},{row}\n" for name, row in zip(ids, rows, strict=True))
                told = board.submit(f"t{team}", text.encode())
                if isinstance(told, TeamRefusal):
                    break
                day += 1
        if not day:
            return answers
        answers += day
        board.ledger.clock.wait(board.ledger.clock.now() + DAY)


@pytest.mark.long
@pytest.mark.parametrize(
    ("asked", "policy"),
    [
        (PlanQuestion(records=N, metric="roc-auc", gain=0.05, teams=2, submissions=12), "% public"),
        (PlanQuestion(records=400, gain=0.15, teams=3, submissions=100), "surprise ledger"),
        (PlanQuestion(records=400, gain=0.2, teams=1, submissions=30), "labels replaced"),
        (PlanQuestion(records=400, gain=0.2, teams=1, submissions=20, counts_known=False), "noise"),
    ],
)
def test_what_is_recommended_is_a_board_that_answers_as_often_as_it_says(
    asked: PlanQuestion, policy: str, tmp_path: Path
) -> None:
    (worth,) = [row.worth for row in table(asked) if policy in row.policy and row.worth is not None]
    with_board = begun(tmp_path, worth.board, asked.records)

    assert attrs.evolve(with_board.recommendation(), proves=worth.proves) == worth
    assert with_board.recommendation().proves == pytest.approx(worth.proves, abs=1e-9)
    assert worth.answers >= 1
    answers = played(with_board, asked.teams)

    assert worth.answers <= answers <= asked.answers
    with_board.close()


@pytest.mark.long
def test_a_target_that_allows_no_answer_is_refused_and_one_that_allows_few_says_how_few(tmp_path: Path) -> None:
    """AUC of 2 000 labels, 5 points: a board of 3.5 bits was begun, refused everything, and said 99 were left."""
    text = (
        '[board]\nlabels = "labels.csv"\nid = "id"\nlabel = "label"\nclasses = ["0", "1"]\nmetric = "roc-auc"\n'
        "[public]\nshare = 1.0\n[target]\nperfect = 0.5\ngain = 0.05\n"
    )
    with pytest.raises(InputError, match=r"could tell 3\.5 bits, and one answer may cost 14\.3"):
        begun(tmp_path, text)
    assert not (tmp_path / "board.state").exists()

    board = begun(tmp_path, text.replace("gain = 0.05", "gain = 0.1"))
    sure = board.recommendation().answers
    ids = board.expected.ids
    rows = np.random.default_rng(0).random(N)
    told = board.submit("a", ("id,prediction\n" + "".join(map("{},{}\n".format, ids, rows))).encode())

    assert isinstance(told, TeamAnswer)
    assert 1 <= sure <= 5
    assert sure - 1 <= told.left <= sure
    board.close()


@pytest.mark.long
def test_plan_init_and_status_say_the_same(tmp_path: Path) -> None:
    command = CliRunner()
    printed = command.invoke(guard, ["plan", "--records", str(N), "--metric", "roc-auc", "--gain", "0.05"])
    said = printed.output.split("\nrecommended\n")[1].splitlines()
    worth, file = said[: said.index("")], [line.strip() for line in said[said.index("") :]]
    begun(tmp_path, "\n".join(file)).close()
    status = command.invoke(guard, ["status", str(tmp_path / "board.toml")]).output
    (tmp_path / "again.toml").write_text("\n".join(file))
    init = command.invoke(guard, ["init", str(tmp_path / "again.toml")]).output

    assert len(worth) == 7
    assert all(line in status.splitlines() and line in init.splitlines() for line in worth)
    assert "10000 answers surely left for all teams together" in status


@pytest.mark.long
def test_what_advise_prints_is_begun_and_is_worth_what_it_says(tmp_path: Path) -> None:
    labels = np.random.default_rng(3).integers(0, 2, 600)
    path = tmp_path / "labels.csv"
    path.write_text("id,label\n" + "".join(f"r{at},{y}\n" for at, y in enumerate(labels)))
    asked = ["advise", "--labels", str(path), "--column", "label", "--metric", "roc-auc", "--gain", "5%"]
    only = ["--questions", "0", "--only", "guarded", "--json"]
    (advice,) = json.loads(CliRunner().invoke(main, [*asked, *only], catch_exceptions=False).output)
    found = advice["deployment"]
    text = "\n".join(found[found.index("") :])
    board = begun(tmp_path, text, 600)

    assert tomllib.loads(text)["public"]["share"] == pytest.approx(advice["certified"], rel=1e-3)
    assert board.recommendation().lines() == found[: found.index("")]
    board.close()


def test_a_policy_is_written_as_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "board.toml"
    path.write_text(
        '[board]\ntitle = "a"\nlabels = "l.csv"\nid = "i"\nlabel = "y"\nvalues = [0.0, 2.0, 0.5]\nmetric = "mse"\n'
        "[public]\nshare = 0.3\nsecret = false\n[release]\nnoise = 0.5\n[final]\nscores = 3\n[target]\ndoubt = 1e-9\n"
    )
    policy = read_policy(path)
    path.write_text(toml(policy))
    assert read_policy(path) == policy


@pytest.mark.long
def test_one_thing_is_said_in_the_singular() -> None:
    assert (counted(1, "team"), counted(2, "team")) == ("1 team", "2 teams")
    said = "\n".join(lines(table(PlanQuestion(records=25_000, teams=1, submissions=1))))
    assert "1 answer of all teams together; of each team 1 a day" in said
    assert " 1 answers" not in said
    assert " 1 exact scores" not in said


def test_no_attack_is_printed_above_what_is_proved() -> None:
    """300 labels of eleven values: the share of 33.48 labels is 33 of them."""
    found = table(
        PlanQuestion(records=300, teams=1, submissions=300, values=(0.0, 5.0, 0.5), metric="mae", counts_known=False)
    )
    known = [(row.attack, row.proves) for row in found if row.attack is not None and row.proves is not None]
    assert known
    assert all(attack <= proves + 1e-9 for attack, proves in known)


@pytest.mark.long
def test_a_board_of_a_version_that_allowed_every_scorer_its_seconds_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The guard's own metrics are answered sooner now; a board that was begun before keeps its beats."""
    with monkeypatch.context() as patch:
        patch.setattr("labelinf_guard.begin._allowed", lambda policy, metric: policy.limits.seconds)
        text = '[board]\nlabels = "labels.csv"\nid = "id"\nlabel = "label"\nclasses = ["0", "1"]\nmetric = "accuracy"\n'
        begun(tmp_path, f"{text}[release]\nbeat = 2.0\n").close()
    board = Board.open(tmp_path / "board.toml", clock=StepClock(DAY))

    assert (board.ledger.book.known().allowed, board.ledger.book.due(DAY)) == (5000, DAY + 6000)
    board.close()
    (tmp_path / "new").mkdir()
    fresh = begun(tmp_path / "new", f"{text}[release]\nbeat = 2.0\n")
    assert (fresh.ledger.book.known().allowed, fresh.ledger.book.due(DAY)) == (1000, DAY + 2000)
    fresh.close()
