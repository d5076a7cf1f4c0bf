"""Every published statement is in the registry, and what it names exists."""

from __future__ import annotations

import ast
import functools
import importlib
from pathlib import Path

import pytest
from click.testing import CliRunner

from labelinf_core import Statement, StatementStatus
from labelinf_core.cli import main
from labelinf_core.contracts.errors import UnknownNameError
from labelinf_core.plugin.host import Host
from labelinf_core.report.statements import called_to_mind, names

ROOT = Path(__file__).parents[2]
HOST = Host.load(strict=True)
STATEMENTS = HOST.statements()
EXPECTED = {
    "the score channel": {f"S{n}" for n in (*range(1, 28), *range(30, 53))} | {f"R{n}" for n in range(1, 15)},
    "metrics and logs": {f"M{n}" for n in range(1, 45)},
    "the gradient channel": {*(f"G{n}" for n in range(1, 26)), *(f"E{n}" for n in range(1, 12))},
    "the model-output channel": {*(f"E{n}" for n in range(12, 20)), *(f"T{n}" for n in range(9, 13))},
    "split learning": {*(f"V{n}" for n in range(1, 18)), "V1b", "V1c", "V5b"},
}

PAPERS = tuple(
    f"test_{paper}_"
    for paper in ("icml2021", "aistats2022", "iclr2024", "blia2025", "kalemaj2025", "steinke2023", "ours")
)

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
    assert (statement.status is StatementStatus.OK) or statement.counterexample
    assert statement.worked or statement.counterexample


def printed_references() -> set[str]:
    """What a report may print: strings in the code that begin with a known work, and the catalogue's references."""
    references = {item.descriptor.reference for item in HOST.catalogue()}
    works = tuple({"labelinf theory, ", *(item.work for item in references if "20" in item.work)})
    written = {str(item) for item in references}
    for path in (*ROOT.glob("labelinf_core/**/*.py"), *ROOT.glob("plugins/**/*.py")):
        text = path.read_text(encoding="utf-8")
        if not any(work in text for work in works):
            continue
        tree = ast.parse(text)
        prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
                written |= {node.value} if node.value.startswith(works) else set()
    return written


@pytest.mark.parametrize("reference", sorted(printed_references()))
def test_every_reference_that_is_printed_can_be_looked_up(reference: str) -> None:
    statements, components = called_to_mind(HOST, reference)

    assert statements or components
    assert names(reference, statements, components)  # so that "show" shows it


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("S16", {"S16"}),
        ("s16", {"S16"}),
        ("I-9", {"S16"}),
        ("ICML Theorem 3", {"S9", "S10"}),
        ("thm 7 aistats", {"S48"}),
        ("Lemma 7 icml 2021", {"S16"}),
        ("closest squarefree", {"S41"}),
        ("labelinf theory, maximum entropy", {"R4"}),
        ("Aggarwal et al., ICML 2021, Theorem 4", {"S13"}),
        ("BLIA table 5", {"T12"}),
    ],
)
def test_a_statement_is_found_by_what_people_remember(text: str, keys: set[str]) -> None:
    statements, _ = called_to_mind(HOST, text)

    assert {item.key for item in statements} == keys


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("show", "UNKNOWN"), 2),  # a word that several mention names none of them
        (("UNKNOWN",), 0),  # and is a search
        (("show", "M18"), 0),
        (("show", "ICML Theorem 3"), 0),  # two by that name
        (("show", "M5, M8: labelinf theory, counting"), 0),
    ],
)
def test_show_names_and_words_alone_search(words: tuple[str, ...], status: int) -> None:
    told = CliRunner().invoke(main, ["theorems", *words])
    assert told.exit_code == status
    assert ("near: M32, R8" in told.stderr) == (status == 2)


@pytest.mark.parametrize("text", ["nonsense", "ICML Theorem 99", "et al."])
def test_what_is_not_there_is_not_found(text: str) -> None:
    with pytest.raises(UnknownNameError, match=f"no statement is called '{text}'"):
        called_to_mind(HOST, text)


@every_statement
def test_the_tests_of_a_paper_are_found_by_its_name(statement: Statement) -> None:
    """tests/theorems holds files such as test_icml2021_theorem_7.py."""
    for target in statement.tests:
        folder, _, name = target.partition("::")[0].rpartition("/")
        assert folder != "tests/theorems" or name.startswith(PAPERS)
