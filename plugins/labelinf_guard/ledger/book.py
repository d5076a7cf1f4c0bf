"""What the events of a ledger add up to. A pure fold: no clock, no file, no label; each event takes the same time.

Submissions are numbered when they are reserved. Each is admitted, settled and released in that order, at a beat that
was fixed at its reservation: nothing that a scorer does, however long it takes, can change an order. What predicts,
admits and refuses reads answers released at *earlier* beats only.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from typing import Any

import attrs

from labelinf_guard.ledger.charge import PublicRecord, Rule, charge_of, rule_named, worst_charge

__all__ = ["Book", "LedgerBrokenError", "LedgerEntry", "Rules"]

_TOTAL = 1 << 40
_REMEMBERED = 20


class LedgerBrokenError(Exception):
    """The ledger says what it cannot say: the certificate is void, and the board is closed."""


@attrs.frozen(kw_only=True)
class Rules:
    """What a ledger holds a board to; its first event says so.

    Attributes:
        policy: Hash of ``board.toml``.
        rule: How answers are predicted.
        answers: Values a score can take.
        budget: In 1/1024 bit; -1: none.
        beat: Milliseconds.
        allowed: Milliseconds that a scorer has at least.
        per_team: Submissions of one team.
        per_team_day: Of one team on one day.
        per_day: Of all teams on one day.
        per_board: Of all teams.
        terms: The certificate's terms, in whole numbers.
        claims: What it prints of them, in thousandths of all labels, rounded up: ``now``, ``after`` and ``line``, where
            there is one.
    """

    policy: str
    rule: str
    answers: int
    budget: int
    beat: int
    allowed: int
    per_team: int
    per_team_day: int
    per_day: int
    per_board: int
    terms: dict[str, Any] = attrs.field(factory=dict)
    claims: dict[str, int] = attrs.field(factory=dict)

    @property
    def form(self) -> int:
        """Form of the certificate's arithmetic; the first was not written down."""
        return int(self.terms.get("form", 1))


@attrs.define(kw_only=True)
class LedgerEntry:
    """One submission.

    Attributes:
        number: From 0, in the order of reservation.
        team: Whose.
        digest: Keyed hash of its canonical form.
        day: On which it counts.
        due: When it is settled and released.
        symbol: What was told; None before; ``answers`` stands for no score.
        charge: In 1/1024 bit; the worst before it is settled.
    """

    number: int
    team: str
    digest: str
    day: int
    due: int
    charge: int
    symbol: int | None = None


