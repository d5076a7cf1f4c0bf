"""The ledger: prices that sum to one, an order that nothing changes, and what survives."""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelinf_core.contracts.errors import InputError
from labelinf_core.statistics.proportions import game_p_value
from labelinf_guard.certificate.gain import game_line
from labelinf_guard.clock import StepClock, SystemClock
from labelinf_guard.ledger.book import LedgerEntry, Rules
from labelinf_guard.ledger.charge import Near, PublicRecord, UniformRule, charge_of, rule_named, worst_charge
from labelinf_guard.ledger.store import Ledger, RefusedError, chained
from labelinf_guard.ledger.verify import verify

KEY = b"k" * 32


def rules(**changed: Any) -> Rules:
    wanted = {
        "policy": "p",
        "rule": "near",
        "answers": 101,
        "budget": 200 * 1024,
        "beat": 10_000,
        "allowed": 5000,
        "per_team": 100,
        "per_team_day": 100,
        "per_day": 1000,
        "per_board": 1000,
    }
    return Rules(**{**wanted, **changed})


def begin(folder: Path, clock: StepClock | None = None, **changed: Any) -> Ledger:
    return Ledger.create(folder / "l", folder / "a", KEY, rules(**changed), clock or StepClock())


def reopen(folder: Path, clock: StepClock | None = None) -> Ledger:
    return Ledger.open(folder / "l", folder / "a", KEY, clock or StepClock())


@given(
    st.integers(2, 3000),
    st.lists(st.integers(0, 10**6), max_size=25),
    st.one_of(st.none(), st.integers(0, 10**6)),
    st.integers(0, 10**6),
    st.sampled_from(["near", "uniform", "records", "ranks"]),
)
@settings(max_examples=60)
def test_every_prediction_sums_to_one_at_most(
    answers: int, board: list[int], own: int | None, before: int, name: str
) -> None:
    """No score and crash are in the sum; nothing that can come is dearer than what is reserved."""
    rule, told = rule_named(name, answers), tuple(symbol % answers for symbol in board)
    number = before % answers
    seen = PublicRecord(
        own=None if own is None else own % answers, board=told, number=number, told=before, raised=min(before, 7)
    )
    weights = rule.weights(seen)
    assert len(weights) == answers + 1
    assert sum(weights) <= 2**40
    assert min(weights) >= 1
    can = [*weights[: number + 1], weights[-1]] if name == "ranks" else weights
    assert min(can) >= rule.least(number)
    assert charge_of(min(can)) <= worst_charge(rule, number)


@given(st.integers(1, 2**40))
def test_a_charge_is_rounded_up(weight: int) -> None:
    exact = 1024 * (40 - math.log2(weight))
    assert exact - 1e-6 <= charge_of(weight) <= exact + 1 + 1e-6


