"""A board, from board.toml to its final release; and that it leaks nothing but its answers."""

from __future__ import annotations

import functools
import json
import math
import re
import stat
import time
from collections.abc import Callable
from contextlib import closing
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from click.testing import CliRunner, Result

from labelinf_core.cli import main
from labelinf_core.contracts.errors import InputError
from labelinf_guard.board import Board, TeamAnswer, TeamRefusal
from labelinf_guard.certificate.statement import thousandths
from labelinf_guard.clock import StepClock
from labelinf_guard.commitment import whole_terms
from labelinf_guard.files import State, derived, read_key
from labelinf_guard.ledger.book import LedgerEntry
from labelinf_guard.ledger.verify import verify
from labelinf_guard.metrics import UnscorableError
from labelinf_guard.policy import read_policy
from labelinf_guard.status import besides
from labelinf_guard.terms import metric_of, sizes_of
from labelinf_privacy.words import SeededWords

Begin = Callable[..., Board]


def write_labels(folder: Path, labels: np.ndarray, groups: list[str] | None = None) -> None:
    """Write the private labels, ids r0000, r0001, ..."""
    rows = [f"r{at:05d},{label}" + ("" if groups is None else f",{groups[at]}") for at, label in enumerate(labels)]
    header = "id,label" + ("" if groups is None else ",patient")
    (folder / "labels.csv").write_text("\n".join((header, *rows)) + "\n")


def write_board(
    folder: Path, text: str = "", *, metric: str = 'metric = "accuracy"', classes: str = '"0", "1"'
) -> Path:
    """Write board.toml; ``text`` is what follows the first table."""
    path = folder / "board.toml"
    path.write_text(
        f'[board]\nlabels = "labels.csv"\nid = "id"\nlabel = "label"\nclasses = [{classes}]\n{metric}\n{text}'
    )
    return path


def csv(rows: np.ndarray) -> bytes:
    """One prediction for every id."""
    return ("id,prediction\n" + "".join(f"r{at:05d},{row}\n" for at, row in enumerate(rows))).encode()


@pytest.fixture
def labels() -> np.ndarray:
    """Fair coins."""
    return np.random.default_rng(5).integers(0, 2, 600)


@pytest.fixture
def begin(tmp_path: Path, labels: np.ndarray) -> Begin:
    """Return a function that begins a board on the labels."""

    def make(text: str = "", **more: str) -> Board:
        write_labels(tmp_path, labels)
        return Board.init(write_board(tmp_path, text or PLAIN, **more), clock=StepClock())

    return make


@pytest.fixture
def command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, install_fake: Callable[..., Path]
) -> Callable[..., Result]:
    """Return a function that runs the command line with the guard installed."""
    if "guard" not in {entry.name for entry in entry_points(group="labelinf")}:
        install_fake("labelinf-guard", entry="guard", module="labelinf_guard.plugin")
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(main, ["guard", *arguments], catch_exceptions=False)

    return run


PLAIN = "[public]\nshare = 1.0\n[budget]\nbits = 100\nper_team_day = 90\n[target]\ngain = 0.4\n"


def score(board: Board, rows: np.ndarray, team: str = "a") -> str:
    told = board.submit(team, csv(rows))
    assert isinstance(told, TeamAnswer)
    return told.score


def test_an_answer_is_the_rounded_score_and_is_the_same_for_ever(begin: Begin, labels: np.ndarray) -> None:
    board = begin()
    rows = labels.copy()
    rows[:90] ^= 1
    assert score(board, rows) == "0.850"
    spent = board.ledger.book.spent
    shuffled = b"id,prediction\n" + b"\n".join(sorted(csv(rows).splitlines()[1:], reverse=True))
    assert board.submit("b", shuffled) == TeamAnswer(score="0.850", left=board.ledger.book.sure())
    assert 3 < board.ledger.book.sure() < 8  # of 100 bits, 14.3 an answer at most
    assert board.ledger.book.spent == spent


def test_the_budget_closes_the_board(begin: Begin, labels: np.ndarray) -> None:
    board = begin()
    rng = np.random.default_rng(0)
    told = [board.submit("a", csv(rng.integers(0, 2, labels.size))) for _ in range(30)]
    answered = [answer for answer in told if isinstance(answer, TeamAnswer)]
    assert 5 <= len(answered) < 30
    assert told[len(answered) :] == [TeamRefusal(reason="This board has told all that it will.")] * (30 - len(answered))
    assert board.ledger.book.spent <= 100 * 1024


