"""Which tests are long: reads what pytest says of durations, writes ``tests/long.txt``.

    pytest -n 2 -m "not slow" -vv --durations=0 --durations-min=0.1 > durations.txt
    python .ci/long.py durations.txt

A test is long from a third of a second on (with its fixtures). Every Python plays the others, ``tox -e long`` plays the
long ones once: together they are all that is not slow.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

LONG = 1 / 3  # seconds, on a machine that does nothing else
LIST = Path(__file__).parents[1] / "tests" / "long.txt"
_LINE = re.compile(r"(\d+\.\d+)s (?:call|setup|teardown) +(tests/.*)")


def long_tests(report: str, least: float = LONG) -> list[str]:
    """Return the tests that take at least so many seconds by pytest's own report, in order."""
    seconds: Counter[str] = Counter()
    for line in report.splitlines():
        if found := _LINE.match(line.strip()):
            seconds[found[2].strip()] += float(found[1])  # type: ignore[assignment]
    return sorted(test for test, spent in seconds.items() if spent >= least)


if __name__ == "__main__":
    LIST.write_text(
        "".join(f"{test}\n" for test in long_tests(Path(sys.argv[1]).read_text(encoding="utf-8"))), encoding="utf-8"
    )
