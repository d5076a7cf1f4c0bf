"""A network that Opacus trained is audited in one command, against the epsilon that its accountant states."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from labelinf_core.cli import main

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.slow
def test_torch_trained_by_opacus_keeps_its_claim_and_does_not_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("opacus")
    monkeypatch.syspath_prepend(EXAMPLES)
    audit = ["audit", "model", "opacus_victim:Private"]

    private = CliRunner().invoke(main, [*audit, "--epsilon", "2", "--delta", "1e-5"])
    open_ = CliRunner().invoke(main, audit)

    assert private.exit_code in (0, 3), private.output
    assert open_.exit_code == 1, open_.output
