"""Small games of the score channel: what a component is tried in."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import LabelSet, Setting
from labelinf_core.contracts.errors import InputError
from labelinf_core.testing.rules import NotApplicableError
from labelinf_scores.defences.clip import Clip
from labelinf_scores.defences.laplace_dp import LaplaceDp
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.game.curator import ScoreDefence
from labelinf_scores.game.models import Run
from labelinf_scores.game.oracle import ScoreOracle
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.metrics.additive import AdditiveLoss
from labelinf_scores.metrics.brier import Brier
from labelinf_scores.metrics.readings import ScoredMetric

__all__ = ["BOUNDED", "channel_of", "made", "placed", "small_game", "started", "threat_of"]

Labels = NDArray[np.intp]

BOUNDED = Brier()  #: a loss whose span is finite without a clip


def channel_of(
    loss: AdditiveLoss = BOUNDED,
    scorer: str = "float64",
    queries: int = 64,
    metric: ScoredMetric | None = None,
    model: Run | None = None,
) -> ScoreChannel:
    """Return the channel of a small game."""
    named = "sklearn" if metric else scorer
    return ScoreChannel(loss=loss, scorer=named, queries=queries, metric=metric, model=model)


def made(labels: Labels, n_classes: int = 2) -> LabelSet:
    """Return made labels as a label set."""
    names = tuple(f"class {k}" for k in range(n_classes))
    return LabelSet(labels=labels, class_names=names, title="made", provenance="made")


def threat_of(channel: ScoreChannel, labels: Labels, *defences: ScoreDefence, n_classes: int = 2) -> ScoreThreat:
    """Return what the adversary knows.

    Raises:
        InputError: The defences do not fit together.
    """
    threat: ScoreThreat = channel.threat(Setting(data=made(labels, n_classes), defences=defences))
    return threat


def small_game(*defences: ScoreDefence, seed: int = 0) -> tuple[ScoreOracle, Labels]:
    """Return an oracle for twelve made labels scored by the squared error in doubles, and the labels.

    Raises:
        InputError: The defences do not fit together.
    """
    rng = np.random.default_rng(seed)
    labels = np.concatenate([[0, 1], rng.integers(0, 2, 10)]).astype(np.intp)
    return started(channel_of(), labels, rng, *defences), labels


def started(channel: ScoreChannel, labels: Labels, rng: np.random.Generator, *defences: ScoreDefence) -> ScoreOracle:
    """Return an oracle for two classes of labels behind ``defences``."""
    threat = threat_of(channel, labels, *defences)
    return ScoreOracle(threat, channel.curator(labels, threat, rng).answer)


def placed(defence: ScoreDefence, channel: ScoreChannel, labels: Labels) -> tuple[ScoreDefence, ...]:
    """Return the shortest pipeline in which ``defence`` can stand last.

    Raises:
        NotApplicableError: It fits into none of those that are tried.
    """
    problem = ""
    for pipeline in _pipelines(defence):
        try:
            threat_of(channel, labels, *pipeline)
        except InputError as error:
            problem = problem or str(error)
        else:
            return pipeline
    raise NotApplicableError(f"it fits into no small game: {problem}")


def _pipelines(defence: ScoreDefence) -> Iterator[tuple[ScoreDefence, ...]]:
    yield (defence,)
    yield Clip(), defence
    yield Clip(), LaplaceDp(epsilon=0.1), defence
