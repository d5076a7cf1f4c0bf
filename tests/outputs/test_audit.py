"""``labelinf audit outputs``: files in, a verdict out."""

from __future__ import annotations

import json
import math
import os
import re
import sys
from pathlib import Path
from typing import Any

import attrs
import click
import numpy as np
import pytest
from click.testing import CliRunner, Result
from numpy.typing import NDArray

from labelinf_core.contracts.audited import AuditWord
from labelinf_core.contracts.errors import InputError, LabelinfError
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_core.statistics import epsilon_bounds
from labelinf_outputs.audit.claim import PrivacyClaim
from labelinf_outputs.audit.findings import Observation, OutputsAudit
from labelinf_outputs.audit.outputs import audit_outputs
from labelinf_outputs.audit.planted import Planted, read_planted
from labelinf_outputs.audit.predictions import read_predictions
from labelinf_outputs.audit.validity import voids
from labelinf_outputs.commands import outputs, power
from labelinf_outputs.game.output import References, Release
from labelinf_outputs.game.view import Outputs, View

BUILDER = Builder(Host.load(strict=True))
M = 600
LOGITS, TOP_ONE = View(outputs=Outputs.LOGITS), View(outputs=Outputs.TOP_ONE)


def write(path: Path, header: str, rows: list[str]) -> str:
    path.write_text("\n".join([header, *rows]) + "\n")
    return str(path)


