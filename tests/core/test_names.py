"""One name, one meaning: no two classes of the product share a name."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def classes() -> Iterator[tuple[str, str]]:
    """Yield every public class with its file."""
    for room in ("labelinf", "labelinf_core", "plugins"):
        for path in sorted((ROOT / room).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    yield node.name, path.relative_to(ROOT).as_posix()


def test_one_class_name_is_one_class() -> None:
    found: dict[str, list[str]] = defaultdict(list)
    for name, path in classes():
        found[name].append(path)
    assert len(found) > 500
    assert {name: paths for name, paths in found.items() if len(paths) > 1} == {}


@pytest.mark.long
@pytest.mark.parametrize("name", ["Asker", "Bench", "Bout", "Field", "Knob", "Siege"])
def test_a_name_of_ours_has_made_way_for_the_fields_own(name: str) -> None:
    assert name not in dict(classes())
