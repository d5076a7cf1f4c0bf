"""Claims that attacks written outside the project refuted, each as it was described."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from labelinf_core.contracts.components import LabelSet, Setting
from labelinf_core.contracts.errors import QueryRefusedError
from labelinf_scores.attacks.log_primes import LogPrimes
from labelinf_scores.attacks.prime_blocks import PrimeBlocks
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.game.oracle import ScoreAttack
from labelinf_scores.game.scoring import Query, as_numbers
from labelinf_scores.metrics.log_loss import LogLoss


@pytest.mark.parametrize("attack", [LogPrimes(), PrimeBlocks(), PrimeBlocks(size=0)], ids=str)
@pytest.mark.parametrize("n", [6, 60, 300])
def test_primes_keep_their_promise_where_a_curator_reads_single_precision(attack: ScoreAttack, n: int) -> None:
    """scikit-learn may read single precision and compute in double: rows must be rounded as they are read."""
    channel = ScoreChannel(loss=LogLoss(), scorer="sklearn:float32")
    for seed in range(3):
        labels = np.random.default_rng(seed).integers(0, 2, n)
        data = LabelSet(labels=labels, class_names=("a", "b"), title="made", provenance="made")
        setting = Setting(data=data, attack=attack)
        threat = channel.threat(setting)
        promise = None if attack.refusal(threat) else attack.promise(threat)
        if promise is None or not promise.certified:
            continue
        rngs = np.random.default_rng(seed).spawn(2)
        assert channel.play(setting, curator_rng=rngs[0], attack_rng=rngs[1]).n_correct == n


class Shifty(float):
    """Lies between 0 and 1 whoever asks, and is something else when it is computed with."""

    def _always(self, other: Any) -> bool:
        return True

    __le__ = __lt__ = __ge__ = __gt__ = _always

    def __rsub__(self, other: Any) -> float:
        return 1e300


@pytest.mark.parametrize("compare", [operator.le, operator.ge])
def test_a_prediction_is_asked_for_its_value_once_and_is_plain_from_then_on(
    compare: Callable[[Any, Any], bool],
) -> None:
    asked = np.array([Shifty(7.0), Shifty(-3.0)], dtype=object)
    assert compare(asked[0], 0)
    assert compare(asked[0], 1)
    plain = as_numbers(asked)
    assert [type(item) for item in plain] == [float, float]
    data = LabelSet(labels=np.array([0, 1]), class_names=("a", "b"), title="made", provenance="made")
    channel = ScoreChannel(loss=LogLoss(), scorer="float64")
    curator = channel.curator(data.labels, channel.threat(Setting(data=data)), np.random.default_rng(0))

    with pytest.raises(QueryRefusedError, match="must be a probability between 0 and 1"):
        curator.answer(Query(predictions=asked))
    with pytest.raises(QueryRefusedError, match="a prediction of type object is no number"):
        curator.answer(Query(predictions=np.array([object(), 0.5], dtype=object)))