def test_a_rule_that_sums_to_more_than_one_closes_the_board(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And so does a charge above its reservation: it is not booked as the reservation."""
    for fault in (lambda self, seen: [2**35] * 102, lambda self, seen: [1] * 102):
        folder = tmp_path / str(id(fault))
        folder.mkdir()
        ledger = begin(folder)
        entry, _ = ledger.reserve("a", "d")
        ledger.keep(entry, 5)
        with monkeypatch.context() as patch:
            patch.setattr(Near, "weights", fault)
            with pytest.raises(RefusedError, match="certificate is void"):
                ledger.wait(entry)
        with pytest.raises(RefusedError, match="ledger is at fault"):
            ledger.reserve("b", "e")


Answers = Sequence[int]


@pytest.mark.long
def test_no_adaptive_attack_with_any_stopping_rule_beats_what_it_was_charged() -> None:
    """B3 by brute force: five fair coins, two one-bit answers, a public prediction, stopping after none, one or two."""
    n, delta = 5, 0.2
    table = list(itertools.product((0, 1), repeat=n))
    questions = {
        tuple(int(sum(a == b for a, b in zip(y, row, strict=True)) >= k) for y in table)
        for row in table
        for k in range(1, n + 1)
    }
    price = {told: charge_of(weight) / 1024 for told, weight in enumerate((3 << 38, 1 << 38))}  # 3/4 to 1/4

    def win(cell: list[int], bits: float) -> float:
        """Best chance, within a cell, that a list's number of right guesses is rarer than allowed."""
        least = next((k for k in range(n + 1) if game_p_value(k, n, share=0.5, bits=bits) <= delta), None)
        if least is None or not cell:
            return 0.0
        return (
            max(sum(sum(a == b for a, b in zip(table[y], g, strict=True)) >= least for y in cell) for g in table) / 2**n
        )

    def play(cell: list[int], bits: float, left: int) -> float:
        best = win(cell, bits)
        if left and cell:
            for question in questions:
                parts = [[y for y in cell if question[y] == told] for told in (0, 1)]
                if all(parts):
                    best = max(best, sum(play(part, bits + price[told], left - 1) for told, part in enumerate(parts)))
        return best

    assert play(list(range(2**n)), 0.0, 1) <= delta + 1e-12
    rng = random.Random(1)
    questions = set(rng.sample(sorted(questions), 12))
    assert play(list(range(2**n)), 0.0, 2) <= delta + 1e-12


def test_two_answers_of_one_beat_do_not_predict_each_other(tmp_path: Path) -> None:
    """Kraft: the product of the predictions, summed over both answers, stays below one in any order of scorers."""
    total = 0.0
    for first, second in itertools.product(range(3), repeat=2):
        clock = StepClock()
        folder = tmp_path / f"{first}{second}"
        folder.mkdir()
        ledger = begin(folder, clock, answers=2)
        one, two = ledger.reserve("a", "1")[0], ledger.reserve("b", "2")[0]
        assert one.due == two.due
        kept = [(two, second), (one, first)] if first < second else [(one, first), (two, second)]
        for entry, symbol in kept:  # the scorers' time is a function of the labels
            if symbol < 2:
                ledger.keep(entry, symbol)
        ledger.wait(two)
        total += 2 ** -(ledger.book.spent / 1024)
    assert total <= 1


def test_the_time_of_a_scorer_decides_neither_order_nor_admission(tmp_path: Path) -> None:
    """In the prototype a slow label closed the board for another team, for nothing."""
    told = []
    for slow in (False, True):
        folder = tmp_path / str(slow)
        folder.mkdir()
        worst = worst_charge(UniformRule(answers=101))
        ledger = begin(folder, rule="uniform", budget=worst + 1024)
        entry, _ = ledger.reserve("a", "1")
        if not slow:
            ledger.keep(entry, 7)
        try:
            ledger.reserve("b", "2")
            told.append("admitted")
        except RefusedError as error:
            told.append(str(error))
        assert ledger.book.reserved == worst
    assert told == ["This board has told all that it will."] * 2


def test_a_score_that_comes_after_its_beat_is_no_score(tmp_path: Path) -> None:
    clock = StepClock()
    ledger = begin(tmp_path, clock)
    entry, _ = ledger.reserve("a", "1")
    clock.wait(entry.due)
    ledger.keep(entry, 7)
    assert ledger.wait(entry).symbol == 101
    assert ledger.book.spent == worst_charge(ledger.rule())


def test_a_crash_leaves_the_reservation_charged_in_full_and_the_same_answer(tmp_path: Path) -> None:
    """Whoever sends it again is told that it could not be scored: nothing is run again."""
    clock = StepClock()
    ledger = begin(tmp_path, clock)
    entry, _ = ledger.reserve("a", "1")
    ledger.close()  # the process is killed here
    again = reopen(tmp_path, clock)
    same, fresh = again.reserve("b", "1")
    assert (same.number, fresh) == (entry.number, False)
    assert again.wait(same).symbol == 101
    assert again.book.spent == worst_charge(again.rule())
    assert again.reserve("c", "1")[1] is False


class Unread(list[LedgerEntry]):
    """Entries that can be looked up, and never all of them."""

    def __iter__(self) -> Iterator[LedgerEntry]:
        raise AssertionError("all entries were looked at")

    def __getitem__(self, at: Any) -> Any:
        assert not isinstance(at, slice), "all entries were looked at"
        return super().__getitem__(at)


@pytest.mark.parametrize("rule", ["near", "uniform", "records", "ranks"])
def test_no_submission_looks_at_all_that_came_before(tmp_path: Path, rule: str) -> None:
    """Else a hundred thousand of them take a day; what is remembered is what a look at all of them finds."""
    ledger = begin(tmp_path, rule=rule, per_team_day=15)
    ledger.book.entries = Unread()
    for at in range(60):
        with contextlib.suppress(RefusedError):
            entry, _ = ledger.reserve(f"t{at % 3}", str(at))
            ledger.keep(entry, at * 7 % 11)
            if at % 4 == 0:
                ledger.wait(entry)
    ledger.settle()
    book = ledger.book
    entries = [book.entries[at] for at in range(len(book.entries))]
    assert book.reserved == sum(entry.charge for entry in entries[book.settled :])
    for entry in entries[: book.settled]:
        seen = [other for other in entries[: entry.number] if other.due < entry.due]
        scored = [other for other in seen if other.symbol != book.known().answers]
        found = book.history(entry)
        assert found.told == len(seen)
        assert found.board == tuple(other.symbol for other in scored[:-21:-1])
        assert found.own == next((other.symbol for other in reversed(scored) if other.team == entry.team), None)
        highest = [0, *itertools.accumulate((other.symbol or 0 for other in scored), max)]
        assert found.raised == sum(b > a for a, b in itertools.pairwise(highest))


def test_quotas_and_the_budget_are_history_alone(tmp_path: Path) -> None:
    clock = StepClock()
    ledger = begin(tmp_path, clock, per_team=3, per_team_day=2, per_day=3, per_board=6)
    for digest in ("1", "2"):
        ledger.reserve("a", digest)
    with pytest.raises(RefusedError, match="left today"):
        ledger.reserve("a", "3")
    ledger.reserve("b", "4")
    with pytest.raises(RefusedError, match="no more submissions today"):
        ledger.reserve("c", "5")
    clock.time += 86_400_000
    ledger.reserve("a", "3")
    with pytest.raises(RefusedError, match="no submissions left"):
        ledger.reserve("a", "6")


def test_a_clock_set_back_refills_nothing_and_keeps_nobody_waiting(tmp_path: Path) -> None:
    clock = StepClock(time=20 * 86_400_000)
    ledger = begin(tmp_path, clock, per_team_day=1)
    ledger.wait(ledger.reserve("a", "1")[0])
    clock.time -= 10 * 86_400_000
    with pytest.raises(RefusedError, match="left today"):
        ledger.reserve("a", "2")
    before = clock.time
    ledger.wait(ledger.reserve("b", "2")[0])
    assert clock.time - before <= 20_000


def test_rows_that_are_changed_cut_or_restored_show(tmp_path: Path) -> None:
    clock = StepClock()
    ledger = begin(tmp_path, clock)
    ledger.wait(ledger.reserve("a", "1")[0])
    copy = tmp_path / "copy"
    ledger.close()
    shutil.copy(tmp_path / "l", copy)
    ledger = reopen(tmp_path, clock)
    for digest in ("2", "3"):
        ledger.wait(ledger.reserve("a", digest)[0])
    head, spent = ledger.head, ledger.book.spent
    ledger.close()
    assert verify(tmp_path / "l", KEY, head=head).faults == ()

    shutil.copy(copy, tmp_path / "l")  # an old copy is put back
    with pytest.raises(InputError, match="ends 4 rows before"):
        reopen(tmp_path, clock)
    assert verify(tmp_path / "l", KEY, head=head).faults
    assert Ledger.adopt(tmp_path / "l", tmp_path / "a", KEY, clock) == 4
    adopted = reopen(tmp_path, clock)
    assert adopted.book.spent > spent
    assert adopted.book.lost == 4  # and count among the answers that noise is for
    adopted.close()
    assert verify(tmp_path / "l", KEY).faults == ()

    edited = sqlite3.connect(tmp_path / "l")
    with pytest.raises(sqlite3.IntegrityError, match="only added"):
        edited.execute("UPDATE events SET at = 0 WHERE id = 2")
    edited.execute("DROP TRIGGER events_hold")
    edited.execute("UPDATE events SET body = replace(body, '\"charge\": ', '\"charge\": 1') WHERE id = 3")
    edited.commit()
    edited.close()
    with pytest.raises(InputError, match=r"changed or is damaged \(row 3\)"):
        reopen(tmp_path, clock)
    assert verify(tmp_path / "l", KEY).faults == ("row 3 was changed, or one before it is gone",)


Rows = list[tuple[str, int, dict[str, Any]]]


def resealed(path: Path, edit: Callable[[Rows], Any]) -> None:
    """Edit a ledger as one who has its key."""
    file = sqlite3.connect(path)
    found = file.execute("SELECT kind, at, body FROM events ORDER BY id").fetchall()
    rows: Rows = [(kind, at, json.loads(body)) for kind, at, body in found]
    edit(rows)
    file.execute("DROP TRIGGER IF EXISTS events_stay")
    file.execute("DELETE FROM events")
    seal = "0" * 64
    for number, (kind, at, body) in enumerate(rows, 1):
        seal = chained(KEY, seal, number, kind, at, json.dumps(body))
        file.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?)", (number, kind, at, json.dumps(body), seal))
    file.commit()
    file.close()


