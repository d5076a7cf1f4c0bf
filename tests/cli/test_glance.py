"""``labelinf --help`` lists what plugins bring beside the core's commands, and loads none of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from labelinf_core.cli import main
from labelinf_core.plugin.host import Host

CATALOGUE = """
[command.sow]
summary = "Sow something."
target = ".nowhere:sow"

[command.grouped]
group = "audit"
summary = "Not at the top."
target = ".nowhere:grouped"
"""


def helped() -> str:
    """What help prints, whatever the width of its columns."""
    return " ".join(CliRunner().invoke(main, ["--help"]).output.split())


def test_every_command_of_a_shipped_catalogue_is_listed_with_its_line() -> None:
    for command in Host.load().commands():
        if not command.group:
            assert f"{command.name} {command.summary[:20]}" in helped()


def test_an_outside_command_is_listed_and_a_blocked_plugins_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sower").mkdir()
    (tmp_path / "sower" / "__init__.py").write_text("raise ImportError('nobody imports me')")
    (tmp_path / "sower" / "catalogue.toml").write_text(CATALOGUE)
    (tmp_path / "sower-1.0.dist-info").mkdir()
    (tmp_path / "sower-1.0.dist-info" / "entry_points.txt").write_text("[labelinf]\nsower = sower.plugin\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert "sow Sow something." in helped()
    assert "grouped" not in helped()
    monkeypatch.setenv("LABELINF_BLOCK", "sower")
    assert "Sow something." not in helped()
