"""A place among one's own earlier submissions reads every label (M33): by every labelling of small boards."""

from __future__ import annotations

import itertools
from typing import Any

import attrs
import numpy as np
import pytest

from labelinf_core.contracts.components import LabelSet, Setting
from labelinf_scores.attacks.rank_comparisons import RankComparisons
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.game.threat import ScoreThreat

LABELLINGS = [np.array(y) for n in range(2, 7) for y in itertools.product((0, 1), repeat=n) if 0 < sum(y) < n]


@attrs.define
class Ranks:
    """Tells how many submissions before one are better, or as good where ties stand behind, plus one."""

    threat: ScoreThreat
    labels: np.ndarray[Any, Any]
    ties_behind: bool
    before: list[int] = attrs.field(factory=list)

    def query(self, rows: np.ndarray[Any, Any]) -> float:
        """Rows are one half, or .9 of one record: right or wrong about it, they are better or worse than the first."""
        told = [np.sign(row[label] - 0.5) for row, label in zip(rows, self.labels, strict=True)]
        cost = -int(sum(told))
        place = 1 + sum(other < cost or (self.ties_behind and other == cost) for other in self.before)
        self.before.append(cost)
        return float(place)


@pytest.mark.parametrize("ties_behind", [False, True])
def test_every_labelling_is_read_by_comparisons_alone(ties_behind: bool) -> None:
    for labels in LABELLINGS:
        data = LabelSet(labels=labels.astype(np.intp), class_names=("0", "1"), title="made", provenance="made")
        oracle = Ranks(ScoreChannel().threat(Setting(data=data)), labels, ties_behind)

        guess = RankComparisons().run(oracle, np.random.default_rng(0))  # type: ignore[arg-type]

        assert len(oracle.before) == labels.size + 1
        assert np.array_equal(guess.labels, labels)
        assert guess.evidence["labels read"] == labels.size
