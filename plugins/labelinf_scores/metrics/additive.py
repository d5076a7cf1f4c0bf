"""The losses of the score channel: sums over the records of what each row's prediction costs for its label.

Every loss of the two score papers is *linearly decomposable*: N times the score is ``sum_i cost(theta_i, sigma_i)``.
So a loss says three things, once, for every arithmetic: what a row costs for each label, how far apart the costs of
two labels can be (the span), and which prediction makes the costs differ by a wanted gap.
"""

from __future__ import annotations

import abc
import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import Loss
from labelinf_scores.arithmetic import Arithmetic

__all__ = ["AdditiveLoss"]


class AdditiveLoss(Loss, abc.ABC):
    """A loss whose score is the mean over records of a cost per record.

    What attacks ask of a loss beside its numbers are facts of the loss, and stand here.

    Attributes:
        is_log_loss: Whether it is the cross-entropy of probabilities, which real scorers compute.
        has_class_rows: Whether :meth:`class_rows` makes rows of any costs whatever. Attacks on more than two classes
            that ask for other costs than equal steps need it.
    """

    is_log_loss: ClassVar[bool] = False
    has_class_rows: ClassVar[bool] = False

    @property
    def takes_logits(self) -> bool:
        """Whether predictions are logits, any real numbers; otherwise they are probabilities."""
        return self.fault_of_values(np.array([2.0])) == ""

    @abc.abstractmethod
    def costs(self, predictions: NDArray[Any], numbers: Arithmetic) -> NDArray[Any]:
        """Return what each row costs for each label.

        Args:
            predictions: Shape ``(n,)`` (two classes, probability of class 1) or ``(n, n_classes)``, already converted
                to ``numbers``.
            numbers: The arithmetic to compute in.

        Returns:
            Shape ``(n, n_classes)``.
        """

    @abc.abstractmethod
    def span(self, clip: float) -> float:
        """Return L, the largest difference between the costs of two labels of one row.

        Args:
            clip: Probabilities lie in ``[clip, 1 - clip]``; 0 when they are not clipped.

        Returns:
            The span; infinity when it is unbounded.
        """

    def largest(self, clip: float, n_classes: int) -> float:
        """Return the largest cost of a row, in absolute value; infinity, the default, where nobody has said.

        Args:
            clip: Probabilities lie in ``[clip, 1 - clip]``; rows need not sum to one.
            n_classes: K.
        """
        return math.inf

    @property
    def always_scored(self) -> bool:
        """Whether any labels have a score, those of one class, too: a mean of costs does."""
        return True

    @property
    def neighbours_scored(self) -> bool:
        """Whether labels have a score in which any one label, or those of one group, are others than here."""
        return True

    def confined(self, low: float, high: float) -> AdditiveLoss:
        """Return the loss of predicted values that are cut to ``[low, high]``; by default the same."""
        return self

    @abc.abstractmethod
    def prediction(self, gap: Any, numbers: Arithmetic) -> Any:
        """Return the probability of class 1 for which label 1 costs ``gap`` more than label 0.

        Args:
            gap: Wanted difference, a number or an array, of either sign.
            numbers: The arithmetic to compute in.

        Raises:
            ValueError: No prediction has such a gap.
        """

    @abc.abstractmethod
    def rows(self, steps: Any, n_classes: int, numbers: Arithmetic) -> NDArray[Any]:
        """Return rows of predictions in which label k costs ``k * step`` more than label 0.

        Args:
            steps: Wanted difference between neighbouring labels, shape ``(n,)``.
            n_classes: K.
            numbers: The arithmetic to compute in.

        Returns:
            Shape ``(n, n_classes)``; rows of probabilities sum to one.

        Raises:
            ValueError: No row has such costs.
        """

    def class_rows(self, lowered: NDArray[Any], numbers: Arithmetic) -> NDArray[Any]:
        """Return rows in which label k costs ``-lowered[:, k]``, up to a constant for each row.

        Args:
            lowered: Minus how much more than the cheapest label each is to cost: 0 for that one; shape ``(n, K)``.
            numbers: The arithmetic to compute in.

        Returns:
            Shape ``(n, K)``; rows of probabilities sum to one.

        Raises:
            ValueError: The loss has no rows of any costs whatever.
        """
        raise ValueError(f"loss={self!r} must have rows of any costs whatever")

    def score(self, labels: NDArray[np.intp], predictions: NDArray[Any], numbers: Arithmetic) -> Any:
        """Return the mean cost of ``labels``, computed in ``numbers``."""
        with numbers.context():
            costs = self.costs(numbers.convert(predictions), numbers)
            return numbers.mean(costs[np.arange(len(labels)), labels])

    def fault(self, predictions: NDArray[Any], n_records: int, n_classes: int) -> str:
        """Return what is wrong with ``predictions``, as a sentence; empty when they can be scored."""
        shape = np.shape(predictions)
        allowed = [(n_records, n_classes)] + ([(n_records,)] if n_classes == 2 else [])
        if shape not in allowed:
            expected = " or ".join(map(str, allowed))
            return f"predictions have shape {shape}, expected {expected}."
        values = np.asarray(predictions)
        if values.dtype.kind not in "biufO":
            return f"predictions have type {values.dtype}, expected numbers."
        return self.fault_of_values(values)

    def fault_of_values(self, predictions: NDArray[Any]) -> str:
        """Return what is wrong with the values: by default they must be probabilities."""
        inside = (predictions >= 0) & (predictions <= 1)
        if not inside.all():
            row = int(np.argwhere(~inside)[0][0])
            return f"prediction {predictions[row]} in row {row} must be a probability between 0 and 1."
        return ""
