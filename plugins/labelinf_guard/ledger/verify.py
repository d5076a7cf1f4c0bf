"""The second implementation: what a ledger adds up to, from its rows alone, in whole numbers.

Nothing of the first one is used but the names of the columns: seals, prices, order, sums and quotas are computed again,
slowly and plainly. A host runs it before the final release, or whenever a head was published.
"""

from __future__ import annotations

import functools
import hashlib
import hmac
import itertools
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs

from labelinf_core.contracts.errors import InputError
from labelinf_guard.ledger.recompute import gains_again, line_again

__all__ = ["Verified", "verify"]

_TOTAL = 2**40
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
        faults: What is wrong, in sentences; empty when all is right.
    """

    rows: int
    head: str
    submissions: int
    spent: int
    reserved: int
    budget: int
    policy: str
    faults: tuple[str, ...]


def verify(path: Path, key: bytes, *, head: str = "") -> Verified:
    """Read a ledger and compute everything again.

    Args:
        path: Of the ledger.
        key: Of its chain.
        head: A seal that was published: the ledger must hold it; empty for none.

    Raises:
        InputError: There is no ledger, or it cannot be read.
    """
    rows = _read(path)
    faults: list[str] = []
    seal = "0" * 64
    events: list[tuple[str, dict[str, Any]]] = []
    for place, (number, kind, at, body, sealed) in enumerate(rows, 1):
        text = f"{seal}\0{number}\0{kind}\0{at}\0{body}".encode()
        if number != place or hmac.new(key, text, hashlib.sha256).hexdigest() != sealed:
            faults.append(f"row {place} was changed, or one before it is gone")
            break
        seal = sealed
        events.append((kind, json.loads(body)))
    if head and head not in [row[4] for row in rows[: len(events)]]:
        faults.append("the head that was published is not in the ledger: it was cut, or begun anew")
    if not events or events[0][0] != "open":
        return Verified(
            rows=0,
            head=seal,
            submissions=0,
            spent=0,
            reserved=0,
            budget=0,
            policy="",
            faults=(*faults, "the first row does not say what the board is held to"),
        )
    rules = events[0][1]
    faults.extend(_claimed(rules))
    entries, spent = _again(rules, events[1:], faults)
    reserved = sum(entry["charge"] for entry in entries if "told" not in entry)
    return Verified(
        rows=len(events),
        head=seal,
        submissions=len(entries),
        spent=spent,
        reserved=reserved,
        budget=rules["budget"],
        policy=rules["policy"],
        faults=tuple(faults),
    )


def _claimed(rules: dict[str, Any]) -> Iterator[str]:
    """Say what the certificate claims and its terms do not prove."""
    terms, claims = rules["terms"], rules["claims"]
    if not terms:
        return
    for name, again in zip(("now", "after"), gains_again(terms, rules), strict=True):
        if (again is None) != (name not in claims):
            yield f"row 1: the certificate says something else of {name!r} than its terms"
        elif again is not None and again > 1000 * claims[name] + _ROUNDED:
            yield f"row 1: the certificate says {claims[name] / 10} points {name}, computed again {again / 10_000}"
    if "line" in claims and not line_again(terms, rules, claims["line"]):
        yield f"row 1: the line of one game, {claims['line'] / 10} %, does not follow from its terms"


def _read(path: Path) -> list[tuple[int, str, int, str, str]]:
    if not path.is_file():
        raise InputError(f"{path} is missing. labelinf guard init makes it.")
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        return connection.execute("SELECT id, kind, at, body, seal FROM events ORDER BY id").fetchall()
    except sqlite3.Error as error:
        raise InputError(f"{path} is no ledger that can be read ({error}). Restore it from a copy.") from error
    finally:
        connection.close()


def _again(rules: dict[str, Any], events: list[tuple[str, dict[str, Any]]], faults: list[str]) -> tuple[list[Any], int]:
    entries: list[dict[str, Any]] = []
    spent, lost, closed = 0, 0, False
    for row, (kind, body) in enumerate(events, 2):
        if kind == "reserve":
            entries.append(dict(body))
            _admitted(rules, entries, (spent, lost), row, faults)
            if closed:
                faults.append(f"row {row}: a submission was admitted after the board was closed")
        elif kind == "settle":
            if not _settled(rules, entries, body, row, faults):
                break
            spent += body["charge"]
        elif kind == "adopt":
            spent += body["charge"]
            lost += body["rows"]
        else:
            closed = True
    return entries, spent


def _settled(
    rules: dict[str, Any], entries: list[dict[str, Any]], body: dict[str, Any], row: int, faults: list[str]
) -> bool:
    """Settle the next entry; False where another one was settled."""
    waiting = [at for at, entry in enumerate(entries) if "told" not in entry]
    if not waiting or waiting[0] != body["number"]:
        faults.append(f"row {row}: submission {body['number']} was settled out of order")
        return False
    charge = _price(rules, entries, waiting[0], body["symbol"])
    if charge != body["charge"]:
        faults.append(f"row {row}: the charge is {body['charge']}, computed again it is {charge}")
    if rules["rule"] == "records" and body["symbol"] < max(entry.get("told", 0) for entry in entries):
        faults.append(f"row {row}: a record fell")
    entries[waiting[0]].update(told=body["symbol"], charge=body["charge"])
    return True


def _admitted(
    rules: dict[str, Any], entries: list[dict[str, Any]], gone: tuple[int, int], row: int, faults: list[str]
) -> None:
    """Add what is wrong with the last entry; ``gone``: bits that are spent, rows that were lost with a copy."""
    new = entries[-1]
    held = sum(entry["charge"] for entry in entries if "told" not in entry)
    if 0 <= rules["budget"] < gone[0] + held:
        faults.append(f"row {row}: a submission was admitted beyond the budget")
    if len(entries) > 1 and (new["due"] < entries[-2]["due"] or new["day"] < entries[-2]["day"]):
        faults.append(f"row {row}: time ran backwards")
    if new["charge"] != _bits(_least(rules, len(entries) - 1)):
        faults.append(f"row {row}: what was reserved is not the worst charge")
    own = [entry for entry in entries if entry["team"] == new["team"]]
    today = [entry for entry in entries if entry["day"] == new["day"]]
    used = (len(own), len([entry for entry in own if entry["day"] == new["day"]]), len(today), len(entries) + gone[1])
    for count, quota in zip(used, ("per_team", "per_team_day", "per_day", "per_board"), strict=True):
        if count > rules[quota]:
            faults.append(f"row {row}: the quota {quota} was exceeded")
    if any(entry["digest"] == new["digest"] for entry in entries[:-1]):
        faults.append(f"row {row}: the same submission was numbered twice")


def _least(rules: dict[str, Any], number: int) -> int:
    """Return the weight of the dearest answer, with ``number`` submissions before it."""
    if rules["rule"] == "ranks":
        return int((_TOTAL - rules["answers"]) // (number + 2))
    return _TOTAL // (1 if rules["rule"] == "uniform" else 20) // int(rules["answers"] + 1)


def _bits(weight: int) -> int:
    """Return the least c with ``2**(40 * 1024 - c) <= weight**1024``: the price in 1/1024 bit."""
    power, charge = weight**1024, 40 * 1024
    for bit in reversed(range(17)):
        if charge - (1 << bit) >= 0 and 1 << (40 * 1024 - charge + (1 << bit)) <= power:
            charge -= 1 << bit
    return charge


def _price(rules: dict[str, Any], entries: list[dict[str, Any]], place: int, symbol: int) -> int:
    answers, new = rules["answers"], entries[place]
    seen = [entry for entry in entries[:place] if entry["due"] < new["due"]]
    told = [entry for entry in seen if entry["told"] < answers]
    if rules["rule"] == "uniform":
        return _bits(_TOTAL // (answers + 1))
    if rules["rule"] == "ranks":
        return _bits(_least(rules, place) if symbol <= place or symbol == answers else 1)
    if rules["rule"] == "records":
        return _bits(_record(answers, [entry["told"] for entry in seen], symbol))
    own = [entry["told"] for entry in told if entry["team"] == new["team"]]
    around = [entry["told"] for entry in told][-20:]
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


def _record(answers: int, seen: list[int], symbol: int) -> int:
    """Return the weight of a record: it stands by the rule of succession, or is a level above, each as likely."""
    floor = _TOTAL // 20
    weight = floor // (answers + 1)
    scored = [level for level in seen if level < answers]
    record = scored[-1] if scored else 0
    raised = len(set(itertools.accumulate([0, *scored], max))) - 1
    higher = answers - 1 - record
    up = (_TOTAL - floor) * (raised + 1) // (len(seen) + 2) if higher else 0
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
