"""The channel in the evaluator: verdicts, the placebo over a table, the alarm."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest

from labelinf_core.contracts.components import Guess, LabelSet, LabelSource, Placebo
from labelinf_core.contracts.effects import Effect
from labelinf_core.contracts.guarantees import Verdict
from labelinf_core.contracts.threat import ThreatModel
from labelinf_core.evaluator.executors import InProcess
from labelinf_core.evaluator.placebo import placebo_p_value, void_verdicts
from labelinf_core.evaluator.plan import make_plan
from labelinf_core.evaluator.play import TrialRunner
from labelinf_core.evaluator.records import Status, Trial, from_json, to_json
from labelinf_core.evaluator.results import Results, summarise
from labelinf_core.evaluator.run import run
from labelinf_core.evaluator.store import Store
from labelinf_core.evaluator.suite import Matrix, Suite
from labelinf_core.evaluator.tally import tallied
from labelinf_core.plugin.host import Host
from labelinf_core.report import asides, words
from labelinf_core.report.data import as_json
from labelinf_core.report.html import as_html
from labelinf_core.specs import Builder
from labelinf_outputs.game.effects import Randomised
from labelinf_outputs.game.output import OutputAttack, OutputDefence, OutputOracle

TREE = "sklearn.tree:DecisionTreeClassifier"
HERE = f"{__name__}"


@attrs.frozen(kw_only=True)
class Peeking(OutputAttack):
    """A planted leak: looks up the truth in the frames of whoever called it."""

    def run(self, oracle: OutputOracle, rng: np.random.Generator) -> Guess:
        frame: Any = sys._getframe()
        seen: dict[str, Any] = {}
        while frame is not None:
            seen = {**frame.f_locals, **seen}
            frame = frame.f_back
        if "redrawn" in seen:
            return Guess(labels=seen["redrawn"])
        if "begun" in seen:
            return Guess(labels=seen["begun"].labels)
        raise AssertionError("nobody to look at")


@attrs.frozen(kw_only=True)
class FalseClaim(OutputDefence):
    """A planted broken defence: claims label-DP and does nothing."""

    def effects(self, threat: ThreatModel) -> tuple[Effect[Any], ...]:
        return (Randomised(epsilon=0.5),)


@attrs.frozen(kw_only=True)
class FewRecords(LabelSource):
    """Records on which training takes no time."""

    def load(self) -> LabelSet:
        rng = np.random.default_rng(0)
        features = rng.standard_normal((200, 4))
        labels = (features[:, 0] > 0).astype(np.intp)
        return LabelSet(labels=labels, class_names=("n", "y"), title="few", provenance="made", features=features)


PLUGIN = """
from labelinf_core import Descriptor, Kind, Reference, hookimpl
labelinf_contract = 2
R = Reference(work="test", statement="test")
def item(kind, name, target, channel="output"):
    return Descriptor(kind=kind, name=name, channel=channel, summary="-", reference=R, target="{home}:" + target)
@hookimpl
def labelinf_components():
    yield item(Kind.ATTACK, "peeking", "Peeking")
    yield item(Kind.DEFENCE, "false-claim", "FalseClaim")
    yield item(Kind.LABELS, "few-records", "FewRecords", None)
