"""A host's function of tables on her own table, with a submission that lies beside it or is made."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from labelinf_core.contracts.errors import InputError
from labelinf_core.contracts.labels import LabelSet
from labelinf_core.specs.own_code import own_function
from labelinf_scores.audit.grader import GraderReport, audited_grader
from labelinf_scores.game.grader_folders import found_tables
from labelinf_scores.game.host_tables import HostTable, read_table
from labelinf_scores.game.solution import Solution

__all__ = ["graded", "own_tables", "takes_one_column"]


def own_tables(scorer: str, table: str, column: str, data: LabelSet, *, beside: bool = True) -> Iterator[HostTable]:
    """Yield a host's tables: with a submission that lies beside hers, or made ones of chances and of classes.

    Args:
        scorer: ``module:function``.
        table: Her file.
        column: Its column of labels; empty: the one that holds them.
        data: All labels that are not ignored.
        beside: Whether to look for that submission.

    Raises:
        InputError: The table has no column that names its rows.
    """
    path, solution = Path(table), Solution.read(table, column, data)
    function, true, targets = own_function(scorer, "scorer"), read_table(path), (solution.label,)
    if beside:
        with contextlib.suppress(InputError):
            yield HostTable.of_tables(function, true, read_table(found_tables(path.parent, path, None)[1]), targets)
    if solution.key not in true:
        raise InputError(f"{table} has no column that names its rows, and {scorer} takes tables.")
    for value in (0.5, true[solution.label].iloc[0]):
        shown = true[[solution.key]].assign(**{solution.label: value})
        yield HostTable.of_tables(function, true, shown, targets)


def takes_one_column(scorer: str, table: str, column: str, data: LabelSet) -> bool:
    """Whether a function scores a submission of one column of predictions, as boards have it."""
    tables = own_tables(scorer, table, column, data, beside=False)
    return any(np.isfinite(each.answer(each.truth, each.predicted)).all() for each in tables)


def graded(scorer: str, table: str, column: str, data: LabelSet, *, queries: int = 0) -> GraderReport:
    """Audit a host's function on her own table, with the first submission that it scores.

    Raises:
        InputError: It scores none.
    """
    fault = InputError(f"{scorer} scores no submission that can be made.")
    for each in own_tables(scorer, table, column, data):
        try:
            return audited_grader(scorer, each, queries=queries)
        except InputError as error:
            fault = error
    raise InputError(f"{fault} Put a submission that it scores beside {table}, if it needs more columns than that.")
