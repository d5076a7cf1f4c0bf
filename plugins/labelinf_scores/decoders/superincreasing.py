"""The greedy decoder: the widest row first, in time linear in the number of rows.

When the costs of every row are spaced wider than everything the narrower rows can add up to, what has been summed
falls into one of a few separate intervals, one for each label of the widest row. Take the nearest, subtract, go on.
This replaces the papers' search over all labellings (Aggarwal et al., AISTATS 2022, equation 1) where it applies.

Formal guarantee: if for every row the distance between the costs of two labels is at least ``2 margin`` plus the sum
of the ranges of the rows before it, the decoder is right for every labelling and every error smaller than ``margin``:
the true interval is then nearer than ``margin`` and every other farther. Held by
``tests/scores/robust/test_superincreasing.py``.

Example:
    >>> greedy_decode([[0.0, 0.6], [0.0, 1.2], [0.0, 2.4]], 3.05)
    [1, 0, 1]
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

__all__ = ["greedy_decode", "margin"]


def greedy_decode(costs: Sequence[Sequence[Any]], total: Any) -> list[int]:
    """Return the label of every row whose costs add up to ``total``, up to noise.

    Args:
        costs: What every label of every row costs, narrowest row first; any ordered numbers, in any order in a row.
        total: Noisy sum of one cost from each row.

    Returns:
        One label per row.
    """
    floors = [min(row) for row in costs]
    slack, slacks = 0, []
    for row, floor in zip(costs, floors, strict=True):
        slacks.append(slack)
        slack = slack + (max(row) - floor)
    rest = total - sum(floors)
    labels = []
    for row, floor, room in zip(reversed(costs), reversed(floors), reversed(slacks), strict=True):
        label = min(range(len(row)), key=lambda k: max(row[k] - floor - rest, rest - (row[k] - floor) - room))
        rest -= row[label] - floor
        labels.append(label)
    return labels[::-1]


def margin(costs: Sequence[Sequence[Any]]) -> Any:
    """Return the error that :func:`greedy_decode` survives; zero or less when it is not always right.

    Args:
        costs: As there.
    """
    slack, least = 0, None
    for row in costs:
        ordered = sorted(row)
        apart = min(high - low for low, high in itertools.pairwise(ordered)) - slack
        least = apart if least is None else min(least, apart)
        slack = slack + (ordered[-1] - ordered[0])
    if least is None:
        raise ValueError("costs=[] must have at least one row")
    return least / 2