@pytest.mark.long
@pytest.mark.parametrize(("seconds", "kinds"), [(60, (0, 1, 2, 4)), (1, (3,))])
def test_what_cannot_be_scored_is_one_more_answer(
    begin: Begin, labels: np.ndarray, tmp_path: Path, seconds: int, kinds: tuple[int, ...]
) -> None:
    (tmp_path / "ours.py").write_text(
        "import os, sys, time\n"
        "def score(labels, rows):\n"
        "    print('label', labels[0], file=sys.stderr); print(labels); os.write(1, b'0.5')\n"
        "    kind = round(4 * rows[1, 1])\n"
        "    if kind == 1: raise ValueError(labels)\n"
        "    if kind == 2: return float('nan')\n"
        "    if kind == 3: time.sleep(60)\n"
        "    if kind == 4: return 'x'\n"
        "    return 1 - abs(labels - rows[:, 1]).mean()\n"
    )
    board = begin(
        f"[public]\nshare = 1.0\n[budget]\nbits = 100\n[target]\ngain = 0.4\n[limits]\nseconds = {seconds}\n",
        metric='ours = "ours:score"\nlow = 0.0\nhigh = 1.0',
    )
    for kind in kinds:
        row = np.zeros(labels.size)
        row[1] = kind / 4
        assert score(board, row) == ("could not be scored" if kind else f"{1 - labels.mean():.3f}")
        assert (board.ledger.book.entries[-1].symbol == 1001) == bool(kind)


@pytest.mark.long
def test_what_a_scorer_imports_takes_none_of_its_time(begin: Begin, labels: np.ndarray, tmp_path: Path) -> None:
    """A library that takes longer to import than a score may take charged honest teams for "could not be scored"."""
    (tmp_path / "ours.py").write_text("import time\ntime.sleep(2.5)\ndef score(labels, rows): return 0.25\n")
    metric = 'ours = "ours:score"\nlow = 0.0\nhigh = 1.0'
    board = begin("[budget]\nbits = 100\n[target]\ngain = 0.4\n[limits]\nseconds = 2.0\n", metric=metric)
    assert score(board, np.zeros(labels.size)) == "0.250"


@pytest.mark.long
def test_what_cannot_be_imported_is_said_to_the_host_and_charged_to_nobody(
    begin: Begin, labels: np.ndarray, tmp_path: Path
) -> None:
    (tmp_path / "ours.py").write_text("def score(labels, rows): return 0.25\n")
    text = "[budget]\nbits = 100\n[target]\ngain = 0.4\n"
    with pytest.raises(InputError, match="ours:scores cannot be imported from"):
        begin(text, metric='ours = "ours:scores"\nlow = 0.0\nhigh = 1.0')
    begin(text, metric='ours = "ours:score"\nlow = 0.0\nhigh = 1.0').close()
    (tmp_path / "ours.py").write_text("raise ValueError('a label')")
    board = Board.open(tmp_path / "board.toml", clock=StepClock())
    with pytest.raises(InputError, match="nothing was scored"):
        score(board, np.zeros(labels.size))
    assert not board.ledger.book.entries


@pytest.mark.long
def test_what_a_scorer_starts_ends_with_it(tmp_path: Path) -> None:
    """A process of its own that goes on holds the answer back, until the time is over; then both are gone."""
    (tmp_path / "ours.py").write_text(
        "import os, time\n"
        "def score(labels, rows):\n"
        "    if not os.fork(): open('pid', 'w').write(str(os.getpid())); time.sleep(60)\n"
        "    return 0.5\n"
    )
    policy = read_policy(
        write_board(tmp_path, "[limits]\nseconds = 2.0\n", metric='ours = "ours:score"\nlow = 0.0\nhigh = 1.0')
    )
    with pytest.raises(UnscorableError):
        metric_of(policy, tmp_path).score(np.zeros(3, dtype=int), np.zeros((3, 2)), 2)
    started = Path("/proc") / (tmp_path / "pid").read_text()
    for _ in range(100):  # until the kernel has come to it
        if not started.exists() or "zombie" in (started / "status").read_text():
            return
        time.sleep(0.1)
    pytest.fail("it goes on")


@pytest.mark.parametrize(
    ("metric", "exact"),
    [("accuracy", None), ("balanced-accuracy", "balanced_accuracy_score"), ("f1", "f1_score")],
)
def test_shipped_metrics_of_classes(metric: str, exact: str | None) -> None:
    from sklearn import metrics

    from labelinf_guard.metrics import metric_named

    rng = np.random.default_rng(1)
    labels, rows = rng.integers(0, 2, 300), rng.integers(0, 2, 300)
    wanted = getattr(metrics, exact or "accuracy_score")(labels, rows)
    assert float(metric_named(metric, {}, ["0", "1"]).score(labels, rows, 2)) == pytest.approx(wanted, abs=1e-12)


def test_shipped_metrics_of_probabilities() -> None:
    from sklearn import metrics

    from labelinf_guard.metrics import metric_named

    rng = np.random.default_rng(1)
    labels, rows = rng.integers(0, 3, 300), rng.dirichlet([1, 1, 1], 300)
    clipped = np.clip(rows, 0.01, 0.99)[np.arange(300), labels]
    assert float(metric_named("log-loss", {}, ["0", "1", "2"]).score(labels, rows, 3)) == pytest.approx(
        -np.log(clipped).mean(), abs=1e-10
    )
    brier = ((rows - np.eye(3)[labels]) ** 2).sum(axis=1).mean() / 2
    assert float(metric_named("brier", {}, ["0", "1", "2"]).score(labels, rows, 3)) == pytest.approx(brier, abs=1e-10)
    two = np.round(rows[:, :1], 1)
    auc = metrics.roc_auc_score(labels > 0, two[:, 0])
    assert float(
        metric_named("roc-auc", {}, ["0", "1"]).score((labels > 0).astype(int), np.hstack([1 - two, two]), 2)
    ) == pytest.approx(auc)


