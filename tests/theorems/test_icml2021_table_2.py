"""S27, ICML 2021, Table 2: N/5 queries recover the data sets. True, and eight to nine times too many."""

from __future__ import annotations

import numpy as np
import pytest

from labelinf_core.contracts.components import Outcome, Setting
from labelinf_data.published import Counts
from labelinf_papers.attacks.prime_blocks import PrimeBlocks
from labelinf_scores.attacks.binary_weights import BinaryWeights
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.game.oracle import ScoreAttack
from labelinf_scores.metrics.log_loss import LogLoss


def play(attack: ScoreAttack, name: str) -> tuple[bool, Outcome]:
    """Play through scikit-learn; also say whether the result was certified before."""
    channel = ScoreChannel(loss=LogLoss(), scorer="sklearn")
    setting = Setting(data=Counts(name=name).load(), attack=attack)
    promise = attack.promise(channel.threat(setting))
    rngs = np.random.default_rng(0).spawn(2)
    outcome = channel.play(setting, curator_rng=rngs[0], attack_rng=rngs[1])
    return promise is not None and promise.certified, outcome


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "n", "queries"), [("haberman", 306, 62), ("breast-cancer", 569, 114), ("banknote", 1372, 275)]
)
def test_five_labels_a_query_recover_everything_as_printed(name: str, n: int, queries: int) -> None:
    certified, outcome = play(PrimeBlocks(size=5), name)
    assert certified
    assert (outcome.n_correct, outcome.queries) == (n, queries)


@pytest.mark.parametrize(
    ("name", "n", "queries"),
    [("haberman", 306, 7), ("breast-cancer", 569, 12), pytest.param("banknote", 1372, 29, marks=pytest.mark.slow)],
)
def test_binary_weights_take_an_eighth_of_the_queries(name: str, n: int, queries: int) -> None:
    certified, outcome = play(BinaryWeights(), name)
    assert certified
    assert outcome.n_correct == n
    assert outcome.queries <= queries
