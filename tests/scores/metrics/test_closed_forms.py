"""What shipped losses and metrics state in closed form is so: on every labelling of small boards, on any rows."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Iterator
from typing import Any

import attrs
import numpy as np
import pytest
from numpy.typing import NDArray

from labelinf_core.contracts.effects import TypesByName
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_privacy.noise.shipped import NOISE_MODELS
from labelinf_scores.arithmetic import make_arithmetic
from labelinf_scores.metrics.additive import AdditiveLoss
from labelinf_scores.metrics.bregman import Bregman
from labelinf_scores.metrics.brier import Brier
from labelinf_scores.metrics.itakura_saito import ItakuraSaito
from labelinf_scores.metrics.log_loss import LogLoss
from labelinf_scores.metrics.norm_like import NormLike
from labelinf_scores.metrics.readings import ScoredMetric
from labelinf_scores.metrics.readings.counts import Accuracy
from labelinf_scores.metrics.readings.sums import MeanLoss
from labelinf_scores.metrics.shipped import ALWAYS_SCORED, LOSSES, METRICS, is_closed
from labelinf_scores.metrics.squared_euclidean import SquaredEuclidean

HOST = Host.load()
BUILDER = Builder(HOST)
FINITE = [
    LogLoss(),
    Brier(),
    ItakuraSaito(),
    NormLike(),
    NormLike(alpha=1.5),
    SquaredEuclidean(),
    Bregman(),
    Bregman(generator="entropy"),
]
SLACK = 1e-9


def shipped(kind: Kind) -> list[Any]:
    return [
        BUILDER.build(kind, item.descriptor.name, "test")
        for item in HOST.catalogue(kind)
        if item.plugin.name == "scores"
    ]


METRIC = [item for item in shipped(Kind.METRIC) if not isinstance(item, MeanLoss)]


@pytest.mark.parametrize("scored", [*shipped(Kind.LOSS), *shipped(Kind.METRIC)], ids=lambda item: type(item).__name__)
def test_what_ships_is_on_the_list(scored: Any) -> None:
    assert type(scored) in (LOSSES | METRICS)
    assert is_closed(scored)


def test_every_name_on_the_lists_is_a_class_that_ships() -> None:
    """A name that no module has any more would list nothing, and nobody would notice."""
    for listed in (LOSSES, METRICS, NOISE_MODELS):
        assert len(listed.names) > 5
        assert all(kind in listed for kind in listed.imported())


def test_a_class_that_only_bears_the_name_of_a_shipped_one_is_foreign() -> None:
    """Of the same module and name, as a pickled or copied class is; and one of a module that nobody has loaded."""
    own = type("Brier", (Brier,), {"__module__": Brier.__module__})
    unloaded = type("Mine", (), {"__module__": "labelinf_scores.nowhere"})

    assert (own.__module__, own.__qualname__) == (Brier.__module__, "Brier")
    assert own not in LOSSES
    assert not is_closed(own())
    assert unloaded not in TypesByName(frozenset({"labelinf_scores.nowhere:Mine"}))


def test_what_derives_from_it_or_carries_a_users_function_is_not() -> None:
    @attrs.frozen(kw_only=True)
    class Mine(LogLoss):
        pass

    assert not is_closed(Mine())
    assert not is_closed(MeanLoss(loss=Mine()))
    assert not is_closed(MeanLoss(loss=Bregman(generator="math:sqrt", derivative="math:exp")))
    assert not is_closed(type("Mine", (Accuracy,), {})())


def rows(least: float, n_classes: int) -> NDArray[np.float64]:
    """Rows of every kind that a clip lets through, whether they sum to one or not, corners included."""
    near = np.geomspace(least, 0.5, 9)
    values = np.unique(np.concatenate([near, 1 - near]).clip(least, 1 - least))
    if n_classes == 2:
        return np.array(list(itertools.product(values, repeat=2)))
    corners = np.array(list(itertools.product((least, 1 - least), repeat=n_classes)))
    return np.concatenate([corners, np.random.default_rng(0).choice(values, (200, n_classes))])


@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize("least", [1e-3, 0.01, 0.2])
@pytest.mark.parametrize("loss", FINITE, ids=repr)
def test_span_and_largest_cost_of_a_loss_are_attained_and_never_exceeded(
    loss: AdditiveLoss, least: float, n_classes: int
) -> None:
    if n_classes > 2 and not isinstance(loss, LogLoss | SquaredEuclidean):
        assert loss.fault(np.full((1, n_classes), 1 / n_classes), 1, n_classes) or isinstance(loss, Brier)
        return
    numbers = make_arithmetic("float64")
    costs = np.asarray(loss.costs(numbers.convert(rows(least, n_classes)), numbers), dtype=float)
    span, largest = loss.span(least), loss.largest(least, n_classes)
    assert (costs.max(axis=1) - costs.min(axis=1)).max() == pytest.approx(span, rel=SLACK)
    assert np.abs(costs).max() <= largest * (1 + SLACK)
    assert np.abs(costs).max() == pytest.approx(largest, rel=1e-6)


@pytest.mark.parametrize("loss", [LogLoss(), ItakuraSaito()], ids=repr)
def test_without_a_clip_a_cost_has_no_limit(loss: AdditiveLoss) -> None:
    assert math.isinf(loss.span(0.0))
    assert math.isinf(loss.largest(0.0, 2))


def score(metric: ScoredMetric, labels: NDArray[Any], predictions: NDArray[np.float64]) -> float:
    """The library's score; NaN where there is none, which a board says instead of a number."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return float(metric.score(labels.copy(), predictions.copy()))
    except Exception:
        return math.nan


