"""L-BFGS of one variable, as PyTorch runs it: a quasi-Newton step of length ``rate``, without a line search.

In one dimension any BFGS matrix that satisfies the secant condition *is* the quotient of the last accepted pair, so
the whole history reduces to it. Constants and stopping rules are those of ``torch.optim.LBFGS``; a test holds this
against it, step for step.
"""

from __future__ import annotations

from collections.abc import Callable

import attrs

__all__ = ["Secant"]

_FLAT = 1e-7  # PyTorch's tolerance_grad
_STILL = 1e-9  # PyTorch's tolerance_change
_INNER, _EVALUATIONS = 20, 25
_CURVED = 1e-10

Closure = Callable[[float], tuple[float, float]]


@attrs.define
class Secant:
    """The optimiser's state between two calls of :meth:`step`.

    Attributes:
        at: The variable.
        rate: Length of a step.
    """

    at: float
    rate: float = 0.5
    _iterations: int = 0
    _curvature: float | None = None
    _direction: float = 0.0
    _length: float = 0.0
    _last_slope: float = 0.0

    def step(self, closure: Closure) -> float:
        """Take up to 20 inner iterations of ``closure`` (loss and slope at a point); return the loss at the start."""
        first_loss, slope = closure(self.at)
        loss, evaluations = first_loss, 1
        if abs(slope) <= _FLAT:
            return first_loss
        for inner in range(1, _INNER + 1):
            self._turn(slope)
            if slope * self._direction > -_STILL:
                break
            self.at += self._length * self._direction
            if inner == _INNER:
                break
            before = loss
            loss, slope = closure(self.at)
            evaluations += 1
            moved = abs(self._direction * self._length)
            if evaluations >= _EVALUATIONS or abs(slope) <= _FLAT or moved <= _STILL or abs(loss - before) < _STILL:
                break
        return first_loss

    def _turn(self, slope: float) -> None:
        """Set direction and length of the next move."""
        self._iterations += 1
        if self._iterations == 1:
            self._direction, self._length = -slope, min(1.0, 1.0 / abs(slope)) * self.rate
        else:
            change, moved = slope - self._last_slope, self._direction * self._length
            if change * moved > _CURVED:
                self._curvature = change / moved
            self._direction = -slope if self._curvature is None else -slope / self._curvature
            self._length = self.rate
        self._last_slope = slope
