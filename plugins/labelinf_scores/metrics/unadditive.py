"""What stands for a loss where a score is no mean over the records: its span, and nothing else.

Facts of a score ask how far one label can move it; of a metric that is its sensitivity, written as if it were the span
of a loss, ``N`` times as much. Whoever asks for the cost of a row is told that there is none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import attrs

from labelinf_core.contracts.errors import InputError
from labelinf_scores.metrics.additive import AdditiveLoss
from labelinf_scores.metrics.readings import ScoredMetric

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from labelinf_scores.arithmetic import Arithmetic

__all__ = ["Unadditive"]


@attrs.frozen(kw_only=True)
class Unadditive(AdditiveLoss):
    """No loss: a metric in the place of one.

    Attributes:
        metric: What is scored.
        n_records: N.
    """

    metric: ScoredMetric
    n_records: int

    @property
    def takes_logits(self) -> bool:
        """No: what may be predicted is the metric's affair."""
        return False

    def span(self, clip: float) -> float:
        """Return N times the sensitivity that the metric says it has behind the clip."""
        return self.n_records * self.metric.within(clip).sensitivity(self.n_records)

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
