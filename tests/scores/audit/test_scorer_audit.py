"""``labelinf audit scorer`` on a user's own scorer: what it finds, what it says, and how it exits."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from click.testing import CliRunner, Result

import labelinf as li
from labelinf_core.advise.search import Advice
from labelinf_core.cli import main
from labelinf_core.contracts.components import Guess, LabelSet, TunableParameter
from labelinf_core.contracts.guarantees import Interval
from labelinf_core.contracts.threat import ThreatModel
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_scores.audit.decision import Goal, ScorerDecision
from labelinf_scores.audit.report import ScorerReport
from labelinf_scores.audit.scorer import Extraction, audit_scorer
from labelinf_scores.audit.strongest import shipped
from labelinf_scores.audit.words import answer
from labelinf_scores.game.likeness import likeness
from labelinf_scores.game.oracle import ScoreAttack, ScoreOracle
from labelinf_scores.game.scorers import make_scorer

BOARD = """
import hashlib
import numpy as np
from sklearn.metrics import log_loss


def score(labels, predictions, decimals=4):
    return round(log_loss(labels, np.clip(predictions, 1e-15, 1 - 1e-15), labels=[0, 1]), decimals)

def five(labels, predictions):
    return score(labels, predictions, 5)

def constant(labels, predictions):
    return 0.5

def sticky(labels, predictions):
    # Noise on queries such as the probe does not ask, the same for the same query.
    if not 0 < np.min(predictions) < 0.01:
        return log_loss(labels, predictions, labels=[0, 1])
    digest = hashlib.blake2b(np.asarray(predictions, dtype=float).tobytes(), digest_size=8).digest()
    noise = int.from_bytes(digest, "big") / 2**64 - 0.5
    return log_loss(labels, predictions, labels=[0, 1]) + 8e-10 * noise

asked = 0

def dies(labels, predictions):
    # Answers the probe, and a few queries more.
    global asked
    asked += 1
    if asked > 120:
        raise RuntimeError("out of disk")
    return log_loss(labels, predictions, labels=[0, 1])

def third(labels, predictions):
    # A public leaderboard: the same 30 % of the rows, whatever is asked.
    kept = np.random.RandomState(7).permutation(len(labels))[: int(0.3 * len(labels))]
    return round(log_loss(np.asarray(labels)[kept], np.asarray(predictions)[kept], labels=[0, 1]), 5)

def negated(labels, predictions):
    return -five(labels, predictions)
"""

CHANGES = "changes that reach the target"


def _told(text: str) -> str:
    """Return what is printed whatever the width of the terminal."""
    return " ".join(text.split())


PROGRAM = """
import json, sys
from ownboard import score
import numpy as np
for line in sys.stdin:
    asked = json.loads(line)
    print(json.dumps({"score": score(np.array(asked["labels"]), np.array(asked["predictions"]))}), flush=True)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's folder: a scorer, and 306 labels."""
    (tmp_path / "ownboard.py").write_text(BOARD)
    (tmp_path / "program.py").write_text(PROGRAM)
    write_labels(tmp_path / "private.csv", 306)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "ownboard", raising=False)
    return tmp_path


def write_labels(path: Path, n: int) -> None:
    labels = np.random.default_rng(n).integers(0, 2, n)
    path.write_text("label\n" + "\n".join(map(str, labels)) + "\n")


def audit(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["audit", "scorer", *arguments], catch_exceptions=False)


@pytest.mark.slow
def test_four_decimals_give_more_than_eleven_labels_a_query(folder: Path) -> None:
    goal = ("--target", "no-exact-recovery", "--json")
    run = audit("ownboard:score", "--labels", "private.csv", "--queries", "200", "--attack", "hybrid", *goal)

    assert run.exit_code == 1
    report = json.loads(run.stdout)
    (leak,) = report["attacks"]
    assert (report["findings"]["agrees with"], report["findings"]["decimals"]) == ("log-loss", 4)
    assert leak["exact"]
    assert "certified" not in run.stdout
    assert leak["labels_per_query"] >= 11
    changes = {change["defence"].partition("(")[0] for change in report[CHANGES]}
    assert {"randomised-response", "query-limit"} <= changes
    assert all(change["costs"] for change in report[CHANGES])


