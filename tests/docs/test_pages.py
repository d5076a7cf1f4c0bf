"""The pages that are written by a command say what the plugins say, and British English is spelt in all of them."""

from __future__ import annotations

import ast
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def generate(loaded: Callable[[Path], ModuleType]) -> ModuleType:
    return loaded(ROOT / "docs" / "generate.py")


def test_the_committed_pages_are_fresh(generate: ModuleType) -> None:
    assert [page.name for page in generate.stale()] == [], "python docs/generate.py writes them anew"


def test_the_committed_pictures_are_what_is_computed(generate: ModuleType, tmp_path: Path) -> None:
    assert generate.undrawn() == {}
    assert [file.name for file in generate.undrawn(tmp_path)] == ["auditor.svg"]


def test_a_page_that_says_something_else_is_stale(generate: ModuleType, tmp_path: Path) -> None:
    for name in generate.TABLES:
        shutil.copy(ROOT / "docs" / f"{name}.md", tmp_path)
    errata = tmp_path / "errata.md"
    errata.write_text(errata.read_text().replace("| S16 |", "| S61 |"))

    assert {page.name: "| S16 |" in wanted for page, wanted in generate.stale(tmp_path).items()} == {"errata.md": True}


def test_a_page_without_its_marker_is_refused(generate: ModuleType, tmp_path: Path) -> None:
    for name in generate.TABLES:
        (tmp_path / f"{name}.md").write_text("# Nothing\n")

    with pytest.raises(SystemExit, match=r"theory\.md has lost its marker"):
        generate.stale(tmp_path)


AMERICAN = re.compile(
    r"\b(?:defense|behavior|color(?!ama)|favor|neighbor|center|gray|labeling|labeled|modeling|modeled|canceled|artifact|catalog\b"
    r"|(?:un|de|re)?(?:random|normal|minim|maxim|optim|quant|memor|general|regular|serial|summar|recogn|organ|factor|local"
    r"|special|real|parallel|category|synchron|standard|visual|analog|symbol|anonym|initial|linear)iz(?:e|es|ed|er|ing|ation)"
    r"|analyz(?:e|es|ed|ing))s?\b",
    re.IGNORECASE,
)
CODE = re.compile(r"```.*?```|``?[^`\n]+``?|https?://\S+|\(\S+\.md\)", re.DOTALL)


def prose() -> dict[str, str]:
    """Return what people read: the pages, and the docstrings of the code, without the code in them."""
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    texts = {str(page.relative_to(ROOT)): page.read_text(encoding="utf-8") for page in pages}
    for path in (*ROOT.glob("labelinf_core/**/*.py"), *ROOT.glob("plugins/**/*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
        docs = [ast.get_docstring(node) or "" for node in ast.walk(tree) if isinstance(node, documented)]
        texts[str(path.relative_to(ROOT))] = "\n".join(docs)
    return {place: CODE.sub(" ", text) for place, text in texts.items()}


@pytest.mark.long
def test_the_spelling_is_british() -> None:
    found = {place: sorted({*AMERICAN.findall(text)}) for place, text in prose().items()}

    assert {place: words for place, words in found.items() if words} == {}


@pytest.mark.parametrize("word", ["defense", "Randomized", "normalization", "behaviors", "analyzed", "unnormalized"])
def test_american_forms_are_noticed(word: str) -> None:
    assert AMERICAN.search(f"a {word} here")


@pytest.mark.parametrize(
    "word", ["defence", "size", "prize", "randomised", "resized", "seized", "catalogue", "centred"]
)
def test_british_forms_are_left_alone(word: str) -> None:
    assert not AMERICAN.search(f"a {word} here")
