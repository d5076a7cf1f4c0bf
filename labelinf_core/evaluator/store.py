"""The run record: an SQLite file to which every trial is written as it ends.

Killed at any moment, it holds what had ended a moment before, and the same plan goes on from there. Results are
computed from the record alone. It holds the secret of the run and every count, so that it is as private as the labels.

* Rows are written in batches, with a write-ahead log; a run that ends leaves one plain file.
* Every row carries a checksum, and a row that does not agree with it is never read as a result: whoever reports is
  told, and whoever goes on plays it again.
* One process writes a run; a second one is told which. Any number may read.
"""

from __future__ import annotations

import datetime
import functools
import itertools
import json
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import IO

import attrs

from labelinf_core.contracts.errors import InputError, UnwrittenError
from labelinf_core.evaluator.cells import Plan
from labelinf_core.evaluator.layout import (
    RECORD,
    SCHEMA,
    TABLES,
    checksum,
    damaged,
    described,
    look_through,
    read_only,
    seal_of,
)
from labelinf_core.evaluator.lock import locked
from labelinf_core.evaluator.records import Implied, Kept, Status, Trial, from_json, to_json
from labelinf_core.evaluator.replan import changes, shared
from labelinf_core.plugin.markers import CONTRACT

__all__ = ["Provenance", "Store", "is_of_0_1"]

_BATCH = 200  # rows that are written at once, or
_FIRST = 50  # trials that are written one by one, before there are enough of them to make that dear
_SECONDS = 0.1  # those of so long; what took as long itself is written at once
_FINAL = ", ".join(repr(status.value) for status in Status if status.final)
_SETTLED = f"""
SELECT 1 FROM trials WHERE cell = ? AND (trial = ? OR (trial < ? AND status IN ({_FINAL})))
UNION ALL SELECT 1 FROM cells WHERE id = ? AND status != '{Status.OK.value}'
"""


@attrs.frozen(kw_only=True)
class Provenance:
    """How a record came about; no result depends on it.

    Attributes:
        begun: Date and time, in words.
        command: What was typed.
    """

    begun: str = ""
    command: str = ""


