"""An evaluation container of grand-challenge: ``/input`` to ``/output/metrics.json``, offline, fresh for every run."""

from __future__ import annotations

import json
import os
import sys

from labelinf_guard.export.settings import SETTINGS
from labelinf_guard.export.stateless import LabelsError, SubmissionError, scored


def main(
    given: str = "/input", results: str = "/output", truth: str = "/opt/ml/input/data/ground_truth/solution.csv"
) -> int:
    """Write ``metrics.json``, with one aggregate and nothing of single cases; the private rows are not scored.

    Returns:
        The exit status: 1 where nothing could be scored. The platform shows the last line of standard error, which is
        a constant sentence.
    """
    try:
        (public,) = scored(SETTINGS, truth, os.path.join(given, "predictions.csv"), ("Public",))
    except (LabelsError, SubmissionError) as error:
        print(error, file=sys.stderr)
        return 1
    with open(os.path.join(results, "metrics.json"), "w", encoding="utf-8") as file:
        json.dump({"aggregates": {SETTINGS.metric: public}}, file)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4]))
