"""What a scorer makes of a metric: ``answer = a g(m) + b``, g one of a few monotone links, to a step or in full.

Plain factors (a sign, the number of records, percent, bases of logarithms) are tried before measured ones, no link
before any, all digits before any rounding: the simplest that explains every answer is what is believed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "LINKS", "OFFSETS", "PLAIN", "Fit", "Level", "Link", "decimals_of", "fitted", "grid_of", "levels", "plain_factors"
]  # fmt: skip

_MOST_DECIMALS = 12
_MOST_DIGITS = 6  # of the last of which a metric of doubles knows many more
OFFSETS = (0.0, 1.0, -1.0, 0.5, -0.5, 2.0, 100.0)  #: that a host may well have meant
_UNIT = 2.0**-50
_SINGLE = 2.0**-22  # relative error of what was computed in single precision and printed
_SLACK = 1e-4  # of half a unit, for the error of sums
_SAME = 1e-6  # relative difference of two steps that are one
_LOOSE = (1e-9, 1e-6)  # relative errors that are no rounding, and taken for it all the same, in the end

Floats = NDArray[np.float64]
Map = Callable[[Floats], Floats]


@attrs.frozen(kw_only=True, eq=False)
class Link:
    """A strictly monotone function, its inverse and how fast it changes.

    Attributes:
        name: As a sentence names it; empty for the identity.
        of: The function; NaN where it has no value.
        back: Its inverse.
        slope: Its derivative.
    """

    name: str
    of: Map
    back: Map
    slope: Map


PLAIN = Link(name="", of=lambda m: m, back=lambda x: x, slope=np.ones_like)
LINKS = (
    Link(name="exp", of=np.exp, back=np.log, slope=np.exp),
    Link(name="exp(-x)", of=lambda m: np.exp(-m), back=lambda x: -np.log(x), slope=lambda m: -np.exp(-m)),
    Link(name="sqrt", of=np.sqrt, back=np.square, slope=lambda m: 0.5 / np.sqrt(m)),
    Link(
        name="square",
        of=lambda m: np.where(m >= 0, m * m, np.nan),
        back=np.sqrt,
        slope=lambda m: 2 * m,
    ),
    Link(name="log", of=np.log, back=np.exp, slope=lambda m: 1 / m),
    Link(name="log(1 + x)", of=np.log1p, back=np.expm1, slope=lambda m: 1 / (1 + m)),
    Link(name="1 / x", of=lambda m: 1 / m, back=lambda x: 1 / x, slope=lambda m: -1 / (m * m)),
    Link(name="1 / (1 + x)", of=lambda m: 1 / (1 + m), back=lambda x: 1 / x - 1, slope=lambda m: -1 / (1 + m) ** 2),
    Link(
        name="logistic",
        of=lambda m: 1 / (1 + np.exp(-m)),
        back=lambda x: np.log(x) - np.log1p(-x),
        slope=lambda m: np.exp(-m) / (1 + np.exp(-m)) ** 2,
    ),
    Link(
        name="logit",
        of=lambda m: np.log(m) - np.log1p(-m),
        back=lambda x: 1 / (1 + np.exp(-x)),
        slope=lambda m: 1 / (m * (1 - m)),
    ),
    Link(name="tanh", of=np.tanh, back=np.arctanh, slope=lambda m: 1 - np.tanh(m) ** 2),
)  #: that a host may put a metric through


@attrs.frozen(kw_only=True)
class Level:
    """How exactly answers are taken to follow what explains them.

    Attributes:
        step: Of the grid that answers are rounded to; 0: none shows.
        digits: Significant digits that answers are rounded to; 0: no such thing shows.
        room: How far an answer may be off; that of the greatest, where digits are counted.
        single: Whether that is what single precision leaves.
        loose: Whether it is an error that nothing explains.
    """

    step: float = 0.0
    digits: int = 0
    room: float
    single: bool = False
    loose: bool = False

    def at(self, answers: ArrayLike) -> Floats:
        """Return how far such answers may be off."""
        answers = np.asarray(answers, dtype=np.float64)
        if not self.digits:
            return np.full(answers.shape, self.room)
        return (1 + _SLACK) * _half(answers, self.digits)


@attrs.frozen(kw_only=True, eq=False)
class Fit:
    """``answer = scale link(m) + offset``.

    Attributes:
        link: The link.
        scale: a.
        offset: b.
        error: How far a and b leave an answer off, where they had to be measured.
        level: How exactly it holds.
    """

    link: Link
    scale: float
    offset: float
    error: float
    level: Level

    @property
    def plain(self) -> bool:
        """Whether the answer is the metric itself."""
        return self.link is PLAIN and (self.scale, self.offset) == (1.0, 0.0)

    def forward(self, metric: ArrayLike) -> Floats:
        """Return what is answered where the metric is ``metric``."""
        with np.errstate(all="ignore"):
            return np.asarray(self.scale * self.link.of(np.asarray(metric, dtype=np.float64)) + self.offset)

    def back(self, answer: float) -> float:
        """Return the metric behind an answer; NaN where there is none."""
        with np.errstate(all="ignore"):
            return float(self.link.back(np.asarray((answer - self.offset) / self.scale)))

    def off(self, metric: ArrayLike) -> Floats:
        """Return how far the metric may be off that is read from an answer, where it is ``metric``."""
        metric = np.asarray(metric, dtype=np.float64)
        with np.errstate(all="ignore"):
            answer = np.abs(self.forward(metric)) + abs(self.offset) + np.abs(self.scale * self.link.of(metric))
            loose = self.level.room if self.level.loose or self.level.single else 0.0
            bent = self.level.step / 2 if self.link is not PLAIN else 0.0  # else it is told as a rounding
            cut = self.level.at(self.forward(metric)) if self.level.digits else 0.0
            moved = bent + cut + self.error + loose + (0.0 if self.plain else _UNIT * answer)
            found = moved / np.abs(self.scale * self.link.slope(metric))
            return np.asarray(found if self.plain else found + _UNIT * np.abs(metric))


def decimals_of(answers: Floats) -> int | None:
    """Return the fewest decimals that write every answer; None when they need more than a dozen."""
    for decimals in range(_MOST_DECIMALS + 1):
        if np.all(np.abs(np.round(answers, decimals) - answers) <= 4 * np.spacing(np.abs(answers))):
            return decimals
    return None


def digits_of(answers: Floats) -> int:
    """Return the fewest significant digits that write every answer; 0 when they need more than half a dozen."""
    for digits in range(1, _MOST_DIGITS + 1):
        if all(float(f"{answer:.{digits}g}") == answer for answer in answers.tolist()):
            return digits
    return 0


def _half(answers: Floats, digits: int) -> Floats:
    """Return half a unit of the last significant digit; that of a number below the last of the digits is its own."""
    with np.errstate(divide="ignore"):
        place = np.floor(np.log10(np.abs(answers)))
    return np.asarray(0.5 * 10.0 ** (np.where(np.isfinite(place), place, -_MOST_DECIMALS) - digits + 1))


def levels(answers: Floats, *, n_records: int) -> Iterator[Level]:
    """Yield how exactly answers may follow what explains them, the most exact first.

    Args:
        answers: All that were given.
        n_records: N, which says how far sums of doubles may be off.
    """
    size = max(1.0, float(np.abs(answers).max()))
    tight = (4 * n_records + 2**12) * 2.0**-53 * size
    yield Level(room=tight)
    decimals = decimals_of(answers)
    if decimals is not None:
        yield Level(step=10.0**-decimals, room=0.5 * 10.0**-decimals + tight)
    step = _grid(answers)
    if step > (0.0 if decimals is None else 10.0**-decimals * (1 + _SAME)):
        yield Level(step=step, room=step / 2 + tight)
    if digits := digits_of(answers):
        yield Level(digits=digits, room=float(_half(answers, digits).max()) + tight)
    if decimals is None and bool(np.all(np.float32(answers) == answers)):
        yield Level(room=_SINGLE * size, single=True)
    for part in _LOOSE:
        yield Level(room=part * size, loose=True)


def grid_of(answers: Floats, level: Level) -> Level | None:
    """Return the level of the grid that all of ``answers`` lie on: ``level`` itself where it is its grid; None: none.

    Args:
        answers: Many.
        level: At which some of them were explained.
    """
    tight = level.room - level.step / 2
    decimals = decimals_of(answers)
    steps = [step for step in (0.0 if decimals is None else 10.0**-decimals, _grid(answers)) if step]
    step = max(steps, default=0.0)
    if abs(step / level.step - 1) < _SAME:
        return level
    return Level(step=step, room=step / 2 + tight) if 0 < step < level.step else None


def _grid(answers: Floats) -> float:
    """Return the step of which all differences of answers are multiples; 0 where there is none to speak of."""
    values = np.unique(answers)
    gaps = np.diff(values)
    if gaps.size < 2:
        return 0.0
    noise = 64 * float(np.spacing(np.abs(values).max()))
    step = 0.0
    for gap in gaps.tolist():
        a, b = max(step, gap), min(step, gap)
        while b > noise * 2**12:
            a, b = b, abs(a - round(a / b) * b)
        step = a
    return step if step > 1e-7 * float(np.ptp(values)) else 0.0


def plain_factors(n_scored: int) -> list[float]:
    """Return the factors that a host may well have meant: a sign, percent, a base, a half, and sums for means."""
    return [
        sign * factor * size
        for sign, factor, size in itertools.product(
            (1.0, -1.0), (1.0, 100.0, 1 / math.log(2), 1 / math.log(10), 0.5, 2.0), (1.0, float(n_scored))
        )
    ]


def fitted(own: Floats, answers: Floats, level: Level, n_scored: int, link: Link = PLAIN) -> Fit | None:
    """Return a and b with ``answers = a link(own) + b`` at that level, and how far off that may be; None without any.

    Plain factors come first, and are taken to be meant; others are as exact as they could be measured.
    """
    with np.errstate(all="ignore"):
        x = np.asarray(link.of(own), dtype=np.float64)
    if not np.isfinite(x).all() or np.ptp(x) == 0:
        return None
    low, high, room = int(x.argmin()), int(x.argmax()), level.at(answers)
    slope = float(np.polyfit(x, answers, 1)[0])
    loose = 2 * level.room / (x[high] - x[low])
    plain = plain_factors(n_scored)
    offsets = (*OFFSETS, -level.step / 2, level.step / 2) if level.step else OFFSETS  # cut off instead of rounded
    # A rounding that hides all differences, or an unexplained error of the size of what is explained, fits anything.
    least = (64 if level.loose or link is not PLAIN else 4) * level.room
    for scale in [*(value for value in plain if abs(value - slope) <= loose), slope]:
        rests = answers - scale * x
        middle = float((rests - room).max() + (rests + room).min()) / 2
        offset = next((value for value in offsets if (np.abs(rests - value) <= room).all()), middle)
        if (np.abs(rests - offset) <= room).all() and abs(scale) * np.ptp(x) > least:
            error = loose * float(np.abs(x).max()) * (scale == slope) + 2 * level.room * (offset not in offsets)
            return Fit(link=link, scale=float(scale), offset=float(offset), error=error, level=level)
    return None
