"""Whether an answer follows what is asked: every label, every prediction, and nothing that was asked before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from labelinf_scores.audit.probe.identify import Panel, explained
from labelinf_scores.audit.probe.links import levels
from labelinf_scores.metrics.readings import ScoredMetric

__all__ = ["deaf", "fresh"]

_KEPT = "it keeps what it answered to a submission, and answers that again to other labels: audit what computes answers"
_NO_LABELS = "its answers do not depend on the labels that it is given, or it keeps what it answered to a submission"
_NO_PREDICTIONS = "its answers do not depend on what is submitted, or it keeps what it answered about the same labels"
_RARE = 6.0  # standard deviations, beyond which chance is no reason


def deaf(asked: Sequence[Panel], metrics: Mapping[str, ScoredMetric]) -> str:
    """Say that a steady scorer's answers do not change with labels, or with predictions; empty when they do.

    Args:
        asked: Panels, each of whose submissions was asked about other labels.
        metrics: Those that explain a panel read its labels.
    """
    telling = [panel for panel in asked if np.ptp(panel.answers)]
    if not any(_varies(panel, labels=True) for panel in telling):
        reads = any(_read(panel, metrics) for panel in telling)
        return _KEPT if reads else _NO_LABELS
    return "" if any(_varies(panel, labels=False) for panel in telling) else _NO_PREDICTIONS


def _varies(panel: Panel, *, labels: bool) -> bool:
    """Whether the first question is answered otherwise with the labels of another, or with its predictions."""
    first = panel.trials[0]
    before = panel.ask.tried(first.labels, first.predictions)
    return any(
        panel.ask.tried(*((other.labels, first.predictions) if labels else (first.labels, other.predictions))) != before
        for other in panel.trials[1:]
    )


def _read(panel: Panel, metrics: Mapping[str, ScoredMetric]) -> bool:
    everything = np.ones(panel.trials[0].labels.size, dtype=bool)
    told = (level for level in levels(panel.answers, n_records=everything.size) if not level.loose)
    return any(explained(panel, metrics, level, everything) for level in told)


def fresh(runs: Sequence[NDArray[np.float64]]) -> bool:
    """Whether answers that differ do so by chance of their own, whatever was answered before.

    Args:
        runs: Answers to one question after the other, each asked several times, in the order in which they were asked.
    """
    placed = np.array([_placed(run) for run in runs])
    varied = placed[placed.any(axis=1)]
    if not varied.size:
        return False
    # What is left of the question before shows in the first answer to the next one.
    first, spread = varied[:, 0] ** 2 - 1, np.mean(varied**4, axis=1) - 1
    if first.sum() > _RARE * np.sqrt(spread.sum() + varied.shape[0]):
        return False
    # What comes round again, or follows from the answer before, shows as likeness at some distance.
    whole = placed.ravel()
    power = np.abs(np.fft.rfft(whole, 2 * whole.size)) ** 2
    alike = np.fft.irfft(power)[1 : whole.size // 2]
    return bool(np.all(alike <= _RARE * np.sqrt((varied**2).sum())))


def _placed(run: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return where each answer stands among all to the question, of mean 0 and deviation 1; zeros where all agree."""
    values, which, counts = np.unique(run, return_inverse=True, return_counts=True)
    middle = (np.cumsum(counts) - counts / 2)[which] - run.size / 2
    return middle / middle.std() if values.size > 1 else np.zeros(run.size)