@pytest.mark.long
def test_a_program_in_any_language_is_audited_alike_and_a_gate_of_ones_own_decides(folder: Path) -> None:
    program = f"cmd:{sys.executable} program.py"
    gate = ("--max-labels-per-query", "50", "--target", "no-exact-recovery")
    run = audit(program, "--labels", "private.csv", "--queries", "60", "--attack", "hybrid", *gate)

    assert run.exit_code == 1  # all labels came out, which is beyond the target, if not beyond the gate
    assert "run on made labels: agrees with log-loss to 4 decimals on every one of 8 answers" in _told(run.stdout)
    assert "all 306 labels in 24 queries, by hybrid" in _told(run.stdout)
    assert "Smallest changes that are proved to reach the target" in run.stdout
    assert "query-limit(queries=" in run.stdout
    assert "costs: honest score error" in run.stdout
    played = re.findall(r"played on your scorer: \S+: \d+\.\d\d% \[", run.stdout)  # by others, where hybrid refuses
    assert len(played) == run.stdout.count("costs: honest score error")
    assert run.stdout.count("only through labelinf (not of a program or container that holds its own copy)") >= 3


@pytest.mark.slow
def test_a_public_third_is_found_and_read(folder: Path) -> None:
    (folder / "skewed.csv").write_text("label\n" + "no\nno\nyes\nno\n" * 50)
    run = audit("ownboard:third", "--labels", "skewed.csv", "--queries", "60")

    assert "60 of 200 records are scored" in _told(run.stdout)
    assert "all 60 scored labels in" in run.stdout
    assert run.exit_code == 1


@pytest.mark.long
def test_every_share_stands_with_its_interval_and_its_baseline(folder: Path) -> None:
    shown = audit("ownboard:score", "--labels", "private.csv", "--attack", "hybrid", "--queries", "4").stdout
    whole = " ".join(shown.split())

    share = r"\d+\.\d+% \[\d+\.\d%, \d+\.\d%\] of labels"
    assert re.search(rf"hybrid +{share} \(majority guess 5\d\.\d%\), 4 queries", shown)
    of_all = share.replace("of labels", "of 306 labels")
    assert re.search(rf"labels a query: {of_all} in 4 queries \(the majority guess has 5\d\.\d%\), by", whole)


@pytest.mark.long
def test_a_scorer_that_dies_fails_the_attacks_and_does_not_pass_the_gate(folder: Path) -> None:
    run = audit("ownboard:dies", "--labels", "private.csv", "--attack", "hadamard", "--attack", "camouflage")

    assert run.exit_code == 4
    for attack in ("hadamard", "camouflage"):
        assert re.search(rf"{attack} +failed after \d+ queries: .*raised RuntimeError\.", run.stdout)
    assert "no attack could be played within any number of queries. No proof of safety" in _told(run.stdout)


@pytest.mark.long
def test_an_attack_of_another_channel_and_a_slip_in_a_name_are_one_sentence_before_anything_plays(folder: Path) -> None:
    for spec, said in (("calibrated", "does not belong to the score channel"), ("hadamrd", "hadamrd")):
        run = audit("ownboard:score", "--labels", "private.csv", "--attack", "hybrid", "--also", spec)
        assert run.exit_code == 2
        assert said in run.stderr
        assert "labels a query" not in run.stdout


