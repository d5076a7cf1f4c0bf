"""S5, ICML 2021, Definition 3: label inference recovers all of sigma from M exact scores."""

from __future__ import annotations

import itertools
from typing import Any

import attrs
import numpy as np
import pytest

from labelinf_core.contracts.components import LabelSet, Setting
from labelinf_papers.attacks.prime_blocks import PrimeBlocks
from labelinf_papers.attacks.primes import Primes
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.game.curator import Curator
from labelinf_scores.game.oracle import ScoreOracle
from labelinf_scores.game.scorers import make_scorer
from labelinf_scores.metrics.log_loss import LogLoss


@pytest.mark.parametrize(("attack", "queries"), [(Primes(), 1), (PrimeBlocks(size=2), 3), (PrimeBlocks(size=1), 6)])
def test_every_labelling_is_recovered_from_m_exact_scores(attack: Any, queries: int) -> None:
    """N = 6: one query with all primes, three with two each, six with one each."""
    n = 6
    data = LabelSet(labels=np.array([0, 1] * 3), class_names=("0", "1"), title="", provenance="made")
    threat = ScoreChannel(loss=LogLoss(), scorer="exact").threat(Setting(data=data, attack=attack))
    threat = attrs.evolve(threat, granted=queries)

    for sigma in itertools.product((0, 1), repeat=n):
        labels, rng = np.array(sigma), np.random.default_rng(0)
        curator = Curator.start(labels, threat, make_scorer("exact", LogLoss(), 2), rng)
        oracle = ScoreOracle(threat, curator.answer)

        assert attack.run(oracle, rng).labels.tolist() == list(sigma)
        assert oracle.spent == queries
