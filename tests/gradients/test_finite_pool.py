"""Samples come from a finite data set: what it is worth to know the other labels, and the alarm that allows for it."""

from __future__ import annotations

import collections
import itertools
import math
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import attrs
import numpy as np
import pytest
from scipy.stats import binom

from labelinf_core.contracts.components import LabelSet, Setting
from labelinf_gradients.bounds.certificates import GradientCertificate
from labelinf_gradients.defences.clipping import ClippedGaussian, ClippedLaplace
from labelinf_gradients.defences.conduct import Mixup
from labelinf_gradients.finite_pool import at_least, best_overlap, counts_bits, shares_moved
from labelinf_gradients.game.channel import GradientChannel


def enumerated(counts: tuple[int, ...], n_left: int, batch: int) -> tuple[float, float]:
    """Return the mean overlap of the best guess of a batch, and the mean total variation, over all that can be left."""
    labels = [k for k, count in enumerate(counts) for _ in range(count)]
    found, moved, ways = 0.0, 0.0, 0
    for chosen in itertools.combinations(labels, n_left):
        left = collections.Counter(chosen)
        best = 0.0
        for guess in itertools.combinations_with_replacement(range(len(counts)), batch):
            wanted = collections.Counter(guess)
            drawn = itertools.combinations(chosen, batch)
            best = max(best, sum((collections.Counter(item) & wanted).total() for item in drawn))
        found += best / math.comb(n_left, batch) / batch
        moved += sum(abs(left[k] / n_left - count / len(labels)) for k, count in enumerate(counts)) / 2
        ways += 1
    return found / ways, moved / ways


@pytest.mark.parametrize("counts", [(3, 3), (2, 5), (7, 0), (2, 2, 3), (1, 2, 4)])
@pytest.mark.parametrize(("n_left", "batch"), [(1, 1), (3, 1), (2, 2), (4, 2), (5, 3)])
def test_no_guess_is_better_than_what_is_counted(counts: tuple[int, ...], n_left: int, batch: int) -> None:
    prior = tuple(count / sum(counts) for count in counts)
    overlap, moved = enumerated(counts, n_left, batch)
    said = best_overlap(prior, sum(counts), n_left=n_left, batch=batch)
    assert overlap <= said <= overlap + 0.03
    assert len(counts) > 2 or said == pytest.approx(overlap, abs=1e-8)
    assert shares_moved(prior, sum(counts), n_left=n_left) == pytest.approx(moved, abs=1e-8)


def test_known_counts_are_worth_the_orders_that_they_leave() -> None:
    assert counts_bits((0.5, 0.5), 4) == pytest.approx(math.log2(16 / 6))
    assert counts_bits((1.0, 0.0), 9) == 0


