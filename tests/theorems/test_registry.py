"""Every published statement is in the registry, and what it names exists."""

from __future__ import annotations

import ast
import functools
import importlib
from pathlib import Path

import pytest

from labelinf_core import Statement, Status
from labelinf_core.plugin.host import Host

ROOT = Path(__file__).parents[2]
STATEMENTS = Host.load(strict=True).statements()
EXPECTED = {
    "the score papers": {f"S{n}" for n in (*range(1, 28), *range(30, 53))},
    "the gradient channel": {*(f"G{n}" for n in range(1, 26)), *(f"E{n}" for n in range(1, 12))},
    "the model-output channel": {*(f"E{n}" for n in range(12, 20)), *(f"T{n}" for n in range(9, 13))},
}

every_statement = pytest.mark.parametrize("statement", STATEMENTS, ids=lambda item: item.key)


@functools.cache
def functions_in(path: Path) -> frozenset[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def test_no_two_statements_share_a_key() -> None:
    keys = [item.key for item in STATEMENTS]

    assert len(keys) == len(set(keys))


@pytest.mark.parametrize("source", EXPECTED)
def test_every_statement_is_there(source: str) -> None:
    assert EXPECTED[source] - {item.key for item in STATEMENTS} == set()


@every_statement
def test_the_code_it_names_exists(statement: Statement) -> None:
    assert statement.code, f"{statement.key} names no code"
    for target in statement.code:
        module, _, attribute = target.partition(":")
        found = importlib.import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
        assert found.__doc__, f"{target} has no docstring"


@every_statement
def test_the_tests_it_names_exist(statement: Statement) -> None:
    assert statement.tests, f"{statement.key} names no test"
    for target in statement.tests:
        path, _, name = target.partition("::")
        functions = functions_in(ROOT / path)
        assert name in functions if name else any(f.startswith("test_") for f in functions), target


@every_statement
def test_what_is_not_true_as_printed_shows_why(statement: Statement) -> None:
    assert (statement.status is Status.OK) or statement.counterexample
    assert statement.worked or statement.counterexample
