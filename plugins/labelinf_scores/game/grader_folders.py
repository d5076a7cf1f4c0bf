"""A folder of a benchmark: its grader, its answers and its sample submission, found by what they hold.

Nothing is executed to find them: programs are parsed, and tables are read. A grader is a function ``grade``, ``score``
or ``evaluate`` of labels and predictions; answers and sample are two tables that name the same rows and share a column
more.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from labelinf_core.contracts.errors import InputError
from labelinf_core.contracts.regular import read_regular
from labelinf_scores.game.host_tables import private_columns, read_table
from labelinf_scores.game.signatures import ArgumentRole, roles_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["GRADERS", "found_grader", "found_tables"]

GRADERS = ("grade", "score", "evaluate")  #: what a grader is called, the likeliest first
_MOST = 200  # files of a kind that are looked at


def found_grader(folder: Path) -> str:
    """Return the one grader of a folder, as ``FILE.py:FUNCTION``.

    Raises:
        InputError: There is none, or there are several.
    """
    named = [f"{path}:{name}" for path in _files(folder, "*.py") if (name := _grades(path))]
    if not named:
        raise InputError(
            f"{folder}: no file of Python in it has a function {', '.join(GRADERS)} of labels and predictions; name "
            f"yours instead of the folder: FILE.py:FUNCTION, with --solution FILE and --sample FILE."
        )
    if len(named) > 1:
        raise InputError(
            f"{folder}: has several graders ({', '.join(named)}); name one instead of the folder, with --solution FILE "
            f"and --sample FILE."
        )
    return named[0]


def found_tables(folder: Path, solution: Path | None, sample: Path | None) -> tuple[Path, Path]:
    """Return the tables of answers and of a sample submission.

    Args:
        folder: Where those are that are not given.
        solution: The answers; None: to be found.
        sample: The sample; None: to be found.

    Raises:
        InputError: There is no such pair, or there are several.
    """
    if solution is not None and sample is not None:
        return solution, sample
    tables = dict(_tables(path for path in (*_files(folder, "*.csv"), solution, sample) if path is not None))
    pairs = [
        (true, shown)
        for true in tables
        for shown in tables
        if true != shown and solution in (None, true) and sample in (None, shown)
        if _pair(tables[true], tables[shown])
    ]
    if len(pairs) > 1:  # what is called a sample is one
        pairs = [(true, shown) for true, shown in pairs if solution == true or not _sampled(true)]
        pairs = [pair for pair in pairs if _sampled(pair[1])] or pairs
    if len(pairs) > 1:  # what is the same in every row is no answer
        pairs = [(true, shown) for true, shown in pairs if _varied(tables[true]) > _varied(tables[shown])] or pairs
    if len(pairs) == 1:
        return pairs[0]
    option = "--sample FILE" if solution else "--solution FILE" if sample or any(map(_sampled, tables)) else ""
    option = option or "--solution FILE and --sample FILE"
    why = "several tables in it may be" if pairs else "no two tables in it name the same rows and share a column, as do"
    raise InputError(f"{folder}: {why} the answers and a sample submission; give {option}.")


def _files(folder: Path, pattern: str) -> list[Path]:
    found = sorted(path for path in folder.rglob(pattern) if path.is_file())
    if len(found) > _MOST:
        raise InputError(f"{folder}: has {len(found)} files {pattern}; name the grader, --solution and --sample.")
    return found


def _grades(path: Path) -> str:
    """Return which function of a file grades; empty: none. The file is not executed."""
    try:
        body = ast.parse(read_regular(path)).body
    except (OSError, SyntaxError, ValueError):
        return ""
    told = {}
    for each in body:
        if isinstance(each, ast.FunctionDef):
            names = (*each.args.posonlyargs, *each.args.args, *each.args.kwonlyargs)
            told[each.name] = set(roles_of(tuple(name.arg for name in names)).values())
    return next(
        (name for name in GRADERS if {ArgumentRole.LABELS, ArgumentRole.PREDICTIONS} <= told.get(name, set())), ""
    )


def _tables(paths: Iterable[Path]) -> Iterator[tuple[Path, pd.DataFrame]]:
    """Yield the tables that can be read."""
    for path in paths:
        try:
            yield path, read_table(path)
        except InputError:
            continue


def _pair(true: pd.DataFrame, shown: pd.DataFrame) -> bool:
    try:
        return all(name in shown for name in private_columns(true, shown))
    except InputError:
        return False


def _sampled(path: Path) -> bool:
    return "sample" in path.stem.lower()


def _varied(table: pd.DataFrame) -> int:
    return int(table.nunique().sum())
