"""Whatever takes long shows a bar with an estimate on a terminal's standard error; ``-q`` leaves what is wrong."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner, Result

from labelinf_core.cli import main
from labelinf_core.contracts.doing import say
from labelinf_core.report import progress
from labelinf_core.report.progress import steps

Labelinf = Callable[..., Result]
Shown = list[tuple[str, int, int | None]]

BOARD = "def score(labels, predictions):\n    return float(((labels - predictions) ** 2).mean())\n"
CLIENT = (
    "import numpy as np\n\ndef make(n_inputs, n_classes):\n"
    "    return [np.random.default_rng(0).normal(size=(n_classes, n_inputs)), np.zeros(n_classes)]\n\n"
    "def update(model, x, labels):\n    return [np.zeros_like(part) for part in model]\n"
)


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Shown:
    """What bars would have shown: said, done, of how many."""
    found: Shown = []

    @contextmanager
    def bar(doing: str) -> Iterator[Callable[[str, int, int | None], None]]:
        found.append((doing, 0, None))
        yield lambda said, done, total: found.append((said, done, total))

    monkeypatch.setattr("labelinf_core.report.progress._bar", bar)
    monkeypatch.setattr("labelinf_core.report.progress._is_shown", lambda: True)
    return found


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "slow_board.py").write_text(BOARD)
    (tmp_path / "slow_client.py").write_text(CLIENT)
    (tmp_path / "y.csv").write_text("id,label\n" + "".join(f"{n},{n % 2}\n" for n in range(20)))
    (tmp_path / "s.csv").write_text("id,s0\n" + "".join(f"{n},{n / 40}\n" for n in range(20)))
    (tmp_path / "scores.csv").write_text("submission,score\ns0,0.55\n")
    rows = "".join(f"{n},{n / 40},{1 - n / 40}\n" for n in range(20))
    (tmp_path / "p.csv").write_text("record,0,1\n" + rows)
    (tmp_path / "c.csv").write_text("record,label\n" + "".join(f"{n},{n % 2}\n" for n in range(20)))
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


LONG = {
    "matrix": ["matrix", "small.toml", "--workers", "0", "--only", "fake-reader/none", "--trials", "1"],
    "attack": ["attack", "fake-reader", "--labels", "fake-labels"],
    "advise": ["advise", "--records", "20", "--target", "epsilon<=0.1", "--only", "decimals"],
    "bounds": ["bounds", "--records", "20"],
    "metrics": ["metrics", "--metric", "f1", "--records", "50"],
    "plugins check": ["plugins", "check", "data"],
    "reproduce": ["reproduce", "blia-tables"],
    "audit scorer": ["audit", "scorer", "slow_board:score", "--labels", "y.csv", "--attack", "majority"],
    "audit log": ["audit", "log", "s.csv", "--scores", "scores.csv", "--labels", "y.csv", "--column", "label",
                  "--metric", "roc-auc", "--decimals", "2", "--timeout", "1"],
    "audit outputs": ["audit", "outputs", "p.csv", "--planted-by-me", "c.csv",
                      "--attack", "lia-threshold"],
    "audit client": ["audit", "client", "slow_client:update", "--model", "slow_client:make", "--samples", "4",
                     "--own", "20"],
    "guard plan": ["guard", "plan", "--records", "200", "--teams", "2", "--submissions", "3"],
}  # fmt: skip


DEAR = ("plugins check", "audit client", "audit scorer")


@pytest.mark.long
@pytest.mark.parametrize(
    "command", [pytest.param(each, marks=[pytest.mark.slow] if each in DEAR else []) for each in LONG]
)
def test_long_work_says_how_far_it_is(command: str, labelinf: Labelinf, suite: str, files: Path, shown: Shown) -> None:
    told = labelinf(*LONG[command])

    assert told.exit_code in (0, 1, 3, 4), told.output
    assert shown, "no bar"
    counted = [(done, total) for _, done, total in shown if total is not None]
    assert all(0 <= done <= total for done, total in counted)
    assert counted or command in ("attack", "bounds", "advise")  # one game; no step
    assert told.stdout
    assert labelinf(*LONG[command], "-q").stdout == ""


@pytest.mark.long
def test_a_recorded_game_says_how_long_the_next_takes(labelinf: Labelinf, suite: str, shown: Shown) -> None:
    labelinf(*LONG["matrix"])
    labelinf("attack", "fake-reader", "--labels", "fake-labels")

    assert shown[-1][0].startswith("playing about ")


def on_a_terminal(source: str) -> str:
    """All that a program writes to a terminal of its own."""
    import pty

    child, terminal = pty.fork()
    if child == 0:
        os.execv(sys.executable, [sys.executable, "-c", source])
    seen = b""
    try:
        while piece := os.read(terminal, 4096):
            seen += piece
    except OSError:  # how a terminal ends
        pass
    os.waitpid(child, 0)
    return seen.decode()


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
def test_a_bar_stands_on_a_terminal_and_leaves_it() -> None:
    seen = on_a_terminal(
        "from labelinf_core.report.progress import steps\n"
        "with steps('walking') as step:\n    step('left', 2)\n    step('[right', 2)\nprint('there')"
    )

    assert "walking: [right" in seen
    assert "1/2" in seen
    assert "there" in seen


def test_what_is_said_within_a_step_is_shown_beside_its_number(shown: Shown) -> None:
    with steps("walking") as step:
        step("left", 2)
        say("knee: bent", 3, 9)
        step("right", 2)

    assert shown[-3:] == [("walking: left", 0, 2), ("knee: bent, 3 of 9", 0, 2), ("walking: right", 1, 2)]


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
def test_what_an_attack_says_while_it_works_rewrites_no_terminal() -> None:
    seen = on_a_terminal(
        "from labelinf_core.report.progress import waiting\nfrom labelinf_core.contracts.doing import say\n"
        "with waiting('playing'):\n    say('half \\x1b]0;mine\\x07way', 1, 2)\n"
    )

    assert "way" in seen
    assert "\x1b]0;" not in seen


def test_a_notebook_has_bars_and_a_quiet_command_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not progress._is_shown()
    monkeypatch.setitem(sys.modules, "ipykernel", ModuleType("ipykernel"))
    monkeypatch.setattr(progress, "find_spec", lambda name: None)  # without widgets it would warn at every step
    assert not progress._is_shown()
    monkeypatch.setattr(progress, "find_spec", lambda name: object())
    assert progress._is_shown()
    with progress.quietly():
        assert not progress._is_shown()


def test_without_a_terminal_there_is_no_bar() -> None:
    told = CliRunner().invoke(main, ["bounds", "--records", "20"])

    assert told.exit_code == 0
    assert told.stderr == ""
