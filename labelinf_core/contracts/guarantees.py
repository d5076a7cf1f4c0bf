"""What theory implies about a cell, and the verdict when it is held against what was observed.

Two one-sided facts can be known before anything is played. An attack may *promise*: as long as the released score is
within ``survives`` of the true one, every label comes out (a noise **floor** for the defender: less noise than that
does not help). A defence or a bound may set a **ceiling**: no attack whatever exceeds this accuracy. The verdict says
which of them decided the cell, and raises an alarm when the observation contradicts one.
"""

from __future__ import annotations

import decimal
import enum
import math
from collections.abc import Iterable

import attrs

from labelinf_core.contracts.gate import between, clean, is_number, number

__all__ = [
    "LITTLE",
    "MUCH",
    "BoundValue",
    "Ceiling",
    "Direction",
    "Interval",
    "PerGame",
    "Promise",
    "Verdict",
    "judge",
    "left_to_gain",
    "towards",
]

LITTLE = 0.25  #: a ceiling that leaves at most this share of what there is to gain over a blind guess is safety
MUCH = 0.5  #: one that leaves more than this is none worth the name


def towards(value: float, digits: int, *, up: bool) -> float:
    """Return ``value`` with so many significant digits, rounded up or down; an infinity stays.

    >>> towards(0.2253, 2, up=False), towards(0.2253, 2, up=True), towards(0.1, 2, up=True)
    (0.22, 0.23, 0.1)
    """
    if not math.isfinite(value):
        return value
    side = decimal.ROUND_CEILING if up else decimal.ROUND_FLOOR
    return float(decimal.Context(prec=digits, rounding=side).plus(decimal.Decimal(repr(float(value)))))


_SHARE, _SIZE = between(0, 1), between(0, math.inf)
_SAID = attrs.validators.and_(attrs.validators.instance_of(str), attrs.validators.min_len(1))


@attrs.frozen(kw_only=True)
class Interval:
    """An observed proportion with its confidence interval.

    Attributes:
        value: The observed proportion, in [0, 1].
        low: Lower confidence limit, in [0, value].
        high: Upper confidence limit, in [value, 1].
    """

    value: float
    low: float
    high: float


@attrs.frozen(kw_only=True)
class Promise:
    """What an attack is certain of before it plays.

    Attributes:
        survives: The largest error of a released score under which every label is recovered, in units of the score
            (the papers' tau of a tau-robust construction). Zero: only exact scores; infinity: whatever the score.
        present: The largest error that can be present under the threat model (noise, rounding and the curator's own
            arithmetic); infinity when it is unbounded.
        statement: The statement that proves it, for example ``"ICML 2021, Theorem 4"``.
        conditions: What must hold for the statement to apply; never empty.
        proved: False when the size of the attack was chosen by measurement; then nothing is certified.
        strict: True when ``present == survives`` is already too much.
        vouched: Whose statements it rests on, of what does not come with labelinf; the core fills it in.
    """

    survives: float = attrs.field(converter=number, validator=_SIZE)
    present: float = attrs.field(converter=number, validator=_SIZE)
    statement: str = attrs.field(converter=clean, validator=_SAID)
    conditions: str = attrs.field(converter=clean, validator=_SAID)
    proved: bool = attrs.field(default=True, validator=attrs.validators.instance_of(bool))
    strict: bool = attrs.field(default=False, validator=attrs.validators.instance_of(bool))
    vouched: tuple[str, ...] = ()

    @property
    def stated(self) -> bool:
        """Whether recovery of all labels is certain, if all that it rests on is so."""
        enough = self.present < self.survives if self.strict else self.present <= self.survives
        return self.proved and enough

    @property
    def certified(self) -> bool:
        """Whether recovery of all labels is certain, and rests on nothing but what comes with labelinf."""
        return self.stated and not self.vouched


@attrs.frozen(kw_only=True)
class PerGame:
    """What no attack exceeds in a single game, but with a probability that is stated.

    The probability of guessing k labels or more of N is at most ``2**bits`` times that of as many successes among N
    independent ones of probability ``share``. That is so of answers that take at most ``2**B`` values: for each of them
    the guess is fixed; ``share`` is that of the likeliest class, ``bits`` is B. It is so of pure label-DP: whatever is
    known of the others, the next label is right with ``share`` at most. Both are about independent labels: exactly
    known class counts are one more answer, worth ``-log2`` of their probability in bits (condition on them).

    Attributes:
        share: Of every success, in [0, 1].
        bits: What doubt about the answers costs, at least 0.
    """

    share: float = attrs.field(converter=number, validator=_SHARE)
    bits: float = attrs.field(default=0.0, converter=number, validator=_SIZE)


_GAME = attrs.validators.optional(attrs.validators.instance_of(PerGame))


