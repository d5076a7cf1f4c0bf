"""What several labellings explain: all that they share is decided, one record more of them is asked about again.

An answer that 53 labels share leaves, at times, two or three labellings; they differ in a carry, so in any number of
places. Which of them it is one bit tells: ask about *one* record in which they differ, and all the others follow.

Example:
    >>> told = Explanations(records=np.array([4, 7, 9]), options=np.array([[0, 1, 1], [1, 0, 1]]))
    >>> labels = np.full(10, -1)
    >>> told = told.settle(labels)
    >>> labels[9], told.pivot, told.waiting.tolist()
    (np.int64(1), 4, [4, 7])
    >>> labels[4] = 1
    >>> told.settle(labels).options.shape[0], labels[7]
    (1, np.int64(0))
"""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

__all__ = ["ContradictionError", "Explanations"]


class ContradictionError(ValueError):
    """No labels give an answer: what was assumed of the curator is wrong."""


@attrs.frozen(kw_only=True, eq=False)
class Explanations:
    """All labellings of a few records that explain an answer.

    Attributes:
        records: Their places, shape ``(m,)``.
        options: One labelling a row, shape ``(n, m)``.
    """

    records: NDArray[np.intp]
    options: NDArray[np.int8]

    def settle(self, labels: NDArray[np.intp]) -> Explanations:
        """Drop what is known by now not to be, write down what the others share, and return them.

        Args:
            labels: Of all records, -1 where nothing is known; written into.

        Raises:
            ContradictionError: No labelling is left.
        """
        known = labels[self.records]
        options = self.options[((known < 0) | (self.options == known)).all(axis=1)]
        if not len(options):
            raise ContradictionError("an answer fits no labels")
        shared = (options == options[0]).all(axis=0)
        labels[self.records[shared]] = options[0, shared]
        return Explanations(records=self.records[~shared], options=options[:, ~shared])

    @property
    def waiting(self) -> NDArray[np.intp]:
        """The records in which they differ, once settled."""
        return self.records

    @property
    def pivot(self) -> int:
        """The record to ask about again: the one that splits them best."""
        return int(self.records[np.abs(2 * self.options.sum(axis=0) - len(self.options)).argmin()])
