"""A host's scoring program that reads files and writes files, or prints: of CodaBench, in a container, or any other.

It is run once for every answer. ``{input}``, ``{output}``, ``{labels}`` and ``{predictions}`` in its command become the
paths of two folders and of two tables in the first; a command that has none of them is run as ``PROGRAM INPUT OUTPUT``.
What counts is what it writes into the output folder, or else the last lines that it prints.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelinf_scores.game.host_files import HostError, columns_of, write_table

__all__ = ["program_of_files"]

_SECONDS = 60  # that a program may take for one answer
_SCORES = ("scores.json", "scores.txt", "metrics.json")  # which count where there are others
_LINE = re.compile(r"(?:(?P<name>[^:=]+?)\s*[:=])?\s*(?P<value>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*")

Called = Callable[[NDArray[Any], NDArray[np.float64]], Any]


def program_of_files(command: str, columns: str = "") -> Called:
    """Return a scoring program as a function of labels and predictions.

    Args:
        command: The program and its arguments; no shell reads them.
        columns: What labels, predictions of one column and row numbers are called in its tables, with commas between;
            one name is that of labels and predictions; empty: ``label``, ``prediction``, ``id``.
    """
    truth, *more = [name.strip() for name in columns.split(",")] if columns else ["label", "prediction"]
    guess, ids, *_ = (*more, *(truth, "id")[len(more) :])

    def score(labels: NDArray[Any], predictions: NDArray[np.float64]) -> Any:
        given = columns_of(predictions, guess)
        with tempfile.TemporaryDirectory() as folder:
            source, out = Path(folder, "input"), Path(folder, "output")
            paths = {"labels": source / "ref" / "labels.csv", "predictions": source / "res" / "predictions.csv"}
            for place in (source / "ref", source / "res", out):
                place.mkdir(parents=True)
            write_table(paths["labels"], {ids: np.arange(len(labels)), truth: labels})
            write_table(paths["predictions"], {ids: np.arange(len(predictions)), **given})
            printed = _run(_arguments(command, {**paths, "input": source, "output": out}), (ids, truth, *given))
            return _written(out) or _printed(printed)

    return score


def _arguments(command: str, paths: dict[str, Path]) -> list[str]:
    """Return the words of a command with its places filled in; without any, the two folders are its last words."""
    words = shlex.split(command)
    filled = [re.sub(r"\{(\w+)\}", lambda found: str(paths.get(found[1], found[0])), word) for word in words]
    return filled if filled != words else [*words, str(paths["input"]), str(paths["output"])]


def _run(arguments: list[str], columns: tuple[str, ...]) -> str:
    ids, truth, *given = columns
    try:
        run = subprocess.run(arguments, check=False, timeout=_SECONDS, capture_output=True)
    except FileNotFoundError:
        raise HostError(f"names the program {arguments[0]!r}, which is not there.") from None
    except PermissionError:
        raise HostError(f"names {arguments[0]!r}, which may not be run: no program, or not marked as one.") from None
    except subprocess.TimeoutExpired:
        raise HostError(f"took more than {_SECONDS} s for one answer.") from None
    if run.returncode:
        raise HostError(
            f"ended with status {run.returncode}; it is run as PROGRAM INPUT OUTPUT, or with the paths that {{input}}, "
            f"{{output}}, {{labels}} and {{predictions}} stand for: INPUT/ref/labels.csv (columns {ids}, {truth}) and "
            f"INPUT/res/predictions.csv ({ids}, {', '.join(given)}). Other columns are named after it, as in "
            f"PROGRAM@LABEL,PREDICTION,ID."
        )
    return run.stdout.decode("utf-8", "replace")


def _written(out: Path) -> Any:
    """Return what a scoring program wrote; nothing where it wrote no file."""
    files = sorted(path for path in out.rglob("*") if path.is_file())
    chosen = next((path for name in _SCORES for path in files if path.name == name), None)
    if chosen is None and files:
        if len(files) > 1 or files[0].suffix not in (".json", ".txt"):
            raise HostError(f"wrote no {', '.join(_SCORES)} into OUTPUT, and not one .json or .txt file alone.")
        chosen = files[0]
    if chosen is None:
        return None
    text = chosen.read_text(encoding="utf-8", errors="replace")
    if chosen.suffix == ".txt":
        return _lines(text.splitlines()) or {}
    try:
        return json.loads(text)
    except ValueError:
        raise HostError(f"wrote a {chosen.suffix} file that cannot be read.") from None


def _printed(text: str) -> Any:
    """Return the numbers in the last lines that a program printed, or one JSON document."""
    lines = [line for line in text.splitlines() if line.strip()]
    for document in (text, *lines[-1:]):
        try:
            return json.loads(document)
        except ValueError:
            continue
    last = next((at for at in range(len(lines), 0, -1) if not _LINE.fullmatch(lines[at - 1].strip())), 0)
    if not lines[last:]:
        raise HostError("wrote nothing into OUTPUT, and the last line that it printed is no number.")
    return _lines(lines[last:])


def _lines(lines: list[str]) -> dict[str, float]:
    """Return numbers by name, of lines like ``name: number``; other lines are left out."""
    read = [found for line in lines if (found := _LINE.fullmatch(line.strip()))]
    return {found["name"] or "score": float(found["value"]) for found in read}
