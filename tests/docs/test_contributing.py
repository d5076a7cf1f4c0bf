"""The annotated attack of CONTRIBUTING.md runs as it stands there, and is listed by the file beside it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from labelinf_core.cli import main

TEXT = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
BLOCKS = dict(re.findall(r"```(\w+)\n(.*?)```", TEXT, re.DOTALL))
PLUGIN = """
from labelinf_core import Catalogue, hookimpl
labelinf_contract = 2

@hookimpl
def labelinf_catalogue():
    return Catalogue.read("contributed")
"""


@pytest.fixture
def contributed(install_fake: Callable[..., Path]) -> None:
    site = install_fake("contributed", entry="contributed", module="contributed_plugin", source=PLUGIN)
    package = site / "contributed"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "attack.py").write_text(BLOCKS["python"])
    (package / "catalogue.toml").write_text(BLOCKS["toml"])


def test_the_annotated_attack_is_about_twenty_lines() -> None:
    lines = [line for line in BLOCKS["python"].splitlines() if line.strip()]

    assert len(lines) <= 28


@pytest.mark.long
@pytest.mark.usefixtures("contributed")
def test_the_annotated_attack_recovers_labels_and_keeps_the_contract() -> None:
    played = CliRunner().invoke(main, ["attack", "one-by-one", "--labels", "made(n_records=30)", "--show", "0"])
    checked = CliRunner().invoke(main, ["plugins", "check", "contributed"])

    assert played.exit_code in (0, 1), played.output
    assert "30 of 30 labels" in played.output
    assert checked.exit_code == 0, checked.output
