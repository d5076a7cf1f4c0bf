r"""Every solution of ``s tau p_i(tau) = a_i`` and ``s tau (p_i - p_j)(tau) = a_i - a_j`` on a half line.

With ``x = t v``, ``t = s tau`` and logits ``tau w' + b`` (``w' = s W v``), the two left sides are log-concave in
``tau``: ``log tau`` is strictly concave, a log-sum-exp of linear functions is convex, and where
``p_i > p_j`` the difference adds ``log(1 - exp(-delta))`` with ``delta`` linear, which is concave too. A strictly
concave function meets a level at most twice, and Newton's method started outside the two roots runs monotonically
into them. So all solutions are enumerated; no search box, no local minima (labelinf theory, the exact solver).

Starting points. To the left nothing solves below ``tau = A`` (probabilities are at most 1). To the right
``p_i <= B exp(-d tau)`` with ``d = w'_max - w'_i``, and Chatzigeorgiou's bound of the Lambert function,
``-W(-exp(-u - 1)) < 1 + sqrt(2 u) + u``, gives a point beyond which nothing solves either.
"""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

__all__ = ["Equations", "roots"]

_ITERATIONS = 80
_CONVERGED = 4e-16
_TINY = float(np.finfo(np.float64).tiny)


@attrs.frozen(kw_only=True, eq=False)
class Equations:
    """Equations ``log tau + log p_i = log A`` or ``log tau + log(p_i - p_j) = log A``, one per row.

    Attributes:
        slopes: ``w'``, shape ``(m, C)``.
        offsets: ``b``, known biases of the logits, shape ``(m, C)``, or None when there are none.
        first: ``i``, shape ``(m,)``.
        second: ``j``, shape ``(m,)``; None when the equations are about single entries.
        level: ``A > 0``, shape ``(m,)``.
    """

    slopes: NDArray[np.float64]
    offsets: NDArray[np.float64] | None
    first: NDArray[np.intp]
    second: NDArray[np.intp] | None
    level: NDArray[np.float64]

    def take(self, rows: NDArray[np.intp]) -> Equations:
        """Return the equations of ``rows``."""
        return Equations(
            slopes=self.slopes[rows],
            offsets=None if self.offsets is None else self.offsets[rows],
            first=self.first[rows],
            second=None if self.second is None else self.second[rows],
            level=self.level[rows],
        )

    def value(self, tau: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return left minus right side and its derivative at ``tau``, each of shape ``(m,)``."""
        at = np.arange(len(tau))
        logits = tau[:, None] * self.slopes
        if self.offsets is not None:
            logits += self.offsets
        own = logits[at, self.first]
        gap = None if self.second is None else np.clip(own - logits[at, self.second], -700, 700)
        top = logits.max(axis=1)
        logits -= top[:, None]
        weights = np.exp(logits, out=logits)
        total = weights.sum(axis=1)
        value = np.log(tau / self.level) + own - top - np.log(total)
        mean = np.einsum("mc,mc->m", weights, self.slopes) / total
        slope = 1 / tau + self.slopes[at, self.first] - mean
        if gap is not None:
            value += np.log(np.maximum(-np.expm1(-gap), _TINY))
            slope += self.tilt / np.maximum(np.expm1(gap), _TINY)
        return value, slope

    @property
    def tilt(self) -> NDArray[np.float64]:
        """``w'_i - w'_j``, shape ``(m,)``."""
        at = np.arange(len(self.first))
        second = self.first if self.second is None else self.second
        return np.asarray(self.slopes[at, self.first] - self.slopes[at, second])

    @property
    def edge(self) -> NDArray[np.float64]:
        """Where ``p_i = p_j``, shape ``(m,)``: the pair's difference is positive on one side of it only."""
        at = np.arange(len(self.first))
        if self.second is None or self.offsets is None:
            return np.zeros(len(self.first))
        lead = self.offsets[at, self.first] - self.offsets[at, self.second]
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.where(self.tilt == 0, np.where(lead > 0, -np.inf, np.inf), -lead / self.tilt))


def roots(equations: Equations) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the smaller and the larger solution of every equation, NaN where there is none.

    Where the two have merged and rounding has pushed the maximum below the level, the point nearest to a solution is
    returned instead: it is a candidate for whoever polishes and checks it.
    """
    low, high = _brackets(equations)
    return _newton(equations, low, +1), _newton(equations, high, -1)


def _brackets(equations: Equations) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return points below every solution and above every solution; NaN where there can be none."""
    low, high = equations.level.copy(), _right_of_all(equations)
    if equations.second is None:
        return low, high
    tilt, edge, level = equations.tilt, equations.edge, equations.level
    rising = tilt > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        # p_i - p_j <= tilt (tau - edge), and both sides of that meet the level here:
        near = (edge + np.sqrt(edge**2 + 4 * level / tilt)) / 2
        last = edge + level / (edge * tilt)
    low = np.where(rising & (edge >= 0), np.maximum(low, near), low)
    high = np.where(tilt < 0, np.fmin(high, last), high)
    impossible = np.where(tilt < 0, (edge <= low) | (last <= 0), edge == np.inf) | ((tilt == 0) & (edge >= 0))
    low[impossible] = np.nan
    high[impossible | (rising & (high <= edge))] = np.nan
    return low, high


def _right_of_all(equations: Equations) -> NDArray[np.float64]:
    at = np.arange(len(equations.first))
    steepest = equations.slopes.argmax(axis=1)
    drop = equations.slopes[at, steepest] - equations.slopes[at, equations.first]
    lead = np.zeros_like(drop)
    if equations.offsets is not None:
        lead = equations.offsets[at, steepest] - equations.offsets[at, equations.first]
    with np.errstate(divide="ignore", invalid="ignore"):
        u = -np.log(drop * equations.level) - lead - 1
        point = (1 + np.sqrt(2 * u) + u) / drop
    return np.where((drop > 0) & (u >= 0) & np.isfinite(point), point, np.nan)


def _newton(equations: Equations, start: NDArray[np.float64], direction: int) -> NDArray[np.float64]:
    """Run from outside towards the nearest root; ``direction`` is +1 from the left, -1 from the right."""
    found = start.copy()
    live = np.flatnonzero(np.isfinite(start))
    part, tau = equations.take(live), start[live]
    for _ in range(_ITERATIONS):
        if not len(live):
            break
        value, slope = part.value(tau)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = -value / slope
        # A step backwards means the root is reached to rounding; a slope of the wrong sign, that it was passed over.
        moves = (value < 0) & (direction * slope > 0) & (np.abs(step) > _CONVERGED * tau)
        tau = np.where(moves, np.maximum(tau + step, tau / 16), tau)
        found[live] = tau
        if moves.mean() < 0.7:
            live, tau = live[moves], tau[moves]
            part = part.take(np.flatnonzero(moves))
    return found