@attrs.frozen(kw_only=True)
class Ceiling:
    """What no attack can exceed.

    Attributes:
        accuracy: Largest expected share of labels that any attack guesses correctly, in [0, 1].
        statement: The statement that proves it.
        conditions: What must hold for the statement to apply; never empty.
        exact: Largest probability of recovering all labels, in [0, 1].
        allowance: How much more than either an attack may reach in a game that does not quite meet the conditions: a
            statement about independent labels, say, where the class counts are exactly known. The alarm waits for more.
        game: What holds in every single game, where that is proved: an expectation alone allows a defence to give
            everything away in a few of them.
        vouched: Whose statements it rests on, of what does not come with labelinf; the core fills it in.
    """

    accuracy: float = attrs.field(converter=number, validator=_SHARE)
    statement: str = attrs.field(converter=clean, validator=_SAID)
    conditions: str = attrs.field(converter=clean, validator=_SAID)
    exact: float = attrs.field(default=1.0, converter=number, validator=_SHARE)
    allowance: float = attrs.field(default=0.0, converter=number, validator=_SIZE)
    game: PerGame | None = attrs.field(default=None, validator=_GAME)
    vouched: tuple[str, ...] = ()

    @property
    def reached(self) -> float:
        """The accuracy, with its allowance, that no attack exceeds on average."""
        return min(1.0, self.accuracy + self.allowance)

    def denies(self, accuracy: float, exact: float) -> bool:
        """Whether so large an accuracy, or share of trials that recover everything, contradicts this ceiling."""
        return accuracy > self.accuracy + self.allowance or exact > self.exact + self.allowance

    def line(self, title: str, formula: str) -> BoundValue:
        """Return it as a line of ``labelinf bounds``."""
        return BoundValue(
            title=title,
            direction=Direction.CEILING,
            quantity="accuracy",
            value=self.reached,
            formula=formula,
            conditions=self.conditions,
            statement=self.statement,
        )


class Direction(enum.Enum):
    """Which side of a bound is forbidden."""

    FLOOR = "floor"
    """Less than this does not protect: an attack is known that succeeds below it."""

    CEILING = "ceiling"
    """More than this is impossible for any attack; or, of noise, enough whatever the attack."""


@attrs.frozen(kw_only=True)
class BoundValue:
    """One line of ``labelinf bounds``.

    Attributes:
        title: What is bounded, for example ``"noise against one label per query"``.
        direction: Floor or ceiling.
        quantity: ``"noise"`` (of the score), ``"accuracy"``, ``"gain"`` (over a perfect model), ``"exact recovery"``,
            ``"labels per query"`` or ``"queries"``.
        value: The number; NaN is not allowed, infinity is.
        formula: How it is computed, in the papers' symbols.
        conditions: When it applies.
        statement: Where it is proved.
        vouched: Whose statements it rests on, of what does not come with labelinf; the core fills it in.
    """

    title: str = attrs.field(converter=clean)
    direction: Direction = attrs.field(validator=attrs.validators.instance_of(Direction))
    quantity: str = attrs.field(converter=clean)
    value: float = attrs.field(converter=number)
    formula: str = attrs.field(converter=clean)
    conditions: str = attrs.field(converter=clean)
    statement: str = attrs.field(converter=clean)
    vouched: tuple[str, ...] = ()

    @value.validator
    def _is_a_number(self, attribute: attrs.Attribute[float], value: float) -> None:
        if not is_number(value):
            raise ValueError(f"the bound {self.title!r} is not a number")

    @property
    def rises(self) -> bool:
        """Whether a larger value says less: of a ceiling, but for queries, without which something cannot be."""
        return (self.direction is Direction.CEILING) != (self.quantity == "queries")

    def weaker(self, digits: int) -> float:
        """Return the value with so many significant digits, rounded to where it says less."""
        return towards(self.value, digits, up=self.rises)