@attrs.define(kw_only=True)
class Book:
    """All entries, and the sums of them.

    Attributes:
        rules: What the board is held to; None before the first event.
        entries: Every submission, by number.
        settled: How many of them are.
        spent: By those that are settled, in 1/1024 bit; never falls.
        reserved: Held for those that are not, in 1/1024 bit.
        lost: Rows that were lost with a copy; each may have been an answer.
        time: The latest of all events.
        closed: Why no submission is admitted any more; empty while they are.
        final: The final release, once it is made.
        final_lost: Whether it may be among the rows that were lost.
    """

    rules: Rules | None = None
    entries: list[LedgerEntry] = attrs.field(factory=list)
    settled: int = 0
    spent: int = 0
    reserved: int = 0
    lost: int = 0
    time: int = 0
    closed: str = ""
    final: list[Any] | None = None
    final_lost: bool = False
    _by_digest: dict[str, int] = attrs.field(factory=dict, repr=False)
    _used: Counter[tuple[Any, ...]] = attrs.field(factory=Counter, repr=False)  # by team, by day, and by both
    _first: dict[int, int] = attrs.field(factory=dict, repr=False)  # submission of every beat
    _scored: dict[str | None, list[int]] = attrs.field(factory=lambda: defaultdict(list), repr=False)  # of each, of all
    _records: list[tuple[int, int]] = attrs.field(factory=lambda: [(0, 0)], repr=False)  # and how often it was raised

    def known(self) -> Rules:
        """Return the rules.

        Raises:
            LedgerBrokenError: There are none.
        """
        if self.rules is None:
            raise LedgerBrokenError("its first row is missing")
        return self.rules

    def same(self, digest: str) -> LedgerEntry | None:
        """Return the entry of the same canonical submission, from any team."""
        place = self._by_digest.get(digest)
        return None if place is None else self.entries[place]

    def refusal(self, team: str, day: int, worst: int) -> str:
        """Return why a new submission is not admitted, from history alone; empty when it is."""
        rules = self.known()
        if self.closed:
            return self.closed
        counts = (
            (len(self.entries) + self.lost, rules.per_board, "This board has answered all the submissions it will."),
            (self.used(team), rules.per_team, "Your team has no submissions left."),
            (self._used[team, day], rules.per_team_day, "Your team has no submissions left today."),
            (self._used[day,], rules.per_day, "This board takes no more submissions today."),
        )
        for used, allowed, sentence in counts:
            if used >= allowed:
                return sentence
        if 0 <= rules.budget < self.spent + self.reserved + worst:
            return "This board has told all that it will."
        return ""

    def sure(self) -> int:
        """Return how many more submissions of all teams together are answered, however dear each of them is."""
        rules, number = self.known(), len(self.entries)
        most = 0 if self.closed else max(0, rules.per_board - number - self.lost)
        if rules.budget < 0:
            return most
        rule, rest = rule_named(rules.rule, rules.answers), rules.budget - self.spent - self.reserved
        return bisect_right(range(1, most + 1), rest, key=lambda n: n * worst_charge(rule, number + n - 1))

    def left(self, team: str) -> int:
        """Return how many more submissions of a team are surely answered, as long as no other team sends any."""
        return max(0, min(self.known().per_team - self.used(team), self.sure()))

    def used(self, team: str) -> int:
        """Return how many submissions of a team were numbered."""
        return self._used[team,]

    def scored(self) -> int:
        """Return how many submissions were told something else than that they have no score."""
        return len(self._scored[None])

    def day(self, now: int) -> int:
        """Return the day on which a submission counts: a clock set back refills nothing."""
        return max(now // 86_400_000, self.entries[-1].day if self.entries else 0)

    def due(self, now: int) -> int:
        """Return the beat at which a submission that is reserved now will be released."""
        rules = self.known()
        return ((max(now, self.time) + rules.allowed) // rules.beat + 1) * rules.beat

    def history(self, entry: LedgerEntry) -> PublicRecord:
        """Return what was released before the entry's beat, once all of it is settled."""
        seen = self._first[entry.due]  # beats never run backwards
        own, board = (self._last(name, seen) for name in (entry.team, None))
        return PublicRecord(
            own=own[0] if own else None, board=board, number=entry.number, told=seen, raised=self._records[seen][1]
        )

    def _last(self, team: str | None, seen: int) -> tuple[int, ...]:
        """Return the last scores of a team, or of all, among the first submissions; newest first."""
        scored = self._scored[team]
        end = bisect_left(scored, seen)
        return tuple(self.entries[at].symbol or 0 for at in reversed(scored[max(0, end - _REMEMBERED) : end]))

    def symbol(self, entry: LedgerEntry, kept: int | None, better: int) -> int:
        """Return the symbol of an entry's answer.

        Args:
            entry: The next to be settled.
            kept: What its scorer left: a symbol, or for records and ranks a number that is greater for a better score;
                None where there is no score.
            better: How many before it left a greater one.
        """
        rules = self.known()
        if rules.rule == "records":
            standing = self.entries[entry.number - 1].symbol if entry.number else 0
            return max(standing or 0, kept or 0)
        if kept is None:
            return rules.answers
        return better if rules.rule == "ranks" else kept

    def price(self, entry: LedgerEntry, symbol: int, rule: Rule) -> int:
        """Return what it costs to tell ``symbol`` to an entry.

        Raises:
            LedgerBrokenError: The prediction is none, or the price is above what was reserved.
        """
        weights = rule.weights(self.history(entry))
        if len(weights) != rule.answers + 1 or min(weights) < 1 or sum(weights) > _TOTAL:
            raise LedgerBrokenError("a prediction does not sum to one")
        charge = charge_of(weights[symbol])
        if charge > worst_charge(rule, entry.number):
            raise LedgerBrokenError("a charge is above its reservation")
        return charge

    def add(self, kind: str, at: int, body: dict[str, Any]) -> None:
        """Take in one event.

        Raises:
            LedgerBrokenError: It cannot come here.
        """
        self.time = max(self.time, at)
        if kind == "open" and self.rules is None:
            self.rules = Rules(**body)
        elif kind == "reserve":
            self._reserve(LedgerEntry(number=len(self.entries), **body))
        elif kind == "settle" and self.settled < len(self.entries) and body["number"] == self.settled:
            self._settle(self.entries[self.settled], body["symbol"], body["charge"])
        elif kind == "adopt":
            self.spent += body["charge"]
            self.lost += body["rows"]
            self.final_lost |= body.get("final", True)  # an earlier version did not say
        elif kind == "close":
            self.closed = body["why"]
        elif kind == "final":
            self.final = body["released"]
            self.closed = "This board is closed; its final scores are out." if self.final else "This board is closed."
        else:
            raise LedgerBrokenError(f"a row of kind {kind!r} cannot stand where it stands")

    def _reserve(self, entry: LedgerEntry) -> None:
        self._by_digest[entry.digest] = entry.number
        self._first.setdefault(entry.due, entry.number)
        self._used.update([(entry.team,), (entry.day,), (entry.team, entry.day)])
        self.entries.append(entry)
        self.reserved += entry.charge

    def _settle(self, entry: LedgerEntry, symbol: int, charge: int) -> None:
        record, raised = self._records[-1]
        if symbol != self.known().answers:
            raised, record = raised + (symbol > record), max(record, symbol)
            for name in (None, entry.team):
                self._scored[name].append(entry.number)
        self._records.append((record, raised))
        self.reserved -= entry.charge
        entry.symbol, entry.charge = symbol, charge
        self.settled += 1
        self.spent += charge
