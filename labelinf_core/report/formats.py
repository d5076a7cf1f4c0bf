"""Every text that results can be turned into, and the files that are kept beside a run record."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from labelinf_core.contracts.errors import InputError
from labelinf_core.evaluator.results import Results
from labelinf_core.report.data import as_csv, json_of, seconds_of
from labelinf_core.report.html import as_html
from labelinf_core.report.junit import as_junit
from labelinf_core.report.published import leaks
from labelinf_core.report.sarif import as_sarif

__all__ = ["FILES", "FORMATS", "privacy", "write_all"]


class Written(Protocol):
    """Writes results down."""

    def __call__(self, results: Results, *, full: bool = False) -> Iterable[str]:
        """Return the text in pieces; with ``full`` every detail of private labels too."""


class _Whole(Protocol):
    def __call__(self, results: Results, *, full: bool = False) -> str: ...


def _at_once(text: _Whole) -> Written:
    """Take a text that no trial makes longer in one piece."""
    return lambda results, *, full=False: (text(results, full=full),)


FORMATS: Mapping[str, Written] = MappingProxyType(
    {
        "json": json_of,
        "csv": _at_once(as_csv),
        "html": _at_once(as_html),
        "junit": _at_once(as_junit),
        "sarif": _at_once(as_sarif),
    }
)  #: how results are written down, by the name of the format
FILES: Mapping[str, Written] = MappingProxyType(
    {
        "report.html": FORMATS["html"],
        "results.json": FORMATS["json"],
        "results.csv": FORMATS["csv"],
        "seconds.csv": seconds_of,
    }
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
            with aside.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file:
                file.writelines(text(results, full=full))
            os.replace(aside, directory / name)
    except OSError as error:
        raise InputError(f"--out {directory}: results cannot be written there ({error.strerror}).") from error
