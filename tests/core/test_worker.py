"""A user's own function under the Python API costs its own answer, whatever it does to its process."""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import labelinf as li
from labelinf_core.contracts import doing
from labelinf_core.contracts.errors import ComponentError
from labelinf_core.plugin.worker import Aside, apart, watch
from labelinf_core.specs.own_code import watched_function

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")

Y = np.random.default_rng(0).integers(0, 2, 12)


def score(labels: np.ndarray, predictions: np.ndarray) -> float:
    return float(np.mean(-np.log(np.where(labels == 1, predictions, 1 - predictions))))


def exits(labels: np.ndarray, predictions: np.ndarray) -> float:
    os._exit(3)


def hangs(labels: np.ndarray, predictions: np.ndarray) -> float:
    time.sleep(1e4)
    return 0.0


def stops(labels: np.ndarray, predictions: np.ndarray) -> float:
    raise KeyboardInterrupt


FAULTY = [
    (exits, "its process ended with exit code 3"),
    (hangs, "no answer within 0.5 s"),
    (stops, "KeyboardInterrupt"),
]


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function is found by its module, which pytest does not keep among the others."""
    module = type(sys)(__name__)
    vars(module).update(score=score, exits=exits, hangs=hangs, stops=stops)
    monkeypatch.setitem(sys.modules, __name__, module)


@pytest.mark.long
@pytest.mark.parametrize(("scorer", "told"), FAULTY)
def test_a_scorer_that_hangs_or_exits_is_one_sentence_in_every_function(
    scorer: Callable[..., float], told: str
) -> None:
    """It took the notebook with it, or never came back."""
    with pytest.raises(ComponentError, match=f"scorer {__name__}:{scorer.__name__}.* {told}"):
        li.audit_scorer(Y, scorer, timeout=0.5)
    with watch.waiting(0.5), pytest.raises(ComponentError, match=told):
        li.bounds(labels="made(n_records=12)", scorer=scorer)


def test_a_module_that_exits_when_it_is_imported_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "leaves_at_once.py").write_text("import os\nos._exit(7)\n")
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(ComponentError, match="module leaves_at_once: its process ended with exit code 7"):
        li.bounds(records=4, scorer="leaves_at_once:score")


@pytest.mark.long
@pytest.mark.parametrize(("line", "how"), [("os._exit(7)", "exit code 7"), ("raise KeyboardInterrupt", "raised Key")])
def test_a_command_names_the_users_module_that_ended_it(tmp_path: Path, line: str, how: str) -> None:
    """It said that *the command* had ended, or that the user had stopped it."""
    (tmp_path / "leaves.py").write_text(f"import os\n{line}\n")
    command = [sys.executable, "-m", "labelinf_core", "bounds", "--records", "4", "--scorer", "leaves:score"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)

    assert done.returncode == 4
    assert done.stderr.startswith("labelinf: module leaves")
    assert how in done.stderr


@pytest.mark.long
@pytest.mark.parametrize(
    "line",
    [
        "print(*labels)",
        "print(*labels, file=sys.stderr)",
        "os.write(1, bytes(labels) + b'told')",
        "logging.warning('told %s', labels)",
        "subprocess.run(['echo', 'told'])",
    ],
)
def test_a_command_prints_nothing_that_a_scorer_says(tmp_path: Path, line: str) -> None:
    """It stood on the terminal, labels and all, and before the document of ``--json``."""
    body = f"    {line}\n    return float(((labels - predictions) ** 2).mean())\n"
    imports = "import logging, os, subprocess, sys\n"
    (tmp_path / "chatty.py").write_text(f"{imports}def score(labels, predictions):\n{body}")
    game = ["--labels", "made(n_records=12)", "--scorer", "chatty:score", "--queries", "4"]
    command = [sys.executable, "-m", "labelinf_core", "bounds", *game, "--json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)

    assert done.returncode == 0
    assert json.loads(done.stdout)
    assert all(line.startswith("labelinf: ") for line in done.stderr.splitlines())


def test_a_function_of_a_users_that_is_no_scorer_is_asked_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own_bregman.py").write_text("import os\ndef phi(x, numbers):\n    os._exit(5)\n")
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(ComponentError, match="exit code 5"):
        li.bounds(
            records=4, scorer="float64", metric="bregman(generator='own_bregman:phi', derivative='own_bregman:phi')"
        )


def test_what_it_keeps_between_calls_it_keeps_and_nothing_it_says_is_quoted() -> None:
    seen: list[int] = []

    def counts(number: int) -> int:
        seen.append(number)
        if number < 0:
            raise ValueError(f"a label: {number}")
        return len(seen)

    aside = Aside(name="counts", function=counts)

    assert [aside(1), aside(1)] == [1, 2]
    with pytest.raises(ComponentError) as raised:
        aside(-1)
    assert "counts raised ValueError" in str(raised.value)
    assert "label" not in str(raised.value)
    assert aside(1) == 4
    assert not seen


@pytest.mark.long
def test_it_is_lost_once_and_its_copy_ends_with_whoever_asks() -> None:
    aside = Aside(name="tells", function=lambda leave: os._exit(2) if leave else os.getpid())
    child = aside(False)
    with pytest.raises(ComponentError, match="tells: its process ended with exit code 2"):
        aside(True)
    with pytest.raises(ComponentError, match="exit code 2"):
        aside(False)

    kept = Aside(name="tells", function=os.getpid)
    other = kept()
    assert other not in (child, os.getpid())
    del kept
    gc.collect()
    with pytest.raises(ProcessLookupError):
        os.kill(other, 0)


ASKER = """
import os, sys, time
from labelinf_core.plugin.worker import Aside, apart

