"""NDCG and NDCG@k: sums of discounts that fall with the rank, ties averaged (statements M19, M20).

``NDCG * I_P`` is the sum over the positives of the mean discount of their tie group, ``I_P`` the sum of the first P
discounts, and the discount of rank r is ``1 / log2(r + 1)``, nothing beyond rank k. Discounts are irrational: they are
held to ``2**-80`` here, from logarithms that are correctly rounded at forty digits, and intervals pay for it.

How far scikit-learn's own score may be off is proved, for discounts that are correct to eight units in the last place:
a sequential sum of them (what ``numpy.cumsum`` is by definition), the groups and the ideal added up in any order.
Most of that error is the same in every score, because no label has to do with it: the sum of all discounts, and the
ideal. A second score, of everybody tied, shows it: of the *ratio* of two scores only what differs between them is off
by that much (:meth:`Ndcg.beside`).
"""

from __future__ import annotations

import functools
import itertools
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.metrics.readings.base import UNIT, Floats, Reading, Released, Rows, ScoredMetric, Totals

__all__ = ["SCALE", "Ndcg", "discount_sums"]

SCALE = 80  #: discounts are multiples of 2**-80
_DIGITS = 40
_DISCOUNT = 16  # times u, relatively: a library's discount is correct to eight units in the last place
_SECOND_ORDER = Fraction(101, 100)  # for products of errors, which are left out


@functools.lru_cache(maxsize=4)
def discount_sums(n_records: int, k: int) -> tuple[int, ...]:
    """Return the sums of the first 0, 1, ..., N discounts in units of ``2**-80``; entry r is off by at most r units.

    Args:
        n_records: N.
        k: Ranks that count; 0: all.
    """
    context, unit = Context(prec=_DIGITS), Decimal(1 << SCALE)
    top = context.multiply(context.ln(Decimal(2)), unit)
    counted = min(k or n_records, n_records)
    values = (round(context.divide(top, context.ln(Decimal(r + 1)))) for r in range(1, counted + 1))
    return tuple(itertools.accumulate(itertools.chain(values, itertools.repeat(0, n_records - counted)), initial=0))


@functools.lru_cache(maxsize=256)
def _added_up(n_records: int, k: int, ranks: int) -> Fraction:
    """Return the sum of the first so many sums: a sequential sum is off by at most u times that."""
    return Fraction(sum(discount_sums(n_records, k)[: ranks + 1]), 1 << SCALE)