FORGED: dict[str, tuple[Callable[[Rows], Any], str]] = {
    "a refund": (lambda rows: rows.append(("adopt", rows[-1][1], {"rows": 1, "charge": -5000})), "not charged in full"),
    "cheap losses": (lambda rows: rows.append(("adopt", rows[-1][1], {"rows": 9, "charge": 9})), "not charged in full"),
    "two releases": (lambda rows: rows.extend([("final", rows[-1][1], {"released": []})] * 2), "released twice"),
    "new rules": (lambda rows: rows.append(rows[0]), "time ran backwards"),
    "a row of no kind": (lambda rows: rows.append(("note", rows[-1][1], {})), "cannot stand here"),
    "an early answer": (lambda rows: rows.__setitem__(2, ("settle", rows[1][1], rows[2][2])), "before its beat"),
    "tomorrow's quota": (lambda rows: rows[-2][2].update(day=9), "had not come"),
    "no beat": (lambda rows: rows[-2][2].update(due=rows[-2][2]["due"] + 1), "for no beat"),
    "a claim of nothing": (lambda rows: rows[0][2].update(claims={"now": 1}), "has no terms"),
    "another charge": (lambda rows: rows[2][2].update(charge=1), "computed again"),
    "a beat of yesterday": (lambda rows: rows[-2][2].update(due=rows[-4][2]["due"]), "that had passed"),
    "an answer that says more": (lambda rows: rows[2][2].update(symbol=102), "no answer that submission 0 can have"),
    "a settlement of nothing": (lambda rows: rows[2][2].pop("symbol"), "row 3: it does not say"),
    "a cheap place": (lambda rows: rows[1][2].update(charge=1), "not the worst charge"),
}