class Fails(ScoreAttack):
    """Somebody's attack that breaks in some way."""

    def __init__(self, how: str) -> None:
        self.how = how

    def unsupported_reason(self, threat: ThreatModel) -> str:
        if self.how == "refusal":
            raise ZeroDivisionError("no refusal")
        return ""

    def run(self, oracle: ScoreOracle, rng: np.random.Generator) -> Guess:
        if self.how == "exit":
            raise SystemExit(3)
        if self.how == "shape":
            return Guess(labels=np.zeros(1, dtype=np.intp))
        raise KeyError("lost")


class Workshop:
    """Builds what is broken by its own name, and the rest as ever."""

    def __init__(self, builder: Builder) -> None:
        self.builder, self.host = builder, builder.host

    def build(self, kind: Kind, spec: str, where: str) -> object:
        return Fails(spec) if spec in ("refusal", "exit", "shape", "run") else self.builder.build(kind, spec, where)


@pytest.mark.long
def test_one_attacks_crash_ends_nobody_elses_game() -> None:
    builder = Builder(Host.load())
    loss = builder.build(Kind.LOSS, "log-loss", "test")
    data = builder.build(Kind.LABELS, "made(n_records=60, n_classes=2, seed=0)", "test").load()
    scorer = make_scorer("sklearn", loss, 2)
    rng = np.random.default_rng(0)
    found = list(
        audit_scorer(
            likeness(scorer, data, "sklearn"),
            data,
            builder=Workshop(builder),  # type: ignore[arg-type]
            attacks=["refusal", "exit", "shape", "run", "hybrid"],
            queries=0,
            rng=rng,
        )
    )

    assert [leak.failure.partition(" in tests.")[0] for leak in found] == [  # their own words could hold labels
        "ZeroDivisionError",
        "SystemExit",
        "it guessed an array of shape (1,), expected (60,)",
        "KeyError",
        "",
    ]
    assert [leak.accuracy is None for leak in found] == [True] * 4 + [False]
    assert found[-1].exact


STRANGER = """
import os
import attrs, numpy as np
from labelinf_core import Descriptor, Kind, Reference, hookimpl
from labelinf_core.contracts.components import Guess
from labelinf_scores.game.oracle import ScoreAttack

labelinf_contract = 2
np.mean = np.sum = lambda *a, **k: 0.25

@attrs.frozen(kw_only=True)
class Stranger(ScoreAttack):
    how: str = "plays"

    def run(self, oracle, rng):
        oracle.query(np.full((oracle.threat.n_records, 2), 0.5))
        if self.how == "exits":
            os._exit(3)
        if self.how == "stops":
            raise KeyboardInterrupt
        return Guess(labels=np.zeros(oracle.threat.n_records, dtype=np.intp))

@hookimpl
def labelinf_components():
    reference = Reference(work="tests", statement="stranger")
    yield Descriptor(kind=Kind.ATTACK, name="stranger", summary="x", reference=reference,
                     target="strange_scores:Stranger", channel="score")
"""


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize("scorer", [pytest.param("sklearn", marks=pytest.mark.slow), "cmd"])
def test_a_strangers_attack_plays_in_a_copy_of_the_process(install_fake: Any, tmp_path: Path, scorer: str) -> None:
    """One that exits ended the audit, and the whole notebook; a patch of NumPy stayed in everybody's figures."""
    install_fake("labelinf-strange", entry="strange", module="strange_scores", source=STRANGER)
    (tmp_path / "program.py").write_text(COSTS)
    name = scorer if scorer != "cmd" else f"cmd:{sys.executable} {tmp_path / 'program.py'}"
    attacks = [f"stranger(how={how})" for how in ("plays", "exits", "stops")]

    found = li.audit_scorer([0, 1, 1, 0, 1] * 4, name, attacks=[*attacks, "binary-weights"])

    plays, exits, stops, own = found.report.leaks
    assert plays.accuracy is not None
    assert plays.accuracy.value == pytest.approx(0.4)
    assert exits.failure == f"attack {attacks[1]}: its process ended with exit code 3"
    assert "KeyboardInterrupt" in stops.failure
    assert own.exact
    assert "strange_scores" not in sys.modules
    assert np.sum([1, 2]) == 3


