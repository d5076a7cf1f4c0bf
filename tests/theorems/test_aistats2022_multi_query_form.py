"""S42, AISTATS 2022, multi-query form: M labels a query, theta = 1/2 elsewhere; erratum A-22."""

from __future__ import annotations

import itertools
from typing import Any

import gmpy2
import numpy as np
import pytest

from labelinf_core.contracts.components import LabelSet, Setting
from labelinf_papers.attacks.log_primes import LogPrimes
from labelinf_scores.arithmetic import make_arithmetic
from labelinf_scores.constructions.powers import power_gaps
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.game.curator import Curator
from labelinf_scores.game.oracle import ScoreOracle
from labelinf_scores.game.scorers import make_scorer
from labelinf_scores.metrics.additive import AdditiveLoss
from labelinf_scores.metrics.itakura_saito import ItakuraSaito
from labelinf_scores.metrics.log_loss import LogLoss
from labelinf_scores.metrics.squared_euclidean import SquaredEuclidean

LOSSES = [LogLoss(), SquaredEuclidean(), ItakuraSaito()]


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_a_prediction_of_one_half_tells_nothing(loss: AdditiveLoss) -> None:
    numbers = make_arithmetic("exact").at_precision(100)
    with numbers.context():
        costs = loss.costs(numbers.convert([gmpy2.mpq(1, 2)]), numbers)

    assert costs[0, 0] == costs[0, 1]


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_every_labelling_is_recovered_three_labels_at_a_time(loss: AdditiveLoss) -> None:
    """N = 6, M = 3: two queries, with the same three gaps."""
    n, attack = 6, LogPrimes(size=3, tau=1e-4)
    data = LabelSet(labels=np.array([0, 1] * 3), class_names=("0", "1"), title="", provenance="made")
    threat = ScoreChannel(loss=loss, scorer="float64").threat(Setting(data=data, attack=attack))
    scorer = make_scorer("float64", loss, 2)

    for sigma in itertools.product((0, 1), repeat=n):
        rng, sent = np.random.default_rng(0), []
        curator = Curator.start(np.array(sigma), threat, scorer, rng)

        def answer(query: Any, curator: Curator = curator, sent: list[Any] = sent) -> Any:
            sent.append(query.predictions)
            return curator.answer(query) + (-1) ** len(sent) * 1e-4

        assert attack.run(ScoreOracle(threat, answer), rng).labels.tolist() == list(sigma)
        assert len(sent) == 2
        assert sent[0][:3].tolist() == sent[1][3:].tolist()
        assert sent[0][3:].tolist() == sent[1][:3].tolist() == [0.5] * 3


def test_weights_that_go_on_do_not_fit_where_repeated_ones_do() -> None:
    """A-22: the second query as printed takes theta_(M+1..2M), whose gaps are 2**M times as wide."""
    n, m, span = 6, 3, 1.0
    tau = span / (n * 2**m)
    first, printed_second = np.split(power_gaps(2 * m, n_records=n, tau=tau), 2)

    assert first.max() <= span < printed_second.min()
    assert np.allclose(printed_second, 2**m * first)
