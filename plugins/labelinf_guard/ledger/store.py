"""The ledger on disk: an SQLite file of events that are only ever added, each sealed together with all before it.

Every step of a submission is one transaction that is on the disk before the next one begins. Killed at any moment, the
ledger has reserved what was being scored and tells nothing that it has not charged:

1. *reserve*: number, beat and the worst charge;
2. *keep*: the answer, if its scorer ended before the beat;
3. *settle*, at the beat or later, by whoever comes first: in the order of the numbers, the charge of what was kept, or
   of *no score* where nothing was.

A keyed digest over each row and the one before shows rows that were changed, removed or put in. What is kept is not yet
an event, as nobody may see when a scorer ended; it has a digest of its own, over its number and its submission. One
that is removed before its beat is like a scorer that crashed: *no score*, charged in full. The ``anchor`` beside the
file holds the last digest, and whether the final scores are out: a ledger that does not reach it was restored from a
copy, and is refused until the host adopts it, whereby all that may have been told since is charged in full. Final
scores that may be among what was lost are not released again: no price would pay for a second release.
"""

from __future__ import annotations

import bisect
import fcntl
import hashlib
import hmac
import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs

from labelinf_core.contracts.errors import InputError
from labelinf_guard.clock import BoardClock
from labelinf_guard.files import write_private
from labelinf_guard.ledger.book import Book, LedgerBrokenError, LedgerEntry, Rules
from labelinf_guard.ledger.charge import Rule, rule_named, worst_charge

__all__ = ["Ledger", "RefusedError", "chained", "kept_seal"]

_TABLES = """
CREATE TABLE events (
    id INTEGER PRIMARY KEY, kind TEXT NOT NULL, at INTEGER NOT NULL, body TEXT NOT NULL, seal TEXT NOT NULL
);
CREATE TABLE kept (number INTEGER PRIMARY KEY, symbol INTEGER NOT NULL, seal TEXT NOT NULL);
CREATE TRIGGER events_stay BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'events are only added'); END;
CREATE TRIGGER events_hold BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'events are only added'); END;
CREATE TRIGGER kept_stay BEFORE DELETE ON kept BEGIN SELECT RAISE(ABORT, 'answers are only added'); END;
CREATE TRIGGER kept_hold BEFORE UPDATE ON kept BEGIN SELECT RAISE(ABORT, 'answers are only added'); END;
"""
_START = "0" * 64
_LAST = (1 << 63) - 1  # of the whole numbers that SQLite has
_VOID = "This board is closed: its ledger is at fault, and its certificate is void."
_FORGOTTEN = "This board is closed: the record that it told may be lost."
_RELEASED = (
    "The final scores may be out already: rows of the ledger were lost, and others would add to what those told."
)
_BROKEN = "the ledger was changed or is damaged"


class RefusedError(Exception):
    """A submission is not admitted; the sentence depends on history alone, never on a label."""


def chained(key: bytes, before: str, number: int, kind: str, at: int, body: str) -> str:
    """Return the seal of one row: a keyed digest over it and the seal before it."""
    text = "\0".join((before, str(number), kind, str(at), body))
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def kept_seal(key: bytes, number: int, symbol: int, digest: str) -> str:
    """Return the seal of an answer that is kept until its beat: a keyed digest over it and its submission."""
    return hmac.new(key, f"kept\0{number}\0{symbol}\0{digest}".encode(), hashlib.sha256).hexdigest()


