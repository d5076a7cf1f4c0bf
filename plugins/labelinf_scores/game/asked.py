"""A user's scorer as games ask it: labels and predictions written as it takes them, a sign or a scale undone.

A scorer may call its classes by their numbers, by the numbers that they stand for or by their names, and take one
column of predictions or one for every class.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.errors import InputError, QueryRefusedError
from labelinf_core.contracts.labels import LabelSet
from labelinf_scores.game.scoring import Query, Scorer, ScorerFacts
from labelinf_scores.metrics.readings import HARD, Rows
from labelinf_scores.simulation.formats import Classes, Columns, Numbers, SubmissionFormat

__all__ = ["Asked", "Naming", "namings"]

_ORDERED = (Rows.RANKS, Rows.DISCOUNTS, Rows.PRECISIONS, Rows.FIRST)  # only their order counts


class Naming(enum.Enum):
    """What a class is called."""

    NUMBERS = "class numbers"
    VALUES = "what classes stand for"
    NAMES = "class names"
    COLUMNS = "a column for every class"


def namings(data: LabelSet) -> Iterator[Naming]:
    """Yield what a scorer may call classes, the plainest first."""
    yield Naming.NUMBERS
    if data.values != tuple(map(float, range(data.n_classes))):
        yield Naming.VALUES
    yield Naming.NAMES
    yield Naming.COLUMNS


@attrs.frozen(kw_only=True, eq=False)
class Asked:
    """A scorer asked in one way.

    Attributes:
        host: The user's.
        data: What its classes are called, and stand for.
        naming: What it calls them.
        rows: The kind of rows that a query has; None: rows are written as the scorer takes them.
        columns: Whether it takes a column for every class.
        scale: Its answer is the metric times this,
        offset: plus this.
    """

    host: Scorer
    data: LabelSet
    naming: Naming = Naming.NUMBERS
    rows: Rows | None = None
    columns: bool = False
    scale: float = 1.0
    offset: float = 0.0

    @property
    def facts(self) -> ScorerFacts:
        """What is public about it."""
        return self.host.facts

    @property
    def called(self) -> NDArray[Any]:
        """What every class is called."""
        if self.naming is Naming.NUMBERS:
            return np.arange(self.data.n_classes)
        if self.naming is Naming.COLUMNS:
            return np.eye(self.data.n_classes)
        return np.array(self.data.class_names if self.naming is Naming.NAMES else self.data.values)

    def forms(self) -> tuple[tuple[SubmissionFormat, NDArray[Any]], ...]:
        """Return what submissions may look like, and what says of a record that it is of a class."""
        called, k = self.called, self.data.n_classes
        many = Columns(n_classes=k), called
        if self.naming is Naming.COLUMNS:
            return (many,)
        few = Classes(values=called), called
        if called.dtype.kind == "U":
            return (few, many, (Numbers(), np.arange(2.0))) if k == 2 else (few, many)
        numbers = (called.astype(np.float64) - called.min()) / np.ptp(called) if k == 2 else called
        one = Numbers(low=float(numbers.min()), high=float(numbers.max())), numbers
        return (many, one, few) if k == 2 else (many, few, one)

    def score(self, labels: NDArray[np.intp], query: Query) -> Any:
        """Return the score, what the scorer makes of it undone.

        Raises:
            InputError: The scorer raises, or answers no number.
            QueryRefusedError: It is sent a part of the rows, and takes none.
        """
        written = query if self.rows is None else attrs.evolve(query, predictions=self._written(query.predictions))
        try:
            answer = self.host.score(self.called[labels] if self.naming is not Naming.NUMBERS else labels, written)
        except InputError:
            if len(labels) != self.data.n_records:  # a stage sends some of them
                raise QueryRefusedError("the scorer takes no part of the rows.") from None
            raise
        return answer if (self.scale, self.offset) == (1, 0) else (float(answer) - self.offset) / self.scale

    def tried(self, labels: NDArray[np.intp], predictions: NDArray[Any]) -> float | None:
        """Return the answer; None where there is none."""
        try:
            return float(self.score(labels, Query(predictions=predictions)))
        except (InputError, QueryRefusedError):
            return None

    def _written(self, predictions: NDArray[Any]) -> NDArray[Any]:
        """Return predictions of a metric's rows as the scorer takes them; an order goes for probabilities."""
        if predictions.ndim == 2:
            return predictions if self.columns or self.data.n_classes > 2 else predictions[:, 1]
        if self.rows in HARD:
            hard = predictions.astype(np.intp)
            return np.eye(self.data.n_classes)[hard] if self.columns else self.called[hard]
        if self.rows in _ORDERED:
            places = np.unique(predictions, return_inverse=True)[1]
            predictions = (places + 1) / (places.max() + 2)
        return np.stack([1 - predictions, predictions], axis=1) if self.columns else predictions
