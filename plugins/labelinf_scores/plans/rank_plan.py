"""The queries of an attack on the AUC, laid out before anything is asked: none of them depends on an answer's value.

Records are asked about in their order. Single queries place a few probes among known records; batches of q queries give
every query some 2-adic probes of its own below a group that a detecting matrix chooses (M14): about
``log2(known) + 1 + log2(q) / 2`` labels a query. Which comes when is the shortest path from no label to all of them, on
an estimate of what known records can hold; every layout is then made with the true numbers.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.constructions.bit_sets import BitSets, n_columns
from labelinf_scores.constructions.conway_guy import conway_guy_sequence
from labelinf_scores.plans.rank_layout import Layout, conway_guy, two_adic

__all__ = ["RankBatch", "RankQuery", "rank_queries"]

_BATCHES = (3, 7, 15, 31, 63, 127, 255, 511, 1023)
_SINGLE = 13  # probes of a single query at most
_BITS = 40


@attrs.frozen(kw_only=True)
class RankBatch:
    """Records that the queries of a batch ask about together.

    Attributes:
        design: Which of them are in the top group of which query.
        start: The first record.
        stop: Behind the last.
    """

    design: BitSets
    start: int
    stop: int


@attrs.frozen(kw_only=True, eq=False)
class RankQuery:
    """One query.

    Attributes:
        layout: Where everything stands.
        probes: Records that it asks about by themselves, in the order of ``layout.gaps``.
        top: Records in the top group.
        known: Records whose labels are known by then.
        batch: The batch it belongs to; None for a single query.
        last: Whether it is the last of its batch.
    """

    layout: Layout
    probes: NDArray[np.intp]
    top: NDArray[np.intp]
    known: NDArray[np.intp]
    batch: RankBatch | None = None
    last: bool = False

    def predictions(self, n_records: int) -> NDArray[np.float64]:
        """Return what is asked, shape ``(n_records,)``."""
        return self.layout.predictions(n_records, self.probes, self.top, self.known)


def rank_queries(n_records: int, width: int) -> Iterator[RankQuery]:
    """Yield the queries that read all labels but the last, which the totals give.

    Args:
        n_records: N.
        width: How long the interval is that an answer leaves for a sum of doubled midranks; 0: a whole number.

    Yields:
        Queries in their order; nothing more once no label stands out from the interval.
    """
    everyone, start = np.arange(n_records), 0
    while start < n_records - 1:
        size = _path(n_records)[start] if width == 0 else 0
        if size:
            stop = start + n_columns(size)
            for query in _batch(everyone, RankBatch(design=BitSets(n_queries=size), start=start, stop=stop)):
                yield query
                stop = max(stop, int(query.probes.max(initial=-1)) + 1)
            start = stop
            continue
        layout = conway_guy(unknown=n_records - start, known=start, width=width)
        if layout is None:
            return
        stop = start + layout.probes
        none = np.empty(0, dtype=np.intp)
        yield RankQuery(layout=layout, probes=everyone[start:stop], top=none, known=everyone[:start])
        start = stop


def _batch(everyone: NDArray[np.intp], batch: RankBatch) -> Iterator[RankQuery]:
    n_records, start, stop = everyone.size, batch.start, batch.stop
    free, members = stop, everyone[start:stop]
    for x in range(1, batch.design.n_queries + 1):
        chosen = batch.design.row(x) == 1
        top, others = members[chosen], members[~chosen]
        known = np.concatenate([everyone[:start], everyone[stop:free]])
        layout = _widest(top.size, others.size, n_records - free, known.size)
        probes = everyone[free : free + layout.probes]
        free += layout.probes
        last = x == batch.design.n_queries
        yield RankQuery(layout=layout, probes=probes, top=top, known=known, batch=batch, last=last)


def _widest(top: int, others: int, fresh: int, known: int) -> Layout:
    """Return the layout with the most probes; one record, at least, stays in the rest for the totals to give."""
    for bits in range(min(known.bit_length() + 1, fresh - 1), 0, -1):
        found = two_adic(rest=others + fresh - bits, top=top, known=known, bits=bits)
        if found is not None:
            return found
    found = two_adic(rest=others + fresh, top=top, known=known, bits=0)
    assert found is not None  # nothing is needed for a top group alone
    return found


@functools.lru_cache(maxsize=8)
def _path(n_records: int) -> tuple[int, ...]:
    """Return what to do when so many records are known: the size of the batch, or 0 for a single query."""
    wanted = n_records - 1
    cost, choice = [0.0] * (wanted + 1), [0] * (wanted + 1)
    for known in range(wanted - 1, -1, -1):
        options = [(1 + cost[min(wanted, known + _single(known))], 0)]
        bits = _bits(known)
        for size in _BATCHES:
            gain = n_columns(size) + size * bits
            if known + gain > wanted:
                break
            # What the batch itself finds serves its later queries.
            grown = n_columns(size) + size * _bits(known + size * bits // 2)
            options.append((size + cost[min(wanted, known + grown)], size))
        cost[known], choice[known] = min(options)
    return tuple(choice)


def _bits(known: int) -> int:
    """Estimate how many 2-adic probes known records can space."""
    return (known - 3).bit_length() if known > 3 else 0


def _single(known: int) -> int:
    """Estimate how many probes a single query can have."""
    sequence = conway_guy_sequence(_SINGLE)
    fitting = [m for m in range(1, _SINGLE + 1) if sequence[m - 1] + 1 - m <= max(known - 2, 0)]
    return max(fitting, default=1) + (known > 1)
