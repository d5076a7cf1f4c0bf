"""CSV files for the platforms that hand over files: the solution with its ``Usage``, and a submission."""

from __future__ import annotations

import csv

from labelinf_guard.export.stateless import LabelsError, Settings, SubmissionError, answer, canonical, labels_of

__all__ = ["scored"]


def scored(settings: Settings, solution: str, submission: str, usages: tuple[str, ...]) -> list[float]:
    """Return the scores of a submission on the rows of each usage; all of its rows must be fit to score.

    Args:
        settings: What the host decided.
        solution: Path of a CSV file of ids, labels and ``Usage``.
        submission: Path of a CSV file of ids and predictions.
        usages: Such as ``Public``.

    Raises:
        SubmissionError: The submission cannot be scored, in a constant sentence.
        LabelsError: The solution cannot be used.
    """
    try:
        header, table = _read(solution)
        ids, labels, usage = (
            [row[header.index(name)] for row in table] for name in (settings.id, settings.label, "Usage")
        )
    except (OSError, ValueError, csv.Error, IndexError):
        raise LabelsError from None
    truth = labels_of(settings, ids, labels)
    try:
        columns, lines = _read(submission)
    except (OSError, ValueError, csv.Error, IndexError):
        raise SubmissionError("The file is not CSV that can be read.") from None
    rows = canonical(settings, truth, columns, lines)
    parts = [{name: truth[name] for name, of in zip(ids, usage, strict=True) if of == wanted} for wanted in usages]
    if not all(parts):
        raise LabelsError
    return [float(answer(settings, part, rows)) for part in parts]


def _read(path: str) -> tuple[list[str], list[list[str]]]:
    with open(path, encoding="utf-8-sig", newline="") as file:
        header, *rows = [[cell.strip() for cell in cells] for cells in csv.reader(file, strict=True) if cells]
    return header, rows