"""


@pytest.fixture
def builder(install_fake: Any, monkeypatch: pytest.MonkeyPatch) -> Builder:
    monkeypatch.setitem(sys.modules, "planted_components", sys.modules[HERE])
    install_fake(
        "labelinf-planted",
        entry="planted",
        module="planted_plugin",
        source=PLUGIN.replace("{home}", "planted_components"),
    )
    return Builder(Host.load(strict=True))


def verdicts(builder: Builder, folder: Path, attacks: list[str], defences: list[Any], **settings: Any) -> Any:
    results = played(builder, folder, attacks, defences, **settings)
    return {(cell.cell.shown.attack, cell.cell.shown.pipeline): cell for cell in results.cells}


def played(builder: Builder, folder: Path, attacks: list[str], defences: list[Any], **settings: Any) -> Results:
    matrix = Matrix(
        labels=["few-records"],
        attacks=attacks,
        defences=defences,
        channel="output",
        settings={"victim": TREE, "references": 4, "canaries": 0.4, **settings},
    )
    plan = make_plan(Suite(matrix=[matrix], trials=3, seed=0, title="t"), builder, "test.toml")
    store = Store.open(folder, plan)
    run(plan, store, InProcess(TrialRunner(builder=builder)))
    results = summarise(store)
    store.close()
    return results


def test_a_matrix_says_what_holds_and_what_does_not(builder: Builder, tmp_path: Path) -> None:
    found = verdicts(builder, tmp_path, ["blind-guess", "lia-threshold", "calibrated"], ["none", "label-rr"])
    words = {key: result.verdict for key, result in found.items()}

    assert words["lia-threshold", "none"] is Verdict.BROKEN_OBSERVED
    assert words["blind-guess", "none"] is Verdict.UNTESTED
    assert {words[attack, "label-rr"] for attack in ("lia-threshold", "calibrated")} == {Verdict.HELD_PARTLY}
    assert found["lia-threshold", "label-rr"].implied.ceilings[0].accuracy == pytest.approx(0.7310586, abs=1e-6)
    trial = found["lia-threshold", "label-rr"].trials[0]
    assert trial.evidence["training_label_accuracy"] == 1.0
    assert {"test_accuracy", "train_accuracy", "certificate", "view"} <= trial.evidence.keys()
    assert trial.audited is not None
    assert 0 < trial.audited.provable < 4


def test_a_report_says_what_else_was_measured(builder: Builder, tmp_path: Path) -> None:
    found = verdicts(builder, tmp_path, ["lia-threshold"], ["none", "label-rr(epsilon=1)"])
    plain, protected = found.values()
    columns = asides.measured([plain, protected])

    assert columns["trained\n%"] == ["100", "100"]
    assert [float(share) for share in columns["placebo\n%"]] == pytest.approx([50, 50], abs=12)
    assert float(columns["epsilon\nproved"][0]) > float(columns["epsilon\nproved"][1])
    assert asides.sentence(protected).startswith("trained 100 %, placebo ")
    assert "epsilon proved" in asides.sentence(plain)
    assert asides.stands([protected]) == "certificate: label-DP, epsilon = 1"
    assert asides.stands([plain]) == "certificate: none"


def test_placebo_and_audit_are_told_in_table_json_and_page(builder: Builder, tmp_path: Path) -> None:
    """The core's own count, whoever the channel is: JSON by number, table and page in words."""
    results = played(builder, tmp_path, ["lia-threshold"], ["none"])
    placebos = [trial.placebo for trial in results.cells[0].trials]
    share = sum(p.n_correct for p in placebos if p) / sum(p.n_records for p in placebos if p)

    cell = json.loads(as_json(results))["cells"][0]
    assert cell["beside"]["placebo"] == pytest.approx(share, abs=0.01)  # private labels: coarse
    assert cell["beside"]["audited"] > 0
    first = json.loads(as_json(results, full=True))["cells"][0]["outcomes"][0]
    assert first["placebo"]["chance"] == 0.5
    assert first["audited"]["delta"] == 0
    told = words.percent(cell["beside"]["placebo"])
    assert f"placebo {told} %, epsilon proved" in as_html(results)


def test_an_epsilon_names_whose_word_it_rests_on(builder: Builder, tmp_path: Path) -> None:
    """The core counts, but whether labels are drawn uniformly is the word of whoever draws them."""
    results = played(builder, tmp_path, ["lia-threshold"], ["none"])
    (own,) = results.cells
    implied = attrs.evolve(own.implied, threat={**own.implied.threat, "game": "channel Mine of theirs"})
    theirs = attrs.evolve(own, implied=implied)

    assert "the epsilon if" not in asides.sentence(own)
    assert asides.sentence(theirs).endswith("the epsilon if channel Mine of theirs draws as it says")
    assert "the epsilon if channel Mine of theirs draws as it says" in as_html(attrs.evolve(results, cells=(theirs,)))


