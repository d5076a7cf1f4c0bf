"""Why nothing explains a scorer, as far as that is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.errors import InputError, QueryRefusedError
from labelinf_core.contracts.labels import LabelSet
from labelinf_scores.audit.probe.asker import Asker
from labelinf_scores.audit.probe.identify import VALUES, Panel, explained
from labelinf_scores.audit.probe.limits import cut_of
from labelinf_scores.audit.probe.links import LINKS, levels
from labelinf_scores.audit.probe.steady import Steady
from labelinf_scores.game.scoring import Query
from labelinf_scores.metrics.readings import ScoredMetric

__all__ = ["TURNED", "Unexplained", "unasked", "why_not"]

TURNED = "it is no function of the labels and one submission: it answers one question otherwise now than before"
_CLOSE = 5e-3  # of the range of answers, which a cut must explain them to


@attrs.frozen(kw_only=True)
class Unexplained:
    """Why nothing explains a scorer.

    Attributes:
        reason: A clause.
        metrics: How many metrics were tried.
        queries: Questions that were asked.
        seconds: What one answer takes.
        among: Which of several numbers was scored, in a clause.
    """

    reason: str
    metrics: int = 0
    queries: int = 0
    seconds: float = 0.0
    among: str = ""

    @property
    def document(self) -> Mapping[str, object]:
        """What a machine reads of it."""
        return attrs.asdict(self)

    def sentence(self) -> str:
        """Say it in one line."""
        why = f"{self.reason}; asked for: {self.among}" if self.among else self.reason
        if not self.metrics:
            return why
        return f"{why}; tried: {self.metrics} metrics, {len(LINKS)} links, weights, public and permuted rows"


def why_not(asked: Sequence[Panel], metrics: Mapping[str, ScoredMetric], steady: Steady) -> str:
    """Say why nothing explains it, as far as that is known."""
    if not steady.std and any(panel.turned for panel in asked):
        return TURNED
    everything = np.ones(asked[0].trials[0].labels.size, dtype=bool)
    for panel in asked:
        if any(trial.tied for trial in panel.trials):
            level = next(levels(panel.answers, n_records=everything.size))
            if found := explained(panel.untied, metrics, level, everything):
                return f"it is {found.name} where no predictions are equal, but treats equal ones otherwise"
    if not steady.std and (cut := _cut(asked, metrics, everything)):
        return cut
    if steady.std:
        return (
            f"no loss or metric that is known here explains its answers, noise of standard deviation {steady.std:.3g}"
        )
    return "no loss or metric that is known here explains its answers"


def _cut(asked: Sequence[Panel], metrics: Mapping[str, ScoredMetric], everything: NDArray[np.bool_]) -> str:
    """Say of what metric predictions are cut further in than any attack reads; nothing where that explains nothing."""
    for panel in asked:
        if panel.ask.rows not in VALUES or (bounds := cut_of(panel)) is None:
            continue
        trials = [attrs.evolve(trial, predictions=trial.predictions.clip(*bounds)) for trial in panel.trials]
        for level in levels(panel.answers, n_records=everything.size):
            read = attrs.evolve(panel, trials=trials)
            if level.room <= _CLOSE * float(np.ptp(panel.answers)) and (
                found := explained(read, metrics, level, everything)
            ):
                return (
                    f"it is {found.name} of predictions that are cut to about [{bounds[0]:.3g}, {bounds[1]:.3g}], "
                    f"within the range of the labels' own numbers, and nothing here reads that"
                )
    return ""


def unasked(asker: Asker, data: LabelSet, title: str) -> str:
    """Say why no question is answered: in the scorer's own case where it is asked plainly, in rows and in one column.

    What it returned tells more than that it raised something, which predictions of a shape that it does not take do.
    """
    half = np.full((data.n_records, data.n_classes), 1 / data.n_classes)
    refusals = []
    for predictions in (half, half[:, 0]):
        try:
            asker.scorer.score(np.arange(data.n_records) % data.n_classes, Query(predictions=predictions))
        except (InputError, QueryRefusedError) as error:
            refusals.append(str(error))
    if len(refusals) == 2:
        return min(refusals, key=lambda refusal: " raised " in refusal)
    return f"{title} answers the same prediction for every record, and refuses all other predictions."
