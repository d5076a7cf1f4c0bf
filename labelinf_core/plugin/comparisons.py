"""What a paper says beside what was measured, as data: no author writes "the same", "one query" or "at least" by hand.

A :class:`Measured` is one figure with the games that it was computed from, and a :class:`Compared` sets figures beside
what a paper prints. What is said of them is computed: whether a search stopped at its own end, whether a game took as
many queries as the paper's, whether the figures are what the paper says, and which labels and queries they come from.
"""

from __future__ import annotations

import enum
import math
import re
from itertools import combinations, cycle
from typing import Any

import attrs

__all__ = ["Compared", "Measured", "Origin", "PaperClaim"]

_COMPUTED = re.compile(r"\b(the same|one query|at (least|most)|identical)\b", re.IGNORECASE)

_VERDICTS = {True: "the same", False: "not the same", None: "not decided: the search stopped at its own end"}
Ends = tuple[float, float]  # between which a figure lies; equal where it is known


def _no_verdict(instance: object, attribute: attrs.Attribute[Any], value: str) -> None:
    """Refuse words that are computed from the figures."""
    if found := _COMPUTED.search(value):
        name = f"{type(instance).__name__}.{attribute.name}"
        raise ValueError(f"{name} {value!r} must not say {found[0]!r}: that is computed from the figures")


@attrs.frozen(kw_only=True)
class Origin:
    """The games that a figure was computed from.

    Attributes:
        game: What was played: attack, curator and defences, or what else was computed.
        n: Labels of one game.
        queries: Most that one game took; gradients, models or printed numbers where those are what is seen.
        per_query: Labels that one of them asks about.
        games: How many.
        seed: Of all that is drawn; ``None`` where nothing is.
        seen: What ``queries`` counts, in the plural.
    """

    game: str
    n: int
    queries: int
    per_query: float = 1
    games: int = 1
    seed: int | None = None
    seen: str = "queries"

    @property
    def words(self) -> str:
        """Labels, queries and the game, in one line."""
        games = f"{self.games} game{'s' * (self.games != 1)}"
        drawn = "" if self.seed is None else f", seed {self.seed}"
        labels = f"{self.per_query:.4g} label{'s' * (self.per_query != 1)}"
        return f"N = {self.n}, {_counted(self.queries, self.seen)} of {labels}: {self.game}; {games}{drawn}"


@attrs.frozen(kw_only=True)
class Measured:
    """One figure.

    Attributes:
        value: The number; infinity where nothing below ``cap`` was enough.
        played: What it was computed from.
        unit: What it counts.
        of: Which of a row's figures it is; empty for the only one.
        cap: Largest value that was looked for, where a search could have gone on; ``None`` for no such end.
        floor: Smallest value that was looked for, likewise.
        n: Labels of the paper's game, where ours may have fewer.
        words: The figure as it is printed; computed.
    """

    value: float
    played: Origin
    unit: str = attrs.field(default="", validator=_no_verdict)
    of: str = attrs.field(default="", validator=_no_verdict)
    cap: float | None = None
    floor: float | None = None
    n: int | None = None
    words: str = attrs.field(init=False)

    @words.default
    def _said(self) -> str:
        low, high = self.ends
        bound = ""
        if low != high:
            bound = "at most " if math.isinf(low) else "more than " if math.isinf(self.value) else "at least "
        number = low if math.isinf(high) else high
        unit = f" {_singular(self.unit) if number == 1 else self.unit}" if self.unit else ""
        shown = f"{number:.0f}" if float(number).is_integer() else f"{number:.4g}".replace("inf", "∞")
        return f"{bound}{shown}{unit}"

    @property
    def ends(self) -> Ends:
        """Between what the figure lies, with the end of its search in mind."""
        if self.cap is not None and self.value >= self.cap:
            return self.cap, math.inf
        if self.floor is not None and self.value <= self.floor:
            return -math.inf, self.floor
        return self.value, self.value


class PaperClaim(enum.Enum):
    """What a paper says of the figures of a row, in their order."""

    EQUAL = "each is the number that is printed"
    FALLS = "the last is below the first, and none is known to be above an earlier one"
    RISES = "the last is above the first, and none is known to be below an earlier one"
    ALIKE = "they are equal to one another"


