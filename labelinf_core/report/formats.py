"""Every text that results can be turned into, and the files that are kept beside a run record."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from labelinf_core.contracts.errors import InputError
from labelinf_core.evaluator.results import Results
from labelinf_core.report.data import as_csv, as_json, seconds_csv
from labelinf_core.report.html import as_html
from labelinf_core.report.junit import as_junit

__all__ = ["FILES", "FORMATS", "write_all"]

FORMATS: Mapping[str, Callable[[Results], str]] = MappingProxyType(
    {"json": as_json, "csv": as_csv, "html": as_html, "junit": as_junit}
)  #: how results are written down, by the name of the format
FILES: Mapping[str, Callable[[Results], str]] = MappingProxyType(
    {"report.html": as_html, "results.json": as_json, "results.csv": as_csv, "seconds.csv": seconds_csv}
)  #: what is kept of a run, by file name


def write_all(results: Results, directory: Path) -> None:
    """Write every file of :data:`FILES` beside the run record.

    Raises:
        InputError: The directory cannot be written.
    """
    try:
        for name, text in FILES.items():
            (directory / name).write_text(text(results), encoding="utf-8", newline="")
    except OSError as error:
        raise InputError(f"--out {directory}: results cannot be written there ({error.strerror}).") from error
