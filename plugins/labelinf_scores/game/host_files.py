"""Tables that a host's scorer is handed: columns by name, and CSV files of them."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["HostError", "columns_of", "write_table"]


class HostError(Exception):
    """What a host's scorer did wrong, as a clause in our own words, which hold no label."""


def columns_of(predictions: NDArray[np.float64], name: str) -> dict[str, NDArray[np.float64]]:
    """Return predictions by the names of their columns: one of that name, or classes by their numbers."""
    if predictions.ndim == 1:
        return {name: predictions}
    return {str(k): predictions[:, k] for k in range(predictions.shape[1])}


def write_table(path: Path, table: Mapping[str, Any]) -> None:
    """Write a table, by columns or a data frame, as a CSV file."""
    rows = zip(*(table[name].tolist() for name in table), strict=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(table)
        writer.writerows(rows)
