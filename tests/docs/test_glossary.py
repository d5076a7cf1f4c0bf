"""What the glossary says of names is so: each is there, and stands for one thing."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAMED = re.findall(r"\(`(labelinf_\w[\w.]*):(\w+)`\)", (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8"))
SAME_IN_EVERY_ROOM = {"ActiveDefence"}


def _classes() -> dict[str, set[str]]:
    """Return the modules that define each public class."""
    found: dict[str, set[str]] = {}
    for root in (ROOT / "labelinf_core", ROOT / "plugins"):
        for file in root.rglob("*.py"):
            for item in ast.parse(file.read_text(encoding="utf-8")).body:
                if isinstance(item, ast.ClassDef):
                    found.setdefault(item.name, set()).add(str(file))
    return found


CLASSES = _classes()


@pytest.mark.parametrize(("module", "name"), NAMED)
def test_a_name_is_there_and_stands_for_one_thing(module: str, name: str) -> None:
    assert hasattr(importlib.import_module(module), name)
    assert len(CLASSES[name]) == 1 or name in SAME_IN_EVERY_ROOM


def test_the_glossary_names_something() -> None:
    assert len(NAMED) > 20