@attrs.define
class Store:
    """A run record that is open.

    Attributes:
        plan: What is being run, under the record's own key.
        directory: Where it is kept.
        notes: What became of its rows when it was opened to go on: sentences.
    """

    plan: Plan
    directory: Path
    _connection: sqlite3.Connection = attrs.field(repr=False)
    notes: tuple[str, ...] = ()
    _lock: IO[str] | None = attrs.field(default=None, repr=False)
    _pending: int = attrs.field(default=0, init=False, repr=False)
    _trials: int = attrs.field(default=0, init=False, repr=False)
    _since: float = attrs.field(default=0.0, init=False, repr=False)
    _closed: bool = attrs.field(default=False, init=False, repr=False)

    @classmethod
    def open(cls, directory: Path, plan: Plan, *, command: str = "") -> Store:
        """Open the record in ``directory``, or begin one, which notes the date and the ``command``.

        Raises:
            InputError: The directory cannot be written, is being written by another process, or holds the record of
                another plan.
        """
        try:
            directory.mkdir(parents=True, exist_ok=True)
            lock = locked(directory)
            try:
                return cls._opened(directory, plan, lock, command)
            except BaseException:
                lock.close()
                raise
        except (OSError, sqlite3.Error) as error:
            raise InputError(f"--out {directory}: a run record cannot be kept there ({_reason(error)}).") from error

    @classmethod
    def _opened(cls, directory: Path, plan: Plan, lock: IO[str], command: str) -> Store:
        path = directory / RECORD
        with _closed_on_error(sqlite3.connect(path)) as connection:
            known = described(connection, path)
            kept, plan = _compared(known, plan, directory) if known else (plan, plan)
            connection.execute("PRAGMA journal_mode = WAL")  # of a record that is ours to write
            connection.execute("PRAGMA synchronous = NORMAL")
            if not known:
                _begin(connection, plan, command)
                return cls(plan=plan, directory=directory, connection=connection, lock=lock)
            look_through(connection, path)
            store = cls(plan=plan, directory=directory, connection=connection, lock=lock)
            store._mend()
            store._go_on(kept)
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
            with _closed_on_error(read_only(path)) as connection:
                known = described(connection, path)
                if not known:
                    raise InputError(f"{path} is empty: its run ended before anything was kept.")
                if known.get("schema") != str(SCHEMA):
                    raise InputError(f"{path} was written by another version of labelinf, or is no run record.")
                look_through(connection, path)
                if known.get("seal", there := seal_of(connection)) != there:
                    raise damaged(path, "rows that were written to it are gone or changed")
                return cls(plan=from_json(known["plan"], Plan), directory=directory, connection=connection)
        except sqlite3.Error as error:
            raise damaged(path, str(error)) from error

    def close(self) -> None:
        """Write what is pending and leave one plain file."""
        with suppress(sqlite3.Error):  # what could be written is; the rest is played again
            if self._lock is not None:
                self._describe(seal=seal_of(self._connection))
                self.commit()
                self._connection.execute("PRAGMA journal_mode = DELETE")
        self._connection.close()
        self._closed = True
        if self._lock is not None:
            self._lock.close()

    def keep_implied(self, cell: str, implied: Implied) -> None:
        """Keep what is known of a cell before it is played."""
        self._insert("cells", cell, implied.status.value, to_json(implied))

    def keep_trial(self, cell: str, number: int, trial: Trial) -> None:
        """Keep one trial."""
        self._insert("trials", cell, number, trial.status.value, to_json(trial))
        self._trials += 1
        if trial.seconds > _SECONDS or self._trials <= _FIRST:
            self.commit()

    def commit(self) -> None:
        """Write what is pending.

        Raises:
            UnwrittenError: It cannot be written.
        """
        try:
            self._connection.commit()
        except sqlite3.Error as error:
            raise _unwritten(error) from error
        self._pending, self._since = 0, time.monotonic()

    def _insert(self, table: str, *row: object) -> None:
        places = ", ".join("?" * (len(row) + 1))
        try:
            self._connection.execute(f"INSERT OR REPLACE INTO {table} VALUES ({places})", (*row, checksum(table, *row)))
        except sqlite3.Error as error:
            raise _unwritten(error) from error
        self._pending += 1
        if self._pending >= _BATCH or time.monotonic() - self._since > _SECONDS:
            self.commit()

    def knows(self, cell: str) -> bool:
        """Whether it is kept what is known of a cell."""
        return self._connection.execute("SELECT 1 FROM cells WHERE id = ?", (cell,)).fetchone() is not None

    def implied(self, cell: str) -> Implied | None:
        """Return what is known of a cell, or None when nobody has asked yet.

        Raises:
            InputError: The record is damaged there.
        """
        for row in self._rows("SELECT * FROM cells WHERE id = ?", "cells", cell):
            return from_json(str(row[2]), Implied)
        return None

    def trials(self, cell: str, count: int | None = None) -> Kept:
        """Return the trials of a cell that count: in order, none after the first that hung or crashed.

        They are read one after another whenever they are looked at, also when the record has been closed: the first
        ``count``, where it is known by then how many there are, whoever adds to the record.

        Raises:
            InputError: When they are looked at: the record is damaged there, or some of the ``count`` are gone.
        """
        if count is None:
            return Kept(functools.partial(self._counted, cell))
        return Kept(functools.partial(self._exactly, cell, count))

    def _exactly(self, cell: str, count: int) -> Iterator[Trial]:
        found = 0
        for trial in itertools.islice(self._counted(cell), count):
            found += 1
            yield trial
        if found < count:
            raise damaged(self.directory / RECORD, "trials that were read before are gone")

    def _counted(self, cell: str) -> Iterator[Trial]:
        query = "SELECT * FROM trials WHERE cell = ? AND trial < ? ORDER BY trial"
        for row in self._rows(query, "trials", cell, self.plan.trials):
            trial = from_json(str(row[3]), Trial)
            yield trial
            if trial.status.final:
                return

    def _rows(self, query: str, table: str, *values: object) -> Iterator[tuple[object, ...]]:
        """Yield the rows of a table, each looked at; of a record that was closed, too.

        Raises:
            InputError: The record is damaged there.
        """
        path = self.directory / RECORD
        with ExitStack() as stack:
            try:
                connection = stack.enter_context(closing(read_only(path))) if self._closed else self._connection
                for row in connection.execute(query, values):
                    if row[-1] != checksum(table, *row[:-1]):
                        raise damaged(path, f"a row of its {table} does not agree with its checksum")
                    yield row[:-1]
            except sqlite3.Error as error:
                raise damaged(path, str(error)) from error

    def wants(self, cell: str, number: int) -> bool:
        """Whether a trial must still be played.

        Not when it is there, when a trial before it hung or crashed, or when the cell cannot be played at all.
        """
        return self._connection.execute(_SETTLED, (cell, number, number, cell)).fetchone() is None

    @property
    def made(self) -> Provenance:
        """When it was begun, and by which command; empty where a record does not say."""
        rows = self._connection.execute("SELECT key, value FROM meta WHERE key IN ('begun', 'command')")
        return Provenance(**{str(key): str(value) for key, value in rows})

    def left_out(self) -> dict[str, str]:
        """Return the bounds that are not asked, by name, and why."""
        row = self._connection.execute("SELECT value FROM meta WHERE key = 'without'").fetchone()
        return dict(json.loads(row[0])) if row else {}

    def leave_out(self, bounds: Mapping[str, str]) -> None:
        """Ask ``bounds`` no more; what is known of the cells is asked again."""
        self._describe(without=json.dumps({**self.left_out(), **bounds}, sort_keys=True))
        self._connection.execute("DELETE FROM cells")
        self.commit()

    def forget_failed(self) -> int:
        """Forget the trials that hung or crashed, and the preparations that failed, so that they are played again.

        Returns:
            How many cells are played again.
        """
        failed = f"status IN ({_FINAL}, '{Status.ERROR.value}')"
        again = {row[0] for row in self._connection.execute(f"SELECT cell FROM trials WHERE {failed}")}
        again |= {row[0] for row in self._connection.execute(f"SELECT id FROM cells WHERE {failed}")}
        for cell in again:
            first = self._connection.execute(f"SELECT MIN(trial) FROM trials WHERE cell = ? AND {failed}", (cell,))
            self._connection.execute(
                "DELETE FROM trials WHERE cell = ? AND trial >= ?", (cell, first.fetchone()[0] or 0)
            )
            self._connection.execute(f"DELETE FROM cells WHERE id = ? AND {failed}", (cell,))
        self.commit()
        return len(again)

    def _describe(self, **pairs: str) -> None:
        rows = [(key, value, checksum("meta", key, value)) for key, value in pairs.items()]
        self._connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?, ?)", rows)

    def _go_on(self, kept: Plan) -> None:
        """Take on a plan that may have changed: what the change affects is played again, and nothing else."""
        self._connection.execute("DELETE FROM meta WHERE key = 'seal'")
        if kept.digest != self.plan.digest:
            if kept.environment != self.plan.environment:
                self._connection.executescript("DELETE FROM trials; DELETE FROM cells;")
            self._describe(plan=to_json(self.plan), digest=self.plan.digest)
            self.notes = (*self.notes, *changes(kept, self.plan))
        self.commit()

    def _mend(self) -> None:
        """Drop the rows that are not what was written: they are played again."""
        dropped = 0
        for table, names in (("cells", ("id",)), ("trials", ("cell", "trial"))):
            wrong = [
                row
                for row in self._connection.execute(f"SELECT * FROM {table}")
                if row[-1] != checksum(table, *row[:-1])
            ]
            where = " AND ".join(f"{name} IS ?" for name in names)
            for row in wrong:
                self._connection.execute(f"DELETE FROM {table} WHERE {where}", row[: len(names)])
            dropped += len(wrong)
        if dropped:
            self.notes = (*self.notes, f"{dropped} damaged rows of the record are left out and played again")


