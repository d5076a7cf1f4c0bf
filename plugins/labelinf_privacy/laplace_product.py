"""The exact privacy of q answers with Laplace noise: the profile of a product of q pairs of Laplace densities.

For one answer ``delta(eps) = 1 - exp((eps - eps0) / 2)`` for ``|eps| <= eps0``. The pair of densities shifted by the
whole sensitivity dominates every other, and products of dominating pairs dominate adaptive composition (Zhu, Dong and
Wang, AISTATS 2022, Theorem 10), so that q answers are exactly as private as q independent looks at that pair.

The product is computed on a grid of privacy losses. Between its points the one-answer profile is replaced by its chord
in ``e**eps`` (Doroshenko et al., PoPETs 2022): the profile is convex there, so the chord lies above it, and the result
is never too small. Its excess vanishes with the square of the grid's step. To the result is added what the roundings of
the two Fourier transforms can come to (Higham, *Accuracy and Stability*, 2002, Theorem 24.2), so that it errs upwards.

*Two-sided geometric noise* on a grid that one record moves by D steps has the D + 1 losses ``eps0 (1 - 2 k / D)``. Its
profile is made of chords, and lies above that of real Laplace noise. Where all its losses fit into the grid the product
is exact, else chords of chords lie above.

Example:
    >>> round((1 + LaplaceProduct(epsilon=1.0, queries=1).delta(0.0)) / 2, 7)
    0.6967347
    >>> round((1 + LaplaceProduct(epsilon=0.1, queries=100).delta(0.0)) / 2, 4)
    0.6887
    >>> round(LaplaceProduct(epsilon=1.0, queries=1, moved=1).delta(0.0) - math.tanh(0.5), 12)
    0.0
"""

from __future__ import annotations

import functools
import math
from typing import Any

import attrs
import numpy as np
import scipy
from numpy.typing import NDArray

__all__ = ["LaplaceProduct", "geometric_delta", "one_answer_delta"]

_MOST_POINTS = 2**18
_FINEST = 100
_UNIT = 2.0**-53
_LARGEST = 50.0  # one such answer tells all but one label in 10**10


def one_answer_delta(epsilon: float, at: float) -> float:
    """Return ``delta(at)`` of one answer with pure ``epsilon``: exact."""
    if at >= epsilon:
        return 0.0
    return -math.expm1((at - epsilon) / 2 if at >= -epsilon else at)


def geometric_delta(epsilon: float, moved: int, at: float) -> float:
    """Return ``delta(at)`` of one answer with two-sided geometric noise, moved by ``moved`` steps: exact."""
    if at >= epsilon:
        return 0.0
    if at < -epsilon:
        return -math.expm1(at)
    rate = epsilon / moved
    last = min(moved - 1, max(0, math.floor((moved - at / rate) / 2)))  # the last answer that tells more than ``at``
    beyond = math.exp(-rate * (last + 1)) + math.exp(at - rate * (moved - last))
    return max(0.0, -math.expm1(at), 1 - beyond / (1 + math.exp(-rate)))


@attrs.frozen(kw_only=True, slots=False)
class LaplaceProduct:
    """The profile of ``queries`` answers with Laplace noise.

    Attributes:
        epsilon: Sensitivity / scale of one answer, more than 0.
        queries: q, at least 1.
        moved: D, the steps of a grid that one record moves an answer with two-sided geometric noise; 0 for real
            Laplace noise, rounded or not.
    """

    epsilon: float = attrs.field(validator=attrs.validators.gt(0))
    queries: int = attrs.field(validator=attrs.validators.ge(1))
    moved: int = attrs.field(default=0, validator=attrs.validators.ge(0))

    def delta(self, epsilon: float) -> float:
        """Return the profile at any real eps; never less than it is."""
        if self.queries == 1:
            return self._one_answer(epsilon)
        if epsilon < 0:  # the pair is symmetric
            return -math.expm1(epsilon) + math.exp(epsilon) * self.delta(-epsilon)
        if self._width == 0:
            return max(0.0, -math.expm1(epsilon - self.epsilon * self.queries))
        first = int(np.searchsorted(self._losses, epsilon, side="right"))
        likely, neighbour = self._tails
        return min(1.0, max(0.0, float(likely[first] - math.exp(epsilon) * neighbour[first])) + self._slack)

    def _one_answer(self, at: float) -> float:
        if self.moved:
            return geometric_delta(self.epsilon, self.moved, at)
        return one_answer_delta(self.epsilon, at)

    @property
    def _slack(self) -> float:
        """The most that roundings of the transforms take from a sum of probabilities."""
        size = 2 * self._width * self.queries + 1
        return 8 * _UNIT * (self.queries + 1) * math.log2(size) * math.sqrt(size)

    @property
    def _width(self) -> int:
        """Grid points on either side of zero, for one answer; 0 when the answers are too many or too telling for it."""
        most = _MOST_POINTS // (2 * self.queries)
        exact = self.moved if 0 < self.moved <= most else _FINEST
        return min(exact, most) if self.epsilon <= _LARGEST else 0

    @functools.cached_property
    def _losses(self) -> NDArray[np.float64]:
        """The privacy losses of all answers together that are not negative, ascending."""
        count = self._width * self.queries + 1
        return np.linspace(0.0, self.epsilon * self.queries, count, dtype=np.float64)

    @functools.cached_property
    def _tails(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Probability of a loss at or beyond each of the grid, under either of the two data sets; 0 beyond the last."""
        reach = self._width * self.queries
        size = scipy.fft.next_fast_len(2 * reach + 1, real=True)
        powered = scipy.fft.rfft(self._masses(), size) ** self.queries
        masses = np.maximum(scipy.fft.irfft(powered, size)[reach : 2 * reach + 1], 0.0)
        return _from_the_end(masses), _from_the_end(masses * np.exp(-self._losses))

    def _masses(self) -> NDArray[np.float64]:
        """Return P's mass at each of the ``2 width + 1`` grid losses of the chords, summing to one."""
        points = np.linspace(-self.epsilon, self.epsilon, 2 * self._width + 1)
        values = np.array([self._one_answer(point) for point in points])
        ratios = np.exp(points)
        slopes = np.concatenate([[-1.0], np.diff(values) / np.diff(ratios), [0.0]])
        return np.asarray(ratios * np.diff(slopes), dtype=np.float64)


def _from_the_end(masses: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    return np.append(np.cumsum(masses[::-1])[::-1], 0.0)
