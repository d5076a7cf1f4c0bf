"""What labels and predictions must look like to a scorer: one column or several, class numbers, values or names."""

from __future__ import annotations

import enum
import itertools
from collections.abc import Iterator
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.labels import LabelSet
from labelinf_scores.metrics.readings import Rows

__all__ = ["HARD", "Naming", "Shape", "Spelling", "spellings"]

HARD = (Rows.COUNTS, Rows.CLASSES, Rows.GRADES)  #: predictions are classes
_ORDERED = (Rows.RANKS, Rows.DISCOUNTS, Rows.PRECISIONS, Rows.FIRST)  # only their order counts


class Shape(enum.Enum):
    """What predictions look like to a scorer."""

    ROWS = "one column for every class"
    COLUMN = "one column"


class Naming(enum.Enum):
    """What a class is called."""

    NUMBERS = "class numbers"
    VALUES = "what classes stand for"
    NAMES = "class names"


@attrs.frozen(kw_only=True)
class Spelling:
    """How labels and predictions are written for a scorer.

    Attributes:
        shape: Of predictions.
        naming: Of classes.
        class_names: The user's own name of every class, length K.
        values: The number every class stands for.
    """

    shape: Shape
    naming: Naming
    class_names: tuple[str, ...]
    values: tuple[float, ...]

    def labels(self, labels: NDArray[np.intp]) -> NDArray[Any]:
        """Return class numbers as the scorer calls them."""
        if self.naming is Naming.NUMBERS:
            return labels
        return np.array(self.class_names if self.naming is Naming.NAMES else self.values)[labels]

    def predictions(self, predictions: NDArray[Any], rows: Rows) -> NDArray[Any]:
        """Return predictions of a metric's rows, shape ``(n,)`` or ``(n, K)``, as the scorer takes them.

        Scores of which the order alone counts go for probabilities.
        """
        n_classes = len(self.class_names)
        if predictions.ndim == 2:
            return predictions[:, 1] if self.shape is Shape.COLUMN and n_classes == 2 else predictions
        if rows in HARD:
            if self.shape is Shape.ROWS:
                return np.eye(n_classes)[predictions.astype(np.intp)]
            return predictions if self.naming is Naming.NUMBERS else self.labels(predictions.astype(np.intp))
        if rows in _ORDERED:
            places = np.unique(predictions, return_inverse=True)[1]
            predictions = (places + 1) / (places.max() + 2)
        return predictions if self.shape is Shape.COLUMN else np.stack([1 - predictions, predictions], axis=1)

    def sentence(self) -> str:
        """Say it in a clause."""
        return f"predictions in {self.shape.value}" + (
            "" if self.naming is Naming.NUMBERS else f", labels as {self.naming.value}"
        )


def spellings(data: LabelSet) -> Iterator[Spelling]:
    """Yield the spellings that a scorer of such labels may want, the plainest first."""
    namings = [Naming.NUMBERS]
    if data.values != tuple(map(float, range(data.n_classes))):
        namings.append(Naming.VALUES)
    namings.append(Naming.NAMES)
    for naming, shape in itertools.product(namings, Shape):
        yield Spelling(shape=shape, naming=naming, class_names=data.class_names, values=data.values)
