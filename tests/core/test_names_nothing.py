"""The core names no channel, attack, defence, loss or label source: what a channel knows stands in its own room."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

import labelinf_core
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host

CORE = Path(labelinf_core.__file__).parent
FILES = sorted(file for file in CORE.rglob("*") if file.is_file() and file.suffix != ".pyc")
PROVIDED = [item.descriptor for item in Host.load().catalogue()]
WORDS_OF = (Kind.CHANNEL, Kind.ATTACK, Kind.DEFENCE, Kind.LABELS, Kind.LOSS)
NAMES = {item.name for item in PROVIDED if item.kind in WORDS_OF or "-" in item.name}
ROOMS = {item.target.partition(".")[0] for item in PROVIDED}
WORD = re.compile(r"(?<![\w-])[a-z][a-z0-9]*(?:-[a-z0-9]+)*(?![\w-])")
FORMATS = {"csv"}  # a format that results are written in, and a module; also what a label source reads


def said(file: Path) -> Iterator[tuple[int, str]]:
    """Yield every string, docstring and comment of a module with its line; of any other file, every line."""
    source = file.read_text()
    if file.suffix != ".py":
        yield from enumerate(source.splitlines(), 1)
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value.replace(">>> round(", "")  # Python's own
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string.lstrip("# ")


def named(text: str) -> set[str]:
    """Return the components that ``text`` names: alone, called, quoted, hyphenated, or as a channel; and their rooms.

    A word of English that some component is also called, in the middle of a sentence, names nothing.
    """
    found = {room for room in ROOMS if re.search(rf"\b{room}\b", text)}
    for match in WORD.finditer(text):
        word, after = match[0], text[match.end() :]
        alone = text.strip() == word
        called = after.startswith(("(", "'", '"', "`", " channel"))
        if word in NAMES and word not in FORMATS and (alone or called or "-" in word):
            found.add(word)
    return found


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(CORE)))
def test_no_text_of_the_core_names_a_component(file: Path) -> None:
    assert [(line, names) for line, text in said(file) if (names := named(text))] == []


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("score", {"score"}),
        ("clip(epsilon=", {"clip"}),
        ("for the score channel: ", {"score"}),
        ("for example 'round'", {"round"}),
        ("for example ``ladder``", {"ladder"}),
        ("such as breast-cancer.", {"breast-cancer"}),
        ("see labelinf_scores.game", {"labelinf_scores"}),
        ("a score averages", set()),
        ("score_of", set()),
    ],
)
def test_a_text_that_names_a_component_is_found(text: str, names: set[str]) -> None:
    assert named(text) == names
