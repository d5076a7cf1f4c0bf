"""What an attack computes before it asks: reach, costs through defences, posteriors, rows of free costs."""

from __future__ import annotations

import math

import attrs
import numpy as np
import pytest

from labelinf_core.contracts.errors import InputError
from labelinf_privacy.noise.multiplicative import Multiplicative
from labelinf_scores.arithmetic import make_arithmetic
from labelinf_scores.attacks.majority import Majority
from labelinf_scores.constructions.class_rows import class_rows
from labelinf_scores.decoders.posterior import certainly, likeliest_labels
from labelinf_scores.game.effects import Moved, Perturbed, Sampled, Scaled
from labelinf_scores.game.threat import ScoreThreat, score_threat
from labelinf_scores.metrics.itakura_saito import ItakuraSaito
from labelinf_scores.metrics.log_loss import LogLoss
from labelinf_scores.metrics.softmax_log_loss import SoftmaxLogLoss
from labelinf_scores.metrics.squared_euclidean import SquaredEuclidean
from labelinf_scores.plans.probe import Probe
from labelinf_scores.plans.sizing import expected_error, reach, typical_error
from labelinf_scores.seen_through import averaged_records, expected_costs, kept_when_read

NUMBERS = make_arithmetic("float64")
KEEP_70 = math.log(0.7 / 0.15)  #: of three classes
COSTS = np.array([[0.1, 2.0, 0.7], [0.3, 0.3, 0.3]])


@pytest.mark.parametrize(
    ("scorer", "low", "high"),
    [("sklearn", 36.04, 36.05), ("sklearn:float32", 15.94, 15.95), ("float64", 708, 746), ("float32", 87, 104)],
)
def test_reach_is_the_clip_or_what_the_format_holds(threat_of, scorer: str, low: float, high: float) -> None:
    assert low < reach(Probe(threat=threat_of(Majority(), 10, scorer=scorer))) < high


def test_reach_of_other_losses_and_formats(threat_of) -> None:
    assert reach(Probe(threat=threat_of(Majority(), 10, scorer="exact"))) == math.inf
    assert reach(Probe(threat=threat_of(Majority(), 10, scorer="float64", loss=SquaredEuclidean()))) == 1
    assert reach(Probe(threat=threat_of(Majority(), 10, scorer="float64", loss=ItakuraSaito()))) > 1e15
    assert 5 < reach(Probe(threat=threat_of(Majority(), 10, scorer="fpa:33"))) < 1.03 * 16 * math.log(2)


def test_expected_error_takes_a_quantile_where_noise_is_unbounded(threat_of) -> None:
    threat = threat_of(Majority(), 10, effects=(Moved(bound=math.inf, std=0.1),))
    assert expected_error(threat, 36.0) == pytest.approx(0.1 * 3.8906, rel=1e-4)
    assert expected_error(attrs.evolve(threat, effects=(Moved(bound=0.25, std=0.1),)), 36.0) == pytest.approx(0.25)


def test_typical_error_reads_bounds_as_uniform(threat_of) -> None:
    assert typical_error(threat_of(Majority(), 10, effects=(Moved(bound=0.3),))) == pytest.approx(0.3 / math.sqrt(3))
    assert typical_error(
        threat_of(Majority(), 10, effects=(Scaled(model=Multiplicative(alpha=0.1)),)), 2.0
    ) == pytest.approx(0.2 / math.sqrt(3))
    assert typical_error(threat_of(Majority(), 10)) == 0


def test_costs_under_fresh_randomised_response_are_averages_over_it(threat_of) -> None:
    threat = threat_of(Majority(), 9, n_classes=3, effects=(Perturbed(epsilon=KEEP_70, fresh=True),))
    average = 0.7 * COSTS + 0.15 * (COSTS.sum(axis=1)[:, None] - COSTS)
    assert expected_costs(COSTS, threat) == pytest.approx(average)
    assert kept_when_read(threat) == 1


def test_debiasing_undoes_that_average(threat_of) -> None:
    def told(**how: bool) -> ScoreThreat:
        return threat_of(Majority(), 9, n_classes=3, effects=(Perturbed(epsilon=KEEP_70, **how),))

    fresh, once, both = told(fresh=True), told(debiased=True), told(fresh=True, debiased=True)
    assert expected_costs(expected_costs(COSTS, fresh), once) == pytest.approx(COSTS)
    assert expected_costs(COSTS, both) is COSTS
    assert kept_when_read(once) == pytest.approx(0.7)


def test_a_fixed_subset_is_averaged_over_and_a_fresh_one_is_noise(threat_of) -> None:
    assert averaged_records(threat_of(Majority(), 30)) == 30
    assert averaged_records(threat_of(Majority(), 30, effects=(Sampled(size=9),))) == 9
    assert averaged_records(threat_of(Majority(), 30, effects=(Sampled(size=9, fresh=True),))) == 30


def test_the_likeliest_label_weighs_what_was_read_against_the_class_shares(threat_of) -> None:
    threat = attrs.evolve(threat_of(Majority(), 10), prior=(0.9, 0.1))
    read = np.array([1, 0, -1])
    for keep, expected in ((1.0, [1, 0, 0]), (0.95, [1, 0, 0]), (0.8, [0, 0, 0])):
        noisy = attrs.evolve(threat, effects=(Perturbed(epsilon=math.log(keep / (1 - keep))),) if keep < 1 else ())
        assert likeliest_labels(certainly(read, noisy), noisy).tolist() == expected


@pytest.mark.parametrize("loss", [LogLoss(), SoftmaxLogLoss()], ids=str)
def test_rows_of_free_costs_cost_what_is_wanted_up_to_a_constant(loss) -> None:
    rows = class_rows(loss, COSTS, NUMBERS)
    got = loss.costs(rows, NUMBERS)
    assert got - got.min(axis=1, keepdims=True) == pytest.approx(COSTS - COSTS.min(axis=1, keepdims=True))


def test_a_loss_without_free_costs_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"loss=SquaredEuclidean\(\) must have rows"):
        class_rows(SquaredEuclidean(), COSTS, NUMBERS)


def test_another_channels_threat_is_an_error(threat_of) -> None:
    from labelinf_core.contracts.threat import ThreatModel

    with pytest.raises(InputError, match="does not belong to the score channel"):
        score_threat(ThreatModel(n_records=1, n_classes=2, prior=(0.5, 0.5)))
