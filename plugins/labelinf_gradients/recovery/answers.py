"""One answer per gradient, filled family by family: what each explains better than the ones before."""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_gradients.recovery.evidence import LEVEL
from labelinf_gradients.recovery.problem import Problem
from labelinf_gradients.recovery.results import GradientPrecision, RecoveryStatus

__all__ = ["FIELDS", "Answers", "listing", "turned", "widened"]

FIELDS = (
    *("labels", "scales", "factors", "residual", "rival", "error", "lightest", "heaviest", "status", "families"),
    *("complete", "chance", "proved"),
)
_DEFINITE = frozenset({RecoveryStatus.UNIQUE, RecoveryStatus.UNEXPLAINED, RecoveryStatus.NO_INFORMATION})
_BY_CLASS = frozenset({RecoveryStatus.SMOOTHING_FACTOR_UNIDENTIFIABLE, RecoveryStatus.MIXING_WEIGHT_UNIDENTIFIABLE})
_NOTHING_SAID = frozenset({RecoveryStatus.UNEXPLAINED, RecoveryStatus.NO_INFORMATION})
_SAME_SCALE = 1e-3  # relative


@attrs.define(eq=False)
class Answers:
    """One answer per gradient; filled family by family.

    The attributes are those of :class:`labelinf_gradients.recovery.results.Recovery`; a candidate is a scale and a
    factor, shape ``(n, m, 2)``; ``proved`` is whether the chance of some family's answer is small enough.
    """

    labels: NDArray[np.float64]
    scales: NDArray[np.float64]
    factors: NDArray[np.float64]
    residual: NDArray[np.float64]
    rival: NDArray[np.float64]
    error: NDArray[np.float64]
    lightest: NDArray[np.float64]
    heaviest: NDArray[np.float64]
    status: NDArray[np.object_]
    families: NDArray[np.object_]
    complete: NDArray[np.bool_]
    chance: NDArray[np.float64]
    proved: NDArray[np.bool_]
    candidates: NDArray[np.float64]

    @classmethod
    def nothing(cls, n: int, n_classes: int) -> Answers:
        """Return the answers about ``n`` zero gradients."""
        return cls(
            labels=np.full((n, n_classes), np.nan),
            scales=np.full(n, np.nan),
            factors=np.ones(n),
            residual=np.full(n, np.inf),
            rival=np.full(n, np.inf),
            error=np.full(n, np.inf),
            lightest=np.full(n, 0.0),
            heaviest=np.full(n, 1.0),
            status=np.full(n, RecoveryStatus.NO_INFORMATION, dtype=object),
            families=np.full(n, None, dtype=object),
            complete=np.ones(n, dtype=bool),
            chance=np.ones(n),
            proved=np.zeros(n, dtype=bool),
            candidates=np.full((n, 1, 2), np.nan),
        )

    def of(self, rows: NDArray[np.intp]) -> Answers:
        """Return the answers about ``rows``."""
        return Answers(**{name: getattr(self, name)[rows] for name in FIELDS}, candidates=self.candidates[rows])

    def put(self, rows: NDArray[np.intp], other: Answers) -> None:
        """Overwrite the answers about ``rows``, candidates excepted."""
        for name in FIELDS:
            getattr(self, name)[rows] = getattr(other, name)

    def improve(self, rows: NDArray[np.intp], other: Answers, problem: Problem, precision: GradientPrecision) -> None:
        """Take over the answers of ``other``, a richer family's, about ``rows`` wherever they explain clearly more.

        Where both explain about as much, the simpler one stays, and is ambiguous if the two differ. A scale and a
        factor give one label, whatever the family: the candidates of both are listed together, the better one's first.
        """
        before = self.of(rows)
        differs = ~(np.abs(before.labels - other.labels).sum(axis=1) <= precision.same)
        for one, two in ((before, other), (other, before)):
            one.rival[differs] = np.minimum(one.rival, two.residual)[differs]
            unsure = differs & precision.comparable(one.rival, one.residual)
            unsure |= np.array([status not in _DEFINITE for status in two.status])
            one.status[unsure & (one.status == RecoveryStatus.UNIQUE)] = RecoveryStatus.AMBIGUOUS
            mixed = one.status == RecoveryStatus.MIXING_WEIGHT_UNIDENTIFIABLE
            one.doubt_class(
                turned(two.labels, one.labels, mixed, precision) & precision.comparable(two.residual, one.residual)
            )
        self.put(rows, before)
        better = (other.residual < before.residual) & ~precision.comparable(before.residual, other.residual)
        better |= before.status == RecoveryStatus.NO_INFORMATION
        self.put(rows[better], other.of(np.flatnonzero(better)))
        self.complete[rows] = before.complete & other.complete
        self.proved[rows] = before.proved | other.proved
        first, second = before.candidates, other.candidates
        orders = np.concatenate([second, first], axis=1), np.concatenate([first, second], axis=1)
        self._list(rows, np.where(better[:, None, None], *orders), problem, precision)

    def doubt_class(self, rows: NDArray[np.bool_]) -> None:
        """Take back that the classes are known of ``rows`` where a label of other classes explains as much."""
        known = np.array([status in _BY_CLASS for status in self.status], dtype=bool)
        self.status[rows & known] = RecoveryStatus.AMBIGUOUS

    def doubt(self, *, some_left_out: bool) -> None:
        """Take back what a gradient of another origin might say as well; the list of its labels is not whole then.

        Args:
            some_left_out: Whether labels of a family that was not tried explain every gradient: too few classes.
        """
        known = np.array([status not in _NOTHING_SAID for status in self.status], dtype=bool)
        self.status[known & (self.chance > LEVEL)] = RecoveryStatus.AMBIGUOUS
        self.complete &= (self.proved | ~known) & (not some_left_out)

    def _list(
        self, rows: NDArray[np.intp], candidates: NDArray[np.float64], problem: Problem, precision: GradientPrecision
    ) -> None:
        """Set the candidates of ``rows``, shape ``(len(rows), m, 2)``, each once, NaN beyond the last."""
        own, slots = np.nonzero(np.isfinite(candidates[:, :, 0]))
        pairs = candidates[own, slots]
        labels = problem.rescaled(own, pairs[:, 1]).labels(pairs[:, 0])
        listed = listing(own, pairs, labels, len(rows), precision)
        width = max(self.candidates.shape[1], listed.shape[1])
        self.candidates = widened(self.candidates, width)
        self.candidates[rows] = widened(listed, width)


