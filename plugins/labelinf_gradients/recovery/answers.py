"""One answer per gradient, filled family by family: what each explains better than the ones before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from labelinf_gradients.recovery.results import Precision, RecoveryStatus

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

__all__ = ["Answers", "distinct", "listing", "turned", "widened"]

_FIELDS = (
    *("labels", "scales", "factors", "residual", "rival", "error", "lightest", "heaviest", "status", "families"),
    "complete",
)
_DEFINITE = frozenset({RecoveryStatus.UNIQUE, RecoveryStatus.UNEXPLAINED, RecoveryStatus.NO_INFORMATION})
_SAME_SCALE = 1e-3  # relative


@attrs.define(eq=False)
class Answers:
    """One answer per gradient; filled family by family.

    The attributes are those of :class:`labelinf_gradients.recovery.results.Recovery`; a candidate is a scale and a
    factor, shape ``(n, m, 2)``.
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
            candidates=np.full((n, 1, 2), np.nan),
        )

    def of(self, rows: NDArray[np.intp]) -> Answers:
        """Return the answers about ``rows``."""
        return Answers(**{name: getattr(self, name)[rows] for name in _FIELDS}, candidates=self.candidates[rows])

    def put(self, rows: NDArray[np.intp], other: Answers) -> None:
        """Overwrite the answers about ``rows``, candidates excepted."""
        for name in _FIELDS:
            getattr(self, name)[rows] = getattr(other, name)

    def improve(self, rows: NDArray[np.intp], other: Answers, precision: Precision) -> None:
        """Take over the answers of ``other``, a richer family's, about ``rows`` wherever they explain clearly more.

        Where both explain about as much, the simpler one stays, and is ambiguous if the two differ. A scale gives one
        label, whatever the family, so that the candidates of both are listed together, those of the better one first.
        """
        before = self.of(rows)
        differs = ~(np.abs(before.labels - other.labels).sum(axis=1) <= precision.same)
        for one, two in ((before, other), (other, before)):
            one.rival[differs] = np.minimum(one.rival, two.residual)[differs]
            unsure = differs & precision.comparable(one.rival, one.residual)
            unsure |= np.array([status not in _DEFINITE for status in two.status])
            one.status[unsure & (one.status == RecoveryStatus.UNIQUE)] = RecoveryStatus.AMBIGUOUS
            heavier = turned(two.labels, one.labels.argmax(axis=1), precision)
            one.doubt_class(heavier & precision.comparable(two.residual, one.residual))
        self.put(rows, before)
        better = (other.residual < before.residual) & ~precision.comparable(before.residual, other.residual)
        better |= before.status == RecoveryStatus.NO_INFORMATION
        self.put(rows[better], other.of(np.flatnonzero(better)))
        self.complete[rows] = before.complete & other.complete
        self._list(rows, np.where(better[:, None, None], *_both(before.candidates, other.candidates)))

    def doubt_class(self, rows: NDArray[np.bool_]) -> None:
        """Take back that the class is known of ``rows`` where a label with another heaviest class explains as much."""
        self.status[rows & (self.status == RecoveryStatus.SMOOTHING_FACTOR_UNIDENTIFIABLE)] = RecoveryStatus.AMBIGUOUS

    def doubt(self, *, scaled: bool) -> None:
        """Take back what is said while labels of a family that was left out explain every gradient: too few classes.

        The list of labels is never whole then. An answer stands where its own family leaves an equation to spare, which
        a label of another family would solve by chance only.

        Args:
            scaled: The gradients are known up to a factor only.
        """
        self.complete[:] = False
        n_classes = self.labels.shape[1]
        spare = [family is not None and n_classes >= family.least_classes + scaled for family in self.families]
        self.status[(self.status == RecoveryStatus.UNIQUE) & ~np.array(spare, dtype=bool)] = RecoveryStatus.AMBIGUOUS

    def _list(self, rows: NDArray[np.intp], candidates: NDArray[np.float64]) -> None:
        """Set the candidates of ``rows``, shape ``(len(rows), m, 2)``, each once, NaN beyond the last."""
        known = np.isfinite(candidates[:, :, 0])
        listed = listing([distinct(map(tuple, row[own].tolist())) for row, own in zip(candidates, known, strict=True)])
        width = max(self.candidates.shape[1], listed.shape[1])
        self.candidates = widened(self.candidates, width)
        self.candidates[rows] = widened(listed, width)


def turned(labels: NDArray[np.float64], classes: Any, precision: Precision) -> NDArray[np.bool_]:
    """Return in which labels, shape ``(n, C)``, another class is clearly heavier than the one in ``classes``."""
    own = np.take_along_axis(labels, np.broadcast_to(classes, len(labels))[:, None], axis=1)[:, 0]
    return np.asarray(labels.max(axis=1) - own > precision.same)


def distinct(candidates: Iterable[tuple[float, ...]]) -> list[tuple[float, ...]]:
    """Return the candidates in order, those left out whose scale is one with an earlier one's."""
    kept: list[tuple[float, ...]] = []
    for one in candidates:
        if all(abs(one[0] - other[0]) > _SAME_SCALE * abs(other[0]) for other in kept):
            kept.append(one)
    return kept


def listing(listed: list[list[tuple[float, ...]]]) -> NDArray[np.float64]:
    """Return lists of candidates as one array, shape ``(n, m, 2)``, NaN beyond the last."""
    width = max(map(len, listed), default=0)
    nothing = (np.nan, np.nan)
    return np.array([row + [nothing] * (width - len(row)) for row in listed]).reshape(len(listed), width, 2)


def widened(candidates: NDArray[np.float64], width: int) -> NDArray[np.float64]:
    """Return the same candidates, NaN beyond the last, shape ``(n, width, 2)``."""
    missing = width - candidates.shape[1]
    return np.pad(candidates, ((0, 0), (0, missing), (0, 0)), constant_values=np.nan)


def _both(one: NDArray[np.float64], two: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the second's columns before the first's, and the first's before the second's."""
    return np.concatenate([two, one], axis=1), np.concatenate([one, two], axis=1)
