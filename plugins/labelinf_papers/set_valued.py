"""Losses that are no sums over the records, for the negative results: discrete L_p norms and monotone set functions.

Aggarwal et al., AISTATS 2022, appendix F, read a binary labelling as the set of records with label 1 and ask how far
apart a loss can keep all ``2**N`` sets. A set is written as a bit mask here, record i being bit i, so a loss is the
list of its ``2**N`` values.

Example:
    >>> values = every_value(lambda mask: mask.bit_count() ** 2, 2)
    >>> values, is_monotone(values), least_increment(values), separation(values)
    ([0, 1, 1, 4], True, 1, 0)
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["discrete_lp", "every_value", "is_monotone", "least_increment", "separation"]


def discrete_lp(labels: Sequence[int], predictions: Sequence[int], p: float) -> float:
    """Return the L_p distance of two 0/1 vectors: the p-th root of the number of disagreements (Theorem 7).

    Raises:
        ValueError: ``p`` is not above 0.
    """
    if p <= 0:
        raise ValueError(f"p={p} must be > 0.")
    disagreements = sum(label != guess for label, guess in zip(labels, predictions, strict=True))
    return float(disagreements ** (1 / p))


def every_value(loss: Callable[[int], Any], n_records: int) -> list[Any]:
    """Return ``loss(mask)`` of all ``2**n_records`` sets of records, in the order of their masks."""
    return [loss(mask) for mask in range(1 << n_records)]


def is_monotone(values: Sequence[Any]) -> bool:
    """Whether adding a record to a set never lowers its value."""
    return all(increment >= 0 for increment in _increments(values))


def least_increment(values: Sequence[Any]) -> Any:
    """Return the least increase when one record joins a set: the threshold of Theorem 8, corrected (erratum A-12).

    Two labellings that differ in one record are this close, so no loss is separable by more.
    """
    return min(_increments(values))


def separation(values: Sequence[Any]) -> Any:
    """Return Lambda: the least difference between the values of two distinct labellings."""
    ordered = sorted(values)
    return min(high - low for low, high in itertools.pairwise(ordered))


def _increments(values: Sequence[Any]) -> list[Any]:
    n_records = len(values).bit_length() - 1
    return [
        values[mask | 1 << record] - values[mask]
        for mask in range(len(values))
        for record in range(n_records)
        if not mask >> record & 1
    ]