@pytest.mark.parametrize("metric", ["accuracy", "log-loss", "brier"])
def test_no_label_moves_a_score_further_than_is_said(metric: str) -> None:
    from labelinf_guard.metrics import metric_named

    rng = np.random.default_rng(2)
    found = metric_named(metric, {}, ["0", "1"])
    for _ in range(50):
        labels = rng.integers(0, 3, 7)
        sure = rng.dirichlet([0.05] * 3, 7)
        rows: Any = rng.integers(0, 3, 7) if found.classes_predicted else sure
        for place in range(7):
            for label in range(3):
                other = labels.copy()
                other[place] = label
                moved = abs(found.score(labels, rows, 3) - found.score(other, rows, 3))
                assert moved <= (found.move(7, 3) or 0)
                assert found.low <= found.score(other, rows, 3) <= found.high


POLICIES = {
    "exact": PLAIN,
    "split": "[public]\nshare = 0.2\n[final]\nscores = 5\nranks = 2\n[target]\ngain = 0.2\naccept_void = true\n",
    "noise": "[public]\nshare = 1.0\n[release]\nnoise = 0.1\n[budget]\nper_board = 50\n[target]\ngain = 0.3\n",
}


def everything(folder: Path, board: Board, submissions: list[bytes]) -> tuple[list[Any], dict[str, bytes]]:
    """All that teams are told, and every file that a board leaves beside its labels."""
    told: list[Any] = [board.submit(f"team{at % 2}", data) for at, data in enumerate(submissions)]
    told.append(board.certificate().sentences())
    board.close()
    kept = ("submissions", "anchor.lock")
    state = folder / "board.state"
    return told, {
        path.name: path.read_bytes() for path in state.rglob("*") if path.is_file() and path.suffix == ".npy"
    } | {"names": json.dumps(sorted(str(path.relative_to(state)) for path in state.rglob("*") if kept)).encode()}


def one(folder: Path, labels: np.ndarray, text: str, monkeypatch: pytest.MonkeyPatch, **more: str) -> Any:
    folder.mkdir()
    write_labels(folder, labels)
    with monkeypatch.context() as patch:
        patch.setattr("labelinf_guard.files.os.urandom", lambda n: b"\7" * n)
        board = Board.init(
            write_board(folder, text, **more), clock=StepClock(), words=SeededWords(np.random.default_rng(1))
        )
    rng = np.random.default_rng(9)
    files = [csv(rng.integers(0, 2, labels.size)) for _ in range(4)]
    files += [files[0], b"id,prediction\nr00000,2\n", b"nonsense", csv(1 - rng.integers(0, 2, labels.size))]
    public = board.public
    found = everything(folder, board, files)
    ledger = verify(
        folder / "board.state" / "ledger.sqlite", derived(read_key(folder / "board.state" / "key"), "chain")
    )
    return public, found, attrs.evolve(ledger)