@pytest.mark.parametrize("n_records", [1800, 1_000_000])
def test_of_many_records_the_best_guess_tends_to_the_one_without_knowledge(n_records: int) -> None:
    assert best_overlap((0.6, 0.4), n_records, n_left=n_records // 2, batch=1) == pytest.approx(0.6, abs=1e-4)


def test_an_adversary_who_knows_what_is_left_is_no_contradiction() -> None:
    """Found by attacking it: 54.3 % of 9 000 labels, where 51.2 % was the ceiling and no more was allowed."""
    data = LabelSet(
        labels=np.arange(40) % 2,
        class_names=("a", "b"),
        title="made",
        provenance="made",
        features=np.random.default_rng(0).random((40, 3)),
    )
    channel = GradientChannel(samples=6, auxiliary=14)
    threat = channel.threat(Setting(data=data, defences=(ClippedLaplace(epsilon=0.05),)))
    (ceiling,) = GradientCertificate().ceilings(threat)
    known = best_overlap((0.5, 0.5), 40, n_left=26, batch=1)  # by counting the adversary's own labels
    assert ceiling.accuracy < known < ceiling.reached
    assert ceiling.game is not None
    assert ceiling.game.bits == pytest.approx(counts_bits((0.5, 0.5), 40))


@pytest.mark.parametrize(
    ("changes", "mixed", "spare"),
    [
        ({"auxiliary": 14}, False, 0),
        ({"auxiliary": 3}, False, 11),
        ({"auxiliary": 3}, True, 5),
        ({"members": True, "auxiliary": 3}, False, 14),
        ({"samples": 7, "batch": 3, "auxiliary": 3}, False, 11),
    ],
)
def test_the_records_that_nobody_holds_are_counted(changes: dict[str, Any], mixed: bool, spare: int) -> None:
    features = np.random.default_rng(0).random((41, 3))
    data = LabelSet(
        labels=np.arange(41) % 2, class_names=("a", "b"), title="made", provenance="made", features=features
    )
    channel = GradientChannel(**{"samples": 6, **changes})
    defences = (Mixup(),) if mixed else ()
    held_out = 1 - int(changes.get("members", False))  # the odd record is kept from training
    assert channel.threat(Setting(data=data, defences=defences)).spare == spare + held_out


def test_a_batch_is_allowed_for_as_well_and_no_data_set_without_an_end() -> None:
    features = np.random.default_rng(0).random((200, 3))
    data = LabelSet(
        labels=np.arange(200) % 4, class_names=tuple("abcd"), title="made", provenance="made", features=features
    )
    channel = GradientChannel(samples=8, batch=4, auxiliary=30)
    threat = channel.threat(Setting(data=data, defences=(ClippedLaplace(epsilon=0.05),)))
    (ceiling,) = GradientCertificate().ceilings(threat)
    (endless,) = GradientCertificate().ceilings(attrs.evolve(threat, population=0))
    blind = best_overlap(threat.prior, 200, n_left=threat.spare + 4, batch=4)
    assert endless.allowance == 0
    assert ceiling.accuracy == endless.accuracy
    assert blind <= ceiling.reached <= 1.1 * blind
    assert endless.exact <= ceiling.exact <= ceiling.reached


def test_of_one_sample_all_labels_are_its_label_and_what_is_printed_is_what_is_reached() -> None:
    """`labels <= 87.4 %`, `all <= 69.2 %` and `label accuracy, any attack: 69.2 %` stood on one page."""
    data = LabelSet(
        labels=np.arange(30) % 2,
        class_names=("a", "b"),
        title="made",
        provenance="made",
        features=np.random.default_rng(0).random((30, 2)),
    )
    channel = GradientChannel(samples=1, auxiliary=13)
    threat = channel.threat(Setting(data=data, defences=(ClippedGaussian(multiplier=2),)))
    (ceiling,) = GradientCertificate().ceilings(threat)
    (line,) = GradientCertificate().evaluate(threat)
    left, drawn = np.arange(16), NormalDist()
    weights = np.array([math.comb(15, ones) ** 2 / math.comb(30, 15) for ones in left])  # of what is left of 15 others

    def bayes(share: float) -> float:
        cut = math.log((1 - share) / share)  # means half a deviation to either side
        return share * drawn.cdf(0.5 - cut) + (1 - share) * drawn.cdf(0.5 + cut)

    found = weights @ [1.0 if ones in (0, 15) else bayes(ones / 15) for ones in left]

    assert found == pytest.approx(0.7035, abs=1e-4)
    assert ceiling.accuracy < found < ceiling.exact == ceiling.reached == line.value


@pytest.mark.parametrize(("n", "chance"), [(0, 0.3), (1, 0.6), (7, 0.4), (500, 0.4), (2000, 0.99), (9, 1.0), (9, 0.0)])
def test_numbers_that_are_counted_on_happen_no_less_often(n: int, chance: float) -> None:
    """Of every threshold: what is counted on is below it no less often than what happens."""
    counted = np.zeros(n + 1)
    for number, weight in at_least(n, chance):
        counted[number] += weight
    assert counted.sum() == pytest.approx(1)
    assert (counted.cumsum() >= binom.cdf(np.arange(n + 1), n, chance) - 1e-9).all()


def test_the_slack_is_more_than_doubles_lose_in_a_large_pool() -> None:
    """Of one label in two classes, all but two known: exact in whole numbers."""
    n = 20_000_000
    exact = Fraction(3, 4) - Fraction(1, 4 * (n - 1))  # both left are alike, or one of each

    assert best_overlap((0.5, 0.5), n, n_left=2, batch=1) >= float(exact)
