"""Noise on a grid: noise that is what its proof says, in floating point too.

**Threat model.** The adversary sees every bit that is released. A guarantee about real numbers says nothing about
doubles: from one unnoised value some doubles can be reached and from another one others, and a single answer can tell
the two apart with certainty (Mironov, CCS 2012). So everything that is certified here is released from a **grid that is
fixed before the labels are seen**, and value and noise are put on it *together*:

1. the value is rounded to a whole number of steps, exactly (:meth:`GridNoise.steps_of`);
2. an integer drawn exactly (:mod:`labelinf_privacy.deviates`) is added to it, integer to integer;
3. only the sum becomes a float again: a function of the sum alone, which gives nothing further away.

Step 1 lets one record move the value by more than it moves the real number: :meth:`GridNoise.moved` says by how many
steps, and every guarantee is about that many. Adding a draw of :meth:`~GridNoise.sample` to a float is *not* this
mechanism and carries no certificate.

Example:
    >>> from labelinf_privacy.noise.grid_gaussian import GridGaussian
    >>> import numpy as np
    >>> from labelinf_privacy.words import SystemWords
    >>> noise = GridGaussian(scale=0.05, step=2.0**-16)
    >>> released = noise.release(np.array([0.3, 0.7]), SystemWords())
    >>> bool((released % noise.step == 0).all())
    True
    >>> moved = noise.moved(0.004)  # one record moves the score by no more than 0.004
    >>> round(noise.privacy(moved, queries=100).delta(0.0), 3)
    0.312
"""

from __future__ import annotations

import abc
import functools
import math
from fractions import Fraction
from typing import Any, ClassVar

import gmpy2
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import NoiseModel
from labelinf_core.statistics.profiles import Profile
from labelinf_privacy.words import SeededWords, Words

__all__ = ["GridNoise", "decimal", "fine_step", "root_up", "rounded_up"]

_WIDEST = 2**52  #: whole numbers up to this are doubles, and so is every half between them
_ROOT_BITS = 64


@functools.lru_cache(maxsize=256)
def decimal(value: float) -> Fraction:
    """Return the number that a user who writes ``value`` means: 1/1000 for 0.001, not the nearest double."""
    return Fraction(repr(float(value)))


def fine_step(distance: float) -> float:
    """Return a power of two so far below ``distance`` that rounding costs a thousandth of it at most."""
    return 2.0 ** (math.frexp(distance)[1] - 12)


