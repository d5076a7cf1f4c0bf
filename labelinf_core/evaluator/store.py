"""The run record: an SQLite file to which every trial is written as it ends.

Killed at any moment, it holds every trial that had ended, and the same plan goes on from there. Results are computed
from the record alone.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import attrs

from labelinf_core.contracts.errors import InputError
from labelinf_core.evaluator.cells import Plan
from labelinf_core.evaluator.records import Implied, Status, Trial, from_json, to_json

__all__ = ["RECORD", "Store", "find_run", "newest_run"]

RECORD = "run.sqlite"  #: name of the record in a run's directory
_SCHEMA = 1
_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE cells (id TEXT PRIMARY KEY, status TEXT NOT NULL, implied TEXT NOT NULL);
CREATE TABLE trials (
    cell TEXT NOT NULL, trial INTEGER NOT NULL, status TEXT NOT NULL, record TEXT NOT NULL,
    PRIMARY KEY (cell, trial)
);
"""
_FINAL = ", ".join(repr(status.value) for status in Status if status.final)
_SETTLED = f"""
SELECT 1 FROM trials WHERE cell = ? AND (trial = ? OR (trial < ? AND status IN ({_FINAL})))
UNION ALL SELECT 1 FROM cells WHERE id = ? AND status != '{Status.OK.value}'
"""


@attrs.define
class Store:
    """A run record that is open.

    Attributes:
        plan: What is being run.
    """

    plan: Plan
    _connection: sqlite3.Connection = attrs.field(repr=False)

    @classmethod
    def open(cls, directory: Path, plan: Plan) -> Store:
        """Open the record in ``directory``, or begin one.

        Raises:
            InputError: The directory cannot be written, or holds the record of another plan.
        """
        try:
            directory.mkdir(parents=True, exist_ok=True)
            with _closed_on_error(sqlite3.connect(directory / RECORD)) as connection:
                store = cls(plan=plan, connection=connection)
                store._begin_or_compare(directory)
        except (OSError, sqlite3.Error) as error:
            reason = getattr(error, "strerror", None) or error
            raise InputError(f"--out {directory}: a run record cannot be kept there ({reason}).") from error
        return store

    @classmethod
    def reopen(cls, directory: Path) -> Store:
        """Open the record in ``directory`` to read it, with the plan that it was made for.

        Raises:
            InputError: There is no record, or it cannot be read.
        """
        path = directory / RECORD
        if not path.is_file():
            raise InputError(f"{directory} holds no run: expected a directory with {RECORD} in it.")
        try:
            with _closed_on_error(_read_only(path)) as connection:
                known = _meta(connection)
                if known.get("schema") != str(_SCHEMA):
                    raise InputError(f"{path} was written by another version of labelinf, or is no run record.")
                return cls(plan=from_json(known["plan"], Plan), connection=connection)
        except sqlite3.Error as error:
            raise InputError(f"{path} cannot be read ({error}).") from error

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def keep_implied(self, cell: str, implied: Implied) -> None:
        """Keep what is known of a cell before it is played."""
        self._insert("cells", cell, implied.status.value, to_json(implied))

    def keep_trial(self, cell: str, number: int, trial: Trial) -> None:
        """Keep one trial."""
        self._insert("trials", cell, number, trial.status.value, to_json(trial))

    def _insert(self, table: str, *row: object) -> None:
        places = ", ".join("?" * len(row))
        try:
            with self._connection:
                self._connection.execute(f"INSERT OR REPLACE INTO {table} VALUES ({places})", row)
        except sqlite3.Error as error:
            raise InputError(f"the run record cannot be written any more ({error}); what it holds is kept.") from error

    def knows(self, cell: str) -> bool:
        """Whether it is kept what is known of a cell."""
        return self._connection.execute("SELECT 1 FROM cells WHERE id = ?", (cell,)).fetchone() is not None

    def implied(self, cell: str) -> Implied | None:
        """Return what is known of a cell, or None when nobody has asked yet."""
        row = self._connection.execute("SELECT implied FROM cells WHERE id = ?", (cell,)).fetchone()
        return from_json(row[0], Implied) if row else None

    def trials(self, cell: str) -> tuple[Trial, ...]:
        """Return the trials of a cell that count: in order, none after the first that hung or crashed."""
        rows = self._connection.execute("SELECT record FROM trials WHERE cell = ? ORDER BY trial", (cell,))
        counted: list[Trial] = []
        for (record,) in rows:
            counted.append(from_json(record, Trial))
            if counted[-1].status.final:
                break
        return tuple(counted)

    def wants(self, cell: str, number: int) -> bool:
        """Whether a trial must still be played.

        Not when it is there, when a trial before it hung or crashed, or when the cell cannot be played at all.
        """
        return self._connection.execute(_SETTLED, (cell, number, number, cell)).fetchone() is None

    def _begin_or_compare(self, directory: Path) -> None:
        known = _meta(self._connection)
        if not known:
            with self._connection:
                self._connection.executescript("BEGIN;" + _TABLES)
                pairs = {"schema": str(_SCHEMA), "digest": self.plan.digest, "plan": to_json(self.plan)}
                self._connection.executemany("INSERT INTO meta VALUES (?, ?)", pairs.items())
        elif known["schema"] != str(_SCHEMA):
            raise InputError(f"--out {directory} was written by another version of labelinf; choose another directory.")
        elif known["digest"] != self.plan.digest:
            other = from_json(known["plan"], Plan)
            raise InputError(
                f"--out {directory} holds another run ({_words(other)}), not this one ({_words(self.plan)}); choose "
                f"another directory."
            )


def _meta(connection: sqlite3.Connection) -> dict[str, str]:
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone() is None:
        return {}
    return dict(connection.execute("SELECT key, value FROM meta"))


def _words(plan: Plan) -> str:
    versions = ", ".join(f"{name} {number}" for name, number in plan.environment.items())
    return f"{plan.title}: {len(plan.cells)} cells, {plan.trials} trials, seed {plan.seed}, {versions}"


@contextmanager
def _closed_on_error(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    try:
        yield connection
    except BaseException:
        connection.close()
        raise


def _newest_first(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"*/{RECORD}"), key=lambda record: (record.stat().st_mtime_ns, record), reverse=True)


def _read_only(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)


def newest_run(folder: Path) -> Path:
    """Return the directory under ``folder`` whose run was written to last.

    Raises:
        InputError: There is none.
    """
    found = next(iter(_newest_first(folder)), None)
    if found is None:
        raise InputError(f"there is no run under {folder}/ yet: labelinf matrix plays one.")
    return found.parent


def find_run(folder: Path, plan: Plan) -> Path | None:
    """Return the directory under ``folder`` whose record is of ``plan`` and was written to last, or None."""
    for record in _newest_first(folder):
        connection = _read_only(record)
        try:
            if _meta(connection).get("digest") == plan.digest:
                return record.parent
        except sqlite3.Error:
            continue
        finally:
            connection.close()
    return None