@attrs.define(eq=False)
class Ledger:
    """A ledger that is open; one per thread.

    Attributes:
        clock: Where it gets its time.
        book: What its events add up to, as far as it has been read.
        head: Seal of the last row that has been read.
        rows: How many have been read.
    """

    _connection: sqlite3.Connection
    _key: bytes = attrs.field(repr=False)
    _anchor: Path
    clock: BoardClock
    book: Book = attrs.field(factory=Book)
    head: str = _START
    rows: int = 0
    _ahead: int = attrs.field(default=0, init=False)
    _scores: list[int] = attrs.field(factory=list, init=False, repr=False)  # sorted, of a board of ranks
    _ranked: int = attrs.field(default=0, init=False)  # submissions that they are of

    @classmethod
    def create(cls, path: Path, anchor: Path, key: bytes, rules: Rules, clock: BoardClock) -> Ledger:
        """Begin a ledger.

        Raises:
            InputError: There is one already, or it cannot be written.
        """
        if path.exists():
            raise InputError(f"{path} exists. A board is begun once; labelinf guard status shows it.")
        connection = _connected(path)
        connection.executescript(_TABLES)
        path.chmod(0o600)
        ledger = cls(connection, key, anchor, clock)
        with ledger._transaction():
            ledger._append("open", attrs.asdict(rules))
        return ledger

    @classmethod
    def open(cls, path: Path, anchor: Path, key: bytes, clock: BoardClock) -> Ledger:
        """Open a ledger, and read it.

        Raises:
            InputError: There is none, it was changed, or it was restored from a copy.
        """
        ledger = cls._opened(path, anchor, key, clock)
        lost = ledger._behind()
        if lost:
            ledger.close()
            raise InputError(
                f"{path} ends {lost} rows before the point it had reached: it was restored from a copy. labelinf guard "
                f"adopt goes on with it, and charges what may have been told since in full."
            )
        return ledger

    @classmethod
    def adopt(cls, path: Path, anchor: Path, key: bytes, clock: BoardClock, *, lost: int = 0) -> int:
        """Go on with a ledger that was restored from a copy. Returns how many rows were lost: ``lost`` at least."""
        ledger = cls._opened(path, anchor, key, clock)
        behind, still = ledger._behind(), _anchored_rows(anchor)[2]
        final = lost > behind or not still
        lost = max(lost, behind)
        if lost:
            with ledger._transaction():
                worst = worst_charge(ledger.rule(), len(ledger.book.entries) + lost)
                ledger._append("adopt", {"rows": lost, "charge": lost * worst, "final": final})
                if ledger.book.known().rule == "records":
                    ledger._append("close", {"why": _FORGOTTEN})
            write_private(anchor, ledger._reached())
        ledger.close()
        return lost

    @classmethod
    def _opened(cls, path: Path, anchor: Path, key: bytes, clock: BoardClock) -> Ledger:
        if not path.is_file():
            raise InputError(f"{path} is missing. labelinf guard init makes it.")
        ledger = cls(_connected(path), key, anchor, clock)
        try:
            names = {column[1] for column in ledger._connection.execute("PRAGMA table_info(kept)")}
            earlier = bool(names) and "seal" not in names  # of the version that kept answers without a seal
            if not earlier:
                with ledger._snapshot():
                    list(ledger._kept(0, _LAST))  # each is held against its seal
        except (LedgerBrokenError, sqlite3.Error, ValueError, TypeError, KeyError) as error:
            ledger.close()
            raise InputError(f"{path}: {_BROKEN} (row {ledger.rows + 1}). labelinf guard verify says more.") from error
        if earlier:
            ledger.close()
            raise InputError(
                f"{path} was begun by an earlier version of labelinf, which did not seal the answers that wait for "
                "their beat. Go on with that version: another board of these labels would add to what this one told."
            )
        return ledger

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def rule(self) -> Rule:
        """Return how answers are predicted."""
        rules = self.book.known()
        return rule_named(rules.rule, rules.answers)

    def read(self) -> None:
        """Take in what was added since.

        Raises:
            LedgerBrokenError: A row does not follow from those before it.
        """
        query = "SELECT id, kind, at, body, seal FROM events WHERE id > ? ORDER BY id"
        for number, kind, at, body, seal in self._connection.execute(query, (self.rows,)):
            expected = chained(self._key, self.head, number, kind, at, body)
            if number != self.rows + 1 or not hmac.compare_digest(seal, expected):
                raise LedgerBrokenError(f"row {number} was changed, or one before it is gone")
            self.book.add(kind, at, json.loads(body))
            self.rows, self.head = number, seal

    def admits(self, team: str, digest: str) -> bool:
        """Return whether a submission would be new, and admitted, by what is known now; nothing is reserved."""
        with self._transaction():
            self._settle()
            day, worst = self.book.day(self._now()), worst_charge(self.rule(), len(self.book.entries))
            return self.book.same(digest) is None and not self.book.refusal(team, day, worst)

    def reserve(self, team: str, digest: str) -> tuple[LedgerEntry, bool]:
        """Number a submission and hold the worst charge for it; or find the same one.

        Returns:
            Its entry, and whether it is new, so that it has to be scored.

        Raises:
            RefusedError: It is not admitted.
        """
        with self._transaction():
            self._settle()
            known = self.book.same(digest)
            if known is not None:
                return known, False
            now, worst = self._now(), worst_charge(self.rule(), len(self.book.entries))
            day = self.book.day(now)
            if why := self.book.refusal(team, day, worst):
                raise RefusedError(why)
            body = {"team": team, "digest": digest, "day": day, "due": self.book.due(now), "charge": worst}
            self._append("reserve", body, now)
        return self.book.entries[-1], True

    def keep(self, entry: LedgerEntry, symbol: int) -> None:
        """Keep an answer until its beat; one that comes after it is not kept."""
        with self._transaction():
            if self._now() < entry.due:
                seal = kept_seal(self._key, entry.number, symbol, entry.digest)
                self._connection.execute("INSERT INTO kept VALUES (?, ?, ?)", (entry.number, symbol, seal))

    def answered(self) -> dict[int, str]:
        """Return the digests of all submissions of which an answer was kept, by number.

        Raises:
            InputError: One is not what was kept.
        """
        try:
            with self._snapshot():
                return {number: self.book.entries[number].digest for number, _ in self._kept(0, _LAST)}
        except LedgerBrokenError as error:
            raise InputError(f"{_BROKEN}: {error}.") from error

    def settle(self) -> None:
        """Settle every submission whose beat has come, in order."""
        with self._transaction():
            self._settle()

    def end(self) -> None:
        """Admit nothing more, and wait for the beats of what was admitted: the last standing counts that too."""
        with self._transaction():
            if not self.book.closed:
                self._append("close", {"why": "This board is closed."})
        for last in self.book.entries[-1:]:
            self.wait(last)

    def add_final(self, released: list[Any]) -> None:
        """Close the board with its final release; a second one is refused.

        Raises:
            RefusedError: There was one, or may have been.
        """
        with self._transaction():
            self._settle()
            if self.book.final is not None:
                raise RefusedError("The final scores are out; they are released once.")
            if self.book.final_lost:
                raise RefusedError(_RELEASED)
            self._append("final", {"released": released})

    def _settle(self) -> None:
        now = self._now()
        while self.book.settled < len(self.book.entries) and self.book.entries[self.book.settled].due <= now:
            entry = self.book.entries[self.book.settled]
            rule, symbol = self.rule(), self._symbol(entry)
            try:
                charge = self.book.price(entry, symbol, rule)
            except LedgerBrokenError:
                self._append("close", {"why": _VOID})
                raise RefusedError(_VOID) from None
            self._append("settle", {"number": entry.number, "symbol": symbol, "charge": charge})

    def _symbol(self, entry: LedgerEntry) -> int:
        """Return an entry's answer, from what was kept of it and, for a rank, of those before."""
        ranks = self.book.known().rule == "ranks"
        found = dict(self._kept(self._ranked if ranks else entry.number, entry.number))
        own = found.pop(entry.number, None)
        for score in found.values():
            bisect.insort(self._scores, score)
        self._ranked = entry.number
        if ranks and len(self._scores) != self.book.scored():
            raise LedgerBrokenError("an answer that was told is no longer kept")
        return self.book.symbol(entry, own, 0 if own is None else len(self._scores) - bisect.bisect(self._scores, own))

    def _kept(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        """Return what is kept of some submissions, by number.

        Raises:
            LedgerBrokenError: It is not what was kept.
        """
        query = "SELECT number, symbol, seal FROM kept WHERE number BETWEEN ? AND ? ORDER BY number"
        for number, symbol, seal in self._connection.execute(query, (first, last)):
            of = self.book.entries[number].digest if number < len(self.book.entries) else ""
            if not hmac.compare_digest(seal, kept_seal(self._key, number, symbol, of)):
                raise LedgerBrokenError(f"the answer that was kept of submission {number} was changed")
            yield number, symbol

    def _now(self) -> int:
        """Return the ledger's time, which runs on where it was when the clock was set back."""
        self._ahead += max(0, self.book.time - self.clock.now() - self._ahead)
        return self.clock.now() + self._ahead

    @property
    def ahead(self) -> int:
        """How far the ledger's time is before the clock's: a submission was taken while the clock was wrong."""
        return max(0, self.book.time - self.clock.now())

    def beat(self, entry: LedgerEntry) -> int:
        """Return when the clock will say that an entry's beat has come."""
        self._now()
        return entry.due - self._ahead

    def wait(self, entry: LedgerEntry) -> LedgerEntry:
        """Return the entry once it is settled, at its beat."""
        self.clock.wait(self.beat(entry))
        self.settle()
        return self.book.entries[entry.number]

    def _append(self, kind: str, body: dict[str, Any], at: int | None = None) -> None:
        text = json.dumps(body, sort_keys=True, ensure_ascii=False)
        at = self._now() if at is None else at
        number = self.rows + 1
        seal = chained(self._key, self.head, number, kind, at, text)
        self._connection.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?)", (number, kind, at, text, seal))
        self.book.add(kind, at, json.loads(text))
        self.rows, self.head = number, seal

    @contextmanager
    def _snapshot(self) -> Iterator[None]:
        """Take in what others have added, and see what is kept as it was then: others go on writing meanwhile."""
        self._connection.execute("BEGIN")
        try:
            self.read()
            yield
        finally:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Hold the file for oneself, with all that others have added taken in; on the disk before it returns."""
        refused = None
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            self.read()
            try:
                yield
            except RefusedError as error:  # what was settled on the way stays settled
                refused = error
            self._connection.execute("COMMIT")
        except sqlite3.IntegrityError as error:  # a row is there that nothing here has written
            self._forget()
            raise InputError(f"{_BROKEN}; nothing was told. labelinf guard verify says more.") from error
        except sqlite3.Error as error:
            self._forget()
            raise InputError(f"the ledger cannot be written ({error}); nothing was told.") from error
        except LedgerBrokenError as error:
            self._forget()
            raise InputError(f"{_BROKEN}: {error}.") from error
        except BaseException:
            self._forget()
            raise
        self._anchored()
        if refused is not None:
            raise refused

    def _anchored(self) -> None:
        """Reach the last row, whoever wrote it: who did may have been killed before, and it is about to be told."""
        with self._anchor.with_name(self._anchor.name + ".lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # a slower process must not put an older anchor over a newer one
            if not self._anchor.exists() or _anchored_rows(self._anchor)[0] < self.rows:
                write_private(self._anchor, self._reached())

    def _reached(self) -> bytes:
        return f"{self.rows} {self.head} {'open' if self.book.final is None else 'final'}".encode()

    def _forget(self) -> None:
        """Forget what is not on the disk; the next transaction reads it all again."""
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")
        self.book, self.head, self.rows = Book(), _START, 0
        self._scores, self._ranked = [], 0

    def _behind(self) -> int:
        """Return by how many rows the ledger ends before its anchor, or differs from it."""
        count, seal, _ = _anchored_rows(self._anchor)
        self.read()
        if count > self.rows:
            return count - self.rows
        row = self._connection.execute("SELECT seal FROM events WHERE id = ?", (count,)).fetchone()
        return 0 if row is not None and hmac.compare_digest(row[0], seal) else max(1, self.rows)


def _anchored_rows(anchor: Path) -> tuple[int, str, bool]:
    """Return how far a ledger was, the seal there, and whether no final score was out, which 0.1 did not say."""
    try:
        count, seal, *said = anchor.read_text(encoding="ascii").split()
        return int(count), seal, said == ["open"]
    except (OSError, ValueError) as error:
        raise InputError(f"{anchor} cannot be read. It says how far the ledger was: restore it from a copy.") from error


def _connected(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=60, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    return connection
