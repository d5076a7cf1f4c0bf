"""The core names no channel, attack, defence, loss or label source: what a channel knows stands in its own room."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import labelinf_core
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host

CORE = Path(labelinf_core.__file__).parent
KINDS = (Kind.CHANNEL, Kind.ATTACK, Kind.DEFENCE, Kind.LABELS, Kind.LOSS)
NAMES = {item.descriptor.name: kind for kind in KINDS for item in Host.load().catalogue(kind)}
WORD = re.compile(r"(?<![\w-])[a-z][a-z0-9]*(?:-[a-z0-9]+)*(?![\w-])")
FORMATS = {"csv"}  # a format that results are written in, and a module; also what a label source reads


def literals(source: str) -> Iterator[tuple[int, str]]:
    """Yield every string in ``source`` that is no docstring, with its line."""
    tree = ast.parse(source)
    bodies = [node.body for node in ast.walk(tree) if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)]
    said = {id(body[0].value) for body in bodies if body and isinstance(body[0], ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
            yield node.lineno, node.value


def named(text: str) -> set[str]:
    """Return the components that ``text`` names: alone, called, quoted, hyphenated, or as a channel.

    A word of English that some component is also called, in the middle of a sentence, names nothing.
    """
    found = set()
    for match in WORD.finditer(text):
        word, before, after = match[0], text[: match.start()], text[match.end() :]
        alone = not before.strip() and not after.strip()
        called = after.startswith(("(", "'", '"', " channel")) or before.endswith(("'", '"'))
        if word in NAMES and word not in FORMATS and (alone or called or "-" in word):
            found.add(word)
    return found


@pytest.mark.parametrize("file", sorted(CORE.rglob("*.py")), ids=lambda file: str(file.relative_to(CORE)))
def test_no_string_of_the_core_names_a_component(file: Path) -> None:
    assert [(line, names) for line, text in literals(file.read_text()) if (names := named(text))] == []


@pytest.mark.parametrize("file", sorted(CORE.rglob("*.jinja")), ids=lambda file: str(file.relative_to(CORE)))
def test_no_template_of_the_core_names_a_component(file: Path) -> None:
    assert [word for word in WORD.findall(file.read_text()) if word in NAMES and "-" in word] == []


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("score", {"score"}),
        ("clip(epsilon=", {"clip"}),
        ("for the score channel: ", {"score"}),
        ("for example 'round'", {"round"}),
        ("such as breast-cancer.", {"breast-cancer"}),
        ("a score averages", set()),
        ("score_of", set()),
    ],
)
def test_a_string_that_names_a_component_is_found(text: str, names: set[str]) -> None:
    assert named(text) == names
