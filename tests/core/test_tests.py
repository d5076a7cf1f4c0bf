"""A test can fail: it reaches something of the product, and not only the arithmetic of a paper."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
PRODUCT = ("labelinf", "labelinf_core", "labelinf_scores", "labelinf_gradients", "labelinf_outputs", "labelinf_privacy")
PRODUCT += ("labelinf_guard", "labelinf_data", "labelinf_papers", "labelinf_split")
OURSELVES = (
    "docs",
    "test_lines.py",
    "core/test_laws.py",
    "core/test_tests.py",
    "core/test_comparisons.py: test_no_reproduction",
    "report/test_in_a_browser.py: test_axe_sees",
)  #: about pages, sources and tests: they import nothing
SHIPPED = (
    "labelinf",
    "benchmarks",
    ".schema.json",
    "Dockerfile",
)  #: a text with one of these names the product, or a part of it
PLAIN = {"tmp_path", "monkeypatch", "capsys", "caplog", "request", "recwarn"}  #: fixtures that reach nothing


def _names(node: ast.AST) -> set[str]:
    """Return all names that a piece of a module uses; ``*`` where a text names what is shipped."""
    found = {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
    constants = [inner.value for inner in ast.walk(node) if isinstance(inner, ast.Constant)]
    texts = (str(value) for value in constants if type(value) in (str, bytes))
    return found | {"*" for text in texts if any(word in text for word in SHIPPED)}


def _given(function: ast.FunctionDef) -> set[str]:
    """Return the arguments that are fixtures."""
    decorators = [inner for mark in function.decorator_list for inner in ast.walk(mark)]
    written = " ".join(str(item.value) for item in decorators if isinstance(item, ast.Constant))
    return {arg.arg for arg in function.args.args if arg.arg not in written.replace(",", " ").split()}


def reaches_nothing(source: str) -> Iterator[str]:
    """Yield the tests of a module in which no name of the product is reached."""
    tree = ast.parse(source)
    known = {
        alias.asname or alias.name.split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
        if (getattr(node, "module", None) or alias.name).split(".")[0] in PRODUCT
    } | {"*"}
    uses: dict[str, set[str]] = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            _docstring, *body = node.body if ast.get_docstring(node) else [None, *node.body]
            used = set().union(*map(_names, [*body, *node.decorator_list]), set(_arguments(node)))
            uses[node.name] = used | (
                {"*"} if isinstance(node, ast.ClassDef) and set(map(ast.unparse, node.bases)) & known else set()
            )
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            for target in ast.walk(node):
                if isinstance(target, ast.Name) and isinstance(target.ctx, ast.Store):
                    uses[target.id] = _names(node)
    while more := {name for name, used in uses.items() if name not in known and used & known}:
        known |= more
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            fixtures = _given(node) - PLAIN - set(uses)
            if node.name not in known and not fixtures:
                yield node.name


def _arguments(node: ast.FunctionDef | ast.ClassDef) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef):
        yield from (arg.arg for arg in node.args.args)


@pytest.mark.long
def test_every_test_reaches_something_of_the_product() -> None:
    idle = [
        test
        for file in sorted(TESTS.rglob("test_*.py"))
        for name in reaches_nothing(file.read_text(encoding="utf-8"))
        if not (test := f"{file.relative_to(TESTS)}: {name}").startswith(OURSELVES)
    ]
    assert idle == []


def test_the_walk_finds_what_only_does_the_arithmetic_of_a_paper() -> None:
    source = """
from labelinf_core import thing
import math

def helper(x):
    return thing(x)

def test_one():
    '''labelinf is named here only.'''
    assert math.log(2) < 1

def test_two():
    assert helper(1)

def test_three(fixture):
    assert fixture
"""
    assert list(reaches_nothing(source)) == ["test_one"]


def test_every_planted_fault_stands_once_in_the_code_it_is_planted_into() -> None:
    """A line that was rewritten left a fault behind that could not be planted; only the long run said so."""
    planted = tomllib.loads((TESTS.parent / ".ci" / "mutants.toml").read_text(encoding="utf-8"))["planted"]
    assert planted
    assert [
        item for item in planted if (TESTS.parent / item["file"]).read_text(encoding="utf-8").count(item["before"]) != 1
    ] == []
