"""One answer per gradient, filled family by family: what each explains better than the ones before."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np

from labelinf_gradients.recovery.results import Precision, Status

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["SAME_LABEL", "Answers"]

SAME_LABEL = 1e-3  #: L1 distance up to which two labels are one
_FIELDS = ("labels", "scales", "residual", "rival", "error", "lightest", "heaviest", "status", "families")
_DEFINITE = frozenset({Status.UNIQUE, Status.UNEXPLAINED, Status.NO_INFORMATION})


@attrs.define(eq=False)
class Answers:
    """One answer per gradient; filled family by family.

    The attributes are those of :class:`labelinf_gradients.recovery.results.Recovery`.
    """

    labels: NDArray[np.float64]
    scales: NDArray[np.float64]
    residual: NDArray[np.float64]
    rival: NDArray[np.float64]
    error: NDArray[np.float64]
    lightest: NDArray[np.float64]
    heaviest: NDArray[np.float64]
    status: NDArray[np.object_]
    families: NDArray[np.object_]
    candidates: NDArray[np.float64]

    @classmethod
    def nothing(cls, n: int, n_classes: int) -> Answers:
        """Return the answers about ``n`` zero gradients."""
        return cls(
            labels=np.full((n, n_classes), np.nan),
            scales=np.full(n, np.nan),
            residual=np.full(n, np.inf),
            rival=np.full(n, np.inf),
            error=np.full(n, np.inf),
            lightest=np.full(n, 0.0),
            heaviest=np.full(n, 1.0),
            status=np.full(n, Status.NO_INFORMATION, dtype=object),
            families=np.full(n, None, dtype=object),
            candidates=np.full((n, 1), np.nan),
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

        Where both explain about as much, the simpler one stays, and is ambiguous if the two differ.
        """
        before = self.of(rows)
        differs = ~(np.abs(before.labels - other.labels).sum(axis=1) <= SAME_LABEL)
        for one, two in ((before, other), (other, before)):
            one.rival[differs] = np.minimum(one.rival, two.residual)[differs]
            unsure = differs & precision.comparable(one.rival, one.residual)
            unsure |= np.array([status not in _DEFINITE for status in two.status])
            one.status[unsure & (one.status == Status.UNIQUE)] = Status.AMBIGUOUS
        self.put(rows, before)
        better = (other.residual < before.residual) & ~precision.comparable(before.residual, other.residual)
        better |= before.status == Status.NO_INFORMATION
        rows, chosen = rows[better], np.flatnonzero(better)
        extra = other.candidates.shape[1] - self.candidates.shape[1]
        if extra > 0:
            self.candidates = np.pad(self.candidates, ((0, 0), (0, extra)), constant_values=np.nan)
        self.candidates[rows] = np.nan
        self.candidates[rows, : other.candidates.shape[1]] = other.candidates[chosen]
        self.put(rows, other.of(chosen))