def memorised(trained: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    """Probabilities of class 1 from a model that leans towards the label it was trained on."""
    return np.clip(0.5 + 0.6 * (trained - 0.5) + rng.normal(0, 0.1, trained.size), 0.01, 0.99)


def files(folder: Path, keep: float, *, seed: int = 0, losses: bool = False, resample: bool = False) -> dict[str, str]:
    """Write what an auditor of randomised response would have."""
    rng = np.random.default_rng(seed)
    planted = rng.integers(0, 2, M)
    other = rng.integers(0, 2, M) if resample else 1 - planted
    p = memorised(np.where(rng.random(M) < keep, planted, other), rng)
    rows = [f"{'yes' if label else 'no'}" for label in planted]
    if losses:
        rows = [f"{row},{-math.log(x if y else 1 - x)}" for row, x, y in zip(rows, p, planted, strict=True)]
    return {
        "predictions": write(folder / "p.csv", "no,yes", [f"{1 - x:.6f},{x:.6f}" for x in p]),
        "canaries": write(folder / "c.csv", "label,loss" if losses else "label", rows),
    }


def audited(given: dict[str, str], **options: Any) -> OutputsAudit:
    return audit_outputs(read_planted(**given), BUILDER, rng=np.random.default_rng(0), **options)


def word(found: OutputsAudit, attack: str) -> Observation:
    return next(item.word for item in found.findings if item.attack == attack)


def cli(*arguments: str) -> Result:
    @click.group()
    def main() -> None:
        pass

    main.add_command(outputs)
    return CliRunner().invoke(main, ["outputs", *arguments])


def test_a_memorising_model_leaks(tmp_path: Path) -> None:
    found = audited(files(tmp_path, keep=1.0))

    assert word(found, "lia-threshold") is Observation.COUNTED
    assert word(found, "blind-guess") is Observation.NOTHING
    assert word(found, "calibrated") is word(found, "loss-inversion") is Observation.REFUSED
    assert found.decision.word is AuditWord.LEAKS
    assert not found.decision.refuted
    assert found.decision.proof is not None
    assert 4 < found.decision.level <= found.decision.proof.provable


def test_randomised_response_is_not_accused_and_resampling_is(tmp_path: Path) -> None:
    """Nominal epsilon .3. Ten seeds of the broken one; the right one is wrongly accused in at most 5 % of audits."""
    keep = epsilon_bounds.label_dp_ceiling(0.3, 2)
    caught = [
        audited(files(tmp_path, keep, seed=seed, resample=True), claim=PrivacyClaim(epsilon=0.3)).decision.refuted
        for seed in range(10)
    ]
    accused = [
        audited(files(tmp_path, keep, seed=seed), claim=PrivacyClaim(epsilon=0.3)).decision.refuted
        for seed in range(40)
    ]

    assert sum(caught) == 10  # each with probability above .9999
    assert sum(accused) <= 6  # exceeded with probability below .014 if the rate were 5 %; it is far below


def test_losses_of_the_planted_labels_are_called_what_they_are(tmp_path: Path) -> None:
    found = audited(files(tmp_path, keep=0.6, losses=True), claim=PrivacyClaim(epsilon=1.0))

    assert word(found, "loss-inversion") is word(found, "lia-delta-margin") is Observation.VIEW_REVEALS
    assert found.decision.word is AuditWord.LEAKS  # by the threshold, which reads no loss and was committed to
    assert 0 < found.decision.level < 1.0  # what was read from the view refutes nothing


def test_references_let_calibrated_attacks_play(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    given = files(tmp_path, keep=1.0)
    labels = rng.integers(0, 2, (6, M))
    p = np.array([memorised(row, rng) for row in labels])
    np.savez(tmp_path / "r.npz", probabilities=np.stack([1 - p, p], axis=2), labels=labels)

    found = audited({**given, "references": str(tmp_path / "r.npz")})

    assert {word(found, name) for name in ("calibrated", "lira")} <= {Observation.ABOVE, Observation.COUNTED}
    assert found.decision.voids == ()
    assert found.committed.why == "chosen on 4 reference models"


def test_canaries_may_be_some_of_the_records(tmp_path: Path) -> None:
    predictions = write(tmp_path / "p.csv", "a,b,c", ["1,0,0", "0,1,0", "0,0,1", "0.2,0.3,0.5"])
    canaries = write(tmp_path / "c.csv", "record,label", ["3,c", "0,b", "2,a"])

    planted = read_planted(predictions, canaries)

    assert planted.labels.tolist() == [2, 1, 0]
    assert planted.release.probabilities.tolist() == [[0.2, 0.3, 0.5], [1, 0, 0], [0, 0, 1]]
    assert planted.class_names == ("a", "b", "c")


def test_one_column_is_the_probability_of_class_one(tmp_path: Path) -> None:
    planted = read_planted(
        write(tmp_path / "p.csv", "score", ["0.25", "1"]), write(tmp_path / "c.csv", "label", ["1", "0"])
    )

    assert planted.release.probabilities.tolist() == [[0.75, 0.25], [0, 1]]
    assert np.isfinite(planted.release.log_probabilities).all()


def test_rounded_probabilities_need_not_sum_to_one_and_hide_half_a_step(tmp_path: Path) -> None:
    predictions = write(tmp_path / "p.csv", "a,b,c", ["0.3,0.3,0.3", "0.0,0.1,0.9", "0.0,0.1,0.9"])
    canaries = write(tmp_path / "c.csv", "label", ["a", "b", "c"])

    planted = read_planted(predictions, canaries, view=View(resolution=0.1))

    assert planted.release.probabilities.tolist() == [[0.3, 0.3, 0.3], [0, 0.1, 0.9], [0, 0.1, 0.9]]
    assert np.exp(planted.release.log_probabilities[1, 0]) == pytest.approx(0.05)
    assert str(planted.view) == "probabilities, rounded to 0.1"
    with pytest.raises(InputError, match="row 2 must be probabilities that sum to one"):
        read_planted(predictions, canaries)


def test_logits_are_read_as_they_are(tmp_path: Path) -> None:
    canaries = write(tmp_path / "c.csv", "label", ["1", "0"])
    pair = read_planted(write(tmp_path / "p.csv", "0,1", ["1000,0.0", "0,2"]), canaries, view=LOGITS)
    odds = read_planted(write(tmp_path / "q.csv", "z", ["-1000", "2"]), canaries, view=LOGITS)

    np.testing.assert_allclose(pair.release.log_probabilities, [[0, -1000], [-2.126928, -0.126928]], atol=1e-6)
    np.testing.assert_allclose(odds.release.log_probabilities, pair.release.log_probabilities, atol=1e-12)
    np.testing.assert_allclose(np.exp(pair.release.log_probabilities), pair.release.probabilities)


def test_predicted_classes_are_enough(tmp_path: Path) -> None:
    canaries = write(tmp_path / "c.csv", "label", ["10", "2", "1", "10"])
    planted = read_planted(write(tmp_path / "p.csv", "said", ["10", "2", "2", "10"]), canaries, view=TOP_ONE)

    assert planted.class_names == ("1", "2", "10")
    assert planted.labels.tolist() == [2, 1, 0, 2]
    assert planted.release.probabilities.tolist() == [[0, 0, 1], [0, 1, 0], [0, 1, 0], [0, 0, 1]]


def test_references_may_be_logits(tmp_path: Path) -> None:
    given = files(tmp_path, keep=1.0)
    labels = np.random.default_rng(2).integers(0, 2, (4, M))
    np.savez(tmp_path / "r.npz", logits=np.where(labels[:, :, None] == [0, 1], 1.0, -1.0), labels=labels)

    known = read_planted(**given, references=str(tmp_path / "r.npz")).references

    assert known is not None
    np.testing.assert_allclose(known.log_probabilities.max(axis=2), -np.log1p(np.exp(-2)))
    assert np.array_equal(known.log_probabilities.argmax(axis=2), labels)


def test_references_may_say_what_they_were_trained_on_and_cover_every_record(tmp_path: Path) -> None:
    predictions = write(tmp_path / "p.csv", "no,yes", ["0.5,0.5"] * 3)
    canaries = write(tmp_path / "c.csv", "record,label", ["2,no", "0,yes"])
    labels, trained = np.array([[0, 1, 1]]), np.array([[1, 1, 0]])
    np.savez(tmp_path / "r.npz", probabilities=np.full((1, 3, 2), 0.5), labels=labels, trained=trained)

    known = read_planted(predictions, canaries, str(tmp_path / "r.npz")).references

    assert known is not None
    assert known.planted.tolist() == [[1, 0]]
    assert known.trained.tolist() == [[0, 1]]


def test_memory_of_the_trained_label_stands_beside_the_planted_one(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    planted = rng.integers(0, 2, M)
    trained = np.where(rng.random(M) < 0.6, planted, 1 - planted)
    given = {
        "predictions": write(tmp_path / "p.csv", "0,1", ["0.0,1.0" if y else "1.0,0.0" for y in trained]),
        "canaries": write(
            tmp_path / "c.csv", "label,trained", [f"{a},{b}" for a, b in zip(planted, trained, strict=True)]
        ),
    }

    found = audited(given, claim=PrivacyClaim(epsilon=0.5), attacks=["lia-threshold"]).findings[0]

    assert found.memorised is not None
    assert found.memorised.value == 1.0
    assert found.correct == (planted == trained).sum()
    printed = cli(given["predictions"], "--planted-by-me", given["canaries"]).output
    assert "trained label 100.0%" in printed


@pytest.mark.parametrize("shows", ["loss", "logits:2", "probabilities:0", "probabilities:x", "probabilities:", ""])
def test_what_is_no_kind_of_output_is_one_sentence(shows: str) -> None:
    result = cli("p.csv", "--shows", shows, "--planted-by-me", "c.csv")

    assert result.exit_code == 2
    assert "must be probabilities, probabilities:D of D decimals, logits, top-1 or values." in result.output


def test_the_command_reads_every_view(tmp_path: Path) -> None:
    labels = np.random.default_rng(4).integers(0, 2, 40)
    canaries = write(tmp_path / "c.csv", "label", [str(y) for y in labels])
    rounded = write(tmp_path / "r.csv", "0,1", ["0.1,0.9" if y else "0.9,0.1" for y in labels])
    logits = write(tmp_path / "l.csv", "0,1", ["0,3.5" if y else "3.5,0" for y in labels])
    said = write(tmp_path / "t.csv", "said", [str(y) for y in labels])

    for arguments, view in (
        ([rounded, "--shows", "probabilities:1"], "view: probabilities, rounded to 0.1"),
        (["--shows", "logits", logits], "view: logits"),
        (["--shows", "top-1", said], "view: top-1"),
    ):
        result = cli(*arguments, "--planted-by-me", canaries, "--attack", "lia-threshold")
        assert view in result.output
        assert "40/40 = 100.0%" in result.output
        assert result.exit_code == 1


def test_a_first_row_that_counts_the_classes_is_a_header(tmp_path: Path) -> None:
    canaries = write(tmp_path / "c.csv", "label", ["0", "1"])
    named = read_planted(write(tmp_path / "p.csv", "0,1", ["0.3,0.7", "1.0,0.0"]), canaries)
    bare = read_planted(write(tmp_path / "q.csv", "0.3,0.7", ["1.0,0.0"]), canaries)

    assert named.class_names == bare.class_names == ("0", "1")
    assert np.array_equal(named.release.probabilities, bare.release.probabilities)


def test_labels_that_are_not_uniform_are_void(tmp_path: Path) -> None:
    given = files(tmp_path, keep=0.5)
    given["canaries"] = write(tmp_path / "c.csv", "label", ["yes"] * 400 + ["no"] * 200)

    found = audited(given)
    assert found.decision.word is AuditWord.VOID
    assert "not uniform over the classes" in found.decision.voids[0]


def test_nothing_is_proved_by_what_is_void(tmp_path: Path) -> None:
    """A model that gives back everything, but labels that were not planted: no number of theirs counts."""
    given = files(tmp_path, keep=1.0)
    labels = ["yes"] * 400 + ["no"] * 200
    given["canaries"] = write(tmp_path / "c.csv", "label", labels)
    given["predictions"] = write(
        tmp_path / "p.csv", "no,yes", [f"0.{1 + 8 * (name == 'no')},0.{1 + 8 * (name == 'yes')}" for name in labels]
    )
    page = tmp_path / "r.html"

    files_of = (given["predictions"], "--planted-by-me", given["canaries"])
    told = cli(*files_of, "--epsilon", "1", "--html", str(page))
    asked = cli(*files_of, "--epsilon", "1", "--json")

    assert told.exit_code == asked.exit_code == 3
    for text in (told.output, page.read_text()):
        assert "refutes the claim" not in text
        assert "epsilon >=" not in text
    content = json.loads(asked.output)
    assert (content["decision"]["level"], content["decision"]["word"]) == (0, "void")
    assert content["decision"]["proof"] is None
    assert {item["word"] for item in content["findings"]} == {"void", "not played"}


def test_ids_that_are_no_text_are_one_sentence(tmp_path: Path) -> None:
    canaries = write(tmp_path / "c.csv", "record,label", ["a,0", "b,1"])
    np.savez(tmp_path / "p.npz", probabilities=np.full((2, 2), 0.5), record=np.array([b"\xe9", b"b"]))
    with pytest.raises(InputError, match="not bytes beyond ASCII"):
        read_planted(str(tmp_path / "p.npz"), canaries)


def test_ids_are_the_same_with_spaces_around_them(tmp_path: Path) -> None:
    canaries = write(tmp_path / "c.csv", "record, label", [" b, yes", " a, no"])
    predictions = write(tmp_path / "p.csv", "record, no, yes", [" a, 0.75, 0.25", " b, 0.5, 0.5"])

    assert read_planted(predictions, canaries).release.probabilities.tolist() == [[0.5, 0.5], [0.75, 0.25]]


def test_a_canary_counts_once(tmp_path: Path) -> None:
    """Twelve labels, each thirty times, would prove what 360 do."""
    given = {
        "predictions": write(
            tmp_path / "p.csv", "record,no,yes", [f"r{i},0.{1 + i % 9},0.{9 - i % 9}" for i in range(12)]
        ),
        "canaries": write(tmp_path / "c.csv", "record,label", ["r1,yes", "r2,no", "r3,yes"] * 30),
    }
    with pytest.raises(InputError, match="87 stand there more than once"):
        read_planted(**given)


@pytest.mark.parametrize(("twice", "void"), [(2, False), (10, True)])
def test_two_coincidences_among_a_thousand_classes_are_not_called_uneven(twice: int, void: bool) -> None:
    """Of twenty labels two pairs agree in 1.6 % of honest audits; the chi-square distribution says .005 %."""
    labels = np.concatenate([np.arange(20 - twice), np.arange(twice)])
    said = np.zeros((20, 1000))
    planted = Planted(
        release=Release(probabilities=said, log_probabilities=said),
        labels=labels,
        class_names=tuple(map(str, range(1000))),
        view=View(),
    )

    assert any("not uniform" in reason for reason in voids(planted)) is void


def test_labels_of_pooled_models_are_looked_at_as_one() -> None:
    """68 of 100 labels of one class are one in 2000; of nine models, one is so uneven nine times as often."""
    first, *others = (
        Planted(
            release=Release(probabilities=np.full((100, 2), 0.5), log_probabilities=np.full((100, 2), -math.log(2))),
            labels=(np.arange(100) >= ones).astype(np.intp),
            class_names=("0", "1"),
            view=View(),
        )
        for ones in [50] * 8 + [68]
    )

    def void(*pooled: Planted) -> bool:
        known = attrs.evolve(first, pooled=pooled)
        found = audit_outputs(known, BUILDER, attacks=["lia-threshold"], rng=np.random.default_rng(0))
        return found.decision.word is AuditWord.VOID

    assert not void(*others)
    assert void(*others[-1:] * 8)


def test_references_of_the_same_mechanism_are_not_called_another_pipeline() -> None:
    """Randomised response that keeps 65 %: the model is lucky and one reference is not in 6 % of honest audits."""
    rng, m = np.random.default_rng(0), 100

    def echoed(labels: NDArray[Any]) -> NDArray[Any]:
        return np.log(np.where(np.where(rng.random(m) < 0.65, labels, 1 - labels)[:, None] == np.arange(2), 0.9, 0.1))

    void = 0
    for _ in range(300):
        labels, own = rng.integers(0, 2, (2, m))
        logs = echoed(labels)
        planted = Planted(
            release=Release(probabilities=np.exp(logs), log_probabilities=logs),
            labels=labels,
            class_names=("0", "1"),
            view=View(references=1),
            references=References(log_probabilities=echoed(own)[None], planted=own[None], trained=own[None]),
        )
        void += any("same pipeline" in reason for reason in voids(planted))

    assert void <= 2


def test_labels_that_references_guess_are_void(tmp_path: Path) -> None:
    given = files(tmp_path, keep=1.0)
    planted = read_planted(**given)
    p = np.broadcast_to(planted.release.probabilities, (4, M, 2))
    np.savez(tmp_path / "r.npz", probabilities=p, labels=np.random.default_rng(0).integers(0, 2, (4, M)))

    found = audited({**given, "references": str(tmp_path / "r.npz")})
    assert found.decision.word is AuditWord.VOID
    assert "the reference models alone, which never saw them, guess" in found.decision.voids[0]


def test_the_command_gates_on_the_claim(tmp_path: Path) -> None:
    good, bad = (tmp_path / name for name in ("good", "bad"))
    good.mkdir()
    bad.mkdir()
    keep = epsilon_bounds.label_dp_ceiling(0.4, 2)
    honest, broken = files(good, keep), files(bad, keep, resample=True)

    held = cli(honest["predictions"], "--planted-by-me", honest["canaries"], "--epsilon", "0.4")
    caught = cli(broken["predictions"], "--planted-by-me", broken["canaries"], "--epsilon", "0.4")
    unclaimed = cli(broken["predictions"], "--planted-by-me", broken["canaries"])

    assert (held.exit_code, caught.exit_code, unclaimed.exit_code) == (0, 1, 1)
    assert "REFUTED: epsilon = 0.4 was claimed" in caught.output
    assert "NOT REFUTED: epsilon = 0.4 was claimed" in held.output
    assert "Power against twice the claim, epsilon = 0.8: 99.9%, of an attack" in held.output
    assert "epsilon = 0.4 allows any attack 59.9% of the planted labels" in held.output
    assert "600 guesses, all correct, would have proved epsilon >= 5.29." in held.output
    assert "Assumed, as you say: the labels were drawn uniformly" in held.output


def test_an_audit_without_an_attack_is_not_passed(tmp_path: Path) -> None:
    given = files(tmp_path, keep=1.0)
    arguments = (given["predictions"], "--planted-by-me", given["canaries"])

    refused = str(cli(*arguments, "--attack", "loss-inversion", "--attack", "lira").exception)
    nobody = str(cli(*arguments, "-p", "no:outputs").exception)

    assert "there is nothing to play: loss-inversion needs losses" in refused
    assert "; lira needs 4 reference models, the declared view has 0." in refused
    assert nobody == "there is nothing to play: no attack of the output channel is loaded."


def test_finding_nothing_is_not_called_safe(tmp_path: Path) -> None:
    given = files(tmp_path, keep=0.5)

    result = cli(given["predictions"], "--planted-by-me", given["canaries"])

    told = " ".join(result.output.split())
    assert "NO LEAK SHOWN: what the counted guesses tell may be chance. That is not a proof of safety." in told
    assert "Nothing shows that a leak would have been seen: there is no control; labelinf plant makes one." in told
    assert result.exit_code == 3


def test_a_leak_that_the_claim_allows_is_said_to_be_one(tmp_path: Path) -> None:
    given = files(tmp_path, keep=epsilon_bounds.label_dp_ceiling(1.0, 2))
    arguments = (given["predictions"], "--planted-by-me", given["canaries"])

    result = cli(*arguments, "--epsilon", "1")

    assert "NOT REFUTED: epsilon = 1 was claimed, epsilon >= " in result.output
    assert "That is not a proof of the claim." in " ".join(result.output.split())
    assert (result.exit_code, cli(*arguments).exit_code) == (0, 1)


def test_the_command_speaks_json(tmp_path: Path) -> None:
    given = files(tmp_path, keep=1.0)
    result = cli(given["predictions"], "--planted-by-me", given["canaries"], "--json", "--attack", "lia-threshold")
    report = json.loads(result.output)

    assert [item["word"] for item in report["findings"]] == ["counted"]
    assert report["claim"] == {"epsilon": "inf", "delta": 0.0, "mu": "inf"}
    assert (report["decision"]["word"], report["decision"]["status"], report["sealed"]) == ("leaks", 1, False)
    assert result.exit_code == 1


@pytest.mark.parametrize(
    ("view", "text", "message"),
    [
        (View(resolution=0.1), "no,yes\n0.52,0.48\n0.2,0.8\n", "row 2 is declared as rounded to 0.1 and is not"),
        (View(outputs=Outputs.LOGITS), "no,yes\n1,inf\n0,1\n", "row 2 must hold 2 finite numbers"),
        (View(outputs=Outputs.TOP_ONE), "no,yes\n1,0\n0,1\n", "must have one column, beside 'record'"),
        (View(), "0,1\n1,0\n0,1\n", "row 1, 0,1, may be a header or a record. Name the classes, or write 0.0,1.0"),
        (View(), "no,no\n1,0\n0,1\n", "its header names class 'no' twice"),
    ],
)
def test_outputs_that_are_not_what_was_declared_are_one_sentence(
    tmp_path: Path, view: View, text: str, message: str
) -> None:
    (tmp_path / "p.csv").write_text(text)
    canaries = write(tmp_path / "c.csv", "label", ["no", "yes"])

    with pytest.raises(InputError, match=message):
        read_planted(str(tmp_path / "p.csv"), canaries, view=view)


def test_one_class_is_not_an_audit(tmp_path: Path) -> None:
    said, canaries = (write(tmp_path / name, "label", ["a", "a"]) for name in ("p.csv", "c.csv"))

    with pytest.raises(InputError, match="hold one class; at least two are needed"):
        read_planted(said, canaries, view=View(outputs=Outputs.TOP_ONE))


GOOD = {"p": "no,yes\n0.5,0.5\n0.2,0.8\n", "c": "label\nno\nyes\n"}


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ({"p": ""}, r"p\.csv is empty"),
        ({"p": "no,yes\n"}, "has a header and no rows"),
        ({"p": "no,yes\n0.5,0.5\n0.2,x\n"}, r"row 3 must hold 2 finite numbers in 2 cells; ids stand in"),
        ({"p": "no,yes\n0.5,0.5\n0.2\n"}, "row 3 must hold 2 finite numbers"),
        ({"p": "no,yes\n0.5,0.5\n0.2,0.8,0.1\n"}, "row 3 must hold 2 finite numbers"),
        ({"p": "record,no,yes\n0,0.5,0.5\n1,0.2,0.8,0.1\n"}, "row 3 must hold 2 finite numbers"),
        ({"p": "record\n0\n1\n"}, "has a column 'record' and no predictions"),
        ({"p": "no,yes\n0.5,0.5\nnan,0.5\n"}, "row 3 must hold 2 finite numbers"),
        ({"p": "no,yes\n0.5,0.5\n0.9,0.9\n"}, "row 3 must be probabilities that sum to one"),
        ({"p": "no,yes\n1.5,-0.5\n0.5,0.5\n"}, "row 2 must be probabilities that sum to one"),
        ({"c": "class\nno\nyes\n"}, "has no column 'label'. Columns are 'class'"),
        ({"c": "label\n"}, "has no rows. It needs one row per planted label"),
        ({"c": "label\nno\nmaybe\n"}, "row 3: label must be one of no, yes"),
        ({"c": "label\nno\n"}, "has 1 canaries for 2 predictions; a column 'record' must say"),
        ({"c": "record,label\n0,no\n5,yes\n"}, r"row 3: record must be a whole number in 0\.\.1"),
        ({"c": "record,label\n0,no\n0,yes\n"}, "record 0 stands there 2 times, each must once"),
        ({"c": "label,loss\nno,0.1\nyes,-3\n"}, "row 3: loss must be a number that is not negative"),
        ({"c": "label,loss\nno,0.1\nyes\n"}, "row 3 has 1 cells, the header has 2"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_sentence(tmp_path: Path, broken: dict[str, str], message: str) -> None:
    for name, text in {**GOOD, **broken}.items():
        (tmp_path / f"{name}.csv").write_text(text)

    with pytest.raises(InputError, match=message):
        read_planted(str(tmp_path / "p.csv"), str(tmp_path / "c.csv"))


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"labels": np.zeros((1, 2), int)}, "has no array 'probabilities"),
        ({"probabilities": np.full((1, 3, 2), 0.5), "labels": np.zeros((1, 3), int)}, r"must have shapes \(R, 2, 2\)"),
        ({"probabilities": np.full((1, 2, 2), 1.5), "labels": np.zeros((1, 2), int)}, r"must lie in \[0, 1\]"),
        ({"probabilities": np.full((1, 2, 2), 0.5), "labels": np.full((1, 2), 7)}, r"whole numbers in 0\.\.1"),
        ({"probabilities": np.float64(0.5), "labels": np.zeros((1, 2), int)}, r"must have shapes \(R, 2, 2\)"),
        ({"logits": np.full((1, 2, 2), np.inf), "labels": np.zeros((1, 2), int)}, "logits must be finite numbers"),
        (
            {
                "probabilities": np.full((1, 2, 2), 0.5),
                "labels": np.zeros((1, 2), int),
                "trained": np.zeros((2, 2), int),
            },
            r"trained \(2, 2\) must have the shape of labels, \(1, 2\)",
        ),
        (
            {"probabilities": np.array([None]), "labels": np.zeros((1, 2), int)},
            "is not a NumPy file of plain numbers or strings",
        ),
    ],
)
def test_references_that_cannot_be_used_are_one_sentence(tmp_path: Path, arrays: Any, message: str) -> None:
    for name, text in GOOD.items():
        (tmp_path / f"{name}.csv").write_text(text)
    np.savez(tmp_path / "r.npz", **arrays)

    with pytest.raises(InputError, match=message):
        read_planted(str(tmp_path / "p.csv"), str(tmp_path / "c.csv"), str(tmp_path / "r.npz"))


