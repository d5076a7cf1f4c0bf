"""What is written for others to read: the one writer of JSON documents, and the one of CSV tables."""

from __future__ import annotations

import csv
import enum
import io
import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from labelinf_core.contracts.errors import InputError

__all__ = ["csv_text", "json_text", "plain", "save_private"]


def json_text(document: Any) -> str:
    """Return a document as JSON: attrs classes by field, enums by value, infinity as text."""
    return json.dumps(plain(_fields(document)), indent=1, ensure_ascii=False)


def _fields(value: Any) -> Any:
    if attrs.has(type(value)):
        return {field.name: _fields(getattr(value, field.name)) for field in attrs.fields(type(value))}
    if isinstance(value, Mapping):
        return {key: _fields(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_fields(item) for item in value]
    return value.value if isinstance(value, enum.Enum) else value


def plain(value: Any) -> Any:
    """Return ``value`` as JSON can hold it; what is neither a number nor a collection becomes its text."""
    if hasattr(value, "tolist"):  # of NumPy, which takes long to import
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def csv_text(header: Sequence[str], rows: Iterable[Iterable[Any]]) -> str:
    """Return a table as CSV."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([header, *rows])
    return text.getvalue()


def save_private(path: Path, text: str) -> None:
    """Write what ``--save`` asked for, readable by its owner alone.

    Raises:
        InputError: The file cannot be written.
    """
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
    except OSError as error:
        raise InputError(f"--save {path}: it cannot be written ({error.strerror}).") from error
