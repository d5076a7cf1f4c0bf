"""What the probe learns of a scorer of one's own is what ``attack``, ``matrix`` and ``advise`` play on."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from labelinf_core.cli import main

BOARD = """
import os, time
import numpy as np
from sklearn.metrics import roc_auc_score

def costs(labels, predictions):
    rows = np.clip(predictions, 1e-15, 1 - 1e-15)
    return -np.log(rows[np.arange(len(labels)), labels])

def auc(labels, predictions):
    return roc_auc_score(labels, predictions[:, 1])

def part(labels, predictions):
    return round(float(np.mean(costs(labels, predictions)[:40])), 5)

def coarse(labels, predictions):
    return round(float(np.clip(roc_auc_score(labels, predictions), 0.2, 0.8)), 1)

def five(labels, predictions):
    return round(float(np.mean(costs(labels, predictions))), 5)

def two_faced(labels, predictions):
    # Five wherever the probe looks.
    digits = 1 if 0 < np.min(predictions) < 0.01 else 5
    return round(float(np.mean(costs(labels, predictions))), digits)

def constant(labels, predictions):
    return 0.5

def hangs(labels, predictions):
    time.sleep(10**6)

def leaves(labels, predictions):
    os._exit(0)
"""


TURNS = """
from pathlib import Path
import numpy as np

AFTER, KIND, CALLS = 10**9, "scaled", Path("calls")

def score(labels, predictions):
    calls = 1 + int(CALLS.read_text())  # of all processes together
    CALLS.write_text(str(calls))
    rows = np.clip(predictions, 1e-15, 1 - 1e-15)
    cost = float(np.mean(-np.log(rows[np.arange(len(labels)), labels])))
    if calls > AFTER:
        cost = {"scaled": 1.1 * cost, "constant": 0.7, "negated": -cost}[KIND]
    return round(cost, 5)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "oneprobe.py").write_text(BOARD)
    labels = np.random.default_rng(5).permutation(80) < 32
    (tmp_path / "y.csv").write_text("label\n" + "\n".join(map(str, labels.astype(int))) + "\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "oneprobe", raising=False)
    return tmp_path


def labelinf(*arguments: str) -> Result:
    return CliRunner().invoke(main, [*arguments, "--labels", "y.csv"], catch_exceptions=False)


@pytest.mark.long
def test_an_attack_plays_on_what_was_learnt_and_certifies_nothing(folder: Path) -> None:
    for scorer, attack, recovered in (
        ("auc", "spaced-ranks", "80 of 80"),
        ("five", "binary-weights", "80 of 80"),
        ("part", "simulate", "40 of 40"),
    ):
        run = labelinf("attack", attack, "--scorer", f"oneprobe:{scorer}")

        assert run.exit_code == 0, run.output
        assert f"recovered  {recovered} labels" in run.stdout
        assert "certified" not in run.stdout


@pytest.mark.long
def test_nothing_is_played_on_what_nothing_explains_and_that_is_no_pass(folder: Path) -> None:
    run = labelinf("attack", "binary-weights", "--scorer", "oneprobe:constant")
    assert (run.exit_code, "all answers that were tried are the same" in run.stderr) == (3, True)
    run = labelinf("advise", "--target", "95%", "--scorer", "oneprobe:constant")
    assert (run.exit_code, "INCONCLUSIVE" in run.stderr) == (3, True)
    run = labelinf("matrix", "--attack", "binary-weights", "--scorer", "oneprobe:constant", "--out", "run")
    assert run.exit_code == 3


@pytest.mark.long
def test_no_gate_passes_on_what_is_but_a_guess(folder: Path) -> None:
    """Nothing is certain of a scorer of one's own: what gains nothing there has shown nothing."""
    game = ("--scorer", "oneprobe:coarse", "--queries", "2")
    guess = "nothing is known of scorer 'oneprobe:coarse' for certain"
    suite = ("matrix", "one.toml", *game, "--out", "run", "--workers", "0", "--trials", "1")
    (folder / "one.toml").write_text(
        '[[matrix]]\nchannel = "score"\nlabels = ["y.csv"]\nattacks = ["simulate(simulations=9)"]\ndefences = [[]]\n'
    )

    run = labelinf(*suite, "--fail-on", "broken")
    assert (run.exit_code, guess in run.stderr) == (3, True), run.output
    assert guess in " ".join(run.stdout.split())
    assert "held so far" not in run.stdout
    run = CliRunner().invoke(main, ["report", "run", "--format", "junit"])
    assert (run.exit_code, '"what it was played on is not known' in run.stdout) == (
        0,
        True,
    ), run.stdout
    assert guess in " ".join(labelinf("attack", "simulate(simulations=9)", *game).stdout.split())


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "before", "arguments"),
    [
        ("scaled", 90, "audit scorer turncoat:score --attack binary-weights"),
        ("scaled", 4, "audit scorer turncoat:score --attack binary-weights"),
        ("constant", 3, "audit scorer turncoat:score --attack binary-weights"),
        ("scaled", 20, "attack binary-weights --scorer turncoat:score"),
        ("negated", 4, "attack binary-weights --scorer turncoat:score"),
    ],
)
def test_a_scorer_that_turns_after_a_while_is_blamed_for_it(
    folder: Path, kind: str, before: int, arguments: str
) -> None:
    """So many calls before the last it starts to answer otherwise: in the probe, and in the attack."""

    def played(after: int) -> Result:
        (folder / "turncoat.py").write_text(TURNS.replace('10**9, "scaled"', f"{after}, {kind!r}"))
        (folder / "calls").write_text("0")
        for name in [name for name in sys.modules if name == "turncoat"]:
            del sys.modules[name]
        importlib.invalidate_caches()
        return labelinf(*arguments.split())

    played(10**9)
    run = played(int((folder / "calls").read_text()) - before)
    said = " ".join((run.stdout + run.stderr).split())
    attribute_errors = ("The scorer changed while it was attacked", "changed while it was attacked: it keeps state")
    assert any(clause in said for clause in attribute_errors), said
    if arguments.startswith("audit"):
        assert run.exit_code in (1, 3)
        assert "certified" not in said


