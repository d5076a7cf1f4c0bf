"""The worked examples with Flower and NVFlare, run with the real libraries in this process."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from labelinf_core.cli import main

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize(
    ("library", "client"),
    [
        ("flwr", "audit_flower:bare"),
        ("flwr", "audit_flower:private"),
        ("nvflare", "audit_nvflare:bare"),
        ("nvflare", "audit_nvflare:filtered"),
    ],
)
def test_a_client_is_audited_with_the_filter_that_it_has(
    library: str, client: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Installed by ``tox -e federated``; neither library is needed for anything else."""
    pytest.importorskip(library)
    monkeypatch.syspath_prepend(str(EXAMPLES))

    command = ["audit", "client", client, "--model", f"{client.partition(':')[0]}:make", "--json"]
    done = CliRunner().invoke(main, command)

    assert done.exit_code == 1, done.output
