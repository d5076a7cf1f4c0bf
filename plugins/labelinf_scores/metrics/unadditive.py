"""What stands for a loss where a score is no mean over the records: its span, and nothing else.

Facts of a score ask how far one label can move it; of a metric that is its sensitivity, written as if it were the span
of a loss, ``N`` times as much. Whoever asks for the cost of a row is told that there is none.
"""

from __future__ import annotations

import math
from typing import Any, NoReturn

import attrs
from numpy.typing import NDArray

from labelinf_core.contracts.errors import InputError
from labelinf_scores.arithmetic import Arithmetic
from labelinf_scores.metrics.additive import AdditiveLoss
from labelinf_scores.metrics.readings import ScoredMetric
from labelinf_scores.metrics.shipped import ALWAYS_SCORED

__all__ = ["Unadditive"]


@attrs.frozen(kw_only=True)
class Unadditive(AdditiveLoss):
    """No loss: a metric in the place of one.

    Attributes:
        metric: What is scored.
        n_records: N.
        rarest: Records of the rarest class, which is public, in groups of the largest size; 0 where it is not known.
        values: What the classes stand for; empty where that is not known, or is nothing.
        width: Of the least range that holds every prediction and every value; infinity without one.
        least: Where that range begins.
    """

    metric: ScoredMetric
    n_records: int
    rarest: int = 0
    values: tuple[float, ...] = ()
    width: float = math.inf
    least: float = 0.0

    @property
    def takes_logits(self) -> bool:
        """No: what may be predicted is the metric's affair."""
        return False

    def span(self, clip: float) -> float:
        """Return N times the sensitivity that the metric says it has behind the clip."""
        metric, n = self.metric.within(clip), self.n_records
        return n * (metric.sensitivity(n) if math.isinf(self.width) else metric.moved(n, self.width))

    def largest(self, clip: float, n_classes: int) -> float:
        """Return the span: a metric's own arithmetic is a part of it."""
        return self.span(clip)

    @property
    def always_scored(self) -> bool:
        """Whether labels of one class have a score, too."""
        return type(self.metric) in ALWAYS_SCORED

    @property
    def neighbours_scored(self) -> bool:
        """Whether no class vanishes when one label changes, or those of one group, or none has to be there."""
        return self.always_scored or self.rarest > 1

    def confined(self, low: float, high: float) -> Unadditive:
        """Return it with the range that predictions and labels have together."""
        if not self.values:
            return self
        least = min(low, *self.values)
        return attrs.evolve(self, least=least, width=max(high, *self.values) - least)

    def fault(self, predictions: NDArray[Any], n_records: int, n_classes: int) -> str:
        """Return what the metric finds wrong with ``predictions``."""
        return self.metric.fault(predictions, n_records)

    def costs(self, predictions: NDArray[Any], numbers: Arithmetic) -> NDArray[Any]:
        """There are none."""
        self._refuse()

    def prediction(self, gap: Any, numbers: Arithmetic) -> Any:
        """There is none."""
        self._refuse()

    def rows(self, steps: Any, n_classes: int, numbers: Arithmetic) -> NDArray[Any]:
        """There are none."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise InputError(f"{type(self.metric).__name__} is no mean over the records: a row has no cost of its own.")