class Verdict(enum.Enum):
    """The outcome of a cell, observed against implied."""

    BROKEN_CERTIFIED = "broken, certified"
    """A statement promises that every label comes out, and the observation agrees."""

    BROKEN_OBSERVED = "broken, observed"
    """The attack beats the majority guess beyond its interval; nothing had promised it."""

    HELD_CERTIFIED = "held, certified"
    """A ceiling leaves every attack at most a quarter of what there is to gain over the best blind guess."""

    HELD_PARTLY = "certified, much left"
    """A ceiling leaves more than a quarter and at most half of it. What was observed agrees."""

    HELD_IF_STATED = "held, if as stated"
    """A ceiling leaves at most half of it, and is proved only if a third party's component does what it states."""

    HELD_SO_FAR = "held so far"
    """This attack gained nothing; nothing is proved about others."""

    UNTESTED = "untested"
    """Nothing was tried, and nothing is proved: a blind guess, or an attack on what is not known to be there."""

    CONTRADICTION = "contradiction"
    """The observation is above a ceiling or below a certified floor: a bug or an erratum."""

    LEAKY = "leaky: void"
    """The attack guesses labels that nothing depends on: it reads them from somewhere else, and its result is void."""

    VIEW_REVEALS = "view reveals label"
    """The same, and the declared view does contain the labels."""

    NOT_PLAYED = "not played"
    """No trial of the cell produced a guess."""

    @property
    def letter(self) -> str:
        """The verdict in ASCII, told apart without colour: capitals are proved, a question mark is luck."""
        return _SIGNS[self][0]

    @property
    def symbol(self) -> str:
        """One character for a table; a word always stands beside it in a legend."""
        return _SIGNS[self][1]

    @property
    def severity(self) -> int:
        """How bad it is for whoever defends: the verdict of a defence is its worst cell's."""
        return _WORST_FIRST.index(self)


_SIGNS = {
    Verdict.BROKEN_CERTIFIED: "B■",
    Verdict.BROKEN_OBSERVED: "b▣",
    Verdict.HELD_CERTIFIED: "C□",
    Verdict.HELD_PARTLY: "c◫",
    Verdict.HELD_IF_STATED: "s◇",
    Verdict.HELD_SO_FAR: "??",
    Verdict.UNTESTED: "-·",
    Verdict.CONTRADICTION: "!‼",
    Verdict.LEAKY: "x∅",
    Verdict.VIEW_REVEALS: "v◎",
    Verdict.NOT_PLAYED: " –",
}
_WORST_FIRST = (
    Verdict.CONTRADICTION,
    Verdict.BROKEN_CERTIFIED,
    Verdict.BROKEN_OBSERVED,
    Verdict.HELD_SO_FAR,
    Verdict.HELD_IF_STATED,
    Verdict.HELD_PARTLY,
    Verdict.HELD_CERTIFIED,
    Verdict.UNTESTED,
    Verdict.NOT_PLAYED,
    Verdict.VIEW_REVEALS,
    Verdict.LEAKY,
)  # what was not played, or is void, says nothing of the defence: any cell that does comes before it


def left_to_gain(ceilings: Iterable[Ceiling], baseline: float) -> float:
    """Return the share that the lowest ceiling leaves of what there is to gain over the best blind guess, in [0, 1]."""
    lowest = min((item.reached for item in ceilings), default=math.inf)
    if math.isinf(lowest):
        return 1.0
    return max(0.0, lowest - baseline) / (1 - baseline) if baseline < 1 else float(lowest < 1)


def judge(
    *,
    accuracy: Interval | None,
    exact: Interval | None,
    baseline: float,
    promise: Promise | None,
    ceilings: tuple[Ceiling, ...],
    contradicted: bool | None = None,
    at_least: float | None = None,
    blind: bool = False,
) -> Verdict:
    """Set what was observed beside what is implied.

    Args:
        accuracy: Observed share of labels guessed correctly; None when nothing was played.
        exact: Observed share of trials in which every label was recovered.
        baseline: Accuracy of the best blind guess.
        promise: What the attack was certain of, if anything.
        ceilings: What no attack can exceed.
        contradicted: Whether the observation contradicts a ceiling, the number of cells and all; when omitted, whether
            the intervals lie above one.
        at_least: A lower limit of the accuracy that holds when nothing leaks; ``accuracy.low`` when omitted.
        blind: Whether the attack guesses without looking, or at something else than it was made for.

    Returns:
        The verdict. A contradiction takes precedence over everything else. Nothing is called certified that the
        observation exceeds, even where that is too little for an alarm.
    """
    if accuracy is None or exact is None:
        return Verdict.NOT_PLAYED
    agrees = not any(c.denies(accuracy.low, exact.low) for c in ceilings)
    certified = promise is not None and promise.certified
    if promise is not None and promise.stated and exact.value < 1:
        return Verdict.CONTRADICTION
    if contradicted or (contradicted is None and not agrees):
        return Verdict.CONTRADICTION
    if certified:
        return Verdict.BROKEN_CERTIFIED
    standing = ceilings if agrees else ()
    left = left_to_gain((item for item in standing if not item.vouched), baseline)
    if left <= MUCH:
        return Verdict.HELD_CERTIFIED if left <= LITTLE else Verdict.HELD_PARTLY
    if left_to_gain(standing, baseline) <= MUCH:
        return Verdict.HELD_IF_STATED
    if (accuracy.low if at_least is None else at_least) > baseline:
        return Verdict.BROKEN_OBSERVED
    return Verdict.UNTESTED if blind else Verdict.HELD_SO_FAR
