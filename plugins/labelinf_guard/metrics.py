"""What a board scores: exact statistics of labels and a submission, their range, and what one label moves.

A metric answers with a fraction, of integers: counts are counts, and a cost is rounded to a multiple of ``2**-40``
before it is added, so that no order of summation and no float decides an answer. A further metric is a class with these
five members, entered in :data:`METRICS`.

Example:
    >>> import numpy as np
    >>> Accuracy().score(np.array([0, 1, 1]), np.array([0, 1, 0]), 2)
    Fraction(2, 3)
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, ClassVar, Protocol

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.errors import InputError

__all__ = ["GRID", "METRICS", "Metric", "UnscorableError", "mean_of_costs", "metric_named"]

GRID = 1 << 40  #: costs are whole multiples of 1 / GRID
_HALF = 20  # integers are added in halves, so that a million of them fit


class UnscorableError(Exception):
    """These labels and this submission have no score; said to nobody but as one symbol."""


class Metric(Protocol):
    """A metric."""

    @property
    def classes_predicted(self) -> bool:
        """Whether rows are classes; else probabilities of every class."""
        ...

    @property
    def minimise(self) -> bool:
        """Whether smaller is better."""
        ...

    @property
    def low(self) -> Fraction:
        """Of all scores."""
        ...

    @property
    def high(self) -> Fraction:
        """Of all scores."""
        ...

    def score(self, labels: NDArray[np.intp], rows: NDArray[Any], n_classes: int) -> Fraction:
        """Return the score.

        Args:
            labels: Shape ``(n,)``, at least one.
            rows: Predicted classes, shape ``(n,)``, or probabilities that sum to 1, shape ``(n, n_classes)``.
            n_classes: K.

        Raises:
            UnscorableError: There is none.
        """
        ...

    def move(self, n: int, n_classes: int) -> Fraction | None:
        """Return by how much one label moves a score of n labels at most; None when no such number is proved."""
        ...


@attrs.frozen(kw_only=True)
class Accuracy:
    """Share of right classes."""

    classes_predicted: ClassVar[bool] = True
    minimise: ClassVar[bool] = False
    low: ClassVar[Fraction] = Fraction(0)
    high: ClassVar[Fraction] = Fraction(1)

    def score(self, labels: NDArray[np.intp], rows: NDArray[Any], n_classes: int) -> Fraction:
        """A count of n."""
        return Fraction(int(np.count_nonzero(labels == rows)), labels.size)

    def move(self, n: int, n_classes: int) -> Fraction:
        """``1 / n``."""
        return Fraction(1, n)


@attrs.frozen(kw_only=True)
class BalancedAccuracy(Accuracy):
    """Mean over the classes of the share of right rows; a class without a label leaves no score."""

    def score(self, labels: NDArray[np.intp], rows: NDArray[Any], n_classes: int) -> Fraction:
        """Counts over counts."""
        total = np.bincount(labels, minlength=n_classes)
        right = np.bincount(labels[labels == rows], minlength=n_classes)
        if not total.all():
            raise UnscorableError
        return sum((Fraction(int(r), int(t)) for r, t in zip(right, total, strict=True)), Fraction(0)) / n_classes

    def move(self, n: int, n_classes: int) -> None:  # type: ignore[override]
        """It depends on how rare the rarest class is, which is not public."""
        return None


@attrs.frozen(kw_only=True)
class F1(Accuracy):
    """F1 of the last class; 0 when it is neither there nor predicted."""

    def score(self, labels: NDArray[np.intp], rows: NDArray[Any], n_classes: int) -> Fraction:
        """``2 TP / (P + S)``."""
        last = n_classes - 1
        both = int(np.count_nonzero((labels == last) & (rows == last)))
        either = int(np.count_nonzero(labels == last)) + int(np.count_nonzero(rows == last))
        return Fraction(2 * both, either) if either else Fraction(0)

    def move(self, n: int, n_classes: int) -> None:  # type: ignore[override]
        """It depends on how rare the class is, which is not public."""
        return None


@attrs.frozen(kw_only=True)
class RocAuc:
    """Area under the ROC curve of two classes, ties counted by half; one class alone leaves no score."""

    classes_predicted: ClassVar[bool] = False
    minimise: ClassVar[bool] = False
    low: ClassVar[Fraction] = Fraction(0)
    high: ClassVar[Fraction] = Fraction(1)

    def score(self, labels: NDArray[np.intp], rows: NDArray[Any], n_classes: int) -> Fraction:
        """Twice the Mann-Whitney statistic is an integer."""
        if n_classes != 2:
            raise UnscorableError
        _, rank, size = np.unique(rows[:, 1], return_inverse=True, return_counts=True)
        twice = 2 * np.cumsum(size) - size + 1  # twice the mean rank of every value
        positive = int(np.count_nonzero(labels))
        if positive in (0, labels.size):
            raise UnscorableError
        above = int(twice[rank[labels == 1]].sum()) - positive * (positive + 1)
        return Fraction(above, 2 * positive * (labels.size - positive))

    def move(self, n: int, n_classes: int) -> None:
        """It depends on how rare the rarer class is, which is not public."""
        return None


@attrs.frozen(kw_only=True)
class LogLoss:
    """Mean of ``-ln`` of the probability of the label, clipped.

    Attributes:
        clip: Probabilities below are taken for this, above 1 minus this for that; in (0, 1/2).
    """

    classes_predicted: ClassVar[bool] = False
    minimise: ClassVar[bool] = True
    low: ClassVar[Fraction] = Fraction(0)

    clip: float = attrs.field(default=0.01, validator=[attrs.validators.gt(0), attrs.validators.lt(0.5)])

    @property
    def high(self) -> Fraction:
        """``-ln clip``, on the grid of costs."""
        return Fraction(round(-math.log(self.clip) * GRID), GRID)

    def score(self, labels: NDArray[np.intp], rows: NDArray[Any], n_classes: int) -> Fraction:
        """Costs on a grid, added as integers."""
        own = np.clip(rows[np.arange(labels.size), labels], self.clip, 1 - self.clip)
        return mean_of_costs(-np.log(own))

    def move(self, n: int, n_classes: int) -> Fraction:
        """``ln((1 - clip) / clip) / n``, and the roundings of two costs."""
        return Fraction(math.ceil(math.log((1 - self.clip) / self.clip) * GRID) + 2, GRID * n)


@attrs.frozen(kw_only=True)
class Brier:
    """Half the mean squared distance between a row and its label's corner, as scikit-learn has it for two classes."""

    classes_predicted: ClassVar[bool] = False
    minimise: ClassVar[bool] = True
    low: ClassVar[Fraction] = Fraction(0)
    high: ClassVar[Fraction] = Fraction(1)

    def score(self, labels: NDArray[np.intp], rows: NDArray[Any], n_classes: int) -> Fraction:
        """Costs on a grid, added as integers."""
        own = rows[np.arange(labels.size), labels]
        return mean_of_costs(np.clip(((rows**2).sum(axis=1) + 1) / 2 - own, 0, 1))

    def move(self, n: int, n_classes: int) -> Fraction:
        """``1 / n``, and the roundings of two costs."""
        return Fraction(GRID + 2, GRID * n)