def test_a_missing_file_and_a_file_of_another_kind_are_one_sentence(tmp_path: Path) -> None:
    for name, text in GOOD.items():
        (tmp_path / f"{name}.csv").write_text(text)
    p, c = str(tmp_path / "p.csv"), str(tmp_path / "c.csv")

    with pytest.raises(InputError, match="cannot be read: No such file"):
        read_planted(str(tmp_path / "none.csv"), c)
    with pytest.raises(InputError, match="is not a NumPy file of plain numbers or strings"):
        read_planted(p, c, p)
    with pytest.raises(InputError, match=r"none\.npz cannot be read: No such file"):
        read_planted(p, c, str(tmp_path / "none.npz"))


def test_a_delta_and_a_mu_are_refuted_for_many_classes(tmp_path: Path) -> None:
    labels = np.random.default_rng(3).integers(0, 3, 200)
    given = {
        "predictions": write(tmp_path / "p.csv", "a,b,c", [",".join(map(str, row)) for row in np.eye(3)[labels]]),
        "canaries": write(tmp_path / "c.csv", "label", ["abc"[label] for label in labels]),
    }

    for claim in (PrivacyClaim(epsilon=1.0, delta=0.01), PrivacyClaim(mu=1.0)):
        found = audited(given, claim=claim)
        assert found.decision.refuted
        assert found.decision.proof is not None
        assert claim.level < found.decision.level == found.decision.proof.provable
        assert 1 / 3 < found.ceiling < 1


