"""Exact random deviates, digit by digit, in integer arithmetic: exponential and normal, rounded to a grid.

A sampler in floats draws from a set of doubles that is not the one its proof is about (Mironov, CCS 2012). Here no
float occurs. A deviate is an integer part and an infinite binary fraction, of which only those digits are drawn that a
decision needs: 64 at first, more when two fractions agree in all of them. What is drawn has *exactly* the stated law:

* exponential: ``j`` with probability proportional to ``exp(-j)``, and a fraction u kept with probability ``exp(-u)``
  (von Neumann, 1951);
* the absolute value of a standard normal: ``j`` with probability proportional to ``exp(-j**2 / 2)``, and a fraction u
  kept with probability ``exp(-u (2 j + u) / 2)`` (Karney, ACM TOMS 2016, Algorithm N).

For g in [0, 1], ``exp(-g)`` is drawn by its alternating series: Bernoulli ``g``, ``g / 2``, ``g / 3``, ... until one
fails; the successes are even in number with probability ``exp(-g)`` (Canonne, Kamath and Steinke, NeurIPS 2020,
Algorithm 1).

:meth:`Deviates.rounded` multiplies by a rational number and rounds, exactly. Noise that is a *rounded real deviate*,
added to an integer, is the rounding of real noise added to it: post-processing of the textbook's mechanism. So its
guarantee holds word for word, in every dimension and under every composition.

Example:
    >>> from fractions import Fraction
    >>> from labelinf_privacy.deviates import normal
    >>> from labelinf_privacy.words import SeededWords
    >>> source = SeededWords(np.random.default_rng(1))
    >>> bool(normal(source, 1000).rounded(Fraction(100), source).max() > 200)
    True
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_privacy.words import Words

__all__ = ["Deviates", "exponential", "normal", "signs", "uniform_below"]

_BITS = 64
_HALF = Fraction(1, 2)
_TOP = np.uint64(2**64 - 1)
_Bools = NDArray[np.bool_]
_Integers = NDArray[np.int64]


@attrs.frozen(eq=False)
class Deviates:
    """Numbers ``whole + fraction`` of which as many digits are known as were needed.

    Attributes:
        whole: Integer parts, shape ``(n,)``.
        digits: The first 64 binary digits of every fraction, shape ``(n,)``.
        more: Further words of digits, by index, where any were drawn.
    """

    whole: _Integers
    digits: NDArray[np.uint64]
    more: dict[int, list[int]] = attrs.field(factory=dict)

    def exceed(self, which: _Integers, source: Words) -> _Bools:
        """Return whether a fresh uniform real number is less than the fraction, for every index in ``which``."""
        drawn = source.words(which.size)
        own = self.digits[which]
        below = drawn < own
        for place in (drawn == own).nonzero()[0]:
            below[place] = self._exceeds_further_on(int(which[place]), source)
        return np.asarray(below)

    def _exceeds_further_on(self, index: int, source: Words) -> bool:
        for depth in itertools.count():
            own, drawn = self._word(index, depth, source), int(source.words(1)[0])
            if drawn != own:
                return drawn < own
        raise AssertionError("unreachable")

    def _word(self, index: int, depth: int, source: Words) -> int:
        """Return 64 further digits of one fraction, drawn when first asked for."""
        known = self.more.setdefault(index, [])
        while len(known) <= depth:
            known.append(int(source.words(1)[0]))
        return known[depth]

    def rounded(self, scale: Fraction, source: Words, *, offset: Fraction = _HALF) -> _Integers:
        """Return ``floor(scale * deviate + offset)``, exactly, shape ``(n,)``.

        Args:
            scale: More than 0; the results must fit into 63 bits.
            offset: 1/2 rounds to the nearest integer, 0 rounds down.
            source: Of the digits that are still missing, if any.
        """
        known = self.whole.astype(object) * (1 << _BITS) + self.digits.astype(object)
        low, certain = _floor(known, scale, offset, _BITS)
        for index in (~certain).nonzero()[0]:
            low[index] = self._rounded_further_on(int(index), int(known[index]), scale, offset, source)
        return np.asarray(low, dtype=np.int64)

    def _rounded_further_on(self, index: int, known: int, scale: Fraction, offset: Fraction, source: Words) -> int:
        for depth in itertools.count():
            known = (known << _BITS) + self._word(index, depth, source)
            low, certain = _floor(known, scale, offset, _BITS * (depth + 2))
            if certain:
                return int(low)
        raise AssertionError("unreachable")


def _floor(known: Any, scale: Fraction, offset: Fraction, bits: int) -> tuple[Any, Any]:
    """Return ``floor(scale x + offset)`` for x from ``known / 2**bits``, and whether all x below the next agree."""
    unit = scale.denominator * offset.denominator << bits
    step = scale.numerator * offset.denominator
    total = known * step + (offset.numerator * scale.denominator << bits)
    low = total // unit
    return low, total - low * unit + step <= unit


def uniform_below(limits: _Integers, source: Words) -> _Integers:
    """Return integers, each uniform on ``0 .. limit - 1``: exact, by rejection.

    Args:
        limits: From 1 to ``2**63 - 1``, shape ``(n,)``.
        source: Of the words.
    """
    wide = limits.astype(np.uint64)
    surplus = (_TOP % wide + np.uint64(1)) % wide  # 2**64 mod limit
    drawn = source.words(wide.size).copy()
    while (again := (drawn > _TOP - surplus).nonzero()[0]).size:
        drawn[again] = source.words(again.size)
    return (drawn % wide).astype(np.int64)


def signs(source: Words, size: int) -> _Integers:
    """Return ``size`` values, each -1 or 1 with probability one half."""
    return 1 - 2 * (source.words(size) >> np.uint64(_BITS - 1)).astype(np.int64)


def exponential(source: Words, size: int) -> Deviates:
    """Return ``size`` independent deviates with density ``exp(-x)``."""

    def proposed(n: int) -> tuple[Deviates, _Bools]:
        found = Deviates(_successes(n, 1, source), source.words(n).copy())
        return found, _kept_exponentially(found, np.arange(n), source)

    return _first_kept(size, proposed)


def normal(source: Words, size: int) -> Deviates:
    """Return the absolute values of ``size`` independent standard normal deviates."""

    def proposed(n: int) -> tuple[Deviates, _Bools]:
        whole = _successes(n, 2, source)
        kept = _all_succeed(whole * (whole - 1), 2, source)  # exp(-j/2) exp(-j (j-1) / 2) = exp(-j**2 / 2)
        found = Deviates(whole, source.words(n).copy())
        for power in range(int(whole.max()) + 1):  # exp(-u (2 j + u) / 2) is the power j + 1 of exp(-g), with g < 1
            trying = (kept & (whole >= power)).nonzero()[0]
            kept[trying] = _kept_normally(found, trying, source)
        return found, kept

    return _first_kept(size, proposed)


def _first_kept(size: int, proposed: Callable[[int], tuple[Deviates, _Bools]]) -> Deviates:
    """Return the first ``size`` proposals that are kept.

    So many are proposed at once that a second round is rare: a round of few costs as much as one of many. How many is
    decided before they are drawn, and nothing but their order decides which of the kept ones are returned.

    Args:
        size: How many deviates.
        proposed: Proposes so many, and says which of them are kept: about one half, or more.
    """
    found = Deviates(np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.uint64))
    done = 0
    while left := size - done:
        pool, kept = proposed(2 * left + 4 * math.isqrt(left))
        chosen = kept.nonzero()[0][:left]
        places = slice(done, done + chosen.size)
        found.whole[places], found.digits[places] = pool.whole[chosen], pool.digits[chosen]
        if pool.more:
            found.more.update({done + n: pool.more[k] for n, k in enumerate(chosen.tolist()) if k in pool.more})
        done += chosen.size
    return found


def _even(size: int, succeeds: Callable[[_Integers, int], _Bools]) -> _Bools:
    """Return whether the successes before the first failure are even in number: probability ``exp(-g)``.

    Args:
        size: How many series.
        succeeds: Given the series still open and k, draws Bernoulli ``g / k`` for each.
    """
    even = np.zeros(size, dtype=bool)
    open_ = np.arange(size)
    for k in itertools.count(1):
        if not open_.size:
            break
        success = succeeds(open_, k)
        even[open_[~success]] = k % 2 == 1
        open_ = open_[success]
    return even


def _decays(size: int, over: int, source: Words) -> _Bools:
    """Draw Bernoulli ``exp(-1 / over)``: a fresh uniform real number is compared with the constant."""
    drawn, constant = source.words(size), np.uint64(_decay(over, _BITS))
    below = drawn < constant
    for place in (drawn == constant).nonzero()[0]:
        word, bits = int(drawn[place]), _BITS
        while word == _decay(over, bits):
            word, bits = (word << _BITS) + int(source.words(1)[0]), bits + _BITS
        below[place] = word < _decay(over, bits)
    return np.asarray(below)


@functools.lru_cache(maxsize=64)
def _decay(over: int, bits: int) -> int:
    """Return ``floor(2**bits * exp(-1 / over))``: partial sums of an alternating series lie on either side."""
    total, term = Fraction(0), Fraction(1 << bits)
    for k in itertools.count(1):
        low, high = sorted((math.floor(total), math.floor(total + term)))
        if low == high:
            return low
        total, term = total + term, -term / (over * k)
    raise AssertionError("unreachable")


def _kept_exponentially(deviates: Deviates, which: _Integers, source: Words) -> _Bools:
    """Draw Bernoulli ``exp(-u)``: ``u / k`` is the chance that one of k comes up and a fresh fraction is less."""

    def succeeds(open_: _Integers, k: int) -> _Bools:
        first = np.asarray(uniform_below(np.full(open_.size, k), source) == 0)
        first[first] = deviates.exceed(which[open_[first]], source)
        return first

    return _even(which.size, succeeds)


def _kept_normally(deviates: Deviates, which: _Integers, source: Words) -> _Bools:
    """Draw Bernoulli ``exp(-g)`` with ``g = u (2 j + u) / (2 j + 2)``.

    ``(2 j + u) / ((2 j + 2) k)`` is the chance that an integer below ``(2 j + 2) k`` is less than ``2 j``, or equal to
    it while a fresh fraction is less than u.
    """

    def succeeds(open_: _Integers, k: int) -> _Bools:
        chosen = which[open_]
        twice = 2 * deviates.whole[chosen]
        drawn = uniform_below((twice + 2) * k, source)
        less = np.asarray(drawn < twice)
        equal = (drawn == twice).nonzero()[0]
        less[equal] = deviates.exceed(chosen[equal], source)
        less[less] = deviates.exceed(chosen[less], source)
        return less

    return _even(which.size, succeeds)


def _successes(size: int, over: int, source: Words) -> _Integers:
    """Return how often Bernoulli ``exp(-1 / over)`` succeeds before it fails."""
    count = np.zeros(size, dtype=np.int64)
    open_ = np.arange(size)
    while open_.size:
        open_ = open_[_decays(open_.size, over, source)]
        count[open_] += 1
    return count


def _all_succeed(times: _Integers, over: int, source: Words) -> _Bools:
    """Return whether ``times`` draws of Bernoulli ``exp(-1 / over)`` all succeed."""
    left = times.copy()
    passed = np.ones(left.size, dtype=bool)
    while (open_ := (passed & (left > 0)).nonzero()[0]).size:
        passed[open_] = _decays(open_.size, over, source)
        left[open_] -= 1
    return passed