@attrs.frozen(kw_only=True)
class Compared:
    """What a paper says beside what was measured.

    Attributes:
        quantity: Of what.
        paper: What is printed.
        ours: The figures that stand beside it, at least one.
        claim: What the paper says of them, where that can be told from the figures.
        printed: The numbers that are printed: one for every figure, or one for all; with ``Claim.EQUAL`` only.
        queries: How many the paper's game takes, where it says so.
        why: What is known of a difference.
        verdict: Whether the figures are what the paper says; computed, empty without a claim.
        notes: What the games say of themselves beside the figures; computed.
    """

    quantity: str = attrs.field(validator=_no_verdict)
    paper: str
    ours: tuple[Measured, ...] = attrs.field(validator=attrs.validators.min_len(1))
    claim: PaperClaim | None = None
    printed: tuple[float, ...] = attrs.field(default=())
    queries: int | None = None
    why: str = attrs.field(default="", validator=_no_verdict)
    verdict: str = attrs.field(init=False)
    notes: tuple[str, ...] = attrs.field(init=False)

    @printed.validator
    def _as_many(self, attribute: attrs.Attribute[Any], value: tuple[float, ...]) -> None:
        if (self.claim is PaperClaim.EQUAL) != bool(value) or len(value) not in (0, 1, len(self.ours)):
            raise ValueError(
                f"Compared.printed {value} must be one number, or one for each figure, of Claim.EQUAL only"
            )

    @verdict.default
    def _judged(self) -> str:
        ends = [figure.ends for figure in self.ours]
        if self.claim is None or (self.claim is PaperClaim.EQUAL and not self.printed):  # which is refused below
            return ""
        if self.claim is not PaperClaim.EQUAL:
            return _VERDICTS[_ordered(ends, self.claim)]
        held = [_is(own, number) for own, number in zip(ends, cycle(self.printed), strict=False)]
        if len(set(held)) == 1:
            return _VERDICTS[held[0]]
        told = zip(self.ours, held, strict=True)
        return "; ".join(f"{figure.of or figure.words}: {_VERDICTS[is_]}" for figure, is_ in told)

    @notes.default
    def _noted(self) -> tuple[str, ...]:
        games = list(dict.fromkeys(figure.played for figure in self.ours))
        found = []
        if self.queries is not None:
            taken = sorted({game.queries for game in games})
            wanted = _counted(self.queries, games[0].seen)
            counts = " to ".join(str(count) for count in dict.fromkeys((taken[0], taken[-1])))
            found.append(wanted if taken == [self.queries] else f"{counts} {games[0].seen}, not {wanted}")
        fewer = [one for one in self.ours if one.n not in (None, one.played.n)]
        if fewer:
            own, theirs = (dict.fromkeys(n) for n in ((one.played.n for one in fewer), (one.n for one in fewer)))
            found.append(f"played with N = {', '.join(map(str, own))}, by the paper with {', '.join(map(str, theirs))}")
        return tuple(found)


def _counted(number: int, plural: str) -> str:
    return f"one {_singular(plural)}" if number == 1 else f"{number} {plural}"


def _singular(plural: str) -> str:
    if plural.endswith("ies"):
        return plural[:-3] + "y"
    return plural[:-1] if len(plural) > len("ms") and plural.endswith("s") else plural


def _is(ends: Ends, number: float) -> bool | None:
    """Whether a figure is a number; ``None`` where its search ended before it could tell."""
    low, high = ends
    if low == high:
        return math.isclose(low, number, rel_tol=1e-9)
    return None if low <= number <= high else False


def _ordered(ends: list[Ends], claim: PaperClaim) -> bool | None:
    """Whether figures stand to one another as claimed; ``None`` where searches ended before they could tell."""
    if claim is PaperClaim.ALIKE:
        apart = any(one[1] < other[0] for one in ends for other in ends)
        return False if apart else True if all(low == high for low, high in ends) else None
    if claim is PaperClaim.RISES:
        ends = [(-high, -low) for low, high in ends]
    if any(later[0] > earlier[1] for earlier, later in combinations(ends, 2)) or ends[-1][0] >= ends[0][1]:
        return False
    return True if ends[-1][1] < ends[0][0] else None