def turned(
    labels: NDArray[np.float64], own: NDArray[np.float64], mixed: NDArray[np.bool_] | bool, precision: GradientPrecision
) -> NDArray[np.bool_]:
    """Return which labels, shape ``(n, C)``, are not of the classes that are known of ``own``, shape as ``labels``.

    Of a mixed one its two heaviest hold all weight, of any other one the heaviest is the heaviest.
    """
    first, second = np.take_along_axis(labels, np.argsort(-own, axis=1)[:, :2], axis=1).T
    other = np.where(mixed, labels.sum(axis=1) - first - second, labels.max(axis=1) - first)
    return np.asarray(other > precision.same)


def listing(
    rows: NDArray[np.intp],
    candidates: NDArray[np.float64],
    labels: NDArray[np.float64],
    n: int,
    precision: GradientPrecision,
) -> NDArray[np.float64]:
    """Return the different candidates of ``n`` gradients, shape ``(n, m, 2)``, NaN beyond the last.

    Two are one if neither their scales nor their labels differ: where logits are steep, or behind an unknown factor,
    labels may differ although the scales hardly do.

    Args:
        rows: Which gradient each belongs to, ascending; those of one gradient come the best first.
        candidates: Scales and factors, shape ``(k, 2)``.
        labels: What they say, shape ``(k, C)``.
        n: How many gradients there are.
        precision: How exactly these are known.
    """
    listed = np.full((n, 0, 2), np.nan)
    left = np.arange(len(rows))
    while len(left):
        owners, first = np.unique(rows[left], return_index=True)
        heads = left[first]
        listed = widened(listed, listed.shape[1] + 1)
        listed[owners, -1] = candidates[heads]
        lead = heads[np.searchsorted(owners, rows[left])]
        scales, other = candidates[left, 0], candidates[lead, 0]
        alike = np.abs(scales - other) <= _SAME_SCALE * np.abs(other)
        alike &= np.abs(labels[left] - labels[lead]).sum(axis=1) <= precision.same
        left = left[~(alike | (left == lead))]
    return listed


def widened(candidates: NDArray[np.float64], width: int) -> NDArray[np.float64]:
    """Return the same candidates, NaN beyond the last, shape ``(n, width, 2)``."""
    missing = width - candidates.shape[1]
    return np.pad(candidates, ((0, 0), (0, missing), (0, 0)), constant_values=np.nan)