@pytest.mark.parametrize(
    "claim",
    [
        ["--epsilon", "40"],
        ["--epsilon", "1000"],
        pytest.param(["--epsilon", "1000", "--delta", "1e-5"], marks=pytest.mark.slow),
        pytest.param(["--mu", "60"], marks=pytest.mark.slow),
    ],
)
def test_a_claim_that_allows_everything_is_planned_for_and_audited(claim: list[str], tmp_path: Path) -> None:
    planned = CliRunner().invoke(power, ["2", *claim])
    given, page = files(tmp_path, keep=1.0), tmp_path / "r.html"
    audit = [given["predictions"], "--planted-by-me", given["canaries"], "--attack", "lia-threshold"]
    told = cli(*audit, *claim, "--html", str(page))

    assert (planned.exit_code, told.exit_code) == (0, 3)  # what nothing could refute is not passed
    assert planned.output.count("none suffice") == 7
    assert "INCONCLUSIVE" in page.read_text()
    assert "Power against twice the claim" in page.read_text()


def test_a_foreign_attack_is_one_sentence(tmp_path: Path) -> None:
    given = {
        "predictions": write(tmp_path / "p.csv", "a,b,c", ["1,0,0", "1,0,0"]),
        "canaries": write(tmp_path / "c.csv", "label", ["a", "b"]),
    }

    with pytest.raises(LabelinfError, match="attack 'majority' does not belong to the output channel"):
        audited(given, attacks=["majority"])


