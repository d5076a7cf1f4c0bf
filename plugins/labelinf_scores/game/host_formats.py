"""Scorers as hosts of competitions write them, called with labels and predictions.

* Kaggle: ``score(solution, submission, row_id_column_name)`` of two data frames.
* EvalAI: ``evaluate(test_annotation_file, user_submission_file, phase_codename, **kwargs)`` of two CSV files; the
  numbers in its ``result`` count.

Programs that read and write files are run by :mod:`labelinf_scores.game.host_programs`.

Labels are called ``label`` (``target`` for Kaggle), predictions of one column ``prediction`` (``target``), unless the
scorer is named with a column, as in ``module:function@column``; others by the number of their class. Of several numbers
that have names, one is scored (:func:`one_of`).
"""

from __future__ import annotations

import csv
import functools
import inspect
import numbers
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["HostError", "as_called", "columns_of", "one_of", "write_table"]

_KAGGLE = ("solution", "submission", "row_id_column_name")
_EVALAI = ("test_annotation_file", "user_submission_file", "phase_codename")
_SEVERAL = 8  # numbers that a tuple may hold; more are taken for labels

Called = Callable[[NDArray[Any], NDArray[np.float64]], Any]


class HostError(Exception):
    """What a host's scorer did wrong, as a clause in our own words, which hold no label."""


def as_called(function: Callable[..., Any], column: str = "") -> Callable[..., Any]:
    """Return a host's function as one of labels and predictions, by the names of its parameters.

    Args:
        function: The host's.
        column: What labels and predictions of one column are called in its tables; empty: as said above.
    """
    try:
        names = tuple(inspect.signature(function).parameters)[:3]
    except (TypeError, ValueError):  # it does not tell
        return function
    if names == _KAGGLE:
        tables, columns = functools.partial(_framed, function), (column or "target",) * 2
    elif names == _EVALAI:
        tables, columns = functools.partial(_evaluated, function), (column or "label", column or "prediction")
    else:
        return function

    def called(labels: NDArray[Any], predictions: NDArray[np.float64]) -> Any:
        try:
            return tables(labels, predictions, *columns)
        except (KeyError, AttributeError) as error:  # which key, may be a label
            told = " and ".join(dict.fromkeys(map(repr, columns)))
            raise HostError(
                f"raised {type(error).__name__}; in its tables labels and predictions are called {told}: "
                f"if it wants another name, add that, as in MODULE:FUNCTION@NAME."
            ) from error

    return called


def _evaluated(
    function: Callable[..., Any], labels: NDArray[Any], predictions: NDArray[np.float64], truth: str, guess: str
) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        annotations, submission = Path(folder, "annotations.csv"), Path(folder, "submission.csv")
        write_table(annotations, {truth: labels})
        write_table(submission, columns_of(predictions, guess))
        return {"": function(str(annotations), str(submission), "test")["result"]}


def _framed(
    function: Callable[..., Any], labels: NDArray[Any], predictions: NDArray[np.float64], truth: str, guess: str
) -> Any:
    import pandas as pd

    ids = np.arange(labels.size)
    true = {truth: labels} if predictions.ndim == 1 else columns_of(np.eye(predictions.shape[1])[labels], "")
    solution, submission = (
        {"row_id": ids, **true},
        {"row_id": ids[: len(predictions)], **columns_of(predictions, guess)},
    )
    return function(pd.DataFrame(solution), pd.DataFrame(submission), "row_id")


def columns_of(predictions: NDArray[np.float64], name: str) -> dict[str, NDArray[np.float64]]:
    """Return predictions by the names of their columns: one of that name, or classes by their numbers."""
    if predictions.ndim == 1:
        return {name: predictions}
    return {str(k): predictions[:, k] for k in range(predictions.shape[1])}


def write_table(path: Path, columns: Mapping[str, NDArray[Any]], ids: str = "id") -> None:
    """Write a table of such columns after one of row numbers, which is called ``ids``."""
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow((ids, *columns))
        writer.writerows((at, *row) for at, row in enumerate(rows))


def one_of(found: Any, name: str) -> tuple[Any, tuple[str, ...]]:
    """Return the number that is meant of what a scorer returned, and what all are called where there are several.

    Args:
        found: A number, a few in a tuple, or numbers by name, which may be nested as EvalAI nests them.
        name: Of the one that is meant; empty: the first.

    Raises:
        KeyError: There is none of that name; its argument lists those that there are.
    """
    if isinstance(found, tuple) and 1 < len(found) <= _SEVERAL:
        found = {str(place): number for place, number in enumerate(found)}
    if not isinstance(found, Mapping):
        return found, ()
    told = list(_named(found, ()))
    short = [path[-1] for path, _ in told]
    # The last part of a name tells numbers apart, or the whole of it does, or their places do.
    names = short if len(set(short)) == len(short) else [".".join(path) for path, _ in told]
    names = names if len(set(names)) == len(names) else [f"{each}.{place}" for place, each in enumerate(names)]
    if not told or (name and name not in names):
        raise KeyError(", ".join(names))
    return told[names.index(name) if name else 0][1], tuple(names) if len(names) > 1 else ()


def _named(found: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield every number in what may be nested, with the names that lead to it."""
    if isinstance(found, Mapping):
        for key, value in found.items():
            yield from _named(value, (*path, str(key)) if key else path)
    elif isinstance(found, (list, tuple)):
        for value in found:
            yield from _named(value, path)
    elif isinstance(found, numbers.Real) and not isinstance(found, bool):
        yield path or ("score",), found
