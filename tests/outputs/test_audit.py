"""``labelinf audit outputs``: files in, a verdict out."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from click.testing import CliRunner, Result
from numpy.typing import NDArray

from labelinf_core import auditing
from labelinf_core.audit.output_files import read_planted
from labelinf_core.audit.outputs import Audit, Word, audit_outputs
from labelinf_core.cli.audit_outputs import outputs
from labelinf_core.errors import InputError, LabelinfError
from labelinf_core.host import Host
from labelinf_core.specs import Builder

BUILDER = Builder(Host.load(strict=True))
M = 600


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


def audited(given: dict[str, str], **options: Any) -> Audit:
    return audit_outputs(read_planted(**given), BUILDER, rng=np.random.default_rng(0), **options)


def word(found: Audit, attack: str) -> Word:
    return next(item.word for item in found.findings if item.attack == attack)


def cli(*arguments: str) -> Result:
    @click.group()
    def main() -> None:
        pass

    main.add_command(outputs)
    return CliRunner().invoke(main, ["outputs", *arguments])


def test_a_memorising_model_leaks(tmp_path: Path) -> None:
    found = audited(files(tmp_path, keep=1.0))

    assert word(found, "lia-threshold") is Word.LEAKS
    assert word(found, "blind-guess") is Word.NOTHING
    assert word(found, "calibrated") is word(found, "loss-inversion") is Word.REFUSED
    assert found.leaks
    assert not found.refuted
    assert 4 < found.epsilon <= found.provable


def test_randomised_response_is_not_accused_and_resampling_is(tmp_path: Path) -> None:
    """Nominal epsilon .3. Ten seeds of the broken one; the right one is wrongly accused in at most 5 % of audits."""
    keep = auditing.label_dp_ceiling(0.3, 2)
    caught = [audited(files(tmp_path, keep, seed=seed, resample=True), claimed=0.3).refuted for seed in range(10)]
    accused = [audited(files(tmp_path, keep, seed=seed), claimed=0.3).refuted for seed in range(40)]

    assert sum(caught) == 10  # each with probability above .9999
    assert sum(accused) <= 6  # exceeded with probability below .014 if the rate were 5 %; it is far below


def test_losses_of_the_planted_labels_are_called_what_they_are(tmp_path: Path) -> None:
    found = audited(files(tmp_path, keep=0.6, losses=True), claimed=1.0)

    assert word(found, "loss-inversion") is word(found, "lia-delta-margin") is Word.VIEW_REVEALS
    assert word(found, "lia-threshold") is Word.LEAKS
    assert not found.refuted  # what was read from the view refutes nothing
    assert found.epsilon < 1.0


def test_references_let_calibrated_attacks_play(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    given = files(tmp_path, keep=1.0)
    labels = rng.integers(0, 2, (6, M))
    p = np.array([memorised(row, rng) for row in labels])
    np.savez(tmp_path / "r.npz", probabilities=np.stack([1 - p, p], axis=2), labels=labels)

    found = audited({**given, "references": str(tmp_path / "r.npz")})

    assert word(found, "calibrated") is word(found, "lira") is Word.LEAKS
    assert found.notes == ()


def test_canaries_may_be_some_of_the_records(tmp_path: Path) -> None:
    predictions = write(tmp_path / "p.csv", "a,b,c", ["1,0,0", "0,1,0", "0,0,1", "0.2,0.3,0.5"])
    canaries = write(tmp_path / "c.csv", "record,label", ["3,c", "0,b"])

    planted = read_planted(predictions, canaries)

    assert planted.labels.tolist() == [2, 1]
    assert planted.release.probabilities.tolist() == [[0.2, 0.3, 0.5], [1, 0, 0]]
    assert planted.class_names == ("a", "b", "c")


def test_one_column_is_the_probability_of_class_one(tmp_path: Path) -> None:
    planted = read_planted(
        write(tmp_path / "p.csv", "score", ["0.25", "1"]), write(tmp_path / "c.csv", "label", ["1", "0"])
    )

    assert planted.release.probabilities.tolist() == [[0.75, 0.25], [0, 1]]
    assert np.isfinite(planted.release.log_probabilities).all()


def test_labels_that_are_not_uniform_are_doubted(tmp_path: Path) -> None:
    given = files(tmp_path, keep=0.5)
    given["canaries"] = write(tmp_path / "c.csv", "label", ["yes"] * 400 + ["no"] * 200)

    assert "not uniform over the classes" in audited(given).notes[0]


def test_labels_that_references_guess_are_doubted(tmp_path: Path) -> None:
    given = files(tmp_path, keep=1.0)
    planted = read_planted(**given)
    p = np.broadcast_to(planted.release.probabilities, (4, M, 2))
    np.savez(tmp_path / "r.npz", probabilities=p, labels=np.random.default_rng(0).integers(0, 2, (4, M)))

    found = audited({**given, "references": str(tmp_path / "r.npz")})
    assert "the reference models alone, which never saw them, guess" in found.notes[0]


def test_the_command_gates_on_the_claim(tmp_path: Path) -> None:
    good, bad = (tmp_path / name for name in ("good", "bad"))
    good.mkdir()
    bad.mkdir()
    keep = auditing.label_dp_ceiling(0.3, 2)
    honest, broken = files(good, keep), files(bad, keep, resample=True)

    held = cli("--probabilities", honest["predictions"], "--canaries", honest["canaries"], "--epsilon", "0.3")
    caught = cli("--probabilities", broken["predictions"], "--canaries", broken["canaries"], "--epsilon", "0.3")
    gated = cli("--probabilities", broken["predictions"], "--canaries", broken["canaries"], "--gate")

    assert (held.exit_code, caught.exit_code, gated.exit_code) == (0, 1, 1)
    assert "REFUTED: epsilon = 0.3 was claimed" in caught.output
    assert "epsilon = 0.3 allows any attack 57.4% of the planted labels" in held.output
    assert "600 canaries can prove epsilon >= 4.92 at best" in held.output


def test_the_command_speaks_json(tmp_path: Path) -> None:
    given = files(tmp_path, keep=1.0)
    result = cli(
        "--probabilities", given["predictions"], "--canaries", given["canaries"], "--json", "--attack", "lia-threshold"
    )
    report = json.loads(result.output)

    assert report["leaks"] is True
    assert [item["word"] for item in report["findings"]] == ["leaks"]
    assert report["claimed"] == "inf"


GOOD = {"p": "no,yes\n0.5,0.5\n0.2,0.8\n", "c": "label\nno\nyes\n"}


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ({"p": ""}, r"p\.csv is empty"),
        ({"p": "no,yes\n"}, "has a header and no rows"),
        ({"p": "no,yes\n0.5,0.5\n0.2,x\n"}, "row 3 must hold 2 numbers, got 0.2, x"),
        ({"p": "no,yes\n0.5,0.5\n0.2\n"}, "row 3 must hold 2 numbers, got 0.2"),
        ({"p": "no,yes\n0.5,0.5\nnan,0.5\n"}, "row 3 must hold 2 numbers"),
        ({"p": "no,yes\n0.5,0.5\n0.9,0.9\n"}, "row 3 must be probabilities that sum to one, got 0.9, 0.9"),
        ({"p": "no,yes\n1.5,-0.5\n0.5,0.5\n"}, "row 2 must be probabilities that sum to one"),
        ({"c": "class\nno\nyes\n"}, "has no column 'label'. Columns are 'class'"),
        ({"c": "label\n"}, "has no rows. It needs one row per planted label"),
        ({"c": "label\nno\nmaybe\n"}, "row 3: label 'maybe' must be one of no, yes"),
        ({"c": "label\nno\n"}, "has 1 canaries for 2 predictions; a column 'record' must say"),
        ({"c": "record,label\n0,no\n5,yes\n"}, r"row 3: record '5' must be a whole number in 0\.\.1"),
        ({"c": "record,label\n0,no\n0,yes\n"}, "record 0 stands there 2 times, each must once"),
        ({"c": "label,loss\nno,0.1\nyes,-3\n"}, "row 3: loss '-3' must be a number that is not negative"),
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
        (
            {"probabilities": np.array([None]), "labels": np.zeros((1, 2), int)},
            "is not a NumPy .npz file that can be read",
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
    with pytest.raises(InputError, match=r"is not a NumPy \.npz file"):
        read_planted(p, c, p)


def test_a_delta_for_many_classes_and_a_foreign_attack_are_one_sentence(tmp_path: Path) -> None:
    given = {
        "predictions": write(tmp_path / "p.csv", "a,b,c", ["1,0,0"]),
        "canaries": write(tmp_path / "c.csv", "label", ["a"]),
    }

    with pytest.raises(InputError, match=r"delta=0\.1 must be 0 for 3 classes"):
        audited(given, claimed=1.0, delta=0.1)
    with pytest.raises(LabelinfError, match="attack 'majority' does not belong to the output channel"):
        audited(given, attacks=["majority"])


def test_a_delta_of_two_classes_proves_a_little_less(tmp_path: Path) -> None:
    given = files(tmp_path, keep=0.9)
    pure, approximate = audited(given, claimed=1.0), audited(given, claimed=1.0, delta=1e-4)

    assert 1.0 < approximate.epsilon < pure.epsilon
    assert pure.refuted
    assert approximate.refuted