def sizes(metric: ScoredMetric) -> tuple[int, ...]:
    return (metric.scores_only,) if metric.scores_only else (3, 5) if metric.two_classes else (3, 4)


def queries(metric: ScoredMetric, n: int) -> Iterator[NDArray[np.float64]]:
    """Predictions that the metric takes: every hard one, and soft ones of every kind of order and tie."""
    classes = 2 if metric.two_classes else 3
    rng = np.random.default_rng(n)
    hard = [np.array(point, dtype=float) for point in itertools.product(range(classes), repeat=n)]
    soft = [rng.random(n) for _ in range(12)] + [np.round(rng.random(n), 1) for _ in range(12)]
    wide = [rng.dirichlet(np.ones(classes), n) for _ in range(12)] if metric.columns else []
    for predictions in [*hard[:: max(1, len(hard) // 40)], *soft, *wide, np.full(n, 0.5)]:
        if not metric.fault(predictions, n):
            yield predictions


@pytest.mark.long
@pytest.mark.parametrize("metric", METRIC, ids=lambda item: type(item).__name__)
def test_one_label_moves_a_metric_no_further_than_it_states(metric: ScoredMetric) -> None:
    """Every labelling of a few records, every single change, empty classes included."""
    tried = False
    for n in sizes(metric):
        stated = metric.sensitivity(n)
        if math.isinf(stated):
            continue
        classes = 2 if metric.two_classes else 3
        labellings = [np.array(point) for point in itertools.product(range(classes), repeat=n)]
        for predictions in queries(metric, n):
            known = {tuple(labels): score(metric, labels, predictions) for labels in labellings}
            for labels, value in known.items():
                for place, other in itertools.product(range(n), range(classes)):
                    moved = known[(*labels[:place], other, *labels[place + 1 :])]
                    if math.isfinite(value) and math.isfinite(moved):
                        tried = True
                        assert abs(value - moved) <= stated + SLACK, (labels, predictions)
    assert tried or math.isinf(metric.sensitivity(5))


@pytest.mark.parametrize("metric", METRIC, ids=lambda item: type(item).__name__)
def test_whether_labels_of_one_class_have_a_score_is_as_it_is_listed(metric: ScoredMetric) -> None:
    missing = 0
    for n in sizes(metric):
        for predictions, label in itertools.product(queries(metric, n), range(2 if metric.two_classes else 3)):
            missing += not math.isfinite(score(metric, np.full(n, label), predictions))
    if type(metric) in ALWAYS_SCORED:
        assert missing == 0