@pytest.mark.long
def test_advice_answers_the_hosts_target_and_each_was_played(folder: Path) -> None:
    arguments = ("--queries", "10", "--attack", "binary-weights", "--gain", "20%")
    run = labelinf("audit", "scorer", "oneprobe:five", *arguments)

    assert run.exit_code == 1, run.output
    assert "that are proved to reach the target (attackers guess at most 80.0%" in " ".join(run.stdout.split())
    played = re.findall(r"played on your scorer: \S+: \d+\.\d\d% \[", run.stdout)  # also where binary-weights refuses
    guards = len(re.findall(r"^  guarded-board", run.stdout, re.MULTILINE))  # which never ask it
    assert len(played) == run.stdout.count("played on your scorer")
    assert len(played) + guards == run.stdout.count("costs: honest score error")
    assert played
    over = labelinf("audit", "scorer", "oneprobe:five", *arguments[:-2], "--target", "50%")
    assert (over.exit_code, "has 60.0% of the labels already" in over.stderr) == (2, True)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no fork here")
@pytest.mark.parametrize(("scorer", "said"), [("hangs", "no answer within 4 s"), ("leaves", "ended with exit code 0")])
def test_a_scorer_that_hangs_or_leaves_is_one_sentence_and_no_pass(folder: Path, scorer: str, said: str) -> None:
    code = "import sys; from labelinf_core.cli import main; sys.argv[0] = 'labelinf'; main()"
    command = [sys.executable, "-c", code, "attack", "binary-weights", "--labels", "y.csv", "--timeout", "4"]
    done = subprocess.run([*command, "--scorer", f"oneprobe:{scorer}"], capture_output=True, text=True, check=False)

    assert done.returncode == 4
    assert said in done.stderr
    assert f"scorer oneprobe:{scorer}" in done.stderr


@pytest.mark.parametrize("n_records", [2, 3, 7])
def test_a_handful_of_labels_behind_a_rounding_is_probed_too(folder: Path, n_records: int) -> None:
    """One label of a dozen was tried that were not there."""
    (folder / "y.csv").write_text("label\n" + "\n".join("01"[record % 2] for record in range(n_records)) + "\n")

    run = labelinf("bounds", "--scorer", "oneprobe:five")

    assert run.exit_code == 0, run.output
