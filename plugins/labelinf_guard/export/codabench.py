"""A scoring program of CodaBench or CodaLab: ``python score.py IN OUT``, with ``IN/ref/solution.csv``."""

from __future__ import annotations

import json
import os
import sys

from labelinf_guard.export.settings import SETTINGS
from labelinf_guard.export.stateless import LabelsError, SubmissionError, scored


def main(given: str = "/app/input", results: str = "/app/output") -> int:
    """Write ``scores.json``, and ``scores.txt`` for CodaLab, for the only CSV of ``res``; private rows are not scored.

    Returns:
        The exit status: 1 where nothing could be scored, which a constant sentence on standard error says.
    """
    try:
        folder = os.path.join(given, "res")
        names = sorted(name for name in os.listdir(folder) if name.endswith(".csv")) if os.path.isdir(folder) else []
        if len(names) != 1:
            raise SubmissionError("A submission must hold one CSV file.")
        solution = os.path.join(given, "ref", "solution.csv")
        (public,) = scored(SETTINGS, solution, os.path.join(folder, names[0]), ("Public",))
    except (LabelsError, SubmissionError) as error:
        print(error, file=sys.stderr)
        return 1
    with open(os.path.join(results, "scores.json"), "w", encoding="utf-8") as file:
        json.dump({SETTINGS.metric: public}, file)
    with open(os.path.join(results, "scores.txt"), "w", encoding="utf-8") as file:
        file.write(f"{SETTINGS.metric}: {public}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