METRICS: dict[str, Any] = {
    "accuracy": Accuracy,
    "balanced-accuracy": BalancedAccuracy,
    "brier": Brier,
    "f1": F1,
    "log-loss": LogLoss,
    "roc-auc": RocAuc,
}  #: by the name in ``board.toml``


def metric_named(name: str, parameters: dict[str, Any]) -> Metric:
    """Return a metric by its name.

    Raises:
        InputError: There is none, or it has no such parameter.
    """
    if name not in METRICS:
        raise InputError(f"there is no metric {name!r}; known are {', '.join(METRICS)}, or ours = 'module:function'.")
    known = {field.name for field in attrs.fields(METRICS[name])}
    if unknown := sorted(parameters.keys() - known):
        raise InputError(f"metric {name!r} has no parameter {unknown[0]!r}; known are {', '.join(known) or 'none'}.")
    try:
        found: Metric = METRICS[name](**parameters)
    except (TypeError, ValueError) as error:
        raise InputError(f"metric {name!r}: its parameters cannot be used: {', '.join(sorted(parameters))}.") from error
    return found


def mean_of_costs(costs: NDArray[np.float64]) -> Fraction:
    """Return the mean of costs, each rounded to the grid."""
    whole = np.rint(costs * GRID).astype(np.int64)
    high, low = whole >> _HALF, whole & ((1 << _HALF) - 1)
    return Fraction((int(high.sum()) << _HALF) + int(low.sum()), GRID * costs.size)