@pytest.mark.parametrize("forged", sorted(FORGED))
def test_a_ledger_that_was_edited_and_sealed_again_does_not_add_up(forged: str, tmp_path: Path) -> None:
    ledger = begin(tmp_path)
    for digest in "123":
        entry, _ = ledger.reserve("a", digest)
        ledger.keep(entry, 50)
        ledger.wait(entry)
    ledger.close()
    resealed(tmp_path / "l", lambda rows: None)
    assert verify(tmp_path / "l", KEY).faults == ()
    edit, said = FORGED[forged]
    resealed(tmp_path / "l", lambda rows: edit(rows))
    assert said in " ".join(verify(tmp_path / "l", KEY).faults)


@pytest.mark.parametrize(
    ("rule", "symbol"), [("uniform", 102), ("uniform", -1), ("uniform", 0.5), ("ranks", 1), ("records", 101)]
)
def test_an_answer_that_cannot_be_does_not_add_up(rule: str, symbol: float, tmp_path: Path) -> None:
    """All answers of a uniform board cost the same: one of those that the certificate does not count too."""
    ledger = begin(tmp_path, rule=rule)
    ledger.wait(ledger.reserve("a", "1")[0])
    ledger.close()
    resealed(tmp_path / "l", lambda rows: rows[2][2].update(symbol=symbol))
    assert "no answer that submission 0 can have" in " ".join(verify(tmp_path / "l", KEY).faults)


