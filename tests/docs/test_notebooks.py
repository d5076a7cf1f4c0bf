"""The notebooks run from top to bottom, and what ends a cell can be shown."""

from __future__ import annotations

import ast
import json
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "examples" / "notebooks").glob("*.ipynb"))


def run(source: str, names: dict[str, Any]) -> Any:
    """Run a cell; return the value of the expression that ends it."""
    body = ast.parse(source).body
    last = body.pop() if isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body=body, type_ignores=[]), "cell", "exec"), names)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names) if last is not None else None


@pytest.mark.parametrize(
    "notebook",
    [pytest.param(path, id=path.stem, marks=[pytest.mark.slow] * (path.stem == "scores")) for path in NOTEBOOKS],
)
def test_every_cell_runs_and_shows_what_it_ends_with(notebook: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", module)
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]

    shown = [run("".join(cell["source"]), vars(module)) for cell in cells if cell["cell_type"] == "code"]

    pages = [value._repr_html_() for value in shown if value is not None]
    assert len(pages) >= 2
    assert any("<svg" in page for page in pages)


PAGE = Path(__file__).parents[2] / "docs" / "notebook.md"  # a notebook, played when the pages are built


@pytest.mark.long
def test_the_page_of_examples_runs_and_every_example_ends_with_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", module)
    cells = re.findall(r"```{code-cell} python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)

    _, audit, gradient, played, frame, proved, planted = [run(cell, vars(module)) for cell in cells]

    assert "by spaced-ranks" in str(audit)
    assert "1 unique" in repr(gradient)
    assert "binary-weights" in str(played)
    assert list(frame["verdict"]) == ["held so far", "broken, certified"] * 2
    assert "76.0 % of labels" in str(proved)
    assert "REFUTED" in str(planted)


def test_there_is_one_for_each_task() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["gradients", "outputs", "scores"]