def _begin(connection: sqlite3.Connection, plan: Plan, command: str) -> None:
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
    with connection:
        connection.executescript("BEGIN;" + TABLES)
        pairs = {"schema": str(SCHEMA), "digest": plan.digest, "plan": to_json(plan), "begun": now, "command": command}
        pairs["contract"] = str(CONTRACT)
        rows = [(key, value, checksum("meta", key, value)) for key, value in pairs.items()]
        connection.executemany("INSERT INTO meta VALUES (?, ?, ?)", rows)


def is_of_0_1(known: Mapping[str, str]) -> bool:
    """Whether a record, which says so much of itself, was begun by 0.1: it names no contract that it was played by."""
    return "contract" not in known


def _compared(known: dict[str, str], plan: Plan, directory: Path) -> tuple[Plan, Plan]:
    """Return the plan of the record, and ``plan`` under its key; they must have a game and the seed in common."""
    if known.get("schema") != str(SCHEMA):
        raise InputError(f"--out {directory} was written by another version of labelinf; choose another directory.")
    if is_of_0_1(known):
        raise InputError(
            f"--out {directory} holds a run of labelinf 0.1, which proved and counted along other roads, so that it "
            f"cannot be continued: labelinf report {directory} shows what it has finished; choose another directory to "
            "begin anew."
        )
    kept = from_json(known["plan"], Plan)
    plan = plan.keyed(kept.key or plan.key)
    if kept.seed != plan.seed:
        why = f"its seed is {kept.seed}, not {plan.seed}"
    elif not shared(kept, plan):
        why = f"{kept.title}; no attack meets the same defences on the same labels in both"
    else:
        return kept, plan
    raise InputError(f"--out {directory} holds another run ({why}); choose another directory.")


def _reason(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error)


@contextmanager
def _closed_on_error(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    try:
        yield connection
    except BaseException:
        connection.close()
        raise


def _unwritten(error: sqlite3.Error) -> UnwrittenError:
    return UnwrittenError(f"the run record cannot be written any more ({error}); what it holds is kept.")
