"""When a guess counts, and what a blind guess gets: the measures that the core has, and no others.

A measure says three things of values that the core holds: how guesses are set beside them, which of them are right,
and which share the best guess gets that looks at nothing. A channel only names one.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import attrs

from labelinf_core.contracts.gate import between, number

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["ABSTAIN", "MEASURES", "Equal", "Measured", "Overlap", "Sets", "Within"]

ABSTAIN = -1  #: a guess that declines to name a label


@attrs.frozen
class Equal:
    """A guess counts where it equals the label; an abstention is wrong."""

    def placed(self, guess: NDArray[np.intp], truth: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the guesses as they stand."""
        return guess

    def blind(self, shares: Sequence[float]) -> float:
        """Return the share that the best guess gets which knows the class shares only."""
        return max(shares)


@attrs.frozen(kw_only=True)
class Overlap:
    """Within every group of ``size`` the order carries nothing: what counts is the overlap of two multisets of labels.

    Attributes:
        size: Values of a group; the number of all values is a multiple of it.
    """

    size: int = attrs.field(validator=attrs.validators.ge(1))

    def placed(self, guess: NDArray[np.intp], truth: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the guesses, reordered within every group so that as many as possible stand beside their equals."""
        result = guess.copy()
        for start in range(0, len(truth), self.size) if self.size > 1 else ():
            pool = guess[start : start + self.size].tolist()
            own = truth[start : start + self.size].tolist()
            placed = [pool.pop(pool.index(label)) if label in pool else None for label in own]
            result[start : start + self.size] = [pool.pop(0) if label is None else label for label in placed]
        return result

    def blind(self, shares: Sequence[float]) -> float:
        """Return the expected share that the best multiset gets which knows the class shares only."""
        return sum(worth for worth, _ in self.best(shares)) / self.size

    def best(self, shares: Sequence[float]) -> list[tuple[float, int]]:
        """Return the multiset that overlaps most on average with a group drawn from class shares: what each is worth.

        The j-th copy of class k is right with probability P(Bin(size, share_k) >= j), which falls with j: the ``size``
        largest of these probabilities, each with its class, are the best guess.
        """
        worth = [(p, k) for k, share in enumerate(shares) for p in _at_least(self.size, share)]
        return sorted(worth, key=lambda item: (-item[0], item[1]))[: self.size]


@functools.lru_cache(maxsize=1024)  # asked in every trial
def _at_least(n: int, share: float) -> tuple[float, ...]:
    """Return P(Bin(n, share) >= j) for j = 1..n."""
    terms = [math.comb(n, j) * share**j * (1 - share) ** (n - j) for j in range(n + 1)]
    return tuple(min(1.0, math.fsum(terms[j:])) for j in range(1, n + 1))


@attrs.frozen(kw_only=True)
class Within:
    """Values are real numbers that the channel planted: a guess counts that is off by the tolerance at most.

    NaN is an abstention, and wrong.

    Attributes:
        tolerance: The largest difference that counts as right.
    """

    tolerance: float = attrs.field(converter=number, validator=between(0, 1e300))

    def placed(self, guess: NDArray[np.float64], truth: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the guesses, those that count replaced by what they hit."""
        import numpy as np

        return np.where(np.abs(guess - truth) <= self.tolerance, truth, guess)

    def chance(self, truth: NDArray[np.float64], n_classes: int) -> float:
        """Return the share that the best constant gets: of an interval twice as long as the tolerance.

        The interval is a little longer, for what two roundings may move its ends. It is chosen afterwards, so that of
        few values it has more than a blind guess does; of one it has all, and such a trial shows nothing.
        """
        import numpy as np

        values = np.sort(truth)
        room = np.spacing(np.abs(values) + 2 * self.tolerance)
        last = np.searchsorted(values, values + 2 * self.tolerance + 4 * room, side="right")
        return float((last - np.arange(values.size)).max() / values.size)


@attrs.frozen
class Sets:
    """What counts is which classes occur: the set that was guessed against the true one.

    The guess names classes, each once, in any order and as many as it likes. Right is what both sets hold, of as many
    as the larger one has: all is right where they are the same.
    """

    def placed(self, guess: NDArray[np.intp], truth: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return as many guesses as the larger set has, with what both hold where it stands in the truth."""
        import numpy as np

        placed = np.full(max(guess.size, truth.size), ABSTAIN, dtype=np.intp)
        shared = np.isin(truth, guess)
        placed[: truth.size][shared] = truth[shared]
        free = np.flatnonzero(placed == ABSTAIN)
        wrong = np.setdiff1d(guess, truth)
        placed[free[: wrong.size]] = wrong
        return placed

    def chance(self, truth: NDArray[np.intp], n_classes: int) -> float:
        """Return the share that the best guess gets of a set of this size that is drawn uniformly: all classes."""
        return truth.size / n_classes


Measured = Equal | Overlap | Within | Sets
MEASURES: tuple[type[Any], ...] = (Equal, Overlap, Within, Sets)  #: a subclass is somebody else's, and none of them
