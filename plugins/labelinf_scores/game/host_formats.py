"""Scorers as hosts of competitions write them, called with labels and predictions.

* Kaggle: ``score(solution, submission, row_id_column_name)`` of two data frames.
* EvalAI: ``evaluate(test_annotation_file, user_submission_file, phase_codename, **kwargs)`` of two CSV files; the first
  number in its ``result`` counts.
* CodaBench: a program that is run as ``PROGRAM INPUT OUTPUT``, reads ``ref/labels.csv`` and ``res/predictions.csv`` and
  writes ``scores.json`` or ``scores.txt``; the first number in it counts.

Predictions of one column are called ``prediction`` (``target`` for Kaggle), others by the number of their class.
"""

from __future__ import annotations

import inspect
import json
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["as_called", "of_codabench"]

_SECONDS = 60  # that a program may take for one answer
_KAGGLE = ("solution", "submission", "row_id_column_name")
_EVALAI = ("test_annotation_file", "user_submission_file", "phase_codename")

Called = Callable[[NDArray[Any], NDArray[np.float64]], Any]


def as_called(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a host's function as one of labels and predictions, by the names of its parameters."""
    try:
        names = tuple(inspect.signature(function).parameters)[:3]
    except (TypeError, ValueError):  # it does not tell
        return function
    if names == _KAGGLE:
        return lambda labels, predictions: function(*_frames(labels, predictions), "row_id")
    if names == _EVALAI:
        return lambda labels, predictions: _evaluated(function, labels, predictions)
    return function


def of_codabench(command: str) -> Called:
    """Return a scoring program as a function of labels and predictions."""

    def score(labels: NDArray[Any], predictions: NDArray[np.float64]) -> float:
        with tempfile.TemporaryDirectory() as folder:
            source, out = Path(folder, "input"), Path(folder, "output")
            for place in (source / "ref", source / "res", out):
                place.mkdir(parents=True)
            _write(source / "ref" / "labels.csv", {"label": labels})
            _write(source / "res" / "predictions.csv", _columns(predictions, "prediction"))
            subprocess.run(
                [*shlex.split(command), str(source), str(out)], check=True, timeout=_SECONDS, capture_output=True
            )
            if (out / "scores.json").exists():
                return _first_number(json.loads((out / "scores.json").read_text(encoding="utf-8")))
            return float((out / "scores.txt").read_text(encoding="utf-8").splitlines()[0].rpartition(":")[2])

    return score


def _evaluated(function: Callable[..., Any], labels: NDArray[Any], predictions: NDArray[np.float64]) -> float:
    with tempfile.TemporaryDirectory() as folder:
        truth, submission = Path(folder, "annotations.csv"), Path(folder, "submission.csv")
        _write(truth, {"label": labels})
        _write(submission, _columns(predictions, "prediction"))
        return _first_number(function(str(truth), str(submission), "test")["result"])


def _frames(labels: NDArray[Any], predictions: NDArray[np.float64]) -> tuple[Any, Any]:
    import pandas as pd

    ids = np.arange(labels.size)
    if predictions.ndim == 1:
        return pd.DataFrame({"row_id": ids, "target": labels}), pd.DataFrame({"row_id": ids, "target": predictions})
    hot = np.eye(predictions.shape[1])[labels]
    return (
        pd.DataFrame({"row_id": ids, **_columns(hot, "")}),
        pd.DataFrame({"row_id": ids, **_columns(predictions, "")}),
    )


def _columns(predictions: NDArray[np.float64], name: str) -> dict[str, NDArray[np.float64]]:
    if predictions.ndim == 1:
        return {name: predictions}
    return {str(k): predictions[:, k] for k in range(predictions.shape[1])}


def _write(path: Path, columns: Mapping[str, NDArray[Any]]) -> None:
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    lines = [",".join(("id", *columns)), *(",".join(map(repr, (at, *row))) for at, row in enumerate(rows))]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _first_number(found: Any) -> float:
    """Return the first number in what may be nested."""
    if isinstance(found, Mapping):
        found = list(found.values())
    if isinstance(found, (list, tuple)):
        for item in found:
            try:
                return _first_number(item)
            except TypeError:
                continue
        raise TypeError("there is no number")
    if isinstance(found, (int, float)):
        return float(found)
    raise TypeError("there is no number")
