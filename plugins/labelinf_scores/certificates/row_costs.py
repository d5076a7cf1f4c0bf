"""What one row of predictions can cost at a curator whose logarithm is not known to the last bit.

What a curator adds are floats: the logarithm of a float, rounded by its library. Real libraries err by little more
than half a unit in the last place (the GNU C library: 0.52 in double precision, 0.82 in single), so that the cost is
one of at most two floats, and mostly one.

Losses other than the log-loss, and formats that only this package computes in, are taken at the costs that
:class:`~labelinf_scores.metrics.additive.AdditiveLoss` computes.

Example:
    >>> low, high = possible_costs(0.5, bits=53, error=0.75)
    >>> low == high
    True
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import attrs
import gmpy2
from numpy.typing import NDArray

from labelinf_scores.arithmetic import make_arithmetic
from labelinf_scores.arithmetic.formats import SIGNIFICANT_BITS
from labelinf_scores.certificates.summation import FRACTION_BITS, Spread
from labelinf_scores.game.threat import ScoreThreat

__all__ = ["LOG_ERROR", "ROW_BITS", "SMALL", "CostedRow", "adds_known_floats", "costed_row", "possible_costs"]

LOG_ERROR = {"float64": 0.75, "float32": 0.9}  #: largest error of a curator's logarithm, in units in the last place
SMALL = ("float16", "bfloat16")  #: formats that only this package computes in, from the first record to the last
ROW_BITS = 256  #: precision of rows for a curator that computes exactly

_UNKNOWN_LOG_ERROR = 2.0  # of a scorer nobody has described
_LOG_BITS = 200


@attrs.frozen(kw_only=True, eq=False)
class CostedRow:
    """Predictions for one record and what every label can cost.

    Attributes:
        prediction: Shape ``(K,)``.
        low: Smallest possible cost of every label, in fixed point.
        high: Largest possible cost of every label.
        levels: How many steps every label stands for; 0, 1, ..., K - 1 unless the row asks something else.
    """

    prediction: NDArray[Any]
    low: tuple[int, ...]
    high: tuple[int, ...]
    levels: tuple[int, ...] = attrs.field()

    @levels.default
    def _every_label_its_own(self) -> tuple[int, ...]:
        return tuple(range(len(self.low)))

    def spread(self, step: int, labels: Sequence[int] | None = None) -> Spread:
        """Return what this row adds when a label at level k stands for ``k * step``.

        Args:
            step: In fixed point, at least 0.
            labels: Labels that are possible; all of them by default.
        """
        possible = range(len(self.low)) if labels is None else labels
        return Spread(
            low=min(self.low[k] - self.levels[k] * step for k in possible),
            high=max(self.high[k] - self.levels[k] * step for k in possible),
            top=max(self.levels[k] for k in possible) * step,
            bottom=min(self.levels[k] for k in possible) * step,
        )

    @property
    def uncertainty(self) -> int:
        """Width of what a row of equal predictions can cost, in fixed point."""
        return max(self.high) - min(self.low)

    @property
    def certain_cost(self) -> float | None:
        """The cost, where it does not depend on the label and is certain; None otherwise."""
        return None if self.uncertainty else math.ldexp(self.low[0], -FRACTION_BITS)


def adds_known_floats(threat: ScoreThreat, neutral: CostedRow) -> bool:
    """Whether the curator adds in a known order, and neutral rows cost a known float."""
    in_order = (threat.arithmetic in LOG_ERROR and threat.summation == "numpy") or (
        threat.arithmetic in SMALL and threat.summation == "sequential"
    )
    return in_order and neutral.certain_cost is not None


def costed_row(threat: ScoreThreat, prediction: NDArray[Any]) -> CostedRow:
    """Return ``prediction``, shape ``(K,)``, with what a curator can charge for it.

    Raises:
        ValueError: A cost is not finite.
    """
    if threat.loss.is_log_loss and threat.arithmetic in LOG_ERROR:
        error = LOG_ERROR[threat.arithmetic] if threat.summation == "numpy" else _UNKNOWN_LOG_ERROR
        bits = SIGNIFICANT_BITS[threat.arithmetic]
        low, high = zip(*(possible_costs(float(p), bits, error) for p in prediction), strict=True)
        return CostedRow(prediction=prediction, low=low, high=high)
    numbers = make_arithmetic(threat.arithmetic).at_precision(ROW_BITS)
    with numbers.context():
        costs = threat.loss.costs(numbers.convert(prediction[None]), numbers)[0].tolist()
    if not all(map(gmpy2.is_finite, costs)):
        raise ValueError(f"{threat.arithmetic} has no finite costs for the predictions {prediction}")
    exact = [gmpy2.mpq(cost) * 2**FRACTION_BITS for cost in costs]
    return CostedRow(
        prediction=prediction,
        low=tuple(int(cost.numerator // cost.denominator) for cost in exact),
        high=tuple(-int(-cost.numerator // cost.denominator) for cost in exact),
    )


@functools.lru_cache(maxsize=2**14)
def possible_costs(probability: float, bits: int, error: float) -> tuple[int, int]:
    """Return the least and the largest float that ``-ln(probability)`` may be rounded to.

    Args:
        probability: In (0, 1].
        bits: Significant bits of the floats.
        error: Largest error of the logarithm, in units in the last place.

    Returns:
        Two integers in fixed point.
    """
    with gmpy2.context(precision=_LOG_BITS):
        true = -gmpy2.log(gmpy2.mpfr(probability))
        if true == 0:
            return 0, 0
        slack = gmpy2.mpfr(error) * gmpy2.exp2(gmpy2.get_exp(true) - bits)
        below, above = true - slack, true + slack
    return _rounded(below, bits, gmpy2.RoundUp), _rounded(above, bits, gmpy2.RoundDown)


def _rounded(value: Any, bits: int, mode: int) -> int:
    with gmpy2.context(precision=bits, round=mode):
        return int(gmpy2.mpq(+value) * 2**FRACTION_BITS)
