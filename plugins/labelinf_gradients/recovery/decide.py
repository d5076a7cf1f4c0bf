"""From scored candidates to one answer per gradient, and what may be said of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np

from labelinf_gradients.recovery.results import Precision, Status
from labelinf_gradients.recovery.saturation import saturated, settle

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from labelinf_gradients.recovery.patterns import Pattern
    from labelinf_gradients.recovery.polish import Scored
    from labelinf_gradients.recovery.problem import Problem

__all__ = ["Answers", "decide"]

_SAME_SCALE = 1e-3  # relative
_SAME_LABEL = 1e-3  # L1
_FIELDS = ("labels", "scales", "residual", "rival", "error", "lightest", "heaviest", "status", "families")
_DEFINITE = frozenset({Status.UNIQUE, Status.UNEXPLAINED, Status.NO_INFORMATION})
_UNIDENTIFIABLE = {False: Status.SMOOTHING_FACTOR_UNIDENTIFIABLE, True: Status.MIXING_WEIGHT_UNIDENTIFIABLE}
_WIDEST_ERROR = 1e-3  # L1: beyond it the weight of a label is an interval, not a number


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
        differs = ~(np.abs(before.labels - other.labels).sum(axis=1) <= _SAME_LABEL)
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


def decide(problem: Problem, scored: Scored, pattern: Pattern, precision: Precision, *, positive: bool) -> Answers:
    """Choose the best candidate of each gradient and say what its rivals and its rounding allow.

    Args:
        problem: The gradients.
        scored: Their polished candidates.
        pattern: The family that the candidates follow.
        precision: How exactly the gradients are known.
        positive: Only scales ``t > 0`` are possible.
    """
    n = len(problem.column)
    answers = Answers.nothing(n, scored.labels.shape[1])
    answers.families[:] = pattern
    order = np.lexsort((scored.residual, scored.rows))
    rows, first = np.unique(scored.rows[order], return_index=True)
    best = order[first]
    answers.labels[rows] = scored.labels[best]
    answers.scales[rows] = scored.scales[best]
    answers.residual[rows] = scored.residual[best]
    answers.error[rows] = scored.lever[best] * np.maximum(scored.residual[best], precision.rounding)
    differs = np.abs(scored.labels - answers.labels[scored.rows]).sum(axis=1) > _SAME_LABEL
    np.minimum.at(answers.rival, scored.rows[differs], scored.residual[differs])
    answers.candidates = _distinct(scored, n, precision.tolerance)
    weight = answers.labels[rows].max(axis=1)
    answers.lightest[rows] = weight - answers.error[rows] / 2
    answers.heaviest[rows] = weight + answers.error[rows] / 2
    _judge(problem, answers, pattern, precision, positive)
    return answers


def _judge(problem: Problem, answers: Answers, pattern: Pattern, precision: Precision, positive: bool) -> None:
    answers.status[:] = Status.UNIQUE
    answers.status[precision.comparable(answers.rival, answers.residual)] = Status.AMBIGUOUS
    if pattern.has_weight:
        unsure = ~(answers.error <= _WIDEST_ERROR)
        rows = np.flatnonzero(saturated(problem.column, pattern, precision))
        if len(rows):
            settled = answers.of(rows)
            settle(problem.take(rows), pattern, settled, precision, positive=positive)
            answers.put(rows, settled)
        unsure[rows] = True
        answers.status[unsure] = _UNIDENTIFIABLE[pattern.zero]
    answers.status[~(answers.residual <= precision.tolerance)] = Status.UNEXPLAINED


def _distinct(scored: Scored, n: int, tolerance: float) -> NDArray[np.float64]:
    """Return the accepted scales of every gradient, each once, best first, shape ``(n, m)``."""
    accepted = np.flatnonzero(scored.residual <= tolerance)
    accepted = accepted[np.lexsort((scored.residual[accepted], scored.rows[accepted]))]
    listed: list[list[float]] = [[] for _ in range(n)]
    for row, scale in zip(scored.rows[accepted].tolist(), scored.scales[accepted].tolist(), strict=True):
        if all(abs(scale - other) > _SAME_SCALE * abs(other) for other in listed[row]):
            listed[row].append(scale)
    width = max(map(len, listed), default=0)
    return np.array([row + [np.nan] * (width - len(row)) for row in listed]).reshape(n, width)
