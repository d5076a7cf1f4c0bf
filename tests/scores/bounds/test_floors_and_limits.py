"""Floors of the constructions and limits of one query: the printed numbers, and floors that stay below ceilings."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelinf_core.contracts.components import LabelSet, Setting
from labelinf_core.contracts.guarantees import Direction
from labelinf_core.contracts.threat import ThreatModel
from labelinf_scores.bounds import constructions as floors
from labelinf_scores.bounds.hadamard import HadamardNoise, hadamard_std
from labelinf_scores.bounds.metric_noise import MetricNoise, exchanged_accuracy
from labelinf_scores.bounds.one_query import OneQuery
from labelinf_scores.bounds.unseen import Unseen, unseen_accuracy
from labelinf_scores.bounds.worst_case import WorstCaseThreshold, hideable, hiding_noise
from labelinf_scores.decoders.least_squares import sign_accuracy
from labelinf_scores.defences.permute_labels import PermuteLabels
from labelinf_scores.defences.rounding import RoundScore
from labelinf_scores.defences.subset import Subset
from labelinf_scores.defences.worst_case_noise import WorstCaseNoise as Hiding
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.metrics.log_loss import LogLoss
from labelinf_scores.metrics.readings.counts import Accuracy
from labelinf_scores.metrics.squared_euclidean import SquaredEuclidean

Threat = Callable[..., ScoreThreat]
FULL = 36.04365338911715


def test_the_printed_floors() -> None:
    half = [floors.tau_mixed_radix(FULL, n, 1, 2) for n in (306, 2201, 25_000, 70_000)]
    assert half == pytest.approx([0.0589, 0.00819, 0.000721, 0.000257], rel=2e-3)
    assert floors.tau_mixed_radix(4.59512, 2201, 1, 2) == pytest.approx(0.00104, rel=5e-3)
    assert floors.tau_mixed_radix(4.59512, 70_000, 1, 2) == pytest.approx(0.0000328, rel=5e-3)
    assert floors.tau_powers(FULL, 4, 4) == pytest.approx(0.5631820842, abs=1e-9)
    assert floors.tau_conway_guy(FULL, 4, 4) == pytest.approx(0.6436, abs=5e-5)
    assert floors.tau_powers(FULL, 4, 4, base=3) == pytest.approx(0.5631820842 / math.log(3))


def test_printed_base_three_stops_at_less_than_one_half() -> None:
    assert floors.tau_powers(1.0, 1, 1, base=3) == pytest.approx(0.455, abs=5e-4)


def test_three_classes_as_printed_need_thirty_times_the_range() -> None:
    # K = 4, N = 3: 2**12 - 2**9 = 3584 units of tau against 2 * 3 * 16 = 96.
    ratio = floors.tau_mixed_radix(1, 1, 3, 4) / floors.tau_powers(1, 1, 3, 4)
    assert ratio == pytest.approx(3584 / 96)


@settings(max_examples=50)
@given(st.integers(2, 10), st.floats(1e-9, 0.3))
def test_the_widest_row_of_k_classes_touches_the_clip(n_classes: int, clip: float) -> None:
    clip = min(clip, 0.9 / n_classes)
    reach = floors.normalised_span(math.log((1 - clip) / clip), n_classes)
    weights = [math.exp(-k * reach / (n_classes - 1)) for k in range(n_classes)]
    assert min(weights) / sum(weights) == pytest.approx(clip, rel=1e-6)


def test_every_floor_of_a_query_lies_below_every_ceiling(make_threat: Threat) -> None:
    for m in range(1, 13):
        threat = make_threat(n_records=40)
        lines = (*floors.ConstructionNoise(labels=m).evaluate(threat), *OneQuery(labels=m).evaluate(threat))
        packed = [line for line in lines if str(m) in line.title and "all" not in line.title]
        lower = [line.value for line in packed if line.direction is Direction.FLOOR]
        upper = [line.value for line in packed if line.direction is Direction.CEILING and line.quantity == "noise"]
        assert max(lower) <= min(upper) * (1 + 1e-12)


def test_the_printed_limits_of_one_query(make_threat: Threat) -> None:
    threat = make_threat(n_records=4, clip=2.220446049250313e-16)
    lines = {line.title: line.value for line in OneQuery(labels=4).evaluate(threat)}
    assert lines["noise above which no query tells 4 labels"] == pytest.approx(threat.span / 10)
    assert lines["labels that one answer tells with certainty"] == 53
    rounded = make_threat(n_records=70_000, clip=2.220446049250313e-16, defences=(RoundScore(decimals=4),))
    (entropy,) = [x.value for x in OneQuery().evaluate(rounded) if x.title.startswith("labels that one rounded")]
    assert entropy == pytest.approx(11.5, abs=0.05)


def test_three_classes_of_another_loss_have_no_floor(make_threat: Threat) -> None:
    threat = make_threat(n_classes=3, loss=SquaredEuclidean())
    assert floors.ConstructionNoise().evaluate(threat) == ()
    assert len(floors.ConstructionNoise().evaluate(make_threat(n_classes=3))) == 3


def test_nothing_is_said_of_unclipped_losses_or_other_channels(make_threat: Threat) -> None:
    unclipped = make_threat(clip=0.0)
    other = ThreatModel(n_records=5, n_classes=2, prior=(0.5, 0.5))
    for bound in (floors.ConstructionNoise(), HadamardNoise(), WorstCaseThreshold()):
        assert bound.evaluate(unclipped) == bound.evaluate(other) == bound.ceilings(other) == ()
    assert OneQuery().evaluate(other) == Unseen().evaluate(other) == Unseen().ceilings(other) == ()


def test_hadamard_inverts_and_has_the_printed_numbers(make_threat: Threat) -> None:
    assert sign_accuracy(64, 2 * 64 * 0.026875 / 1.72) == pytest.approx(0.99998, abs=1e-4)
    assert hadamard_std(1.0, 1, 1, 0.99) == pytest.approx(0.2149, abs=1e-4)
    assert sign_accuracy(1024, 2 * 1024 * hadamard_std(1.0, 1024, 1024, 0.99)) == pytest.approx(0.99)
    assert hadamard_std(1.0, 1024, 1024, 0.99) * 1024 == pytest.approx(6.88, abs=0.01)
    random, worst = HadamardNoise().evaluate(make_threat(n_records=1024, query_budget=1100))
    assert random.value == pytest.approx(hadamard_std(math.log(99), 1024, 1100, 0.99), rel=0.02)
    assert worst.value == pytest.approx(0.05 * math.log(99) / 32)
    assert HadamardNoise().evaluate(make_threat(n_records=1024, query_budget=1000)) == ()


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_hiding_labels_takes_the_noise_it_says(n_classes: int) -> None:
    for k in range(0, 11):
        assert hideable(3.0, 10, hiding_noise(3.0, 10, k, n_classes), n_classes) == k
        assert hideable(3.0, 10, hiding_noise(3.0, 10, k, n_classes) * 0.999 + 1e-9, n_classes) <= max(0, k)
    assert hideable(3.0, 10, 100.0, n_classes) == 10
    assert hiding_noise(3.0, 10, 1) == pytest.approx(3.0 / 20)


def test_worst_case_noise_begins_to_hide_where_one_label_a_query_ends(make_threat: Threat) -> None:
    threat = make_threat()
    first, every = WorstCaseThreshold().evaluate(threat)
    assert first.value == pytest.approx(2 * floors.tau_mixed_radix(threat.span, 1000, 1, 2))  # two that change places
    assert every.value == pytest.approx(threat.span / 2)


def test_unseen_records_are_guessed(make_threat: Threat) -> None:
    assert unseen_accuracy(0.3, (0.5, 0.5)) == pytest.approx(0.65)
    fixed = Unseen().ceilings(make_threat(defences=(Subset(share=0.3),)))[0]
    assert 0.65 < fixed.accuracy < 0.66
    assert Unseen().ceilings(make_threat(defences=(Subset(share=0.3, fresh=True),))) == ()
    fresh = Unseen().ceilings(make_threat(query_budget=3, defences=(Subset(share=0.3, fresh=True),)))[0]
    assert fresh.accuracy == pytest.approx(unseen_accuracy(1 - 0.7**3, (0.5, 0.5), 1000))
    hidden = Unseen().ceilings(make_threat(defences=(Hiding(tau=math.log(99) / 4),)))[0]
    assert hidden.accuracy == pytest.approx(0.75, abs=0.01)
    secret = Unseen().ceilings(make_threat(prior=(0.3, 0.7), defences=(PermuteLabels(),)))[0]
    assert secret.accuracy == 0.7
    assert Unseen().ceilings(make_threat()) == ()


@pytest.mark.parametrize("counts", [(4, 4), (2, 6), (3, 3, 2)])
def test_a_known_subset_of_known_counts_stays_below_the_ceiling(counts: tuple[int, ...]) -> None:
    """Exactly: sums over how many of each class fall into the unseen part."""
    n, prior = sum(counts), tuple(c / sum(counts) for c in counts)
    for seen in range(n + 1):
        left = n - seen
        best = sum(p * max(part, default=0) for part, p in _splits(counts, left)) if left else 0.0
        assert (seen + best) / n <= unseen_accuracy(seen / n, prior, n) + 1e-12


def _splits(counts: tuple[int, ...], drawn: int) -> list[tuple[tuple[int, ...], float]]:
    """Every way to draw so many records without replacement, with its probability."""
    if len(counts) == 1:
        return [((drawn,), 1.0)] if drawn <= counts[0] else []
    total = math.comb(sum(counts), drawn)
    found = []
    for first in range(min(drawn, counts[0]) + 1):
        rest = sum(counts[1:])
        if drawn - first <= rest:
            ways = math.comb(counts[0], first) * math.comb(rest, drawn - first)
            found += [((first, *more), ways / total * p) for more, p in _splits(counts[1:], drawn - first)]
    return found


def test_the_log_loss_span_is_the_documented_one() -> None:
    assert LogLoss().span(2.220446049250313e-16) == pytest.approx(FULL)


def test_no_noise_is_said_to_be_read_through_where_the_attack_cannot_be_played(make_threat: Threat) -> None:
    """The order of the records is secret, a design has fewer queries than records, primes do not fit into the clip."""
    secret = make_threat(query_budget=2000, defences=(PermuteLabels(),))
    assert HadamardNoise().evaluate(secret) == floors.ConstructionNoise().evaluate(secret) == ()
    assert HadamardNoise().evaluate(make_threat(query_budget=2000))
    assert HadamardNoise().evaluate(make_threat(n_records=9, query_budget=8)) == ()
    for clip, fits in ((0.4, False), (0.01, True)):
        lines = floors.ConstructionNoise().evaluate(make_threat(clip=clip))
        assert any("ln(1 + 1/(2 P_m))" in line.formula for line in lines) is fits


def test_normal_noise_that_is_enough_for_a_metric_holds_its_balanced_accuracy() -> None:
    labels = (np.arange(40) < 12).astype(np.intp)
    data = LabelSet(labels=labels, class_names=("a", "b"), title="made", provenance="made")
    threat = ScoreChannel(metric=Accuracy(), queries=7).threat(Setting(data=data))
    (line,) = [item for item in MetricNoise().evaluate(threat) if item.title.startswith("Gaussian")]
    assert exchanged_accuracy(Accuracy(), threat.totals, line.value, 7) == pytest.approx(0.6)