@pytest.mark.long
def test_a_loss_oracle_is_called_what_it_is(builder: Builder, tmp_path: Path) -> None:
    attacks = ["lia-threshold", "lia-delta-margin", "loss-inversion"]
    found = verdicts(builder, tmp_path, attacks, ["label-rr"], loss="planted", victim="mlp", epochs=200)

    assert found["loss-inversion", "label-rr"].verdict is Verdict.VIEW_REVEALS
    assert found["lia-delta-margin", "label-rr"].verdict is Verdict.VIEW_REVEALS
    assert found["lia-threshold", "label-rr"].verdict in (Verdict.HELD_SO_FAR, Verdict.BROKEN_OBSERVED)


def test_an_attack_that_peeks_is_void(builder: Builder, tmp_path: Path) -> None:
    found = verdicts(builder, tmp_path, ["peeking", "lia-threshold"], ["label-rr", "none"])

    assert found["peeking", "label-rr"].accuracy.value == 1.0
    assert found["peeking", "label-rr"].verdict is found["peeking", "none"].verdict is Verdict.LEAKY
    assert found["lia-threshold", "none"].verdict is Verdict.BROKEN_OBSERVED


def test_a_defence_that_claims_what_it_does_not_do_raises_the_alarm(builder: Builder, tmp_path: Path) -> None:
    found = verdicts(builder, tmp_path, ["lia-threshold"], ["false-claim", "label-rr(epsilon=0.5)"])

    assert found["lia-threshold", "false-claim"].verdict is Verdict.CONTRADICTION
    assert found["lia-threshold", "label-rr(epsilon=0.5)"].verdict is Verdict.HELD_CERTIFIED


def trial(correct: int, *, n: int = 100, declared: bool = False) -> Trial:
    return Trial(
        n_correct=n, n_records=n, placebo=Placebo(n_correct=correct, n_records=n, chance=0.5, declared=declared)
    )


def pooled_of(*trials: Trial) -> Placebo | None:
    return tallied(trials)[0].placebo


def test_placebo_counts_are_pooled_over_trials() -> None:
    pooled = pooled_of(trial(60), trial(60), trial(60))

    assert pooled is not None
    assert placebo_p_value(pooled) == pytest.approx(3.17e-4, rel=0.01)  # P[Bin(300, 1/2) >= 180]


def test_honest_attacks_of_a_large_table_are_not_called_leaky() -> None:
    """2 000 honest cells; that any is called leaky has probability at most 1 %, for this seed none is."""
    rng = np.random.default_rng(0)
    table = {str(index): pooled_of(trial(int(rng.binomial(100, 0.5)))) for index in range(2_000)}

    assert min(placebo_p_value(placebo) for placebo in table.values() if placebo) < 0.01
    assert void_verdicts(table) == {}


def test_one_leak_among_many_is_found() -> None:
    rng = np.random.default_rng(1)
    table: Mapping[str, Any] = {str(index): pooled_of(trial(int(rng.binomial(100, 0.5)))) for index in range(500)}
    table = {**table, "leak": pooled_of(trial(85)), "oracle": pooled_of(*[trial(75, declared=True)] * 2)}

    assert void_verdicts(table) == {"leak": Verdict.LEAKY, "oracle": Verdict.VIEW_REVEALS}


def test_trials_without_a_placebo_are_left_alone() -> None:
    failed = attrs.evolve(trial(100), status=Status.ERROR)

    assert void_verdicts({"score": pooled_of(Trial(n_correct=1, n_records=1)), "failed": pooled_of(failed)}) == {}


def test_a_trial_keeps_its_placebo_in_the_record() -> None:
    assert from_json(to_json(trial(3, declared=True)), Trial) == trial(3, declared=True)
