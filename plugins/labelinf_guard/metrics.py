"""What a board scores: exact statistics of labels and a submission, their range, and what one label moves.

Scores are fractions, computed by :mod:`labelinf_guard.export.stateless`: the same text scores where nothing else can
be installed. Labels that are values are numbers of a grid, of public range: what is predicted beyond it is taken for
its end, so that no label decides what a score can be, and one label moves the sum of N costs by the largest of them.

Example:
    >>> import numpy as np
    >>> metric_named("accuracy", {}, ("0", "1")).score(np.array([0, 1, 1]), np.array([0, 1, 0]), 2)
    Fraction(2, 3)
    >>> mse = metric_named("mse", {}, ("0", "1", "5"))
    >>> mse.score(np.array([0, 2]), np.array([1.0, 3.0]), 3), mse.high, mse.move(2, 3)
    (Fraction(5, 2), Fraction(25, 1), Fraction(25, 2))
"""

from __future__ import annotations

import abc
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.errors import InputError
from labelinf_guard.export.stateless import GRID, OF_CHANCES, OF_CLASSES, OF_VALUES, Settings, exact_score

__all__ = ["METRICS", "ExactMetric", "GuardMetric", "UnscorableError", "metric_named"]

METRICS = tuple(sorted((*OF_CLASSES, *OF_CHANCES)))  #: of classes, by the name in ``board.toml``


class UnscorableError(Exception):
    """These labels and this submission have no score; said to nobody but as one symbol."""


class GuardMetric(abc.ABC):
    """A metric."""

    @property
    def classes_predicted(self) -> bool:
        """Whether rows are classes; else probabilities of every class, or values."""
        return False

    @property
    def minimise(self) -> bool:
        """Whether smaller is better."""
        return False

    @property
    def low(self) -> Fraction:
        """Of all scores."""
        return Fraction(0)

    @property
    def high(self) -> Fraction:
        """Of all scores."""
        return Fraction(1)

    @abc.abstractmethod
    def score(self, labels: NDArray[np.intp], rows: NDArray[Any], n_classes: int) -> Fraction:
        """Return the score.

        Args:
            labels: Shape ``(n,)``, at least one.
            rows: Predicted classes or values, shape ``(n,)``, or probabilities that sum to 1, ``(n, n_classes)``.
            n_classes: K.

        Raises:
            UnscorableError: There is none.
        """

    def move(self, n: int, n_classes: int) -> Fraction | None:
        """Return by how much one label moves a score of n labels at most; None when no such number is proved."""
        return None


@attrs.frozen(kw_only=True)
class ExactMetric(GuardMetric):
    """One of the guard's own.

    Attributes:
        settings: Its name, its parameters, and the classes or values.
    """

    settings: Settings

    @property
    def classes_predicted(self) -> bool:
        """Of counts."""
        return self.settings.metric in OF_CLASSES

    @property
    def minimise(self) -> bool:
        """Of costs."""
        return self.settings.metric in ("brier", "log-loss", *OF_VALUES)

    @property
    def high(self) -> Fraction:
        """The largest cost, on the grid of costs; of values from one end of the range to the other."""
        return self.settings.high

    def score(self, labels: NDArray[np.intp], rows: NDArray[Any], n_classes: int) -> Fraction:
        """Counts over counts, or costs on a grid."""
        found = exact_score(self.settings, np.asarray(labels).tolist(), rows.tolist())
        if found is None:
            raise UnscorableError
        return found

    def move(self, n: int, n_classes: int) -> Fraction | None:
        """The largest difference of two costs over n, and their roundings; roots differ by the root of a difference.

        Where it depends on how rare a class is, which is not public, nothing is said.
        """
        match self.settings.metric:
            case "accuracy" | "mae" | "mse":
                return self.high / n
            case "rmse":
                return Fraction(math.isqrt(GRID * GRID // n) + 2, GRID) * self.high
            case "brier":
                return Fraction(GRID + 2, GRID * n)
            case "log-loss":
                clip = self.settings.clip
                return Fraction(math.ceil(math.log((1 - clip) / clip) * GRID) + 2, GRID * n)
            case _:
                return None


def metric_named(name: str, parameters: Mapping[str, Any], classes: Sequence[str]) -> ExactMetric:
    """Return a metric by its name.

    Args:
        name: One of :data:`METRICS`, or of values.
        parameters: Of it.
        classes: Their names, or the values.

    Raises:
        InputError: There is none, or it has no such parameter.
    """
    if name not in (*METRICS, *OF_VALUES):
        raise InputError(f"there is no metric {name!r}; known are {', '.join(METRICS)}, or ours = 'module:function'.")
    known = ("clip",) if name == "log-loss" else ()
    if unknown := sorted(parameters.keys() - set(known)):
        raise InputError(f"metric {name!r} has no parameter {unknown[0]!r}; known are {', '.join(known) or 'none'}.")
    if not 0 < parameters.get("clip", 0.01) < 0.5:
        raise InputError(f"metric {name!r}: its parameters cannot be used: clip must be between 0 and 0.5.")
    return ExactMetric(
        settings=Settings(metric=name, classes=tuple(classes), id="", label="", decimals=0, parameters=parameters)
    )