COSTS = """
import json, math, sys
for line in sys.stdin:
    asked = json.loads(line)
    rows = zip(asked["labels"], asked["predictions"])
    costs = [-math.log(min(max(row[label] if isinstance(row, list) else row if label else 1 - row, 1e-15), 1 - 1e-15))
             for label, row in rows]
    print(json.dumps({"score": sum(costs) / len(costs)}), flush=True)
"""


def test_the_shipped_list_can_be_built_and_has_every_strong_attack() -> None:
    builder = Builder(Host.load())
    names = [spec.partition("(")[0] for spec in shipped()["attacks"]]

    assert {"adaptive-weights", "averaging", "camouflage", "class-counts", "hadamard", "hybrid"} <= set(names)
    assert all(isinstance(builder.build(Kind.ATTACK, spec, "test"), ScoreAttack) for spec in shipped()["attacks"])


@pytest.mark.long
def test_a_constant_scorer_is_inconclusive(folder: Path) -> None:
    run = audit("ownboard:constant", "--labels", "private.csv")
    assert run.exit_code == 3
    assert "INCONCLUSIVE: all answers that were tried are the same" in _told(run.stdout)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_five_decimals_and_25000_labels_give_more_than_twelve_labels_a_query(folder: Path) -> None:
    write_labels(folder / "large.csv", 25_000)
    run = audit("ownboard:five", "--labels", "large.csv", "--queries", "2500", "--attack", "hybrid", "--json")

    (leak,) = json.loads(run.stdout)["attacks"]
    assert leak["exact"]
    assert leak["queries"] <= 1989
    assert leak["labels_per_query"] >= 12


@pytest.mark.parametrize(
    ("strength", "weakest", "strongest", "written"),
    [
        (0.130261, 0.0, 9.0, "0.1303"),
        (3.9089, 20.0, 0.1, "3.908"),
        (0.0, 15.0, 0.0, "0"),
        (0.00123411, 0, 1, "0.001235"),
    ],
)
def test_a_setting_is_rounded_to_the_stronger_side(
    strength: float, weakest: float, strongest: float, written: str
) -> None:
    knob = TunableParameter(title="k", template="k({})", weakest=weakest, strongest=strongest, integer=strength == 0)
    assert Advice(knob=knob, certified=strength).setting == f"k({written})"
    with pytest.raises(ValueError, match="no strength is certified"):
        Advice(knob=knob).setting  # noqa: B018


@pytest.mark.long
def test_attacks_that_were_not_played_do_not_hide_a_leak() -> None:
    """Of 20 attacks one played, and its 33 of 40 labels, which luck has with chance .002, passed for luck of 20."""
    labels = (np.arange(40) % 5 < 2).astype(np.intp)
    data = LabelSet(labels=labels, class_names=("0", "1"), title="made", provenance="made")
    got = Extraction(attack="it", accuracy=Interval(value=0.825, low=0.672, high=0.927), baseline=0.6, queries=160)
    refused = tuple(Extraction(attack=str(k), refusal="no") for k in range(19))
    decision = ScorerDecision(
        goal=Goal(),
        target=Goal().read(0.6),
        leaks=(*refused, got),
        worth=40.0,
        prior=(0.6, 0.4),
    )
    assert decision.leaking == ("it",)
    assert decision.status == 1

    # The first of several numbers may be the one that leaks least; the others are named.
    none = attrs.evolve(got, accuracy=Interval(value=0.6, low=0.45, high=0.75))
    first = attrs.evolve(decision, leaks=(none,), unnamed=("b:f#a", "b:f#c"))
    report = ScorerReport(scorer="sklearn", data=data, queries=200, found=None, decision=first)
    assert first.status == 3
    assert "were not audited: b:f#a, b:f#c." in answer(report).leaks
