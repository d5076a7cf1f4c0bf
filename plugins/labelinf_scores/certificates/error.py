"""How far a released score can be from the exact one, before anything is asked.

Three things stand between: what the defences add (their noise bound, rounding included), a relative disturbance, and
the curator's own arithmetic. The last is bounded by the standard model of rounding (Higham, *Accuracy and Stability
of Numerical Algorithms*, 2002, sections 2.2 and 4.2): every operation of a format with p significant bits errs by a
factor within ``1 ± u``, ``u = 2**-p``, and a sum whose longest chain of additions has length h errs by at most
``h u / (1 - h u)`` times the sum of its terms.

The exact score is the loss of the predictions *as the curator reads them*: rounded to its input format, clipped, and
one column for each class. An attack that sends all columns, in that format, has nothing else to account for. (A curator
that reads single precision but computes in double fills in ``1 - p`` in single precision: send both columns.)

==========  ================================================================================================
arithmetic  what is charged, with C the largest cost of a row
==========  ================================================================================================
floats      8 u (1 + C) for the cost of a row (a logarithm within two units in the last place, and one
            rounding of ``1 - p``), and ``gamma(h + 1) C`` for the mean: h by NumPy's pairwise order where the
            threat model names it, N otherwise
fpa:PHI     two steps of the grid: one for the logarithm, one for the mean; sums are exact
exact       nothing: the query chooses the precision
==========  ================================================================================================

Example:
    >>> chain_length(25_000, "numpy"), chain_length(25_000, "unknown")
    (32, 25000)
"""

from __future__ import annotations

import math

from labelinf_scores.arithmetic.formats import NAMES, format_named
from labelinf_scores.game.threat import ScoreThreat

__all__ = [
    "arithmetic_error",
    "assumed_disturbance",
    "chain_length",
    "disturbance",
    "present_error",
    "widest_normal",
    "widest_summed",
]


_WIDEST = 2.0**100  # wider gaps gain nothing in any format
_ROW_ROUNDINGS = 8  # in units of u (1 + C): four units in the last place
_NUMPY_BLOCK = 128  # NumPy adds up to this many terms in eight running sums
_LONGEST_IN_BLOCK = 24  # of 127 terms: 14 in a running sum, 3 to join the eight sums, 7 left over


def present_error(threat: ScoreThreat, largest_cost: float, *, bound: float | None = None) -> float:
    """Return the largest possible difference between the released and the exact score.

    Args:
        threat: What is public about the curator and its defences.
        largest_cost: The largest cost of any row for any label in the query, after clipping.
        bound: Of the noise, where another than the threat's is supposed.

    Returns:
        The bound, in units of the score; infinity when the noise is unbounded.

    Guarantees:
        Held for every arithmetic, by exact rational evaluation, in ``tests/scores/blocks/test_error.py``.
    """
    computed = arithmetic_error(threat, largest_cost)
    return computed + disturbance(threat, largest_cost + computed, bound=bound)


def disturbance(threat: ScoreThreat, largest_score: float, *, bound: float | None = None) -> float:
    """Return the defences' share of :func:`present_error`: largest change of a computed score that is released.

    Args:
        threat: What is public about the defences.
        largest_score: Largest computed score.
        bound: Of the noise, where another than the threat's is supposed.

    Returns:
        The bound; infinity when the noise is unbounded, 0 without any.
    """
    change = threat.noise_bound if bound is None else bound
    if threat.noise_factor:  # a score that nothing bounds is not disturbed by a factor of zero
        change += threat.noise_factor * largest_score
    if change == 0:
        return 0.0
    # A disturbed score is a double again, and rounding to decimals multiplies and divides first.
    return change + 4 * 2.0**-53 * (largest_score + change)


def assumed_disturbance(threat: ScoreThreat, largest_score: float) -> float:
    """Return the largest change by the defences, or four standard deviations of noise that has no bound."""
    change = disturbance(threat, largest_score)
    return change if math.isfinite(change) else 4 * threat.noise_std


def arithmetic_error(threat: ScoreThreat, largest_cost: float) -> float:
    """Return the curator's own share of :func:`present_error`: what remains without any defence.

    Raises:
        ValueError: The arithmetic of ``threat`` has no known error.
    """
    computed = threat.computes
    if not computed.known:
        raise ValueError(f"arithmetic={computed.name!r} must be one of {', '.join(NAMES)}")
    if not computed.significant:
        return 2 * computed.grid
    unit = 2.0**-computed.significant
    chain = (chain_length(threat.n_records, threat.summation) + 1) * unit
    if chain >= 1:
        return math.inf
    rows = _ROW_ROUNDINGS * unit * (1 + largest_cost)
    return (rows + chain / (1 - chain) * (largest_cost + rows)) * (1 + 2.0**-40)


def chain_length(n_records: int, summation: str) -> int:
    """Return the most additions that any one term goes through on its way to the sum of ``n_records`` terms.

    Args:
        n_records: N, at least 1.
        summation: ``"numpy"``, ``"exact"``, or anything else for an order nobody promised.
    """
    if summation == "exact":
        return 1
    if summation != "numpy":
        return n_records
    if n_records <= _NUMPY_BLOCK:
        return n_records if n_records < 8 else n_records // 8 + 2 + n_records % 8
    halvings = 0
    while n_records > _NUMPY_BLOCK:
        n_records -= n_records // 2 - (n_records // 2) % 8
        halvings += 1
    return halvings + _LONGEST_IN_BLOCK


def widest_normal(arithmetic: str) -> float:
    """Return the largest cost of a probability that is a normal number: smaller ones have fewer significant bits.

    Infinity where there is no smallest number.
    """
    normal = format_named(arithmetic).normal
    return -math.log(normal) if normal else math.inf


def widest_summed(threat: ScoreThreat) -> float:
    """Return a gap at which the sum over all records surely stays within the curator's number format."""
    return math.inf if threat.computes.exact else min(_WIDEST, threat.computes.largest / (4 * threat.n_records))