@pytest.mark.long
@pytest.mark.parametrize("rule", ["near", "records", "ranks", "uniform"])
def test_verify_charges_what_the_ledger_charged(rule: str, tmp_path: Path) -> None:
    """Several submissions to a beat, some without a score, by teams in turn: as the ledger charged them."""
    clock = StepClock()
    ledger = begin(tmp_path, clock, rule=rule, answers=1000, budget=-1, per_day=10**6, per_board=1000)
    draw = random.Random(1)
    for number in range(120):
        entry, _ = ledger.reserve(f"t{number % 7}", str(number))
        if draw.random() < 0.9:
            ledger.keep(entry, draw.randrange(101))
        if draw.random() < 0.3:
            ledger.wait(entry)
    found = ledger.book
    ledger.close()
    told = verify(tmp_path / "l", KEY)
    assert (told.faults, told.spent, told.reserved) == ((), found.spent, found.reserved)


@pytest.mark.slow
def test_twenty_thousand_submissions_are_verified_within_a_minute(tmp_path: Path) -> None:
    begin(tmp_path, budget=-1, per_day=10**6, per_team=10**6, per_team_day=10**6, per_board=10**6).close()
    reserved = worst_charge(Near(answers=101))

    def edit(rows: Rows) -> None:
        for number in range(20_000):
            due = 10_000 * (number + 1)
            body = {"team": "a", "digest": str(number), "day": 0, "due": due, "charge": reserved}
            rows.append(("reserve", due, body))
            rows.append(("settle", due, {"number": number, "symbol": number % 101, "charge": 0}))

    resealed(tmp_path / "l", edit)
    start = time.perf_counter()
    assert verify(tmp_path / "l", KEY).submissions == 20_000
    assert time.perf_counter() - start < 60


