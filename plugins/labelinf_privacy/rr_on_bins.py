"""RRonBins: label-DP for values (Ghazi, Kamath, Kumar, Leeman, Manurangsi, Varadarajan and Zhang, ICLR 2023).

The values are cut into k intervals, each with a value of its own that is released for it. A label's interval answers
with probability ``e^eps / (e^eps + k - 1)``, any other with ``1 / (e^eps + k - 1)``: eps-label-DP, whatever they are.
With a prior over the values, intervals and released values are those of the least expected squared error, which is the
least of all eps-DP mechanisms on one label (their Theorem 1). The cost of an interval is

    min over z of sum_y p_y (e^eps if y is in it, else 1) (z - y)^2 / (e^eps + k - 1),

and the best cut into k is found by dynamic programming, for every k. The prior has to be public, or spent on.

Example:
    >>> found = RrOnBins.of([0.0, 1.0, 10.0], [0.4, 0.4, 0.2], epsilon=2.0)
    >>> found.starts, round(found.loss, 3)
    ((0, 2), 7.865)
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import attrs
import numpy as np
from numpy.typing import NDArray

__all__ = ["RrOnBins"]

Floats = NDArray[np.float64]


@attrs.frozen(kw_only=True)
class RrOnBins:
    """Randomised response over intervals of values.

    Attributes:
        epsilon: Of label-DP.
        values: The values a label may have, ascending.
        starts: Where each interval begins, as places in ``values``; the first is 0.
        released: What is released for each interval.
        loss: Expected squared error under the prior.
    """

    epsilon: float
    values: tuple[float, ...]
    starts: tuple[int, ...]
    released: tuple[float, ...]
    loss: float

    @classmethod
    def of(cls, values: Sequence[float], prior: Sequence[float], epsilon: float) -> RrOnBins:
        """Return the mechanism of least expected squared error.

        Args:
            values: Ascending, all different.
            prior: Their probabilities, which sum to one.
            epsilon: At least 0.
        """
        y, p = np.asarray(values, dtype=float), np.asarray(prior, dtype=float)
        cost, best = _costs(y, p, epsilon)
        n, odds = y.size, math.exp(epsilon)
        least, cuts = np.full((n + 1, n + 1), np.inf), np.zeros((n + 1, n + 1), dtype=int)
        least[0, 0] = 0.0
        for k in range(1, n + 1):  # least[k, j]: the first j values in k intervals
            ways = least[k - 1, :n, None] + cost[:, 1:]
            cuts[k, 1:], least[k, 1:] = ways.argmin(axis=0), ways.min(axis=0)
        losses = least[1:, n] / (odds + np.arange(n))
        k, end, starts = int(losses.argmin()) + 1, n, list[int]()
        for count in range(k, 0, -1):
            starts.insert(0, int(cuts[count, end]))
            end = starts[0]
        released = tuple(float(best[start, stop]) for start, stop in zip(starts, [*starts[1:], n], strict=True))
        kept = {"values": tuple(y.tolist()), "starts": tuple(starts), "released": released}
        return cls(epsilon=epsilon, loss=float(losses[k - 1]), **kept)

    def perturb(self, labels: Floats, rng: np.random.Generator) -> Floats:
        """Return what is released for labels, each of them one of ``values`` (any other counts as the nearest)."""
        middles = (np.array(self.values)[1:] + np.array(self.values)[:-1]) / 2
        k, place = len(self.starts), np.searchsorted(middles, labels)
        own = np.searchsorted(np.array(self.starts), place, side="right") - 1
        kept = rng.random(own.size) < math.exp(self.epsilon) / (math.exp(self.epsilon) + k - 1)
        others = (own + rng.integers(1, max(k, 2), own.size)) % k
        return np.asarray(self.released)[np.where(kept, own, others)]


def _costs(y: Floats, p: Floats, epsilon: float) -> tuple[Floats, Floats]:
    """Return the cost of every interval ``[start, stop)`` and the value it releases, shape ``(n, n + 1)``."""
    sums = [np.concatenate([[0.0], np.cumsum(p * y**power)]) for power in range(3)]
    weight, first, second = (s[-1] + math.expm1(epsilon) * (s[None, :] - s[:-1, None]) for s in sums)
    empty = np.arange(y.size + 1)[None, :] <= np.arange(y.size)[:, None]
    best = np.divide(first, weight, out=np.zeros_like(first), where=weight > 0)
    return np.where(empty, np.inf, np.maximum(second - best * first, 0.0)), best
