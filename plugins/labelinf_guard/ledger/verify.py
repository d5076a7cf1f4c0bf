"""The second implementation: what a ledger adds up to, from its rows alone, in whole numbers.

Nothing of the first one is used but the names of the columns: seals, prices, order, sums and quotas are computed again,
slowly and plainly. A host runs it before the final release, or whenever a head was published.
"""

from __future__ import annotations

import bisect
import functools
import hashlib
import hmac
import json
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from labelinf_core.contracts.errors import InputError
from labelinf_guard.ledger.recompute import form_of, gains_again, line_again
from labelinf_guard.ledger.waiting import unlike

__all__ = ["Verified", "verify"]

_Files = Callable[[Mapping[int, str]], Iterable[str]]
_TOTAL = 2**40
_DAY = 86_400_000  # milliseconds
_UNSCORED = "could not be scored"
_SCORE = re.compile(r"(?P<sign>-)?(?P<whole>\d+)(?:\.(?P<part>\d+))?", re.ASCII)
_ROUNDED = 5  # millionths, by which the second computation is rounded up


@attrs.frozen(kw_only=True)
class Verified:
    """What a ledger adds up to.

    Attributes:
        rows: Rows that were read.
        head: Seal of the last one.
        submissions: Numbered so far.
        spent: By those that are settled, in 1/1024 bit.
        reserved: Held for the others.
        budget: In 1/1024 bit; -1: none.
        policy: Hash of the ``board.toml`` it was begun with.
        proved: Which arithmetic proves its certificate: that of the version it was begun with.
        faults: What is wrong, in sentences; empty when all is right.
    """

    rows: int = 0
    head: str
    submissions: int = 0
    spent: int = 0
    reserved: int = 0
    budget: int = 0
    policy: str = ""
    proved: str = ""
    faults: tuple[str, ...]


def verify(
    path: Path, key: bytes, *, head: str = "", files: _Files | None = None, anchor: Path | None = None
) -> Verified:
    """Read a ledger and compute everything again.

    Args:
        path: Of the ledger.
        key: Of its chain.
        head: A seal that was published: the ledger must hold it; empty for none.
        files: Says what is wrong with the files beside it, given the digests of those that must be there, by number.
        anchor: The file that says how far it had come; None: that is not known.

    Raises:
        InputError: There is no ledger, or it cannot be read.
    """
    reached = None if anchor is None else anchor.read_text(encoding="utf-8").split() if anchor.is_file() else []
    rows, kept = _read(path)  # after the anchor: a board may go on meanwhile
    faults: list[str] = [] if reached is None else list(_short(reached, rows))
    seal = "0" * 64
    events: list[tuple[str, int, dict[str, Any]]] = []
    for place, (number, kind, at, body, sealed) in enumerate(rows, 1):
        text = f"{seal}\0{number}\0{kind}\0{at}\0{body}".encode()
        if number != place or hmac.new(key, text, hashlib.sha256).hexdigest() != sealed:
            faults.append(f"row {place} was changed, or one before it is gone")
            break
        seal = sealed
        events.append((kind, at, json.loads(body)))
    if head and head not in {row[4] for row in rows[: len(events)]}:
        faults.append("the head that was published is not in the ledger: it was cut, or begun anew")
    if not events or events[0][0] != "open":
        return Verified(head=seal, faults=(*faults, "the first row does not say what the board is held to"))
    rules = events[0][2]
    faults.extend(_first_row(rules))
    sums = _Sums(rules=rules, faults=faults, time=events[0][1])
    for row, event in enumerate(events[1:], 2):
        try:
            if not sums.add(row, *event):
                break
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
            faults.append(f"row {row}: it does not say what a row of kind {event[0]!r} has to say")
            break
    faults.extend(unlike(kept, sums.entries, rules, key))
    faults.extend(_lost(kept, sums.entries, files))
    return Verified(
        rows=len(events),
        head=seal,
        submissions=len(sums.entries),
        spent=sums.spent,
        reserved=sums.held,
        budget=rules["budget"],
        policy=rules["policy"],
        proved=form_of(rules["terms"]),
        faults=tuple(faults),
    )


