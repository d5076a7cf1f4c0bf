"""Every text that results can be turned into, and the files that are kept beside a run record."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from labelinf_core.contracts.errors import InputError
from labelinf_core.evaluator.results import Results
from labelinf_core.report.data import as_csv, as_json, seconds_csv
from labelinf_core.report.html import as_html
from labelinf_core.report.junit import as_junit
from labelinf_core.report.published import leaks
from labelinf_core.report.sarif import as_sarif

__all__ = ["FILES", "FORMATS", "privacy", "write_all"]


class Written(Protocol):
    """Writes results down."""

    def __call__(self, results: Results, *, full: bool = False) -> str:
        """Return the text; with ``full`` every detail of private labels too."""


FORMATS: Mapping[str, Written] = MappingProxyType(
    {"json": as_json, "csv": as_csv, "html": as_html, "junit": as_junit, "sarif": as_sarif}
)  #: how results are written down, by the name of the format
FILES: Mapping[str, Written] = MappingProxyType(
    {"report.html": as_html, "results.json": as_json, "results.csv": as_csv, "seconds.csv": seconds_csv}
)  #: what is kept of a run, by file name


def privacy(results: Results, *, full: bool = False) -> tuple[str, ...]:
    """Say, for every set of private labels, what the written results tell about it at most."""
    if full:
        found = (facts.title for facts in results.plan.labels if not facts.public)
        return tuple(f"--full: what is written is as private as the labels of {title}" for title in found)
    return tuple(f"what is written {leak}" for leak in leaks(results))


def write_all(results: Results, directory: Path, *, full: bool = False) -> None:
    """Write every file of :data:`FILES` beside the run record, each whole or not at all.

    Args:
        results: What to write.
        directory: Where the record is.
        full: Whether to write every detail of what was played on private labels, too.

    Raises:
        InputError: The directory cannot be written.
    """
    try:
        for name, text in FILES.items():
            aside = directory / f".{name}.new"
            aside.write_text(text(results, full=full), encoding="utf-8", errors="backslashreplace", newline="")
            os.replace(aside, directory / name)
    except OSError as error:
        raise InputError(f"--out {directory}: results cannot be written there ({error.strerror}).") from error
