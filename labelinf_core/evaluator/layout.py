"""What is in the file of a run record: its tables, a checksum for every row, and how damage is told.

A row that was changed does not agree with its checksum; one that is gone, or is called otherwise, does not agree with
the seal of a run that ended.
"""

from __future__ import annotations

import hashlib
import sqlite3
from pathlib import Path

from labelinf_core.contracts.errors import InputError

__all__ = ["RECORD", "SCHEMA", "TABLES", "checksum", "damaged", "described", "look_through", "read_only", "seal_of"]

RECORD = "run.sqlite"  #: name of the record in a run's directory
SCHEMA = 2
TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL, sum TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE cells (id TEXT PRIMARY KEY, status TEXT NOT NULL, implied TEXT NOT NULL, sum TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE trials (
    cell TEXT NOT NULL, trial INTEGER NOT NULL, status TEXT NOT NULL, record TEXT NOT NULL, sum TEXT NOT NULL,
    PRIMARY KEY (cell, trial)
) WITHOUT ROWID;
"""


def seal_of(connection: sqlite3.Connection) -> str:
    """Return a checksum of all rows there are, in whatever order: one that is gone, or called otherwise, is noticed."""
    count = total = 0
    for table in ("cells", "trials"):
        for row in connection.execute(f"SELECT * FROM {table}"):
            count, total = count + 1, (total + int(checksum(table, *row[:-1]), 16)) % 2**96
    return f"{count} {total:x}"


def checksum(table: str, *row: object) -> str:
    """Return the checksum of a row: against damage, not against forgery."""
    return hashlib.blake2b(repr((table, *row)).encode(), digest_size=12).hexdigest()


def described(connection: sqlite3.Connection, path: Path) -> dict[str, str]:
    """Return what the record says of itself; nothing when it is empty."""
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone() is None:
        if connection.execute("SELECT 1 FROM sqlite_master").fetchone() is not None:
            raise damaged(path, "its description is gone")
        return {}
    rows = list(connection.execute("SELECT * FROM meta"))
    known = {str(row[0]): str(row[1]) for row in rows}
    lost = {"digest", "plan"} - known.keys() or any(row[2] != checksum("meta", *row[:2]) for row in rows)
    if known.get("schema") == str(SCHEMA) and lost:
        raise damaged(path, "its description does not agree with its checksum")
    return known


def look_through(connection: sqlite3.Connection, path: Path) -> None:
    """Have SQLite look at every page."""
    found = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(1)")]
    if found != ["ok"]:
        raise damaged(path, " ".join(found[0].split()))


def damaged(path: Path, how: str) -> InputError:
    """Say that a record is damaged, and how to go on."""
    return InputError(
        f"{path} is damaged ({how}), so nothing that it holds is shown as a result. labelinf matrix with the same "
        f"suite and --out {path.parent} plays again what was lost in single rows; if it refuses too, choose another "
        f"directory."
    )


def read_only(path: Path) -> sqlite3.Connection:
    """Open a record to read it."""
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
