"""A host's scorer as a game plays it: what was found out of it undone, so that its answers are those of a metric.

Predictions are given the shape that it wants; records that are not scored get any; an affine map is taken back.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.audit.identify import Identified, Shape
from labelinf_scores.game.effects import Moved, Rounded, RowSums, ScoreEffect
from labelinf_scores.game.scoring import Query, Scorer, ScorerFacts
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.metrics.readings import Rows, ScoredMetric
from labelinf_scores.metrics.readings.sums import MeanLoss
from labelinf_scores.metrics.unadditive import Unadditive

__all__ = ["Understood"]

_UNIT = 2.0**-50  # relative error of taking an affine map back


@attrs.frozen(kw_only=True, eq=False)
class Understood:
    """A scorer and what was found out of it.

    Attributes:
        scorer: The host's.
        found: What explains it.
        labels: The private labels; those of records that are not scored stay where they are.
        n_classes: K.
        values: What every class stands for.
    """

    scorer: Scorer
    found: Identified
    labels: NDArray[np.intp] = attrs.field(repr=False)
    n_classes: int
    values: tuple[float, ...]

    @property
    def facts(self) -> ScorerFacts:
        """What is public about it."""
        return self.scorer.facts

    @property
    def scored(self) -> NDArray[np.intp]:
        """The private labels that are scored."""
        return self.labels[self.found.scored]

    def score(self, labels: NDArray[np.intp], query: Query) -> float:
        """Return the metric's score of the scored records."""
        full = self.labels.copy()
        full[self.found.scored] = labels
        own = np.asarray(query.predictions, dtype=np.float64)
        predictions = np.full((full.size, *own.shape[1:]), 1 / self.n_classes if own.ndim == 2 else self._neutral)
        predictions[self.found.scored] = own
        if self.found.shape is Shape.COLUMN and predictions.ndim == 2 and self.n_classes == 2:
            predictions = predictions[:, 1]
        shaped = self.found.shape.of(predictions, self.n_classes, self.found.metric.rows)
        answer = float(self.scorer.score(full, Query(predictions=shaped)))
        return (answer - self.found.offset) / self.found.scale

    @property
    def _neutral(self) -> float:
        return 0.5 if self.found.metric.rows is Rows.COSTS else 0.0

    def threat(self, queries: int) -> ScoreThreat:
        """Return what an attack is told: all that was found, and the class totals of the scored labels.

        Args:
            queries: The budget; 0: any number.
        """
        metric = self.found.metric
        n = int(self.found.scored.sum())
        counts = np.bincount(self.scored, minlength=self.n_classes)
        mean = isinstance(metric, MeanLoss)
        return ScoreThreat(
            n_records=n,
            n_classes=self.n_classes,
            prior=tuple((counts / n).tolist()),
            loss=metric.additive if isinstance(metric, MeanLoss) else Unadditive(metric=metric, n_records=n),
            metric=None if mean else metric,
            arithmetic="float64",
            summation="unknown",
            scorer_clip=float(np.finfo(np.float64).eps) if mean else 0.0,
            scorer_effects=tuple(self._effects(metric)),
            values=self.values if metric.of_values else (),
            granted=queries or None,
        )

    def _effects(self, metric: ScoredMetric) -> Iterator[ScoreEffect]:
        if isinstance(metric, MeanLoss):
            yield RowSums()
        if self.found.decimals is not None:
            yield Rounded(step=10.0**-self.found.decimals / abs(self.found.scale))
        if (self.found.scale, self.found.offset) != (1, 0):
            bound = _UNIT * (1 + abs(self.found.offset / self.found.scale)) + self.found.error / abs(self.found.scale)
            yield Moved(bound=bound, std=bound / math.sqrt(3), fresh=False, blind=True)