@attrs.frozen(kw_only=True)
class Ndcg(ScoredMetric):
    """Normalised discounted cumulative gain of labels 0 and 1.

    Attributes:
        k: Ranks that count; 0: all.
    """

    rows = Rows.DISCOUNTS
    ties = "averaged: equal predictions share the mean discount of their ranks, as scikit-learn does by default"
    k: int = attrs.field(default=0, validator=attrs.validators.ge(0))
    extent = 1.0  # the only positive may be the first or count for nothing

    def score(self, labels: NDArray[np.intp], predictions: Floats) -> float:
        """Return ``sklearn.metrics.ndcg_score``."""
        from sklearn.metrics import ndcg_score

        return float(ndcg_score(labels[None], predictions[None], k=self.k or None))

    def ideal(self, totals: Totals) -> Fraction:
        """Return ``I_P``, to ``P`` units of ``2**-80``."""
        return self._sum(totals, totals.n_positive)

    def floor(self, totals: Totals) -> float:
        """Return half of what one record above all others tells."""
        first, everyone = self._sum(totals, 1), self._sum(totals, totals.n_records)
        mean = (everyone - first) / (totals.n_records - 1)
        return float((first - mean) / self.ideal(totals) / 2)

    def enough(self, totals: Totals) -> float:
        """Return half of what the first and the last rank differ by: no exchange of two labels moves more."""
        last = self._sum(totals, totals.n_records) - self._sum(totals, totals.n_records - 1)
        return float((self._sum(totals, 1) - last) / self.ideal(totals) / 2)

    def reading(self, predictions: Floats, score: Fraction, totals: Totals, released: Released) -> Reading:
        """Return an interval for the sum of the positives' mean discounts, in units of ``2**-80``.

        Raises:
            ValueError: A prediction is not finite.
        """
        coefficients, n_groups = self._coefficients(predictions)
        ideal = self.ideal(totals)
        low, high = released.interval(score, Fraction(0))
        error = self._error(n_groups, max(abs(low), abs(high)), totals)
        return self._told(coefficients, (low - error) * ideal, (high + error) * ideal, totals)

    def off(self, n_groups: int, totals: Totals, released: Released) -> Fraction:
        """Return how far a released score of so many tie groups may be off the exact one."""
        low, high = released.interval(Fraction(1), self._error(n_groups, Fraction(2) + released.noise, totals))
        return max(high - 1, 1 - low)

    def _error(self, n_groups: int, size: Fraction, totals: Totals) -> Fraction:
        """Return the largest error of scikit-learn's score of at most ``size``."""
        relative = (n_groups + totals.n_positive + 2 * _DISCOUNT + 2) * size
        sums = totals.n_positive * self.level(totals) * Fraction(totals.n_records, totals.n_positive)
        return _SECOND_ORDER * UNIT * (relative + sums)

    def level(self, totals: Totals) -> Fraction:
        """Return the score of everybody tied: P times the mean discount, over the ideal."""
        everyone = self._sum(totals, totals.n_records)
        return totals.n_positive * everyone / totals.n_records / self.ideal(totals)

    def beside(
        self, predictions: Floats, score: Fraction, tied: Fraction, totals: Totals, released: Released
    ) -> Reading:
        """Return a narrower interval, from the score of everybody tied that the same host gave.

        Of ``T`` for these predictions and ``T_0 = P S / N`` for everybody tied, S the sum of all discounts, the ratio
        is that of the two scores, but for: the relative errors of either (a share, a difference, a product, G - 1
        additions, a division); the relative error of the host's S, on what sets them apart, which is at most the sum
        of the discounts above the last group; and the host's own sums of those.

        Args:
            predictions: What was submitted.
            score: Its score, as it was printed.
            tied: The score of everybody tied, positive.
            totals: The class totals.
            released: How scores are printed.

        Raises:
            ValueError: A prediction is not finite, or the score of everybody tied is too small to divide by.
        """
        coefficients, n_groups = self._coefficients(predictions)
        (low, high), (least, most) = (released.interval(value, Fraction(0)) for value in (score, tied))
        if least <= 0:
            raise ValueError("the score of everybody tied is no positive number")
        n, head = totals.n_records, int(np.count_nonzero(predictions > predictions.min()))
        everyone, above = self._sum(totals, n), self._sum(totals, head)
        level = totals.n_positive * everyone / n
        low, high = level * low / most, level * high / least
        whole = (_added_up(n, self.k, n) / everyone + _DISCOUNT) * above
        local = 2 * (_added_up(n, self.k, head) + _DISCOUNT * above)
        error = _SECOND_ORDER * UNIT * ((n_groups + 6) * max(abs(low), abs(high)) + whole + local)
        return self._told(coefficients, low - error, high + error, totals)

    def _sum(self, totals: Totals, ranks: int) -> Fraction:
        return Fraction(discount_sums(totals.n_records, self.k)[ranks], 1 << SCALE)

    def _coefficients(self, predictions: Floats) -> tuple[NDArray[Any], int]:
        if not np.isfinite(predictions).all():
            raise ValueError("predictions must be finite")
        _, group, sizes = np.unique(-predictions, return_inverse=True, return_counts=True)
        sums = discount_sums(predictions.size, self.k)
        ends = np.cumsum(sizes).tolist()
        means = [(sums[end] - sums[end - size]) // size for end, size in zip(ends, sizes.tolist(), strict=True)]
        return np.array(means, dtype=object)[group], len(means)

    def _told(self, coefficients: NDArray[Any], low: Fraction, high: Fraction, totals: Totals) -> Reading:
        slack = 2 * totals.n_records  # of discounts and of their means, in units
        return Reading(coefficients=coefficients, low=low * (1 << SCALE) - slack, high=high * (1 << SCALE) + slack)