def test_a_delta_of_two_classes_proves_a_little_less(tmp_path: Path) -> None:
    given = files(tmp_path, keep=0.9)
    pure, approximate = (
        audited(given, claim=PrivacyClaim(epsilon=1.0)),
        audited(given, claim=PrivacyClaim(epsilon=1.0, delta=1e-4)),
    )

    assert 1.0 < approximate.decision.level < pure.decision.level
    assert pure.decision.proof is not None
    assert approximate.decision.proof is not None
    assert approximate.decision.level < approximate.decision.proof.provable < pure.decision.proof.provable
    assert pure.decision.refuted
    assert approximate.decision.refuted


def test_every_share_stands_with_its_interval_and_chance_and_a_delta_changes_the_test(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    planted = rng.integers(0, 2, M)
    given = {
        "probabilities": write(tmp_path / "p.csv", "0,1", ["0.0,1.0" if y else "1.0,0.0" for y in planted]),
        "canaries": write(tmp_path / "c.csv", "label,trained", [f"{y},{y}" for y in planted]),
    }
    arguments = [given["probabilities"], "--planted-by-me", given["canaries"]]
    pure = cli(*arguments, "--epsilon", "0.1", "--attack", "lia-threshold").output
    approximate = cli(*arguments, "--epsilon", "0.1", "--delta", "0.06", "--attack", "lia-threshold")

    whole, share = r"100\.0% \[99\.\d%, 100\.0%\]", r"\d+\.\d% \[\d+\.\d%, \d+\.\d%\]"
    assert re.search(rf"600/600 = {whole}: counted", pure)
    assert re.search(rf"chance 50\.0%, p .*; placebo {share}", pure)
    assert re.search(rf"trained label {whole}", pure)
    assert re.search(rf"600 of its 600 surest guesses = {whole}:\s+epsilon >= 5\.29$", pure, re.M)
    assert max(map(len, pure.splitlines())) <= 80
    # Everything is told with probability delta, so one run that tells everything refutes nothing.
    assert "no leak beyond delta = 0.06 is shown" in " ".join(approximate.output.split())
    assert "lets any attack expect" in approximate.output
    assert approximate.exit_code == 3


def test_one_attacks_crash_ends_nobody_elses_game(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: object, oracle: object, rng: object) -> None:
        raise ZeroDivisionError("by nothing")

    monkeypatch.setattr(type(BUILDER.build(Kind.ATTACK, "blind-guess", "test")), "run", broken)
    given = files(tmp_path, keep=1.0)
    found = audited(given)
    shown = cli(given["predictions"], "--planted-by-me", given["canaries"]).output

    assert word(found, "blind-guess") is Observation.FAILED
    assert found.decision.word is AuditWord.LEAKS
    assert re.search(r"blind-guess +failed: ZeroDivisionError in \S*test_audit, line", shown)
    assert "by nothing" not in shown
    with pytest.raises(InputError, match="there is nothing to play: blind-guess ZeroDivisionError in"):
        audited(given, attacks=["blind-guess"])


def test_arrays_say_what_text_says(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    canaries = write(tmp_path / "c.csv", "record,label", ["c,1", "a,0"])
    shown = rng.dirichlet(np.ones(2), 3)
    np.savez(tmp_path / "p.npz", probabilities=shown, record=np.array(["a", "b", "c"]))
    np.save(tmp_path / "p.npy", np.log(shown))
    lines = [f"{name},{p!r},{q!r}" for name, (p, q) in zip("abc", shown.tolist(), strict=True)]
    text = write(tmp_path / "p.csv", "record,0,1", lines)

    arrays, written = (read_planted(path, canaries) for path in (str(tmp_path / "p.npz"), text))
    rows = write(tmp_path / "r.csv", "record,label", ["2,1", "0,0"])
    logs = read_planted(str(tmp_path / "p.npy"), rows, view=LOGITS)

    for found in (arrays, written, logs):
        np.testing.assert_allclose(found.release.probabilities, shown[[2, 0]], atol=1e-12)
        assert found.labels.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("name", "arrays", "message"),
    [
        ("p.npz", {"logits": np.zeros((2, 2))}, r"has no array 'probabilities'; it has 'logits'"),
        ("p.npz", {"probabilities": np.zeros((2, 2, 2))}, r"of shape \(2, 2, 2\) must be numbers of shape \(n, K\)"),
        ("p.npz", {"probabilities": np.array([[0.5, 0.5], [np.nan, 1]])}, r"row 1 \(counted from 0\) must hold finite"),
        ("p.npz", {"probabilities": np.full((2, 2), 0.5), "record": np.arange(3)}, "record one id for each row"),
        ("p.npz", {"probabilities": np.full((2, 2), 0.5), "classes": np.array(["a", "a"])}, "2 different names"),
        ("p.npz", {"probabilities": np.full((2, 2), 0.6)}, "row 0 must be probabilities that sum to one"),
    ],
)
def test_arrays_that_cannot_be_used_are_one_sentence(tmp_path: Path, name: str, arrays: Any, message: str) -> None:
    np.savez(tmp_path / name, **arrays)
    canaries = write(tmp_path / "c.csv", "label", ["0", "1"])

    with pytest.raises(InputError, match=message):
        read_planted(str(tmp_path / name), canaries)


def test_references_in_arrays_that_were_not_rounded_like_the_model_are_one_sentence(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    p = rng.uniform(0.1, 0.9, 40)
    given = {
        "predictions": write(tmp_path / "p.csv", "no,yes", [f"{1 - x:.2f},{x:.2f}" for x in p]),
        "canaries": write(tmp_path / "c.csv", "label", ["yes" if label else "no" for label in rng.integers(0, 2, 40)]),
        "references": str(tmp_path / "r.npz"),
    }
    for decimals, refused in ((6, True), (2, False)):
        said = rng.uniform(0.1, 0.9, (2, 40)).round(decimals)
        np.savez(
            given["references"], probabilities=np.stack([1 - said, said], axis=2), labels=rng.integers(0, 2, (2, 40))
        )
        if refused:
            with pytest.raises(InputError, match="more decimals than the model, whose probabilities have 2"):
                read_planted(**given)
        else:
            assert read_planted(**given).view.references == 2


def test_parquet_says_what_text_says(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    rows = np.array([[0.25, 0.75], [0.5, 0.5], [1.0, 0.0]])
    table = pyarrow.table({"record": ["a", "b", "c"], "no": rows[:, 0], "yes": rows[:, 1]})
    parquet.write_table(table, tmp_path / "p.parquet")
    text = write(tmp_path / "p.csv", "record,no,yes", ["a,0.25,0.75", "b,0.5,0.5", "c,1,0"])

    found, expected = (read_predictions(path, View()) for path in (str(tmp_path / "p.parquet"), text))

    np.testing.assert_array_equal(found.probabilities, expected.probabilities)
    assert found.class_names == expected.class_names
    assert found.records is not None
    assert found.records.tolist() == ["a", "b", "c"]
    for name, bad in (("text", {"no": ["x"], "yes": [1.0]}), ("gap", {"no": [None, 0.5], "yes": [1.0, 0.5]})):
        parquet.write_table(pyarrow.table(bad), tmp_path / f"{name}.parquet")
        with pytest.raises(InputError, match=r"numbers in every column|must hold finite numbers"):
            read_predictions(str(tmp_path / f"{name}.parquet"), View())
    with pytest.raises(InputError, match="cannot be read as a Parquet table"):
        read_predictions(str(tmp_path / "none.parquet"), View())


def test_an_infinite_loss_names_the_class_that_was_shown_as_impossible(tmp_path: Path) -> None:
    given = {
        "predictions": write(tmp_path / "p.csv", "no,yes", ["0.0,1.0", "1.0,0.0", "1.0,0.0"] * 10),
        "canaries": write(tmp_path / "c.csv", "label,loss", ["no,inf", "yes,inf", "no,0.0"] * 10),
    }

    found = audited(given, attacks=["loss-inversion"]).findings[0]

    assert (found.correct, found.guesses, found.word) == (30, 30, Observation.VIEW_REVEALS)


@pytest.mark.parametrize("view", [View(resolution=0.1), TOP_ONE])
def test_references_that_show_more_than_the_model_are_one_sentence(tmp_path: Path, view: View) -> None:
    predictions = {0.1: "no,yes\n0.5,0.5\n0.2,0.8\n", 0.0: "said\nno\nyes\n"}[view.resolution]
    (tmp_path / "p.csv").write_text(predictions)
    canaries = write(tmp_path / "c.csv", "label", ["no", "yes"])
    np.savez(tmp_path / "r.npz", probabilities=np.full((1, 2, 2), 0.51234), labels=np.zeros((1, 2), int))

    with pytest.raises(InputError, match="the references must show what the model shows"):
        read_planted(str(tmp_path / "p.csv"), canaries, str(tmp_path / "r.npz"), view=view)


STRANGER = """
import os
import attrs, numpy as np
from labelinf_core import Descriptor, Kind, Reference, hookimpl
from labelinf_core.contracts.components import Guess
from labelinf_outputs.game.output import OutputAttack

labelinf_contract = 2
np.mean = np.sum = lambda *a, **k: 0.25

@attrs.frozen(kw_only=True)
class Stranger(OutputAttack):
    how: str = "plays"

    def unsupported_reason(self, threat):
        return os._exit(4) if self.how == "refuses" else None

    def run(self, oracle, rng):
        if self.how == "exits":
            os._exit(3)
        if self.how == "stops":
            raise KeyboardInterrupt
        return Guess(labels=np.zeros(oracle.threat.n_records, dtype=np.intp))

@hookimpl
def labelinf_components():
    reference = Reference(work="tests", statement="stranger")
    yield Descriptor(kind=Kind.ATTACK, name="stranger", summary="x", reference=reference,
                     target="strange_outputs:Stranger", channel="output")
"""


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_strangers_attack_is_asked_in_a_copy_of_the_process(install_fake: Any, tmp_path: Path) -> None:
    """All installed ones play by default: one that exits ended the audit, and a patch of NumPy was in its figures."""
    install_fake("labelinf-strange", entry="strange", module="strange_outputs", source=STRANGER)
    given = files(tmp_path, 1.0)
    attacks = [f"stranger(how={how})" for how in ("plays", "exits", "stops", "refuses")]

    def played(*attacks: str) -> OutputsAudit:
        builder = Builder(Host.load())
        return audit_outputs(read_planted(**given), builder, attacks=attacks, rng=np.random.default_rng(0))

    found = played(*attacks, "lia-threshold")

    told = {item.attack: item for item in found.findings}
    assert told[attacks[0]].guesses == M
    assert told[attacks[1]].refusal == f"attack {attacks[1]}: its process ended with exit code 3"
    assert "KeyboardInterrupt" in told[attacks[2]].refusal
    assert told[attacks[3]].refusal == f"attack {attacks[3]}: its process ended with exit code 4"
    assert {told[attack].word for attack in attacks[1:]} == {Observation.FAILED}
    alone = audited(given, attacks=["lia-threshold"])
    assert told["lia-threshold"].correct == alone.findings[0].correct
    assert "strange_outputs" not in sys.modules
    assert np.sum([1, 2]) == 3
    with pytest.raises(LabelinfError, match="unknown parameter"):
        played("stranger(who=me)")
