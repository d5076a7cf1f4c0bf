"""What is known of a number format, by the name that a suite, a scorer or a threat model gives it.

This is the one place where such a name is read. It imports no arithmetic, so that facts and certificates may ask.

Example:
    >>> from labelinf_scores.arithmetic.formats import format_named
    >>> format_named("fpa:21").fraction, format_named("float32").significant, format_named("exact").exact
    (10, 24, True)
"""

from __future__ import annotations

import functools
import math
import re

import attrs

__all__ = ["NAMES", "SIGNIFICANT_BITS", "Format", "format_named"]

NAMES = ("exact", "float64", "float32", "bfloat16", "float16", "fpa:PHI")  #: every name that is understood
SIGNIFICANT_BITS = {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8}  #: p of every floating format

_FIXED = re.compile(r"fpa:(\d{1,5})")
_BITS = {"float64": 64, "float32": 32, "float16": 16, "bfloat16": 16}
_EXPONENTS = {"float64": (-1022, 1023), "float32": (-126, 127), "float16": (-14, 15), "bfloat16": (-126, 127)}


@attrs.frozen(kw_only=True)
class Format:
    """A number format; what is not known of it is at its worst.

    Attributes:
        name: Its name.
        bits: Of one number; infinity when there is no limit.
        significant: p, the significant bits of a floating format; 0 of others.
        fraction: Bits behind the point of the papers' fixed point (sign, and two equal halves); 0 of others.
        exact: Whether it is as precise as a query asks for.
        normal: The smallest positive number with all the precision there is; 0 where there is none.
        largest: The power of two below which all numbers surely lie; infinity without.
    """

    name: str
    bits: float = math.inf
    significant: int = 0
    fraction: int = 0
    exact: bool = False
    normal: float = 0.0
    largest: float = math.inf

    @property
    def known(self) -> bool:
        """Whether it is one of :data:`NAMES`."""
        return self.exact or math.isfinite(self.bits)

    @property
    def doubles(self) -> bool:
        """Whether its numbers are doubles, or narrower."""
        return 0 < self.significant <= 53

    @property
    def grid(self) -> float:
        """Step of fixed point; 0 of other formats."""
        return 2.0**-self.fraction if self.fraction else 0.0

    @property
    def read(self) -> float:
        """By how much a probability moves at most when it is read; clips are doubles in any case."""
        bits = self.fraction + 1 if self.fraction else self.significant or 53
        return 2.0 ** -min(bits, 53)


@functools.lru_cache(maxsize=256)
def format_named(name: str) -> Format:
    """Return what is known of the format called ``name``; next to nothing where nobody knows it."""
    if name == "exact":
        return Format(name=name, exact=True)
    if match := _FIXED.fullmatch(name):
        bits = int(match.group(1))
        half = (bits - 1) // 2
        grid = 2.0 ** -min(half, 1023)
        return Format(name=name, bits=bits, fraction=half, normal=grid, largest=1 / grid)
    if name not in SIGNIFICANT_BITS:
        return Format(name=name)
    least, most = _EXPONENTS[name]
    return Format(name=name, bits=_BITS[name], significant=SIGNIFICANT_BITS[name], normal=2.0**least, largest=2.0**most)
