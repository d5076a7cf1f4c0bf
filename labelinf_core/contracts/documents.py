"""What is written for others to read: the one writer of JSON documents, and the one of CSV tables."""

from __future__ import annotations

import csv
import enum
import io
import itertools
import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from labelinf_core.contracts.errors import InputError

__all__ = ["Listed", "csv_pieces", "csv_text", "json_pieces", "json_text", "plain", "save_private"]


class Listed(list[Any]):
    """A list in a document whose items are made one after another while it is written: they are never all there."""

    def __init__(self, length: int, items: Callable[[], Iterable[Any]]) -> None:
        super().__init__()
        self._length, self._items = length, items

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items())

    def each(self, function: Callable[[Any], Any]) -> Listed:
        """Return the list of what ``function`` makes of the items."""
        return Listed(self._length, lambda: map(function, self))


def json_text(document: Any) -> str:
    """Return a document as JSON: attrs classes by field, enums by value, infinity as text."""
    return "".join(json_pieces(document))


def json_pieces(document: Any) -> Iterator[str]:
    """Yield the same text in pieces."""
    return json.JSONEncoder(indent=1, ensure_ascii=False).iterencode(plain(_fields(document)))


def _fields(value: Any) -> Any:
    if isinstance(value, Listed):
        return value.each(_fields)
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
    if isinstance(value, Listed):
        return value.each(plain)
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def csv_text(header: Sequence[str], rows: Iterable[Iterable[Any]]) -> str:
    """Return a table as CSV."""
    return "".join(csv_pieces(header, rows))


def csv_pieces(header: Sequence[str], rows: Iterable[Iterable[Any]]) -> Iterator[str]:
    """Yield the same text row by row."""
    for row in itertools.chain([header], rows):
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerow(row)
        yield text.getvalue()


def save_private(path: Path, text: str) -> None:
    """Write what ``--out`` asked for, readable by its owner alone.

    Raises:
        InputError: The file cannot be written.
    """
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
    except OSError as error:
        raise InputError(f"--out {path}: it cannot be written ({error.strerror}).") from error
