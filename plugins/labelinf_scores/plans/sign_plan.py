"""How many queries a sign design takes, and about how many records.

With a column for every record and as many queries as rows, the estimates are independent of one another: more is
better only against noise. With fewer queries than records there is a choice: push few records and know them well, or
push all of them and know each a little. The state evolution of the decoder says which guesses more labels right.
"""

from __future__ import annotations

import functools
import math
from statistics import NormalDist

import attrs

from labelinf_scores.constructions.hadamard_matrix import largest_order, smallest_order
from labelinf_scores.decoders.message_passing import predicted_accuracy
from labelinf_scores.plans.sign_rows import SignRows

__all__ = ["SignPlan"]

_CANDIDATES = 12  # sizes of a partial design that are compared
_ONE_WRONG = 0.01  # expected wrong labels at which more queries are not worth asking


@attrs.frozen(kw_only=True)
class SignPlan:
    """How the queries for one bit are spent.

    Attributes:
        rows: What is asked.
        order: n, of the Hadamard matrix.
        queries: q <= n, the rows of it that are asked.
        n_records: Records that are pushed; the others rest.
        accuracy: Expected share of all records whose bit comes out right.
    """

    rows: SignRows
    order: int
    queries: int
    n_records: int
    accuracy: float

    @classmethod
    def choose(cls, rows: SignRows, *, budget: int | None, most: int) -> SignPlan:
        """Spend ``budget`` queries well.

        Args:
            rows: What is asked.
            budget: Queries for this bit; None when unlimited.
            most: Queries per record when unlimited.
        """
        n = rows.threat.n_records
        square = smallest_order(n)
        most_useful = most * n if budget is None else budget
        deviations = NormalDist().inv_cdf(1 - min(0.25, _ONE_WRONG / rows.threat.n_records))
        certain = math.ceil(min((deviations * rows.noise()) ** 2, 2.0**40))
        enough = smallest_order(max(n, min(certain, most_useful)))
        if budget is None:
            return cls._of(rows, order=min(enough, smallest_order(most * n)), n_records=n)
        if budget >= square:
            return cls._of(rows, order=min(enough, largest_order(budget)), n_records=n)
        if budget == 0:
            return cls(rows=rows, order=0, queries=0, n_records=0, accuracy=_blind(rows))
        fewest = min(budget, n)
        sizes = {round(fewest * (n / fewest) ** (k / _CANDIDATES)) for k in range(_CANDIDATES + 1)}
        partial = [cls._of(rows, order=smallest_order(size), n_records=size, budget=budget) for size in sizes]
        return max([*partial, cls._of_known(rows, largest_order(budget))], key=lambda plan: plan.accuracy)

    @classmethod
    def _of_known(cls, rows: SignRows, order: int) -> SignPlan:
        """Push as many records as a square design has columns."""
        return cls._of(rows, order=order, n_records=min(order, rows.threat.n_records))

    @classmethod
    def _of(cls, rows: SignRows, *, order: int, n_records: int, budget: int | None = None) -> SignPlan:
        queries = order if budget is None else min(order, budget)
        foresee = functools.partial(predicted_accuracy, order=order, noise=rows.noise(), bias=rows.bias)
        # The decoder of a partial design succeeds all at once; chance moves the threshold by the root of the order.
        counted = queries if queries == order else max(1, queries - math.isqrt(order))
        # Its first step, plain correlation, has no threshold: far below it, all records are worth pushing.
        pushed = max(foresee(queries=counted), foresee(queries=queries, steps=1))
        share = n_records / rows.threat.n_records
        accuracy = share * pushed + (1 - share) * _blind(rows)
        return cls(rows=rows, order=order, queries=queries, n_records=n_records, accuracy=accuracy)

    @property
    def is_square(self) -> bool:
        """Whether every record has a column and every row of the design is asked."""
        return 0 < self.order == self.queries and self.n_records == self.rows.threat.n_records

    @property
    def spread(self) -> float:
        """Variance of an estimate of a square design; never quite zero."""
        return max(self.rows.noise() ** 2 / max(self.queries, 1), 1e-12)


def _blind(rows: SignRows) -> float:
    """Accuracy of guessing a bit without asking."""
    return (1 + math.tanh(abs(rows.bias))) / 2
