"""The surprise ledger's prices, in integers.

Before an answer is told a public rule fixes a prediction Q of it: a weight ``W_k >= 1`` for every answer k, of sum at
most ``2**40``. Told k, the ledger charges ``-log2(W_k / 2**40)`` bits, rounded up to 1/1024. As every prediction sums
to at most one, so do the products along all transcripts (Kraft), whatever the attackers do, collude or stop: with
probability ``1 - delta`` one list of guesses has no more right labels than the bits charged so far allow. An honest
score near earlier ones is cheap; what is informative is surprising, and pays.

Q sees released answers and public data only: never a label, a count of labels, or a score that was rounded away. The
last symbol stands for *could not be scored*, a crash included.

The rule ``near``: one twentieth of the weight is uniform, the rest lies around the team's last answer and the board's
last answers, on all scales at once: two-sided staircases that halve every ``2**l`` steps. The rule ``uniform`` is
counting. A board that tells its record alone is predicted to keep it, more surely the longer it has (``records``); of
the ranks that a submission may have among those before it each is as likely (``ranks``).

Example:
    >>> charge_of(2**39), charge_of(2**40), charge_of(1)
    (1024, 0, 40960)
    >>> rule = Near(answers=1001)
    >>> first, later = rule.weights(PublicRecord()), rule.weights(PublicRecord(own=860, board=(855, 861, 850)))
    >>> round(charge_of(first[858]) / 1024, 1), round(charge_of(later[858]) / 1024, 1)
    (10.0, 4.7)
    >>> records = Records(answers=101).weights(PublicRecord(board=(80,), told=1000, raised=12))
    >>> round(charge_of(records[80]) / 1024, 2), round(charge_of(records[81]) / 1024, 1)
    (0.09, 9.8)
"""

from __future__ import annotations

import abc

import attrs
import numpy as np

__all__ = [
    "MILLIBITS",
    "TOTAL_BITS",
    "Near",
    "PublicRecord",
    "Ranks",
    "Records",
    "Rule",
    "UniformRule",
    "charge_of",
    "rule_named",
    "worst_charge",
]

TOTAL_BITS = 40  #: weights sum to at most 2**40
MILLIBITS = 1024  #: charges are whole numbers of 1 / 1024 bit
_TOTAL = 1 << TOTAL_BITS
_UNIFORM = _TOTAL // 20
_HEIGHT = 20  # a staircase starts at 2**20 and ends below 1
_REMEMBERED = 20


@attrs.frozen(kw_only=True)
class PublicRecord:
    """What everybody knows when an answer is predicted: what was released at earlier beats, and nothing else.

    Attributes:
        own: The team's last answer; None without one.
        board: The last answers of all teams, newest first.
        number: How many submissions were numbered before.
        told: How many answers were released before.
        raised: How many of them were above all before them.
    """

    own: int | None = None
    board: tuple[int, ...] = ()
    number: int = 0
    told: int = 0
    raised: int = 0


@attrs.frozen(kw_only=True)
class Rule(abc.ABC):
    """A public rule that predicts the next answer; its class and the number of answers are all there is to know of it.

    Attributes:
        answers: Answers that a score can take; one more symbol stands for no score.
    """

    answers: int

    @abc.abstractmethod
    def weights(self, seen: PublicRecord) -> list[int]:
        """Return the weight of every symbol, each at least 1, of sum at most ``2**40``, shape ``(answers + 1,)``."""

    def least(self, number: int) -> int:
        """Return a number that no weight of an answer that can come is below, with ``number`` submissions before.

        By default that of the uniform twentieth.
        """
        return _UNIFORM // (self.answers + 1)


def charge_of(weight: int) -> int:
    """Return ``ceil(1024 (40 - log2 weight))``, exactly: the price of an answer, in 1/1024 bit."""
    power: int = weight**MILLIBITS
    return TOTAL_BITS * MILLIBITS - (power.bit_length() - 1)


def worst_charge(rule: Rule, number: int = 0) -> int:
    """Return the most that one answer can cost, with ``number`` submissions before it: what is reserved for it."""
    return charge_of(rule.least(number))


@attrs.frozen(kw_only=True)
class UniformRule(Rule):
    """Counting: every symbol costs the same."""

    def weights(self, seen: PublicRecord) -> list[int]:
        """The same for all."""
        return [self.least(seen.number)] * (self.answers + 1)

    def least(self, number: int) -> int:
        """An equal share of the whole."""
        return _TOTAL // (self.answers + 1)


@attrs.frozen(kw_only=True)
class Near(Rule):
    """Answers near earlier ones are likelier."""

    def weights(self, seen: PublicRecord) -> list[int]:
        """A uniform floor, and staircases around what is known."""
        own, around = seen.own, list(seen.board[:_REMEMBERED])
        weights = np.full(self.answers + 1, self.least(seen.number), dtype=np.int64)
        rest = _TOTAL - _UNIFORM
        if own is None and not around:
            weights[:-1] += rest // self.answers
        mine = 0 if own is None else (rest * 2 // 3 if around else rest)
        if own is not None:
            self._add(weights, own, mine)
        for centre in around:
            self._add(weights, centre, (rest - mine) // len(around))
        found: list[int] = weights.tolist()
        return found

    def _add(self, weights: np.ndarray, centre: int, share: int) -> None:
        """Add ``share`` in staircases around one answer, the same share for every width."""
        away = np.abs(np.arange(self.answers, dtype=np.int64) - centre)
        widths = range(max(1, self.answers.bit_length() - 4))
        for width in widths:
            reach = (_HEIGHT + 1) << width  # where a staircase has ended
            here = slice(max(0, centre - reach + 1), min(self.answers, centre + reach))
            stairs = np.int64(1) << (_HEIGHT - (away[here] >> width))
            weights[here] += stairs * (share // len(widths)) // stairs.sum()  # below 2**60


@attrs.frozen(kw_only=True)
class Records(Rule):
    """The record of the board after every submission: predicted to stand, by how often it has (rule of succession).

    Symbols are levels, a greater one the better; the last answer released is the record. No score is no new record.
    """

    def weights(self, seen: PublicRecord) -> list[int]:
        """A uniform floor, the record of before, and the levels above it, each as likely."""
        weights = [self.least(seen.number)] * (self.answers + 1)
        record = seen.board[0] if seen.board else 0
        rest, above = _TOTAL - _UNIFORM, self.answers - 1 - record
        up = rest * (seen.raised + 1) // (seen.told + 2) if above else 0
        weights[record] += rest - up
        for level in range(record + 1, self.answers):
            weights[level] += up // above
        return weights


@attrs.frozen(kw_only=True)
class Ranks(Rule):
    """How many of the submissions before it a submission is behind: each number as likely, and no score too."""

    def weights(self, seen: PublicRecord) -> list[int]:
        """The same for all that can be; 1 for the others."""
        even = self.least(seen.number)
        return [*[even] * (seen.number + 1), *[1] * (self.answers - seen.number - 1), even]

    def least(self, number: int) -> int:
        """An equal share of what those that cannot be leave."""
        return (_TOTAL - self.answers) // (number + 2)


_RULES: dict[str, type[Rule]] = {"uniform": UniformRule, "near": Near, "records": Records, "ranks": Ranks}


def rule_named(name: str, answers: int) -> Rule:
    """Return the rule of a name.

    Raises:
        KeyError: There is none.
    """
    return _RULES[name](answers=answers)
