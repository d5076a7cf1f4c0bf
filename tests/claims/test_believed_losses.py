"""What a loss says of itself is tried out before a certificate rests on it."""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np
import pytest
from numpy.typing import NDArray

from labelinf_core.contracts.components import LabelSet, Setting
from labelinf_core.contracts.errors import InputError
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_privacy.noise.grid_laplace import GridLaplace
from labelinf_scores.bounds.private_scores import PrivateScores
from labelinf_scores.defences.clip import Clip
from labelinf_scores.defences.laplace_dp import LaplaceDp
from labelinf_scores.defences.score_noise import ScoreNoise
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.game.scoring import Query
from labelinf_scores.metrics.additive import AdditiveLoss
from labelinf_scores.metrics.brier import Brier
from labelinf_scores.metrics.itakura_saito import ItakuraSaito
from labelinf_scores.metrics.log_loss import LogLoss
from labelinf_scores.metrics.norm_like import NormLike
from labelinf_scores.metrics.probed import probed
from labelinf_scores.metrics.readings import ScoredMetric
from labelinf_scores.metrics.readings.counts import Accuracy
from labelinf_scores.metrics.readings.ranks import RocAuc
from labelinf_scores.metrics.squared_euclidean import SquaredEuclidean
from labelinf_scores.metrics.unadditive import Unadditive


@attrs.frozen(kw_only=True)
class Shifted(Brier):
    """The Brier score, with a constant that no span shows: in doubles little else is left of it."""

    constant: float = 2.0**52

    def costs(self, predictions: NDArray[Any], numbers: Any) -> NDArray[Any]:
        return np.asarray(super().costs(predictions, numbers) + self.constant)


@attrs.frozen(kw_only=True)
class Boasting(Brier):
    """Its labels cost ten times as differently as it says."""

    def costs(self, predictions: NDArray[Any], numbers: Any) -> NDArray[Any]:
        return np.asarray(10 * super().costs(predictions, numbers))


@attrs.frozen(kw_only=True)
class Failing(Brier):
    """Costs that cannot be asked for."""

    def costs(self, predictions: NDArray[Any], numbers: Any) -> NDArray[Any]:
        raise RuntimeError


def setting(n: int, scale: float) -> Setting:
    data = LabelSet(labels=np.arange(n) % 2, class_names=("a", "b"), title="made", provenance="made")
    return Setting(data=data, defences=(Clip(epsilon=0.01), ScoreNoise(model=GridLaplace(scale=scale, step=2.0**-12))))


SHIFTED = [Shifted(constant=2.0**bits) for bits in range(48, 55)]


@pytest.mark.parametrize("loss", [*SHIFTED, Boasting(), Failing()], ids=lambda loss: type(loss).__name__)
def test_no_ceiling_is_below_what_one_label_does_to_the_score(loss: AdditiveLoss) -> None:
    n, scale = 10, 5.0
    channel = ScoreChannel(loss=loss, scorer="float64", queries=1)
    threat = channel.threat(setting(n, scale))
    (ceiling,) = PrivateScores().ceilings(threat) or (None,)
    predictions, medians = np.array([0.99, *[0.5] * (n - 1)]), []
    for label in (0, 1):
        labels = np.array([label, *[0] * (n - 1)])
        try:
            scored = loss.score(labels, predictions, _doubles())
        except RuntimeError:
            scored = math.inf * (label - 0.5)
        medians.append(float(scored))
    told = abs(medians[1] - medians[0]) / scale
    # The best guess between two Laplace laws so many scales apart.
    assert ceiling is None or ceiling.accuracy >= 1 - math.exp(-told / 2) / 2 - 1e-9


def _doubles() -> Any:
    from labelinf_scores.arithmetic import make_arithmetic

    return make_arithmetic("float64")


@pytest.mark.parametrize("loss", [LogLoss(), Brier(), ItakuraSaito(), NormLike(), SquaredEuclidean()], ids=repr)
@pytest.mark.parametrize("least", [1e-3, 0.01, 0.2])
def test_what_the_losses_that_are_shipped_say_is_so(loss: AdditiveLoss, least: float) -> None:
    """None says too little, and none says more than it is: the noise that it asks for is not wasted."""
    found = probed(loss, least, 2)
    assert found.span == loss.span(least)
    rows = np.array([[1 - least, least], [least, 1 - least]])
    costs = np.asarray(loss.costs(rows, _doubles()), dtype=float)
    assert (costs.max(axis=1) - costs.min(axis=1)).max() == pytest.approx(found.span)


@pytest.mark.parametrize("n_classes", [3, 10])
def test_rows_that_do_not_sum_to_one_cost_more(n_classes: int) -> None:
    found = probed(SquaredEuclidean(), 0.01, n_classes)
    assert found.largest > n_classes / 2 - 1
    assert found.span == 0.98


def test_a_curator_that_computes_exactly_is_not_charged_for_rounding() -> None:
    threat = ScoreChannel(loss=Shifted(), scorer="exact", queries=1).threat(setting(10, 5.0))
    assert PrivateScores().ceilings(threat)[0].accuracy < 0.52
    curator = ScoreChannel(loss=Shifted(), scorer="exact").curator(
        np.zeros(10, dtype=np.intp), threat, np.random.default_rng(0)
    )
    assert math.isfinite(float(curator.answer(Query(predictions=np.full(10, 0.5)))))


@attrs.frozen(kw_only=True)
class BoastingAuc(RocAuc):
    """An AUC that one label moves by a hundredth at most, it says."""

    def sensitivity(self, n_records: int) -> float:
        return 0.01


def test_a_metric_that_moves_further_than_it_says_has_no_sensitivity() -> None:
    assert probed(Unadditive(metric=RocAuc(), n_records=20), 0.0, 2).span == 20
    assert math.isinf(probed(Unadditive(metric=BoastingAuc(), n_records=20), 0.0, 2).span)


@pytest.mark.slow
def test_every_metric_that_is_shipped_moves_as_it_says() -> None:
    host = Host.load()
    builder = Builder(host)
    for item in host.catalogue(Kind.METRIC):
        metric = builder.build(Kind.METRIC, item.descriptor.name, "test")
        if isinstance(metric, ScoredMetric) and metric.two_classes:
            found = probed(Unadditive(metric=metric, n_records=20), 0.0, 2)
            assert found.span == 20 * metric.sensitivity(20), item.descriptor.name


@attrs.frozen(kw_only=True)
class BoastingAccuracy(Accuracy):
    """An accuracy that one label moves by half of what it does."""

    def sensitivity(self, n_records: int) -> float:
        return 1 / (2 * n_records)


def test_a_metric_that_takes_no_clip_is_not_said_to_want_one() -> None:
    labels = LabelSet(labels=np.arange(20) % 2, class_names=("0", "1"), title="made", provenance="made")
    with pytest.raises(InputError, match="BoastingAccuracy was seen to move further"):
        ScoreChannel(metric=BoastingAccuracy()).threat(Setting(data=labels, defences=(LaplaceDp(),)))