class GridNoise(NoiseModel):
    """Integer noise on the multiples of ``step``, and what it proves.

    Attributes:
        norm: In which distances of vectors count: 1 or 2.
        scale: Of the noise, in units of what is released.
        step: Of the grid.
    """

    norm: ClassVar[int] = 1
    scale: float
    step: float

    def __attrs_post_init__(self) -> None:
        """Refuse noise of more steps than whole numbers in doubles."""
        if self.steps_per_scale() > _WIDEST:
            raise ValueError(f"scale={self.scale:g} must be at most 2**52 steps of {self.step:g}")

    @property
    def grid(self) -> float:
        """The step."""
        return self.step

    def steps_per_scale(self) -> Fraction:
        """Scale of the noise, in steps, exactly."""
        return decimal(self.scale) / decimal(self.step)

    @abc.abstractmethod
    def steps(self, source: Words, size: int) -> NDArray[np.int64]:
        """Draw ``size`` independent integers, exactly distributed, shape ``(size,)``."""

    @abc.abstractmethod
    def privacy(self, moved: Fraction | int, queries: int = 1) -> Profile:
        """Return the privacy of ``queries`` releases, each chosen in the light of those before it.

        Args:
            moved: By how many steps one record moves a value; see :meth:`moved`.
            queries: Releases.
        """

    def epsilon_for(self, moved: Fraction | int) -> float:
        """Return the epsilon of pure DP of one release, rounded up; infinity where there is none."""
        return math.inf

    def mu_for(self, moved: Fraction | int) -> float:
        """Return the mu of Gaussian DP of one release, rounded up; infinity where there is none."""
        return math.inf

    def moved(self, distance: Fraction | float, dimension: int = 1) -> Fraction:
        """Return by how many steps one record can move a value once it is rounded to the grid.

        Args:
            distance: The most by which it moves the value *as computed* (with its rounding errors), in the norm of the
                mechanism when there are several entries. A ``Fraction`` is exact; a float is taken to be known to 40
                bits, and counted as the largest number that it may stand for.
            dimension: Entries of the value, each with noise of its own.

        Raises:
            ValueError: ``distance`` is not finite: no noise of this kind makes such a value private.
        """
        if not math.isfinite(distance):
            raise ValueError(f"distance={distance} must be finite: clip what is released first.")
        steps = _known_to(distance) / decimal(self.step)
        if self.norm == 1 or dimension == 1:  # every entry moves by less than one step more than before
            return Fraction(math.ceil(steps + dimension) - 1)
        return steps + root_up(dimension)

    def sample(self, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
        """Draw ``size`` independent multiples of the step, shape ``(size,)``: for study, not for release."""
        return self.floats(self.steps(SeededWords(rng), size))

    def release(self, values: NDArray[Any], source: Words) -> NDArray[np.float64]:
        """Return the values with noise: the mechanism that the guarantee is about.

        Args:
            values: Floats, or ``gmpy2`` numbers in an object array; any shape. What is no number counts as 0.
            source: Of the noise.
        """
        return self.together(values, self.steps(source, np.size(values)))

    def together(self, values: NDArray[Any], steps: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the values with noise that was drawn before, each draw used once: value and noise meet as integers.

        Args:
            values: As in :meth:`release`.
            steps: As :meth:`steps` draws them, shape ``(values.size,)``.
        """
        return self.floats(self.steps_of(np.ravel(values)) + steps).reshape(np.shape(values))

    def steps_of(self, values: NDArray[Any]) -> NDArray[np.int64]:
        """Return the nearest whole numbers of steps, halves up, cut off at ``2**52``: exactly, shape as given.

        Halves all go the same way, so that values ``J`` steps apart are never more than ``ceil(J)`` apart afterwards.
        """
        step = decimal(self.step)
        if values.dtype == object or (step.numerator * step.denominator).bit_count() != 1:  # no power of two
            return np.array([_nearest(value, step) for value in values], dtype=np.int64)
        with np.errstate(over="ignore"):
            ratio = np.clip(np.nan_to_num(np.asarray(values, dtype=np.float64) / self.step), -_WIDEST, _WIDEST)
        below = np.floor(ratio)  # exact, as is the quotient by a power of two and the difference
        return below.astype(np.int64) + (ratio - below >= 0.5)

    def floats(self, steps: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the double nearest to each number of steps."""
        step = decimal(self.step)
        if step.denominator == 1 or step.numerator == 1:  # one correctly rounded operation
            whole = steps.astype(np.float64)
            return whole * float(step.numerator) if step.denominator == 1 else whole / float(step.denominator)
        return np.array([float(int(count) * step) for count in steps], dtype=np.float64)


def _known_to(distance: Fraction | float) -> Fraction:
    """Return the largest number that ``distance`` may stand for."""
    if isinstance(distance, float):
        return Fraction(distance) * (1 + Fraction(1, 2**40))
    return Fraction(distance)


def rounded_up(value: Fraction) -> float:
    """Return a float that is no less."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def root_up(value: int) -> Fraction:
    """Return a number no less than the square root."""
    root = math.isqrt(value << 2 * _ROOT_BITS)
    return Fraction(root + (root * root < value << 2 * _ROOT_BITS), 1 << _ROOT_BITS)


def _nearest(value: Any, step: Fraction) -> int:
    """Return the nearest whole number of steps, halves up."""
    number = gmpy2.mpfr(value) if isinstance(value, float | np.floating) else value
    if gmpy2.is_nan(number):
        return 0
    if gmpy2.is_infinite(number):
        return _WIDEST if number > 0 else -_WIDEST
    exact = Fraction(gmpy2.mpq(number))
    return max(-_WIDEST, min(_WIDEST, math.floor(exact / step + Fraction(1, 2))))
