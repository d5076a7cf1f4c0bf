"""Claims that attacks written outside the project refuted, each as it was described."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from labelinf_core.contracts.components import LabelSet, Setting
from labelinf_core.contracts.effects import fold
from labelinf_core.contracts.errors import QueryRefusedError
from labelinf_papers.attacks.log_primes import LogPrimes
from labelinf_papers.attacks.prime_blocks import PrimeBlocks
from labelinf_privacy.noise.grid_laplace import GridLaplace
from labelinf_scores.defences.clip import Clip
from labelinf_scores.defences.laplace_dp import LaplaceDp
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.game.effects import Added, Clipped, Moved, Perturbed, Rounded
from labelinf_scores.game.facts import ScoreFacts
from labelinf_scores.game.oracle import ScoreAttack, ScoreOracle
from labelinf_scores.game.scoring import Query, as_numbers
from labelinf_scores.metrics.log_loss import LogLoss
from labelinf_scores.rules.games import channel_of, threat_of


@pytest.mark.parametrize("attack", [LogPrimes(), PrimeBlocks(), PrimeBlocks(size=0)], ids=str)
@pytest.mark.parametrize("n", [6, 60, pytest.param(300, marks=pytest.mark.slow)])
def test_primes_keep_their_promise_where_a_curator_reads_single_precision(attack: ScoreAttack, n: int) -> None:
    """scikit-learn may read single precision and compute in double: rows must be rounded as they are read."""
    channel = ScoreChannel(loss=LogLoss(), scorer="sklearn:float32")
    for seed in range(3):
        labels = np.random.default_rng(seed).integers(0, 2, n)
        data = LabelSet(labels=labels, class_names=("a", "b"), title="made", provenance="made")
        setting = Setting(data=data, attack=attack)
        threat = channel.threat(setting)
        promise = None if attack.unsupported_reason(threat) else attack.promise(threat)
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


def _told_by_one_label(scorer: str, clip: float, query: Query, epsilon: float) -> float:
    """Return how far one label moves the median of 100 answers, in units of the noise that hides it."""
    n = len(query.predictions)
    data = LabelSet(labels=np.arange(n) % 2, class_names=("a", "b"), title="made", provenance="made")
    defences = (Clip(epsilon=clip), LaplaceDp(epsilon=epsilon))
    channel = ScoreChannel(loss=LogLoss(), scorer=scorer)
    threat = channel.threat(Setting(data=data, defences=defences))
    medians = []
    for label in (0, 1):
        labels = np.zeros(n, dtype=np.intp)
        labels[0] = label
        curator = channel.curator(labels, threat, np.random.default_rng(0))
        medians.append(np.median([float(curator.answer(query)) for _ in range(100)]))
    return float(abs(medians[1] - medians[0]) / threat.noise[0].model.scale)


@pytest.mark.parametrize("scorer", ["float64", "float32", "sklearn", "exact"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_predictions_of_a_narrow_type_do_not_pass_the_clip(scorer: str, dtype: type) -> None:
    """In half precision 1 - 1e-4 is 1: the clip let it through, and one answer told a label under an epsilon of .3."""
    predictions = np.array([1.0, *[0.5] * 9], dtype=dtype)
    assert _told_by_one_label(scorer, 1e-4, Query(predictions=predictions), 0.3) <= 0.3 * 1.001


@pytest.mark.parametrize(("scorer", "clip"), [("float64", 1e-17), ("exact", 1e-17), ("float32", 1e-8)])
def test_a_clip_that_the_format_cannot_hold_is_no_clip(scorer: str, clip: float) -> None:
    """1 - 1e-17 is 1 in doubles: the cost of the other label is infinite, not 39."""
    data = LabelSet(labels=np.array([0, 1]), class_names=("a", "b"), title="made", provenance="made")
    threat = ScoreChannel(loss=LogLoss(), scorer=scorer).threat(Setting(data=data, defences=(Clip(epsilon=clip),)))
    assert threat.span == np.inf


@pytest.mark.long
@pytest.mark.parametrize("precision", [3, *(pytest.param(bits, marks=pytest.mark.slow) for bits in (2, 4, 6))])
def test_who_asks_an_exact_curator_for_three_bits_learns_no_more(precision: int) -> None:
    """At three bits a score moved by 1/8 where one label moves it by 1/200: one answer was right in 87 of 100."""
    predictions = np.array([0.01, *[0.5] * 999])
    assert _told_by_one_label("exact", 0.01, Query(predictions=predictions, precision=precision), 0.1) <= 0.1 * 1.001


def test_rounding_errors_of_a_narrow_clip_are_those_of_large_costs() -> None:
    """All costs near ln 2 differ by next to nothing, and round like numbers near one."""
    start = ScoreFacts(n_records=10, n_classes=2, loss=LogLoss(), rounding=26 * 2.0**-53)
    assert fold((Clipped(epsilon=0.5 - 2.0**-53),), start).error > 26 * 2.0**-53 * np.log(2)


def test_a_stage_that_looks_at_labels_undoes_what_hid_them() -> None:
    """It may write labels into the last digits of an answer that had been noised, rounded or perturbed before."""
    start = ScoreFacts(n_records=10, n_classes=2, loss=LogLoss())
    nearer = (
        Clipped(epsilon=0.01),
        Perturbed(epsilon=0.5),
        Added(model=GridLaplace(scale=1.0, step=2.0**-10)),
        Rounded(step=0.5),
    )
    assert np.isfinite(fold(nearer, start).answer_price)
    for told in (fold((*nearer, Moved(bound=1e-9)), start), fold((*nearer, Moved(bound=np.inf, fresh=True)), start)):
        assert told.answer_price == told.label_epsilon == np.inf
        assert told.step == 0
    blind = fold((*nearer, Moved(bound=1e-9, blind=True)), start)
    assert blind.label_epsilon == 0.5
    assert np.isfinite(blind.answer_price)


def test_a_query_is_a_copy_of_numpys_own_type() -> None:
    """An array of the attack's making would be told which of its rows are read; a shared one could change later."""

    class Watching(np.ndarray):
        pass

    kept: list[Query] = []
    oracle = ScoreOracle(threat_of(channel_of(), np.array([0, 1])), lambda query: kept.append(query) or 0.0)
    mine = np.array([0.1, 0.9])
    oracle.query(mine.view(Watching))
    assert type(kept[0].predictions) is np.ndarray
    assert not np.shares_memory(kept[0].predictions, mine)
