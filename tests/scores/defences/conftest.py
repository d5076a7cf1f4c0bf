"""A curator with made labels behind any pipeline of defences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest
from numpy.typing import NDArray

from labelinf_core.contracts.components import LabelSet, Setting
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.game.curator import Curator, Query, ScoreDefence
from labelinf_scores.game.oracle import ScoreOracle
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.metrics.additive import AdditiveLoss
from labelinf_scores.metrics.log_loss import LogLoss


@attrs.frozen(kw_only=True)
class Game:
    """One curator, its labels and what is public."""

    labels: NDArray[np.intp]
    threat: ScoreThreat
    curator: Curator

    def ask(self, predictions: Any, precision: int | None = None) -> Any:
        return self.curator.answer(Query(predictions=np.asarray(predictions), precision=precision))

    def oracle(self) -> ScoreOracle:
        return ScoreOracle(self.threat, self.curator.answer)


@pytest.fixture
def play() -> Callable[..., Game]:
    def start(
        *defences: ScoreDefence,
        labels: Any = (0, 1, 1, 0, 1, 0, 0, 1),
        loss: AdditiveLoss | None = None,
        scorer: str = "float64",
        n_classes: int = 2,
        queries: int = 0,
        seed: int = 0,
    ) -> Game:
        names = tuple(f"class {k}" for k in range(n_classes))
        data = LabelSet(labels=np.asarray(labels), class_names=names, title="made", provenance="made")
        channel = ScoreChannel(loss=loss or LogLoss(), scorer=scorer, queries=queries)
        threat = channel.threat(Setting(data=data, defences=defences))
        return Game(
            labels=data.labels,
            threat=threat,
            curator=channel.curator(data.labels, threat, np.random.default_rng(seed)),
        )

    return start