def _short(reached: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> Iterator[str]:
    """Say where a ledger does not reach the row and the seal that its anchor says."""
    if len(reached) < 2 or (reached[0], reached[1]) not in {(str(row[0]), row[4]) for row in rows}:
        yield "the ledger does not reach the point where it was: it was restored from a copy, or its anchor was changed"


def _lost(
    kept: Sequence[tuple[int, int, str]], entries: Sequence[Mapping[str, Any]], files: _Files | None
) -> Iterable[str]:
    digests = {number: entries[number]["digest"] for number, *_ in kept if number < len(entries)}
    return files(digests) if files else ()


def _first_row(rules: dict[str, Any]) -> list[str]:
    """Return what is wrong with the certificate of the first row."""
    try:
        return [*_claimed(rules)]
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, ArithmeticError):
        return ["row 1: its terms cannot be read: an earlier version wrote them, or somebody else did"]


def _claimed(rules: dict[str, Any]) -> Iterator[str]:
    """Say what the certificate claims and its terms do not prove."""
    terms, claims = rules["terms"], rules["claims"]
    if "noise" not in terms:
        if claims:
            yield "row 1: the certificate claims something, and has no terms, or those of an earlier version"
        return
    if not form_of(terms):
        yield f"row 1: its terms are of form {terms['form']}, which this version does not know: a later one wrote them"
        return
    yield from _counted(terms, rules)
    for name, again in zip(("now", "after"), gains_again(terms, rules), strict=True):
        if (again is None) != (name not in claims):
            yield f"row 1: the certificate says something else of {name!r} than its terms"
        elif again is not None and again > 1000 * claims[name] + _ROUNDED:
            yield f"row 1: the certificate says {claims[name] / 10} points {name}, computed again {again / 10_000}"
    if "line" in claims and not line_again(terms, rules, claims["line"]):
        yield f"row 1: the line of one game, {claims['line'] / 10} %, does not follow from its terms"


def _counted(terms: dict[str, Any], rules: dict[str, Any]) -> Iterator[str]:
    """Say where the certificate counts other answers than the ledger admits."""
    if terms["noise"] is not None and terms["noise"][1] < rules["per_board"]:
        yield "row 1: the certificate counts the noise of fewer answers than the ledger admits"
    if terms["noise"] is not None and terms["noise"][2] < 25 * terms["noise"][3]:
        yield "row 1: the noise has fewer steps in a deviation than the certificate needs"
    if rules["rule"] != "ranks" and terms["levels"] != rules["answers"]:
        yield "row 1: the certificate counts other answers than the ledger"


def _read(path: Path) -> tuple[list[tuple[int, str, int, str, str]], list[tuple[int, int, str]]]:
    """Return the events, and the answers that were kept, of one moment."""
    if not path.is_file():
        raise InputError(f"{path} is missing. labelinf guard init makes it.")
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        connection.execute("BEGIN")
        events = connection.execute("SELECT id, kind, at, body, seal FROM events ORDER BY id").fetchall()
        sealed = "seal" in {column[1] for column in connection.execute("PRAGMA table_info(kept)")}
        query = f"SELECT number, symbol, {'seal' if sealed else repr('')} FROM kept ORDER BY number"
        return events, connection.execute(query).fetchall()
    except sqlite3.Error as error:
        raise InputError(f"{path} is no ledger that can be read ({error}). Restore it from a copy.") from error
    finally:
        connection.close()