def test_nothing_is_told_that_a_restored_copy_could_hide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed after its rows were on the disk and before the anchor: whoever tells the answer anchors them first."""
    clock = StepClock()
    begin(tmp_path, clock).close()
    copy = tmp_path / "copy"
    shutil.copy(tmp_path / "l", copy)
    ledger = reopen(tmp_path, clock)
    with monkeypatch.context() as killed:
        killed.setattr(Ledger, "_anchored", lambda self: None)
        entry, _ = ledger.reserve("a", "1")
        clock.wait(entry.due)
        ledger.settle()
    ledger.close()
    other = reopen(tmp_path, clock)
    other.wait(other.reserve("b", "1")[0])
    other.close()
    for suffix in ("l", "l-wal", "l-shm"):
        (tmp_path / suffix).unlink(missing_ok=True)
    shutil.copy(copy, tmp_path / "l")
    with pytest.raises(InputError, match="ends 2 rows before"):
        reopen(tmp_path, clock)


def test_a_host_may_charge_what_she_knows_was_lost(tmp_path: Path) -> None:
    """Ledger and anchor restored together look whole."""
    begin(tmp_path).close()
    assert Ledger.adopt(tmp_path / "l", tmp_path / "a", KEY, StepClock(), lost=3) == 3
    adopted = reopen(tmp_path)
    assert adopted.book.lost == 3
    assert adopted.book.spent == 3 * worst_charge(adopted.rule())


def test_a_file_that_is_no_ledger_is_said_to_be_none(tmp_path: Path) -> None:
    (tmp_path / "l").write_bytes(b"SQLite format 3" + bytes(5000))
    with pytest.raises(InputError, match="no ledger that can be read"):
        verify(tmp_path / "l", KEY)


def fill(ledger: Ledger) -> None:
    for number in range(200):
        ledger.reserve("a", f"{number:050d}" * 20)


TERMS = {
    "public": 25_000,
    "sealed": 0,
    "classes": 2,
    "known": False,
    "perfect": [1, 2],
    "doubt": [1, 10**6],
    "grouped": False,
    "effective": None,
    "sealed_effective": None,
    "units": 25_000,
    "levels": 101,
    "noise": None,
    "flip": [0, 1],
    "final": None,
}


@pytest.mark.parametrize(
    ("noise", "fault"),
    [
        ([1024, 1000, (1024 * 1000) ** 2, 1], ""),
        ([1024, 999, (1024 * 1000) ** 2, 1], "the noise of fewer answers"),
        ([1, 1000, 24, 1], "fewer steps in a deviation"),
    ],
)
def test_noise_is_counted_for_every_answer(noise: list[int], fault: str, tmp_path: Path) -> None:
    begin(tmp_path, budget=-1, terms=TERMS | {"noise": noise}, claims={"now": 500}).close()
    found = " ".join(verify(tmp_path / "l", KEY).faults)
    assert fault in found if fault else not found


FINAL = {"scores": 2, "ranks": 1, "ratio": None, "decimals": 1, "first": 0, "levels": 101}


@pytest.mark.parametrize("rows", [0, 2, 3])
@pytest.mark.parametrize("ranks", [1, 2])
def test_a_final_release_of_more_than_was_counted_is_found(rows: int, ranks: int, tmp_path: Path) -> None:
    terms = TERMS | {"public": 10_000, "sealed": 15_000, "final": FINAL}
    ledger = begin(tmp_path, budget=-1, terms=terms, claims={"now": 200, "after": 240, "line": 1000})
    ledger.add_final([{"team": f"t{at}", "score": "0.5", "rank": at + 1 if at < ranks else None} for at in range(rows)])
    ledger.close()
    found = any("more scores or ranks" in fault for fault in verify(tmp_path / "l", KEY).faults)
    assert found == (rows > 2 or min(rows, ranks) > 1)


@pytest.mark.parametrize(
    ("score", "counted"),
    [("0.5", True), ("10.0", True), ("could not be scored", True), (" 0.0", True)]
    + [(text, False) for text in ("0.51", "0", "10.1", "-0.1", "nan", "5e-1", "")],
)
def test_a_final_score_of_more_decimals_or_beyond_the_range_is_found(score: str, counted: bool, tmp_path: Path) -> None:
    """One more decimal tells three bits more than the certificate counts."""
    terms = TERMS | {"public": 10_000, "sealed": 15_000, "final": FINAL}
    ledger = begin(tmp_path, budget=-1, terms=terms, claims={"now": 200, "after": 240, "line": 1000})
    ledger.add_final([{"team": "t", "score": score, "rank": None}])
    ledger.close()
    assert (not any("none of those" in fault for fault in verify(tmp_path / "l", KEY).faults)) == counted


def test_an_answer_that_nobody_kept_is_no_broken_disk(tmp_path: Path) -> None:
    """Who writes into the table of kept answers is told that the ledger was changed, not what a database says."""
    ledger = begin(tmp_path)
    entry, _ = ledger.reserve("t", "d")
    ledger._connection.execute("INSERT INTO kept VALUES (?, 1, '')", (entry.number,))
    with pytest.raises(InputError, match="was changed or is damaged; nothing was told") as told:
        ledger.keep(entry, 0)
    assert "UNIQUE" not in str(told.value)
    ledger.close()


def test_a_ledger_of_an_earlier_version_is_said_to_be_one(tmp_path: Path) -> None:
    """Its answers wait without a seal, and its terms of a final release say less: a sentence in either case."""
    ledger = begin(tmp_path, terms={**TERMS, "final": {"scores": 3, "ranks": 0}}, claims={"now": 1000, "after": 1000})
    ledger.wait(ledger.reserve("t", "d")[0])
    ledger._connection.execute("ALTER TABLE kept DROP COLUMN seal")
    ledger.close()
    with pytest.raises(InputError, match="was begun by an earlier version of labelinf"):
        reopen(tmp_path)
    with pytest.raises(InputError, match="was begun by an earlier version of labelinf"):
        Ledger.adopt(tmp_path / "l", tmp_path / "a", KEY, StepClock())
    assert "row 1: its terms cannot be read" in " ".join(verify(tmp_path / "l", KEY).faults)


def next_answer(ledger: Ledger) -> None:
    ledger.wait(ledger.reserve("t", "new")[0])


@pytest.mark.parametrize("rule", ["near", "records", "ranks"])
@pytest.mark.parametrize(
    "edit",
    [
        "UPDATE kept SET symbol = symbol + 1 WHERE number = {}",
        "UPDATE kept SET number = 9 WHERE number = {}",
        "UPDATE kept SET symbol = 5, seal = (SELECT seal FROM kept WHERE number = 0) WHERE number = {}",
        "DELETE FROM kept WHERE number = {}",
    ],
)
@pytest.mark.parametrize("settled", [True, False])
def test_what_is_kept_until_its_beat_is_sealed(rule: str, edit: str, settled: bool, tmp_path: Path) -> None:
    """Changed or put elsewhere before its beat or after it, an answer is told to nobody and `verify` says so."""
    clock = StepClock()
    ledger = begin(tmp_path, clock, rule=rule, answers=101, per_board=101)
    for at in range(3):
        entry, _ = ledger.reserve("t", str(at))
        ledger.keep(entry, 5 + at)
        if at == 0 or settled:
            ledger.wait(entry)
    ledger.close()
    file = sqlite3.connect(tmp_path / "l")
    with pytest.raises(sqlite3.IntegrityError, match="only added"):
        file.execute(edit.format(1))
    file.execute("DROP TRIGGER kept_hold")
    file.execute("DROP TRIGGER kept_stay")
    file.execute(edit.format(1))
    file.commit()
    file.close()
    if edit.startswith("DELETE") and not settled:  # as if its scorer had crashed: no score, charged in full
        ledger = reopen(tmp_path, clock)
        assert ledger.wait(ledger.book.entries[1]).charge == worst_charge(ledger.rule(), 1) or rule == "records"
        ledger.close()
        assert verify(tmp_path / "l", KEY).faults == ()
        return
    assert verify(tmp_path / "l", KEY).faults
    if edit.startswith("DELETE") and rule != "ranks":  # what was told stands in its own row
        return
    with pytest.raises(InputError, match="was changed or is damaged"):
        next_answer(reopen(tmp_path, clock))  # of ranks it would rest on the one that is gone


def test_a_certificate_that_says_too_little_is_found(tmp_path: Path) -> None:
    """The first row holds the terms and what was printed; verify computes it again in whole numbers."""
    claims = [({"now": 101}, 0), ({"now": 100}, 0), ({"now": 99}, 1), ({}, 1), ({"now": 101, "after": 200}, 1)]
    lines = [({"now": 101, "line": line}, faults) for line, faults in ((602, 0), (590, 1), (505, 1))]
    for at, (said, faults) in enumerate([*claims, *lines]):
        folder = tmp_path / str(at)
        folder.mkdir()
        begin(folder, budget=726 * 1024, terms=TERMS, claims=said).close()
        assert len(verify(folder / "l", KEY).faults) == faults, said


def test_a_full_disk_tells_nothing_and_loses_nothing(tmp_path: Path) -> None:
    clock = StepClock()
    ledger = begin(tmp_path, clock)
    ledger.wait(ledger.reserve("a", "1")[0])
    pages = ledger._connection.execute("PRAGMA page_count").fetchone()[0]
    ledger._connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(InputError, match="nothing was told"):
        fill(ledger)
    ledger._connection.execute("PRAGMA max_page_count = 100000")
    ledger.settle()
    ledger.close()
    assert verify(tmp_path / "l", KEY).faults == ()


def test_a_full_disk_under_a_refusal_is_a_sentence_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The refused submission had settled another one on its way."""

    class Full:
        def __init__(self, whole: sqlite3.Connection) -> None:
            self.whole = whole

        def __getattr__(self, name: str) -> Any:
            return getattr(self.whole, name)

        def execute(self, query: str, *values: Any) -> Any:
            if query == "COMMIT":
                raise sqlite3.OperationalError("database or disk is full")
            return self.whole.execute(query, *values)

    clock = StepClock()
    ledger = begin(tmp_path, clock, per_team=1)
    clock.wait(ledger.reserve("a", "1")[0].due)
    with monkeypatch.context() as full:
        full.setattr(ledger, "_connection", Full(ledger._connection))
        with pytest.raises(InputError, match="nothing was told"):
            ledger.reserve("a", "2")
    with pytest.raises(RefusedError, match="no submissions left"):
        ledger.reserve("a", "2")
    assert ledger.book.settled == 1
    ledger.close()
    assert verify(tmp_path / "l", KEY).faults == ()