def test_labels_that_no_answer_depends_on_change_nothing(
    tmp_path: Path, labels: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The leak test: all sealed labels flipped; answers, files, certificate and ledger are byte-identical."""
    text = POLICIES["split"]
    public, told, ledger = one(tmp_path / "one", labels, text, monkeypatch)
    flipped = np.where(public, labels, 1 - labels)
    again, told_again, ledger_again = one(tmp_path / "two", flipped, text, monkeypatch)
    assert np.array_equal(public, again)
    assert told == told_again
    assert ledger == ledger_again
    assert ledger.faults == ()
    _, other, _ = one(tmp_path / "three", np.where(public, 1 - labels, labels), text, monkeypatch)
    assert other[0] != told[0]


PLANTED: dict[str, Callable[[Any, pytest.MonkeyPatch], None]] = {}


def planted(name: str) -> Callable[[Callable[[pytest.MonkeyPatch], None]], None]:
    def enter(plant: Callable[[pytest.MonkeyPatch], None]) -> None:
        PLANTED[name] = plant  # type: ignore[assignment]

    return enter


@planted("the split looks at labels")
def _(patch: pytest.MonkeyPatch) -> None:
    original = Board.__dict__["init"].__func__

    def init(cls: type[Board], path: Path, **more: Any) -> Board:
        from labelinf_guard import begin as module
        from labelinf_guard.files import read_labels
        from labelinf_guard.policy import read_policy

        codes = read_labels(path, read_policy(path).board).codes
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(module, "draw_split", lambda groups, share, words: np.arange(codes.size) % 5 == codes[0])
            return original(cls, path, **more)

    patch.setattr(Board, "init", classmethod(init))


def _score_with(patch: pytest.MonkeyPatch, change: Callable[[Board, Any, Any, Any], Any]) -> None:
    original = Board._score
    patch.setattr(Board, "_score", lambda self, rows, chosen: change(self, rows, chosen, original(self, rows, chosen)))


@planted("all labels are scored")
def _(patch: pytest.MonkeyPatch) -> None:
    original = Board._score
    patch.setattr(Board, "_score", lambda self, rows, chosen: original(self, rows, chosen | True))


@planted("a sealed label adds a thousandth")
def _(patch: pytest.MonkeyPatch) -> None:
    from fractions import Fraction

    _score_with(patch, lambda self, rows, chosen, told: told + Fraction(int(self._labels.codes[~chosen][0]), 1000))


@planted("a sealed label decides whether there is a score")
def _(patch: pytest.MonkeyPatch) -> None:
    _score_with(patch, lambda self, rows, chosen, told: told if self._labels.codes[~chosen][0] else None)


@planted("a sealed label decides the charge")
def _(patch: pytest.MonkeyPatch) -> None:
    _charge_or_digest(patch, "charge")


@planted("a sealed label is in the digest")
def _(patch: pytest.MonkeyPatch) -> None:
    original = Board._sealed
    patch.setattr(Board, "_sealed", lambda self, rows: original(self, rows) + str(self._labels.codes[~self.public][0]))


def _charge_or_digest(patch: pytest.MonkeyPatch, what: str) -> None:
    from labelinf_guard.ledger.store import Ledger

    original = Ledger.reserve

    def reserve(self: Any, team: str, digest: str) -> Any:
        return original(self, f"{team}-{LABEL[0]}", digest)

    keep = Board._keep

    def kept(self: Board, entry: Any, submission: Any) -> None:
        LABEL[0] = int(self._labels.codes[~self.public][0])
        keep(self, entry, submission)

    patch.setattr(Ledger, "reserve", reserve)
    patch.setattr(Board, "_keep", kept)


LABEL = [0]


@planted("a refusal quotes a label")
def _(patch: pytest.MonkeyPatch) -> None:
    original = Board.submit

    def submit(self: Board, team: str, data: bytes) -> Any:
        told = original(self, team, data)
        if isinstance(told, TeamRefusal):
            return TeamRefusal(reason=f"{told.reason} {self._labels.codes[~self.public][0]}")
        return told

    patch.setattr(Board, "submit", submit)


@planted("the team's submissions left depend on a label")
def _(patch: pytest.MonkeyPatch) -> None:
    original = Board.tell
    patch.setattr(
        Board,
        "tell",
        lambda self, entry, team: attrs.evolve(
            original(self, entry, team), left=int(self._labels.codes[~self.public][0])
        ),
    )


@planted("the certificate counts sealed labels")
def _(patch: pytest.MonkeyPatch) -> None:
    from labelinf_guard.certificate.statement import Certificate

    original = Board.certificate

    def certificate(self: Board) -> Certificate:
        found = original(self)
        return attrs.evolve(found, now=float(np.mean(self._labels.codes[~self.public])))

    patch.setattr(Board, "certificate", certificate)


@planted("a file is named after a label")
def _(patch: pytest.MonkeyPatch) -> None:
    original = Board._keep

    def keep(self: Board, entry: Any, submission: Any) -> None:
        original(self, entry, submission)
        (self._path.with_suffix(".state") / f"note{self._labels.codes[~self.public][0]}").touch()

    patch.setattr(Board, "_keep", keep)


@pytest.mark.parametrize("name", sorted(PLANTED))
def test_planted_leaks_are_caught(
    name: str, tmp_path: Path, labels: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    PLANTED[name](monkeypatch)  # type: ignore[call-arg]
    first = one(tmp_path / "one", labels, POLICIES["split"], monkeypatch)
    flipped = np.where(first[0], labels, 1 - labels)
    second = one(tmp_path / "two", flipped, POLICIES["split"], monkeypatch)
    assert not (np.array_equal(first[0], second[0]) and first[1:] == second[1:])


def test_one_draw_of_noise_serves_no_two_sets_of_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Halves of equal size under one draw gave the exact difference; here it is drawn anew, digests name the ids."""
    labels = np.random.default_rng(0).integers(0, 2, 400)
    digests, answers = set(), []
    for shift in (0, 1):
        folder = tmp_path / str(shift)
        folder.mkdir()
        text = "\n".join(["id,label", *(f"s{at + 400 * shift:05d},{label}" for at, label in enumerate(labels))])
        (folder / "labels.csv").write_text(text)
        monkeypatch.setattr("labelinf_guard.files.new_key", lambda path: b"k" * 32)
        board = Board.init(write_board(folder, POLICIES["noise"]), clock=StepClock())
        rows = "".join(f"s{at + 400 * shift:05d},1\n" for at in range(400))
        told = board.submit("a", f"id,prediction\n{rows}".encode())
        assert isinstance(told, TeamAnswer)
        answers.append(told.score)
        digests.add(board.ledger.book.entries[0].digest)
    assert len(digests) == 2
    assert answers[0] != answers[1] or answers == ["1.000"] * 2


@pytest.mark.long
def test_noise_is_what_the_certificate_counts(begin: Begin, labels: np.ndarray) -> None:
    board = begin(POLICIES["noise"])
    rng = np.random.default_rng(0)
    rows = [rng.integers(0, 2, labels.size) for _ in range(40)]
    told = np.array([float(score(board, row, f"t{at}")) for at, row in enumerate(rows)])
    errors = told - np.array([np.mean(row == labels) for row in rows])
    assert 0.05 < errors.std() < 0.16
    noise = board.certificate().terms.public.noise
    assert noise is not None
    assert noise.mu == pytest.approx(50**0.5 / (600 * 0.1), rel=1e-6)
    state = State.of(board._path)
    assert verify(state.ledger, derived(read_key(state.key), "chain")).faults == ()
    assert not board.certificate().void


def test_a_group_under_two_names_begins_no_board_and_closes_none(tmp_path: Path) -> None:
    """Boards that were begun go on as they are: their split knows the groups as they were written."""
    labels, text = np.arange(600) % 2, "[public]\nshare = 0.3\n[target]\ngain = 0.45\n"
    write_labels(tmp_path, labels, ["7", *(f"{at:04d}" for at in range(599))])
    path = write_board(tmp_path, text, metric='metric = "accuracy"\ngroup = "patient"')

    with pytest.raises(InputError, match="column 'patient' has the number 0007 also as 7: one or two"):
        Board.init(path)
    with pytest.MonkeyPatch.context() as before:
        before.setattr("labelinf_guard.files.one_name_each", lambda names, place: None)
        Board.init(path).close()
    Board.open(path).close()


def test_groups_are_split_whole_and_count_as_fewer(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    groups = [f"p{int(g)}" for g in np.sort(rng.integers(0, 60, 600))]
    write_labels(tmp_path, rng.integers(0, 2, 600), groups)
    board = Board.init(
        write_board(
            tmp_path, "[public]\nshare = 0.3\n[target]\ngain = 0.45\n", metric='metric = "accuracy"\ngroup = "patient"'
        ),
        clock=StepClock(),
    )
    sizes = board.sizes()
    inside = {group for group, public in zip(groups, board.public, strict=True) if public}
    outside = {group for group, public in zip(groups, board.public, strict=True) if not public}
    assert not inside & outside
    assert sizes.public_effective is not None
    assert sizes.public_effective < len(inside) + 1
    said = " ".join(board.certificate().sentences())
    assert "labels of different patient are independent" in said
    board.close()
    assert charged(tmp_path) == "known class totals charged as one more answer"  # B18 is of records apart
    state = State.of(board._path)
    assert verify(state.ledger, derived(read_key(state.key), "chain")).faults == ()
    assert "Game." not in said


def test_a_board_that_proves_too_little_is_refused(tmp_path: Path, labels: np.ndarray) -> None:
    write_labels(tmp_path, labels[:50])
    with pytest.raises(InputError, match="cannot be proved for 50 scored labels, however little is told"):
        Board.init(write_board(tmp_path, "[public]\nshare = 1.0\n[target]\ngain = 0.01\n"), clock=StepClock())
    assert not (tmp_path / "board.state").exists()
    with pytest.raises(InputError, match=r"this board proves 50\.0 points .*, the target is 10"):
        Board.init(write_board(tmp_path, "[public]\nshare = 1.0\n[budget]\nbits = 500\n"), clock=StepClock())
    board = Board.init(
        write_board(tmp_path, "[public]\nshare = 1.0\n[budget]\nbits = 500\n[target]\naccept_void = true\n"),
        clock=StepClock(),
    )
    assert "Gain. Void" in " ".join(board.certificate().sentences())


@pytest.mark.parametrize(
    "stage",
    ["labelinf_guard.begin.new_key", "labelinf_guard.kept.write_private", "labelinf_guard.begin.Ledger._append"],
)
def test_a_board_whose_beginning_was_killed_was_not_begun(
    tmp_path: Path, labels: np.ndarray, stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_labels(tmp_path, labels)
    path = write_board(tmp_path, PLAIN)
    with monkeypatch.context() as patch:
        patch.setattr(stage, _killed)
        with pytest.raises(KeyboardInterrupt):
            Board.init(path, clock=StepClock())
    with pytest.raises(InputError):
        Board.open(path, clock=StepClock())
    with closing(Board.init(path, clock=StepClock())) as board:
        assert isinstance(board.submit("a", csv(labels)), TeamAnswer)
    assert {entry.name for entry in tmp_path.iterdir()} == {
        "board.toml",
        "labels.csv",
        "labels.csv.boards",
        "board.state",
    }


def _killed(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_what_was_begun_cannot_be_changed(begin: Begin, tmp_path: Path) -> None:
    begin().close()
    with pytest.raises(InputError, match="A board is begun once"):
        begin()
    write_board(tmp_path, PLAIN.replace("100", "200"))
    with pytest.raises(InputError, match="was changed since the board was begun, or another version"):
        Board.open(tmp_path / "board.toml", clock=StepClock())
    write_board(tmp_path, PLAIN)
    key = tmp_path / "board.state" / "key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    key.chmod(0o644)
    with pytest.raises(InputError, match="may be read by others"):
        Board.open(tmp_path / "board.toml", clock=StepClock())


@pytest.mark.parametrize("form", [1, 2, 3])
def test_a_board_goes_on_with_the_arithmetic_it_was_begun_with(
    begin: Begin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: int
) -> None:
    """The first was not written down, and took known totals for one more answer; a third is not known yet."""
    monkeypatch.setattr("labelinf_guard.begin.sizes_of", functools.partial(sizes_of, form=form))
    text = "[public]\nshare = 0.1\n[target]\ngain = 0.2\n"
    if form == 3:
        with pytest.raises(InputError, match="another version of labelinf began it"):
            begin(text)
    else:
        board = begin(text)
        rules, now = board.ledger.book.known(), board.certificate().now
        assert rules.terms.get("form", "none") == {1: "none", 2: 2}[form]
        assert rules.claims["now"] == thousandths(now)
        assert now == pytest.approx({1: 0.1191, 2: 0.0571}[form], abs=1e-4)
        board.close()
    state = State.of(tmp_path / "board.toml")
    found = verify(state.ledger, derived(read_key(state.key), "chain"))
    proved = {1: "known class totals charged as one more answer", 2: "spread of their sum", 3: ""}[form]
    assert proved in found.proved
    faults = ["row 1: its terms are of form 3, which this version does not know: a later one wrote them"]
    assert list(found.faults) == (faults if form == 3 else [])


def charged(folder: Path) -> str:
    """Return how a ledger is said to charge class totals."""
    state = State.of(folder / "board.toml")
    return verify(state.ledger, derived(read_key(state.key), "chain")).proved


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[public]\nshare = 0.1\n[target]\ngain = 0.2\ncounts_known = false\n", "class totals taken for unknown"),
        ("[public]\nshare = 1.0\n[target]\naccept_void = true\n", "known class totals charged as one more answer"),
    ],
)
def test_a_ledger_is_said_to_charge_class_totals_as_it_does(begin: Begin, tmp_path: Path, text: str, said: str) -> None:
    """By the spread of their sum where sealed labels are told of by it alone, and nowhere else."""
    begin(text).close()
    assert charged(tmp_path) == said


def test_what_the_first_arithmetic_proves_is_not_said_to_be_what_the_second_does(
    begin: Begin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ledger of the first form that claims what the second proves claims too much."""
    begun = whole_terms
    monkeypatch.setattr(
        "labelinf_guard.begin.whole_terms", lambda *args: {k: v for k, v in begun(*args).items() if k != "form"}
    )
    begin("[public]\nshare = 0.1\n[budget]\nbits = 9.0\n[target]\ngain = 0.08\naccept_void = true\n").close()
    state = State.of(tmp_path / "board.toml")
    (fault,) = verify(state.ledger, derived(read_key(state.key), "chain")).faults
    assert "points now, computed again" in fault


def test_a_board_of_an_earlier_version_is_said_to_be_one(begin: Begin, tmp_path: Path) -> None:
    """Its rules, or its split, are not what this version would write; the host changed nothing."""
    begin().close()
    path = tmp_path / "board.state" / "split.npz"
    with np.load(path) as kept:
        np.savez(path, public=kept["public"], ids=kept["ids"])
    with pytest.raises(InputError, match="by an earlier version"):
        Board.open(tmp_path / "board.toml", clock=StepClock())
    for left in (b"", b"PK\x03\x04", b"split"):
        path.write_bytes(left)
        with pytest.raises(InputError, match="restore it from a copy"):
            Board.open(tmp_path / "board.toml", clock=StepClock())
    path.unlink()
    with pytest.raises(InputError, match="restore it from a copy"):
        Board.open(tmp_path / "board.toml", clock=StepClock())


def test_faults_of_a_board_file_come_all_at_once(tmp_path: Path) -> None:
    path = write_board(tmp_path, "[public]\nshare = 2.0\n[release]\ndecimal = 3\n[budget]\nper_team = 1.5\n")
    with pytest.raises(InputError) as told:
        Board.init(path)
    said = str(told.value)
    assert "public: share=2.0 must be <= 1" in said
    assert "release: unknown parameter 'decimal'; did you mean 'decimals'?" in said
    assert "budget.per_team: expected int, got 1.5" in said


def test_who_has_no_board_file_is_shown_one_that_will_do(tmp_path: Path, labels: np.ndarray) -> None:
    path = tmp_path / "board.toml"
    with pytest.raises(InputError, match=r"board\.toml is not there") as told:
        Board.init(path)
    write_labels(tmp_path, labels)
    path.write_text(str(told.value).partition("\n\n")[2] + "\n[target]\ngain = 0.3\n")
    Board.init(path, clock=StepClock()).close()


def test_labels_that_are_none_are_named_by_row_and_never_quoted(tmp_path: Path, labels: np.ndarray) -> None:
    write_labels(tmp_path, np.where(np.arange(600) == 7, 9, labels))
    with pytest.raises(InputError) as told:
        Board.init(write_board(tmp_path), clock=StepClock())
    assert str(told.value).endswith("row 9 and 0 others have a label that is no class.")


def test_a_second_board_of_the_same_labels_is_told_of_the_first(
    tmp_path: Path, labels: np.ndarray, command: Callable[..., Result]
) -> None:
    """Certificates do not add up: who uses the answers of two boards is bound by neither."""
    write_labels(tmp_path, labels)
    write_board(tmp_path, PLAIN).rename(tmp_path / "second.toml")
    write_board(tmp_path, PLAIN)
    for name, told in (("board.toml", False), ("second.toml", True)):
        assert ("scores the same file of labels" in command("init", name).output) == told
    note = [line.split("\t") for line in (tmp_path / "labels.csv.boards").read_text().splitlines()]
    assert [path for path, _ in note] == ["board.toml", "second.toml"]
    assert all(re.fullmatch("[0-9a-f]{16}", mark) for _, mark in note)  # and nothing of the labels
    assert (tmp_path / "labels.csv.boards").stat().st_mode & 0o077 == 0
    assert "second.toml scores the same file" in command("status", "board.toml", "--timeout", "1").output


def test_the_final_release_is_made_once_and_closes_the_board(begin: Begin, labels: np.ndarray) -> None:
    board = begin(POLICIES["split"])
    rng = np.random.default_rng(0)
    for at, skill in enumerate((0.9, 0.6, 0.75)):
        score(board, np.where(rng.random(600) < skill, labels, 1 - labels), f"t{at}")
    certificate = board.certificate()
    assert certificate.after is not None
    assert certificate.after > certificate.now
    released = board.release()
    assert [row["rank"] for row in released] == [1, None, 2]
    assert board.release() == released
    assert board.submit("late", csv(1 - labels)) == TeamRefusal(
        reason="This board is closed; its final scores are out."
    )


def test_a_board_without_a_final_release_is_closed_and_keeps_its_standing(
    begin: Begin, labels: np.ndarray, command: Callable[..., Result]
) -> None:
    board = begin(PLAIN)
    score(board, labels, "first")
    before = board.certificate().now

    assert board.release() == []
    assert board.submit("late", csv(1 - labels)) == TeamRefusal(reason="This board is closed.")
    assert board.standing()[0][0] == "first"
    assert (board.certificate().now, board.certificate().after) == (before, None)
    assert besides(board) == []  # nothing was told that is not charged
    checked = json.loads(command("verify", "board.toml", "--json").output)
    assert (checked["faults"], checked["submissions"]) == ([], 1)


def test_what_was_admitted_before_the_closing_is_told_and_stands_in_all_that_is_released(
    begin: Begin, labels: np.ndarray, command: Callable[..., Result]
) -> None:
    board = begin("[public]\nshare = 0.1\n[final]\nranks = 1\n[target]\ngain = 0.3\n[budget]\nper_board = 500\n")
    score(board, np.where(np.arange(600) % 5, labels, 1 - labels), "early")
    waiting = board.enter("best", csv(labels))
    assert isinstance(waiting, LedgerEntry)

    assert board.release() == [{"team": "best", "score": "", "rank": 1}]
    assert board.standing()[0] == ("best", board.tell(waiting, "best").score)
    assert command("verify", "board.toml").exit_code == 0


def test_ranks_alone_name_teams_by_the_sealed_rows_and_tell_no_score(
    begin: Begin, labels: np.ndarray, command: Callable[..., Result]
) -> None:
    board = begin("[public]\nshare = 0.1\n[final]\nranks = 2\n[target]\ngain = 0.3\n[budget]\nper_board = 500\n")
    rng = np.random.default_rng(0)
    for at, skill in enumerate((0.9, 0.6, 0.75)):
        score(board, np.where(rng.random(600) < skill, labels, 1 - labels), f"t{at}")
    certificate = board.certificate()

    assert board.release() == [{"team": "t0", "score": "", "rank": 1}, {"team": "t2", "score": "", "rank": 2}]
    assert certificate.terms.final == pytest.approx(math.log2(500 * 499), rel=1e-6)  # of all teams that there may be
    assert certificate.after is not None
    assert certificate.after > certificate.now
    assert any("2 first ranks" in line for line in certificate.arithmetic())
    checked = command("verify", "board.toml")
    assert checked.exit_code == 0, checked.output


def test_predictions_may_be_called_as_the_label_is(begin: Begin, labels: np.ndarray) -> None:
    board = begin(PLAIN)
    assert board.expected.columns == ("id", "label")

    told = board.submit("own", csv(labels).replace(b"prediction", b"label"))

    assert isinstance(told, TeamAnswer)
    assert board.submit("own", csv(labels)) == attrs.evolve(told, left=told.left)  # the same submission, for nothing


def test_a_submission_that_waits_for_its_beat_is_not_released(begin: Begin, labels: np.ndarray) -> None:
    """Its file may not be there, and its team was told nothing."""
    board = begin(POLICIES["split"])
    score(board, labels, "t0")
    board.ledger.reserve("t1", "no file")
    assert [row["team"] for row in board.release()] == ["t0"]


@pytest.mark.parametrize(
    ("text", "metric", "fault"),
    [
        ("[final]\nscores = 3\nnoise = 0.01\n", "f1", "noise proves nothing for this metric"),
        ("[public]\nshare = 1.0\n[final]\nscores = 3\n", "accuracy", "there are none"),
        ("[public]\nshare = 0.9999\n[final]\nscores = 3\n[target]\naccept_void = true\n", "accuracy", "all 600 labels"),
        ("[target]\nperfect = 0.3\n", "accuracy", "below what the likeliest class scores"),
    ],
)
def test_what_no_release_could_keep_is_refused_at_the_beginning(
    tmp_path: Path, labels: np.ndarray, text: str, metric: str, fault: str
) -> None:
    write_labels(tmp_path, labels)
    with pytest.raises(InputError, match=fault):
        Board.init(write_board(tmp_path, text, metric=f'metric = "{metric}"'), clock=StepClock())


def test_more_answers_than_can_be_predicted_are_refused_at_the_beginning(tmp_path: Path, labels: np.ndarray) -> None:
    write_labels(tmp_path, labels)
    metric = 'ours = "ours:score"\nlow = 0.0\nhigh = 1e9'
    with pytest.raises(InputError, match="Take fewer decimals"):
        Board.init(write_board(tmp_path, "[release]\ndecimals = 6\n", metric=metric), clock=StepClock())


@pytest.mark.parametrize("said", ["", "low = -1.0", "high = 1.0"])
def test_a_range_that_nobody_said_is_not_made_up(tmp_path: Path, labels: np.ndarray, said: str) -> None:
    """Scores below 0 would all be told as 0: of -0.2 and -0.9 nobody would know which is better."""
    write_labels(tmp_path, labels)
    for metric in ('ours = "ours:score"', 'metric = "mcc"'):
        with pytest.raises(InputError, match=r"low and high must be given with (ours|metric = 'mcc')"):
            Board.init(write_board(tmp_path, metric=f"{metric}\n{said}"), clock=StepClock())


@pytest.mark.long
def test_five_commands_from_a_csv_to_a_final_release(
    command: Callable[..., Result], tmp_path: Path, labels: np.ndarray
) -> None:
    write_labels(tmp_path, labels)
    write_board(
        tmp_path,
        "[public]\nshare = 0.2\n[release]\nbeat = 0.05\n[limits]\nseconds = 0.3\n[final]\nscores = 2\nnoise = 0.5\n"
        "[target]\ngain = 0.25\n",
    )
    (tmp_path / "one.csv").write_bytes(csv(labels))
    (tmp_path / "bad.csv").write_bytes(b"id,prediction\nr00000,7\n")
    assert "recommended" in command("plan", "--records", "25000", "--teams", "10").output
    begun = command("init", "board.toml")
    assert begun.exit_code == 0, begun.output
    assert "no rule that uses every answer of this board" in begun.output
    told = command("score", "board.toml", "--team", "a", "one.csv")
    assert told.output.splitlines() == ["1.000", "99 submissions left, 5 a day at most"]
    refused = command("score", "board.toml", "--team", "a", "bad.csv")
    assert refused.exit_code == 2
    assert "Line 2: A prediction must be a class" in refused.output
    shown = json.loads(command("status", "board.toml", "--json").output)
    assert shown["submissions"] == 1
    assert "a " in command("status", "board.toml").output
    again = command("score", "board.toml", "--team", "a", "one.csv", "--json")
    assert json.loads(again.output) == {"score": "1.000", "left": 99}  # the same bytes are answered once
    final = command("release", "board.toml", "--final")
    assert final.exit_code == 0
    assert final.output.splitlines()[:4] == ["by the public labels", "   1  1.000  a", "", "by the sealed labels"]
    assert final.output.splitlines()[4].endswith("  a")
    checked = command("verify", "board.toml", "--head", shown["head"])
    assert checked.exit_code == 0
    assert "all of it follows" in checked.output
    assert command("verify", "board.toml", "--head", "00").exit_code == 1
    wrong = json.loads(command("verify", "board.toml", "--head", "00", "--json").output)
    assert (wrong["submissions"], len(wrong["faults"])) == (1, 1)
    assert command("adopt", "board.toml").output == "nothing was lost.\n"
    assert json.loads(command("adopt", "board.toml", "--json").output) == {"lost": 0}
    given = json.loads(command("token", "board.toml", "a", "--json").output)
    assert given == {"team": "a", "token": command("token", "board.toml", "a").output.strip()}


def test_five_lines_of_python(tmp_path: Path, labels: np.ndarray) -> None:
    from labelinf import guard

    write_labels(tmp_path, labels)
    path = write_board(tmp_path, PLAIN + "[release]\nbeat = 0.05\n[limits]\nseconds = 0.3\n")
    guard.init(path).close()
    board = guard.open(path)
    answer = board.submit("alice", guard.csv([f"r{at:05d}" for at in range(600)], labels))
    assert isinstance(answer, TeamAnswer)
    assert answer.score == "1.000"