@attrs.define(kw_only=True)
class _Sums:
    """What the rows before the next one add up to.

    Attributes:
        rules: Of the first row.
        faults: What was wrong so far.
        entries: Submissions, by number.
        settled: How many of them are.
        spent: By those, and by rows that were lost.
        held: For the others.
        lost: Rows that were lost with a copy.
        time: Of the last row.
        closed: Whether no submission may follow.
        final: Whether the final release was made, or may be among rows that were lost.
    """

    rules: dict[str, Any]
    faults: list[str]
    entries: list[dict[str, Any]] = attrs.field(factory=list)
    settled: int = 0
    spent: int = 0
    held: int = 0
    lost: int = 0
    time: int = 0
    closed: bool = False
    final: bool = False
    _used: Counter[tuple[Any, ...]] = attrs.field(factory=Counter)
    _digests: set[str] = attrs.field(factory=set)
    _first: dict[int, int] = attrs.field(factory=dict)  # submission of every beat
    _scored: dict[str | None, list[int]] = attrs.field(factory=lambda: {None: []})  # of each team, and of all
    _records: list[tuple[int, int]] = attrs.field(factory=lambda: [(0, 0)])  # and how often it was raised

    def add(self, row: int, kind: str, at: int, body: dict[str, Any]) -> bool:
        """Take in one row; False where what follows cannot be read."""
        if at < self.time:
            self.faults.append(f"row {row}: time ran backwards")
        self.time = at
        match kind:
            case "reserve":
                self._admit(row, at, dict(body))
            case "settle":
                return self._settle(row, at, body)
            case "adopt":
                worst = _bits(_least(self.rules, len(self.entries) + body["rows"]))
                if body["rows"] < 1 or body["charge"] != body["rows"] * worst:
                    self.faults.append(f"row {row}: what was lost is not charged in full")
                self.spent += body["charge"]
                self.lost += body["rows"]
                self.final = self.final or body.get("final") is True
            case "close":
                self.closed = True
            case "final":
                self._release(row, body["released"])
                self.closed = self.final = True
            case _:
                self.faults.append(f"row {row}: a row of kind {kind!r} cannot stand here")
        return True

    def _release(self, row: int, released: list[dict[str, Any]]) -> None:
        if self.final:
            self.faults.append(f"row {row}: the final scores were released twice")
        if "final" not in self.rules["terms"]:
            return
        promised = self.rules["terms"]["final"] or {"scores": 0, "ranks": 0}
        ranked = sum(one["rank"] is not None for one in released)
        if len(released) > (promised["scores"] or promised["ranks"]) or ranked > promised["ranks"]:
            self.faults.append(f"row {row}: more scores or ranks were released than the certificate counts")
        if not all(_is_final(one["score"], promised) for one in released):
            self.faults.append(f"row {row}: a final score is none of those that the certificate counts")

    def _can(self, symbol: Any) -> bool:
        """Whether the next answer can be this one: a record is always told, a rank is among those before."""
        answers, rule = int(self.rules["answers"]), self.rules["rule"]
        if type(symbol) is not int or not 0 <= symbol <= answers:
            return False
        if rule == "records":
            return symbol != answers
        return rule != "ranks" or symbol == answers or self.settled >= symbol

    def _admit(self, row: int, at: int, new: dict[str, Any]) -> None:
        rules, say, number = self.rules, self.faults.append, len(self.entries)
        before = self.entries[-1] if self.entries else new
        self.entries.append(new)
        self.held += new["charge"]
        self._first.setdefault(new["due"], number)
        if self.closed:
            say(f"row {row}: a submission was admitted after the board was closed")
        if 0 <= rules["budget"] < self.spent + self.held:
            say(f"row {row}: a submission was admitted beyond the budget")
        if new["due"] < before["due"] or new["day"] < before["day"]:
            say(f"row {row}: time ran backwards")
        if new["due"] % max(1, rules["beat"]) or new["day"] > at // _DAY:
            say(f"row {row}: a submission was numbered for no beat, or for a day that had not come")
        if new["due"] <= at:
            say(f"row {row}: a submission was numbered for a beat that had passed")
        if new["charge"] != _bits(_least(rules, number)):
            say(f"row {row}: what was reserved is not the worst charge")
        self._count(row, new)

    def _count(self, row: int, new: dict[str, Any]) -> None:
        keys = ("team", new["team"]), ("team", new["team"], new["day"]), ("day", new["day"])
        self._used.update(keys)
        used = (*(self._used[key] for key in keys), len(self.entries) + self.lost)
        for count, quota in zip(used, ("per_team", "per_team_day", "per_day", "per_board"), strict=True):
            if count > self.rules[quota]:
                self.faults.append(f"row {row}: the quota {quota} was exceeded")
        if new["digest"] in self._digests:
            self.faults.append(f"row {row}: the same submission was numbered twice")
        self._digests.add(new["digest"])

    def _settle(self, row: int, at: int, body: dict[str, Any]) -> bool:
        """Settle the next entry; False where another one was settled."""
        number, symbol, answers = self.settled, body["symbol"], self.rules["answers"]
        if number == len(self.entries) or number != body["number"]:
            self.faults.append(f"row {row}: submission {body['number']} was settled out of order")
            return False
        if not self._can(symbol):
            self.faults.append(f"row {row}: it is no answer that submission {number} can have")
            return False
        entry = self.entries[number]
        if at < entry["due"]:
            self.faults.append(f"row {row}: a submission was settled before its beat")
        charge, (record, raised) = self._price(entry, symbol), self._records[-1]
        if charge != body["charge"]:
            self.faults.append(f"row {row}: the charge is {body['charge']}, computed again it is {charge}")
        if self.rules["rule"] == "records" and symbol < record:
            self.faults.append(f"row {row}: a record fell")
        if symbol < answers:
            raised += symbol > record
            record = max(record, symbol)
            for name in (None, entry["team"]):
                self._scored.setdefault(name, []).append(number)
        self._records.append((record, raised))
        self.settled += 1
        self.held -= entry["charge"]
        self.spent += body["charge"]
        entry.update(told=symbol, charge=body["charge"])
        return True

    def _price(self, new: dict[str, Any], symbol: int) -> int:
        """Return what it costs to tell a symbol, by what was told at earlier beats."""
        rules, answers, seen = self.rules, self.rules["answers"], self._first[new["due"]]
        if rules["rule"] == "uniform":
            return _bits(_TOTAL // (answers + 1))
        if rules["rule"] == "ranks":
            return _bits(_least(rules, self.settled))
        if rules["rule"] == "records":
            return _bits(_record(answers, *self._records[seen], seen, symbol))
        own, around = self._told(new["team"], seen)[-1:], self._told(None, seen)
        floor = _TOTAL // 20
        if not around:
            return _bits(floor // (answers + 1) + ((_TOTAL - floor) // answers if symbol < answers else 0))
        rest = _TOTAL - floor
        shares = [(own[-1], rest * 2 // 3)] if own else []
        left = rest - shares[0][1] if own else rest
        weight = floor // (answers + 1)
        if symbol < answers:
            for centre, share in [*shares, *((centre, left // len(around)) for centre in around)]:
                weight += _stairs(answers, centre, share, symbol)
        return _bits(weight)

    def _told(self, team: str | None, seen: int) -> list[int]:
        """Return the last scores, twenty at most, of a team or of all, among the first submissions."""
        scored = self._scored.get(team, [])
        last = bisect.bisect_left(scored, seen)
        return [self.entries[at]["told"] for at in scored[max(0, last - 20) : last]]


def _is_final(told: str, promised: dict[str, Any]) -> bool:
    """Whether a text is one of the scores of a final release: all its decimals, and within the range."""
    if told == (_UNSCORED if promised["scores"] else ""):  # of ranks alone no score is told
        return True
    found = _SCORE.fullmatch(told.strip(" "))
    decimals = promised.get("decimals", -1)
    if found is None or len(found["part"] or "") != decimals:
        return False
    number = int(found["whole"] + (found["part"] or "")) * (-1 if found["sign"] else 1)
    return 0 <= number - int(promised["first"]) < int(promised["levels"])


def _least(rules: dict[str, Any], number: int) -> int:
    """Return the weight of the dearest answer, with ``number`` submissions before it."""
    if rules["rule"] == "ranks":
        return int((_TOTAL - rules["answers"]) // (number + 2))
    return _TOTAL // (1 if rules["rule"] == "uniform" else 20) // int(rules["answers"] + 1)


@functools.lru_cache(maxsize=1 << 16)
def _bits(weight: int) -> int:
    """Return the least c with ``2**(40 * 1024 - c) <= weight**1024``: the price in 1/1024 bit."""
    power, charge = weight**1024, 40 * 1024
    for bit in reversed(range(17)):
        if charge - (1 << bit) >= 0 and 1 << (40 * 1024 - charge + (1 << bit)) <= power:
            charge -= 1 << bit
    return charge


def _record(answers: int, record: int, raised: int, told: int, symbol: int) -> int:
    """Return the weight of a record: it stands by the rule of succession, or is a level above, each as likely."""
    floor = _TOTAL // 20
    weight = floor // (answers + 1)
    higher = answers - 1 - record
    up = (_TOTAL - floor) * (raised + 1) // (told + 2) if higher else 0
    if symbol == record:
        return weight + _TOTAL - floor - up
    return weight + (up // higher if record < symbol < answers else 0)


def _stairs(answers: int, centre: int, share: int, symbol: int) -> int:
    """Return what one centre gives to one symbol: on every scale its part of a staircase that halves."""
    scales = max(1, answers.bit_length() - 4)
    found = 0
    for scale in range(scales):
        steps = abs(symbol - centre) >> scale
        if steps <= 20:
            found += (share // scales) * 2 ** (20 - steps) // _height(answers, centre, scale)
    return found


@functools.lru_cache(maxsize=1 << 16)
def _height(answers: int, centre: int, scale: int) -> int:
    """Return what a staircase sums to."""
    reach = 21 << scale
    places = range(max(0, centre - reach + 1), min(answers, centre + reach))
    return int(sum(1 << (20 - (abs(at - centre) >> scale)) for at in places))