def hangs():
    print(os.getpid(), file=open(sys.argv[1], "w"), flush=True)
    time.sleep(1e4)

Aside(name="hangs", function=hangs)()
"""


def test_the_time_of_a_part_is_its_own_and_what_is_under_way_is_heard() -> None:
    told = []

    def ask(seconds: float) -> int:
        doing.say("asking", 1, 2)
        with watch.over("client mine:update"):
            time.sleep(seconds)
        return 7

    with watch.waiting(0.4), doing.heard(lambda *said: told.append(said)):
        assert apart("audit", lambda: time.sleep(0.6) or ask(0.0), parts=True) == 7
        with pytest.raises(ComponentError, match=r"^client mine:update: no answer within 0\.4 s"):
            apart("audit", lambda: ask(60.0), parts=True)

    assert told == [("asking", 1, 2)] * 2


@pytest.mark.long
def test_a_copy_that_hangs_ends_with_an_asker_that_is_killed(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    asker = subprocess.Popen([sys.executable, "-c", ASKER, str(note)])
    end = time.monotonic() + 30
    while not (note.is_file() and note.read_text().strip()) and time.monotonic() < end:
        time.sleep(0.01)
    asker.send_signal(signal.SIGKILL)
    asker.wait()

    while Path(f"/proc/{note.read_text().strip()}").exists() and time.monotonic() < end:
        time.sleep(0.01)
    with pytest.raises(ProcessLookupError):
        os.kill(int(note.read_text()), 0)


def test_a_question_that_was_interrupted_is_not_answered_in_the_next_ones_place() -> None:
    def answers(number: int) -> int:
        time.sleep(0.3 if number == 1 else 0.0)
        return number

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    aside = Aside(name="answers", function=answers)
    assert aside(0) == 0
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(KeyboardInterrupt):
            aside(1)
    finally:
        signal.signal(signal.SIGALRM, before)

    assert aside(2) == 2


def test_what_a_client_or_a_network_of_a_users_prints_is_thrown_away_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    body = "print(labels)\n    sys.stderr.write('label')\n    os.write(2, b'label')\n    return len(labels)\n"
    (tmp_path / "chatty_client.py").write_text(f"import os, sys\ndef update(labels):\n    {body}")
    monkeypatch.syspath_prepend(tmp_path)

    assert watched_function("chatty_client:update", "client")([1, 0]) == 2

    assert capfd.readouterr() == ("", "")
