"""All labellings whose costs add up to a sum in a narrow window, by branch and bound from the widest record down.

Where costs are spread out, as those of a block are, each branch but one or two dies at once. Costs are exact numbers of
any size, so that nothing is rounded, and what is left out cannot fit.

Example:
    >>> labellings_between([[0, 1, 2], [0, 3, 6]], 7, 8)
    [(1, 2), (2, 2)]
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

__all__ = ["labellings_between"]


def labellings_between(
    costs: Sequence[Sequence[int | Fraction]],
    low: int | Fraction,
    high: int | Fraction,
    *,
    most: int = 4096,
) -> list[tuple[int, ...]] | None:
    """Return the labellings, in the order of the records; None when there are too many to look at.

    Args:
        costs: What every label of a record costs, shape ``(m, K)``.
        low: Closed.
        high: Closed.
        most: Partial labellings that are kept at once.
    """
    order = sorted(range(len(costs)), key=lambda i: max(costs[i]) - min(costs[i]))
    least, largest = [Fraction(0)], [Fraction(0)]
    for place in order:
        least.append(least[-1] + min(costs[place]))
        largest.append(largest[-1] + max(costs[place]))
    partial: list[tuple[int | Fraction, tuple[int, ...]]] = [(0, ())]
    for rank in range(len(order) - 1, -1, -1):
        row = costs[order[rank]]
        partial = [
            (total + cost, (*chosen, label))
            for total, chosen in partial
            for label, cost in enumerate(row)
            if total + cost + least[rank] <= high and total + cost + largest[rank] >= low
        ]
        if len(partial) > most:
            return None
    places = order[::-1]
    return sorted(
        tuple(label for _, label in sorted(zip(places, chosen, strict=True)))
        for total, chosen in partial
        if low <= total <= high
    )
