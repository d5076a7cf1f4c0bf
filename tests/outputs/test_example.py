"""The example of the documentation: labels are planted, a model is trained, its files are audited."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.datasets import load_breast_cancer

from labelinf_core.contracts.audited import AuditWord
from labelinf_core.contracts.documents import csv_text
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_data.commands import SAMPLES
from labelinf_outputs.audit.claim import PrivacyClaim
from labelinf_outputs.audit.findings import OutputsAudit
from labelinf_outputs.audit.outputs import audit_outputs
from labelinf_outputs.audit.planted import read_planted
from labelinf_outputs.commands import outputs, plant

SCRIPT = Path(__file__).parents[2] / "examples" / "plant_and_train.py"
DOCUMENTED = Path(__file__).parents[2] / "docs" / "outputs.md"


def audited(folder: Path, mechanism: str, monkeypatch: pytest.MonkeyPatch) -> OutputsAudit:
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), str(folder), "--mechanism", mechanism])
    runpy.run_path(str(SCRIPT), run_name="__main__")
    given = (str(folder / name) for name in ("predictions.csv", "canaries.csv", "references.npz"))
    return audit_outputs(
        read_planted(*given),
        Builder(Host.load(strict=True)),
        claim=PrivacyClaim(epsilon=1.0),
        rng=np.random.default_rng(0),
    )


@pytest.mark.long
@pytest.mark.parametrize(
    ("mechanism", "refuted"), [pytest.param("rr", False, marks=pytest.mark.slow), ("broken", True)]
)
def test_the_mistake_is_found_and_the_mechanism_is_not_accused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mechanism: str, refuted: bool
) -> None:
    found = audited(tmp_path, mechanism, monkeypatch)
    threshold = next(item for item in found.findings if item.attack == "lia-threshold")

    assert found.decision.refuted is refuted
    assert found.decision.word is AuditWord.LEAKS
    assert threshold.memorised is not None
    assert threshold.memorised.value > 0.99
    assert found.decision.voids == ()


@pytest.mark.long
@pytest.mark.parametrize(("script", "option"), [("audit_sklearn", "probabilities"), ("audit_torch", "logits")])
def test_few_lines_of_the_users_own_lead_from_an_empty_folder_to_a_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], script: str, option: str
) -> None:
    if script == "audit_torch":
        pytest.importorskip("torch")
    data = load_breast_cancer()
    scaled = ((data.data - data.data.mean(axis=0)) / data.data.std(axis=0)).round(4)
    header = [*(f"f{number}" for number in range(scaled.shape[1])), "diagnosis"]
    names = data.target_names[data.target].tolist()
    rows = [[*row, name] for row, name in zip(scaled.tolist(), names, strict=True)]
    (tmp_path / "data.csv").write_text(csv_text(header, rows))
    plan, said = tmp_path / "plan", tmp_path / ("logits.npz" if script == "audit_torch" else "p.csv")
    amounts = ["--out", str(plan), "--share", "0.3", "--seed", "1"]
    CliRunner().invoke(plant, [str(tmp_path / "data.csv"), "--column", "diagnosis", *amounts])
    example = (SAMPLES if script == "audit_sklearn" else SCRIPT.parent) / f"{script}.py"

    monkeypatch.setattr(sys, "argv", [str(example), str(plan), "diagnosis", *[str(said)] * (option == "logits")])
    runpy.run_path(str(example))
    if option == "probabilities":
        said.write_text(capsys.readouterr().out)
    found = CliRunner().invoke(
        outputs, [str(said), "--shows", option, "--seal", str(plan / "sealed.json"), "--epsilon", "1"]
    )

    assert found.output.startswith("leaks       REFUTED: epsilon = 1 was claimed, epsilon >= 4.02 is proved.")
    code = example.read_text().rpartition('"""')[2].splitlines()
    assert len([line for line in code if line and not line.startswith(("import", "from"))]) <= 15


def test_label_tokens_lead_to_a_verdict_on_made_log_probabilities(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run of the documentation: 100 of 400 made prompts are planted, with three tokens of a vocabulary."""
    prompts = [[f"prompt {number}", ("bad", "fair", "good")[number % 3]] for number in range(400)]
    (tmp_path / "prompts.csv").write_text(csv_text(["prompt", "mood"], prompts))
    monkeypatch.chdir(tmp_path)
    amounts = ["--out", "plan", "--share", "0.25", "--seed", "1"]
    CliRunner().invoke(plant, ["prompts.csv", "--column", "mood", *amounts])
    monkeypatch.setattr(sys, "argv", ["", "plan", "mood", "said.npz"])
    runpy.run_path(str(SCRIPT.with_name("audit_label_tokens.py")))

    found = CliRunner().invoke(
        outputs, ["--shows", "logits", "said.npz", "--seal", "plan/sealed.json", "--epsilon", "1"]
    )

    assert found.exit_code == 1
    answer, _, attacks = found.output.partition("\n  blind-guess")
    counted = attacks.partition("\n* ")[2].partition("\n  lira")[0]
    assert answer in DOCUMENTED.read_text()
    assert f"\n* {counted}\n" in DOCUMENTED.read_text()