def test_fifty_clients_on_a_budget_for_twenty(tmp_path: Path) -> None:
    worst = worst_charge(UniformRule(answers=101))
    begin(tmp_path, rule="uniform", budget=20 * worst, per_team=1).close()
    told = []

    def client(number: int) -> None:
        ledger = Ledger.open(tmp_path / "l", tmp_path / "a", KEY, SystemClock())
        try:
            told.append(ledger.reserve(f"team{number}", str(number))[0].number)
        except RefusedError:
            told.append(-1)
        finally:
            ledger.close()

    threads = [threading.Thread(target=client, args=(number,)) for number in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(told) == [-1] * 30 + list(range(20))
    assert verify(tmp_path / "l", KEY).faults == ()


def test_what_another_process_keeps_while_a_ledger_is_read_is_no_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two of 539 submissions of fifty clients were refused: an answer was kept of a row that was not read yet."""
    writer = begin(tmp_path)
    read, left = Ledger.read, iter(range(2))

    def slowly(self: Ledger) -> None:
        read(self)
        if self is not writer and (number := next(left, None)) is not None:
            writer.keep(writer.reserve("other", str(number))[0], 1)

    monkeypatch.setattr(Ledger, "read", slowly)
    reader = reopen(tmp_path)
    assert set(reader.answered()) <= {0, 1}
    reader.close()
    writer.close()


_VICTIM = """
import sys
from pathlib import Path
from labelinf_guard.clock import SystemClock
from labelinf_guard.ledger.store import Ledger
folder = Path(sys.argv[1])
ledger = Ledger.open(folder / "l", folder / "a", b"k" * 32, SystemClock())
for number in range(10_000):
    entry, fresh = ledger.reserve("t", f"{sys.argv[2]}-{number}")
    ledger.keep(entry, number % 101)
    told = ledger.wait(entry)
    print(entry.number, told.symbol, flush=True)
"""


def survive(folder: Path, kills: int, processes: int = 2) -> None:
    begin(
        folder, budget=-1, beat=20, allowed=1, per_team=10**6, per_team_day=10**6, per_day=10**6, per_board=10**6
    ).close()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    rng, seen, spent = random.Random(0), {}, 0
    for kill in range(kills):
        running = [
            subprocess.Popen(
                [sys.executable, "-c", _VICTIM, str(folder), f"{kill}-{at}"],
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=environment,
            )
            for at in range(processes)
        ]
        assert running[0].stdout is not None
        running[0].stdout.readline()
        time.sleep(rng.random() / 10)
        for process in running:
            process.send_signal(signal.SIGKILL)
            out = process.communicate()[0].decode()
            for line in out.splitlines():
                if len(parts := line.split()) == 2 and line in out[: out.rfind("\n") + 1]:
                    seen[int(parts[0])] = int(parts[1])
        found = verify(folder / "l", KEY)
        assert found.faults == ()
        assert found.spent >= spent
        spent = found.spent
    ledger = Ledger.open(folder / "l", folder / "a", KEY, SystemClock())
    time.sleep(0.05)
    ledger.settle()
    assert all(ledger.book.entries[number].symbol == symbol for number, symbol in seen.items())
    assert ledger.book.settled == len(ledger.book.entries)
    assert len(seen) >= kills


@pytest.mark.long
def test_killed_at_any_moment_nothing_is_lost_or_refunded(tmp_path: Path) -> None:
    survive(tmp_path, kills=1)


@pytest.mark.slow
def test_killed_fifty_times(tmp_path: Path) -> None:
    survive(tmp_path, kills=50)


def test_honest_scores_cost_five_to_seven_bits(tmp_path: Path) -> None:
    """Twenty teams of skill .86 +- .017 on 25 000 labels, two or three submissions each, three decimals."""
    rng = np.random.default_rng(3)
    clock = StepClock()
    ledger = begin(tmp_path, clock, answers=1001, budget=-1)
    for at in range(50):
        entry, _ = ledger.reserve(f"t{at % 20}", str(at))
        ledger.keep(entry, round(1000 * float(np.clip(0.86 + 0.017 * np.sin(at % 20) + rng.normal(0, 0.004), 0, 1))))
        ledger.wait(entry)
    later = [entry.charge / 1024 for entry in ledger.book.entries[20:]]
    assert 4 < float(np.mean(later)) < 7
    assert attrs.asdict(ledger.book.known())["rule"] == "near"
    assert game_line(ledger.book.spent / 1024, 25_000, 0.9, doubt=1e-6) is not None
