"""What theory implies about a cell, and the verdict when it is held against what was observed.

Two one-sided facts can be known before anything is played. An attack may *promise*: as long as the released score is
within ``survives`` of the true one, every label comes out (a noise **floor** for the defender: less noise than that
does not help). A defence or a bound may set a **ceiling**: no attack whatever exceeds this accuracy. The verdict says
which of them decided the cell, and raises an alarm when the observation contradicts one.
"""

from __future__ import annotations

import enum
import math

import attrs

__all__ = ["BoundValue", "Ceiling", "Direction", "Interval", "Promise", "Verdict", "judge"]


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
    """

    survives: float
    present: float
    statement: str
    conditions: str
    proved: bool = True
    strict: bool = False

    @property
    def certified(self) -> bool:
        """Whether recovery of all labels is certain."""
        enough = self.present < self.survives if self.strict else self.present <= self.survives
        return self.proved and enough


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
    """

    accuracy: float
    statement: str
    conditions: str
    exact: float = 1.0
    allowance: float = 0.0

    def denies(self, accuracy: float, exact: float) -> bool:
        """Whether so large an accuracy, or share of trials that recover everything, contradicts this ceiling."""
        return accuracy > self.accuracy + self.allowance or exact > self.exact + self.allowance


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
        quantity: ``"noise"`` (of the score), ``"accuracy"``, ``"exact recovery"``, ``"labels per query"`` or
            ``"queries"``.
        value: The number; NaN is not allowed, infinity is.
        formula: How it is computed, in the papers' symbols.
        conditions: When it applies.
        statement: Where it is proved.
    """

    title: str
    direction: Direction
    quantity: str
    value: float = attrs.field()
    formula: str
    conditions: str
    statement: str

    @value.validator
    def _is_a_number(self, attribute: attrs.Attribute[float], value: float) -> None:
        if math.isnan(value):
            raise ValueError(f"the bound {self.title!r} is not a number")


class Verdict(enum.Enum):
    """The outcome of a cell, observed against implied."""

    BROKEN_CERTIFIED = "broken, certified"
    """A statement promises that every label comes out, and the observation agrees."""

    BROKEN_OBSERVED = "broken, observed"
    """The attack beats the majority guess beyond its interval; nothing had promised it."""

    HELD_CERTIFIED = "held, certified"
    """A ceiling, its allowance included, keeps every attack at or below ``(1 + 1/K) / 2``, and the observation agrees.

    That is half of what there is to gain over a uniform guess; of what there is to gain over the majority guess, which
    is never worse, an attack gets half at most.
    """

    HELD_SO_FAR = "held so far"
    """This attack gained nothing; nothing is proved about others."""

    CONTRADICTION = "contradiction"
    """The observation is above a ceiling or below a certified floor: a bug or an erratum."""

    LEAKY = "leaky: void"
    """The attack guesses labels that nothing depends on: it reads them from somewhere else, and its result is void."""

    VIEW_REVEALS = "view reveals label"
    """The same, and the declared view does contain the labels."""

    NOT_PLAYED = "not played"
    """No trial of the cell produced a guess."""

    @property
    def symbol(self) -> str:
        """One character for a table; a word always stands beside it in a legend."""
        return {
            Verdict.BROKEN_CERTIFIED: "■",
            Verdict.BROKEN_OBSERVED: "▣",
            Verdict.HELD_CERTIFIED: "▢",
            Verdict.HELD_SO_FAR: "□",
            Verdict.CONTRADICTION: "‼",
            Verdict.LEAKY: "∅",
            Verdict.VIEW_REVEALS: "◎",
            Verdict.NOT_PLAYED: "–",
        }[self]


def judge(
    *,
    accuracy: Interval | None,
    exact: Interval | None,
    baseline: float,
    n_classes: int,
    promise: Promise | None,
    ceilings: tuple[Ceiling, ...],
    alarm_accuracy: Interval | None = None,
    alarm_exact: Interval | None = None,
    at_least: float | None = None,
) -> Verdict:
    """Set what was observed beside what is implied.

    Args:
        accuracy: Observed share of labels guessed correctly; None when nothing was played.
        exact: Observed share of trials in which every label was recovered.
        baseline: Accuracy of the majority guess.
        n_classes: K, which fixes what a uniform guess gains.
        promise: What the attack was certain of, if anything.
        ceilings: What no attack can exceed.
        alarm_accuracy: A wider interval for the alarm, corrected for the number of cells; ``accuracy`` when omitted.
        alarm_exact: The same for ``exact``.
        at_least: A lower limit of the accuracy that holds when nothing leaks; ``accuracy.low`` when omitted.

    Returns:
        The verdict. A contradiction takes precedence over everything else.
    """
    if accuracy is None or exact is None:
        return Verdict.NOT_PLAYED
    wide, wide_exact = alarm_accuracy or accuracy, alarm_exact or exact
    certified = promise is not None and promise.certified
    if certified and exact.value < 1:
        return Verdict.CONTRADICTION
    if any(c.denies(wide.low, wide_exact.low) for c in ceilings):
        return Verdict.CONTRADICTION
    if certified:
        return Verdict.BROKEN_CERTIFIED
    half_way = (1 + 1 / n_classes) / 2
    if any(c.accuracy + c.allowance <= half_way for c in ceilings):
        return Verdict.HELD_CERTIFIED
    if (accuracy.low if at_least is None else at_least) > baseline:
        return Verdict.BROKEN_OBSERVED
    return Verdict.HELD_SO_FAR
