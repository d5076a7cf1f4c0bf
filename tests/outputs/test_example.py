"""The example of the documentation: labels are planted, a model is trained, its files are audited."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_outputs.audit.findings import Audit, Claim, Word
from labelinf_outputs.audit.outputs import audit_outputs
from labelinf_outputs.audit.planted import read_planted

SCRIPT = Path(__file__).parents[2] / "examples" / "plant_and_train.py"


def audited(folder: Path, mechanism: str, monkeypatch: pytest.MonkeyPatch) -> Audit:
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), str(folder), "--mechanism", mechanism])
    runpy.run_path(str(SCRIPT), run_name="__main__")
    given = (str(folder / name) for name in ("predictions.csv", "canaries.csv", "references.npz"))
    return audit_outputs(
        read_planted(*given), Builder(Host.load(strict=True)), claim=Claim(epsilon=1.0), rng=np.random.default_rng(0)
    )


@pytest.mark.parametrize(("mechanism", "refuted"), [("rr", False), ("broken", True)])
def test_the_mistake_is_found_and_the_mechanism_is_not_accused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mechanism: str, refuted: bool
) -> None:
    found = audited(tmp_path, mechanism, monkeypatch)
    threshold = next(item for item in found.findings if item.attack == "lia-threshold")

    assert found.refuted is refuted
    assert threshold.word is (Word.REFUTES if refuted else Word.WITHIN)
    assert threshold.memorised is not None
    assert threshold.memorised.value > 0.99
    assert found.voids == ()
