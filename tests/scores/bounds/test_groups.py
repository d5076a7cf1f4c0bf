"""Labels of one group may be one label: no ceiling that heeds groups is beaten, and those for records apart are."""

from __future__ import annotations

import itertools
import math
import sys
import types
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

from labelinf_core.contracts.components import Bound, LabelSet, Setting
from labelinf_core.contracts.guarantees import Direction
from labelinf_core.contracts.threat import NothingPrivate, ThreatModel
from labelinf_scores.bounds.counting import Counting
from labelinf_scores.bounds.gain import gain_ceiling
from labelinf_scores.bounds.gaussian_capacity import GaussianCapacity
from labelinf_scores.bounds.groups import alike, counts_answer, effective, on_average
from labelinf_scores.bounds.label_dp import LabelDp
from labelinf_scores.bounds.metric_noise import MetricNoise
from labelinf_scores.bounds.one_query import OneQuery
from labelinf_scores.bounds.private_scores import PrivateScores
from labelinf_scores.bounds.unseen import Unseen
from labelinf_scores.bounds.worst_case import WorstCaseThreshold
from labelinf_scores.defences.bounded_answers import BoundedAnswers
from labelinf_scores.defences.gaussian_dp import GaussianDp
from labelinf_scores.defences.laplace_dp import LaplaceDp
from labelinf_scores.defences.permute_labels import PermuteLabels
from labelinf_scores.defences.randomised_response import PerturbedLabels
from labelinf_scores.defences.rounding import RoundScore
from labelinf_scores.defences.subset import Subset
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.game.curator import ScoreDefence
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.metrics.readings.ranks import RocAuc

MakeThreat = Callable[..., ScoreThreat]


def histogram(sizes: list[int]) -> tuple[tuple[int, int], ...]:
    return tuple((size, sizes.count(size)) for size in sorted(set(sizes)))


def best_share(sizes: list[int], channel: np.ndarray) -> tuple[float, float]:
    """Return the best mean share of labels, and chance of all, when every group has one fair label.

    Args:
        sizes: Labels of every group, all the same.
        channel: P(answer | labels), shape (2 ** groups, answers), rows in the order of ``itertools.product``.
    """
    points = np.array(list(itertools.product((0, 1), repeat=len(sizes))))
    joint = channel / len(points)
    ones = joint.T @ points  # P(answer, group's label is 1)
    right = np.maximum(ones, joint.sum(axis=0)[:, None] - ones).sum(axis=0)
    return float(right @ sizes / sum(sizes)), float(joint.max(axis=0).sum())


def every_bit(n_groups: int) -> np.ndarray:
    """Return every deterministic answer of one bit, shape (functions, 2 ** groups, 2)."""
    n = 2**n_groups
    told = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    return np.stack([told, 1 - told], axis=2).astype(float)


@pytest.mark.parametrize("sizes", [[4, 1], [3, 1, 1], [2, 2, 1], [5, 1, 1]], ids=str)
def test_no_bit_tells_more_than_the_effective_number_allows(make_threat: MakeThreat, sizes: list[int]) -> None:
    threat = make_threat(n_records=sum(sizes), groups=histogram(sizes))
    found = [best_share(sizes, channel) for channel in every_bit(len(sizes))]

    assert max(share for share, _ in found) <= 0.5 + gain_ceiling(bits=1, n_effective=effective(threat)) + 1e-12


def test_with_the_number_of_records_or_groups_it_is_beaten() -> None:
    """Eight labels of one patient beside two of others: the best of all bits is the patient's label."""
    sizes = [8, 1, 1]
    best = max(best_share(sizes, channel)[0] for channel in every_bit(len(sizes)))

    assert best > 0.5 + gain_ceiling(bits=1, n_effective=sum(sizes))
    assert best > 0.5 + gain_ceiling(bits=1, n_effective=len(sizes))


def test_the_ceiling_of_records_apart_is_beaten_and_that_of_groups_is_not(make_threat: MakeThreat) -> None:
    """A thousand labels of one patient, 200 of others, one answer of one decimal: the whole bound, as it is printed."""
    sizes = [1000, *[1] * 200]
    threat = make_threat(n_records=1200, query_budget=1, clip=0.4, defences=(RoundScore(decimals=1),))
    attacked = 0.5 + 0.5 * 1000 / 1200

    (apart,) = Counting().ceilings(threat)
    grouped = Counting().ceilings(attrs.evolve(threat, groups=histogram(sizes)))

    assert apart.accuracy < attacked
    assert grouped == ()


@attrs.frozen(kw_only=True)
class Budgeted(ThreatModel):
    """A game of which nothing but a budget of privacy is known."""

    budget: NothingPrivate

    def start(self) -> NothingPrivate:
        return self.budget


@pytest.mark.parametrize("epsilon", [0.2, 1.0])
@pytest.mark.parametrize("sizes", [[3, 1], [2, 2, 1], [4, 1, 1]], ids=str)
def test_privacy_of_a_record_is_less_for_a_group(sizes: list[int], epsilon: float) -> None:
    """Randomised response on every record, whatever the group: every answer to every label vector is enumerated."""
    budget = NothingPrivate(label_epsilon=epsilon)
    private = Budgeted(n_records=sum(sizes), n_classes=2, prior=(0.5, 0.5), budget=budget, groups=histogram(sizes))
    keep = math.exp(epsilon) / (1 + math.exp(epsilon))
    labels = np.array([np.repeat(point, sizes) for point in itertools.product((0, 1), repeat=len(sizes))])
    answers = np.array(list(itertools.product((0, 1), repeat=sum(sizes))))
    same = (labels[:, None, :] == answers[None, :, :]).sum(axis=2)
    share, everything = best_share(sizes, keep**same * (1 - keep) ** (sum(sizes) - same))

    (grouped,) = LabelDp().ceilings(private)
    (apart,) = LabelDp().ceilings(attrs.evolve(private, groups=()))

    assert apart.accuracy < share <= grouped.accuracy + 1e-12
    assert everything <= grouped.exact + 1e-12


def test_a_share_of_the_records_shows_more_than_its_share_of_groups(make_threat: MakeThreat) -> None:
    """Two of six records are seen, chosen at random; who sees one of a group knows it all. Every choice is taken."""
    sizes = [3, 2, 1]
    owner = np.repeat(np.arange(3), sizes)
    seen = [len({*owner[list(chosen)]} & {group}) for chosen in itertools.combinations(range(6), 2) for group in owner]
    known = float(np.mean(seen))
    threat = make_threat(n_records=6, groups=histogram(sizes))
    share = known + (1 - known) / 2

    touched = on_average(threat, lambda size: min(1.0, size / 3))

    assert 1 / 3 + (2 / 3) / 2 < share <= touched + (1 - touched) / 2


def test_a_score_of_groups_is_as_spread_as_that_of_their_effective_number(make_threat: MakeThreat) -> None:
    sizes = [4, 2, 1, 1]
    threat = make_threat(n_records=8, groups=histogram(sizes))
    signs = np.array(list(itertools.product((-1, 1), repeat=4)))

    scores = signs @ sizes / 8  # a span of 2 a label

    assert float(np.mean(scores**2)) == pytest.approx(1 / effective(threat))


STAGES = {
    LabelDp(): PerturbedLabels(epsilon=0.3),
    PrivateScores(): LaplaceDp(epsilon=0.5, queries=2),
    Unseen(): Subset(share=0.1),
}


@pytest.mark.parametrize(("bound", "stage"), STAGES.items(), ids=repr)
def test_every_ceiling_says_what_it_takes_for_independent(
    make_threat: MakeThreat, bound: Bound, stage: ScoreDefence
) -> None:
    """And each is higher where records depend on each other: everything, where groups differ in size."""
    plain = make_threat(n_records=1000, query_budget=2, defences=(stage,))
    grouped = attrs.evolve(plain, groups=((5, 200),))
    apart, together = bound.ceilings(plain), bound.ceilings(grouped)

    assert apart
    assert all("records are assumed independent of one another" in item.conditions for item in apart)
    assert len(together) == len(apart)
    assert all("1000 records in 200 groups" in item.conditions for item in together)
    assert all(more.reached > less.reached for less, more in zip(apart, together, strict=True))
    several = bound.ceilings(attrs.evolve(plain, groups=((1, 500), (5, 100))))
    assert all(item.reached == item.exact == 1 and "nothing is promised" in item.conditions for item in several)


@pytest.mark.long
def test_groups_count_where_a_part_of_the_records_is_scored(monkeypatch: pytest.MonkeyPatch) -> None:
    """Six groups of four, of which a function of one's own scores two records each: which, nobody takes for known."""
    module = types.ModuleType("everyother")

    def half(labels: NDArray[Any], predictions: NDArray[Any]) -> float:
        inside = np.clip(predictions[::2], 1e-15, 1 - 1e-15)
        return float(-np.log(np.where(labels[::2] == 1, inside, 1 - inside)).mean())

    module.half = half  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "everyother", module)
    labels, groups = np.arange(24) % 3 // 2, np.repeat(np.arange(6), 4)
    data = LabelSet(labels=labels, class_names=("a", "b"), title="made", provenance="made", groups=groups)
    threat = ScoreChannel(scorer="everyother:half").threat(Setting(data=data))
    assert threat.n_records == 24
    assert threat.groups == ((4, 6),)
    assert effective(threat) == 6


def test_known_counts_are_one_answer_of_as_many_values_as_there_are_counts(make_threat: MakeThreat) -> None:
    for n_records, n_classes in ((9, 2), (9, 4), (5, 3)):
        vectors = math.comb(n_records + n_classes - 1, n_classes - 1)
        assert 2 ** counts_answer(make_threat(n_records=n_records, n_classes=n_classes)) >= vectors * (1 - 1e-12)


def test_who_sees_one_label_of_a_group_may_know_them_all(make_threat: MakeThreat) -> None:
    """Of 200 groups of 20 that have one label each, 80 records show a third; of two such, one shows the other."""
    many = make_threat(n_records=4000, groups=((20, 200),), defences=(Subset(share=0.02),))
    shown = 1 - math.comb(3980, 80) / math.comb(4000, 80)
    (ceiling,) = Unseen().ceilings(many)
    assert shown + (1 - shown) / 2 <= ceiling.accuracy < 1
    assert not Unseen().ceilings(make_threat(n_records=4000, defences=(Subset(share=0.02, fresh=True),)))
    (two,) = Unseen().ceilings(make_threat(n_records=4, groups=((2, 2),), defences=(Subset(share=0.25),)))
    assert two.accuracy == 1


def test_a_delta_is_paid_for_every_record_of_a_group(make_threat: MakeThreat) -> None:
    """Each of four records of one label may tell it with probability .1; where epsilons are large nothing is denied."""
    told = make_threat(groups=((4, 250),), defences=(GaussianDp(epsilon=0.01, delta=0.1, queries=1),))
    (ceiling,) = LabelDp().ceilings(told)
    assert ceiling.accuracy >= 1 - 0.9**4 / 2
    large = make_threat(groups=((4, 250),), defences=(GaussianDp(epsilon=8.0, delta=1e-12, queries=1),))
    assert LabelDp().ceilings(large)[0].accuracy == 1


def test_labels_perturbed_anew_tell_of_a_group_by_every_record(make_threat: MakeThreat) -> None:
    """Five exact answers show a label of four records twenty times, and the majority of these is right that often."""
    fresh = (PerturbedLabels(epsilon=0.1, fresh=True),)
    (ceiling,) = PrivateScores().ceilings(make_threat(groups=((4, 250),), query_budget=5, defences=fresh))
    keep = math.exp(0.1) / (1 + math.exp(0.1))
    majority = binom.sf(10, 20, keep) + binom.pmf(10, 20, keep) / 2
    assert ceiling.accuracy >= majority
    assert ceiling.exact == ceiling.reached  # of two labels, one of each class, one tells the other


def test_noise_that_is_enough_for_a_group_is_as_many_times_as_wide(make_threat: MakeThreat) -> None:
    alone = PrivateScores().evaluate(make_threat(query_budget=5))
    grouped = PrivateScores().evaluate(make_threat(query_budget=5, groups=((4, 250),)))
    assert [line.value for line in grouped] == pytest.approx([4 * line.value for line in alone])


def test_counts_that_tell_groups_of_several_sizes_apart_are_allowed_for() -> None:
    """Two records of one patient and one of another, counts 2 and 1: every label is known before anything is asked."""
    private = Budgeted(
        n_records=3,
        n_classes=2,
        prior=(2 / 3, 1 / 3),
        budget=NothingPrivate(label_epsilon=0.1),
        groups=((1, 1), (2, 1)),
    )
    (ceiling,) = LabelDp().ceilings(private)
    assert ceiling.reached == 1 > ceiling.accuracy
    assert "several sizes" in ceiling.conditions


PAIRS = LabelSet(
    labels=np.repeat([0, 1, 0, 1], 2),
    groups=np.repeat(np.arange(4), 2),
    class_names=("0", "1"),
    title="pairs",
    provenance="made",
)


@pytest.mark.parametrize(
    ("board", "bound"),
    [
        (ScoreChannel(), OneQuery()),
        (ScoreChannel(), WorstCaseThreshold()),
        (ScoreChannel(metric=RocAuc()), MetricNoise()),
    ],
)
def test_no_noise_is_enough_for_pairs_that_is_proved_enough_for_records(board: ScoreChannel, bound: Bound) -> None:
    """A pair moves a score twice as far, and where pairs have one label each, half as many are to be told apart."""
    apart = attrs.evolve(PAIRS, groups=None)
    found, alone = (
        [item for item in bound.evaluate(board.threat(Setting(data=data))) if item.direction is Direction.CEILING]
        for data in (PAIRS, apart)
    )
    assert alone
    assert not found


def labellings(sizes: list[int], ones: int) -> int:
    """Return how many ways there are to give each group one label so that so many records are ones."""
    ways = [1, *[0] * ones]
    for size in sizes:
        ways = [ways[n] + (ways[n - size] if n >= size else 0) for n in range(ones + 1)]
    return ways[ones]


@pytest.mark.parametrize(
    "stage",
    [
        PermuteLabels(),
        BoundedAnswers(values=2, queries=1),
        PerturbedLabels(epsilon=0.001),
        Subset(share=0.1),
        RoundScore(decimals=2),
        GaussianDp(epsilon=0.05, delta=1e-6, queries=2),
    ],
    ids=repr,
)
@pytest.mark.parametrize("sizes", [[5] * 4 + [4] * 4, [2, 1], [6]], ids=str)
def test_nothing_is_promised_where_class_counts_name_every_label(
    make_threat: MakeThreat, sizes: list[int], stage: ScoreDefence
) -> None:
    """Four patients of five records and four of four: of 20 ones only the former are ill. No answer is needed."""
    ones = 20 if len(sizes) > 2 else sizes[0]
    assert labellings(sizes, ones) == 1
    n, groups = sum(sizes), histogram(sizes)
    threat = make_threat(n_records=n, prior=(1 - ones / n, ones / n), query_budget=2, groups=groups, defences=(stage,))
    assert alike(threat) is None
    for bound in (Counting(), GaussianCapacity(), LabelDp(), PrivateScores(), Unseen()):
        assert all(item.reached == item.exact == 1 for item in bound.ceilings(threat))
        assert not [line for line in bound.evaluate(threat) if line.quantity in ("queries", "gain", "noise")]


@pytest.mark.parametrize("seen", [1, 2, 3])
def test_groups_that_are_alike_are_guessed_from_the_rest_of_the_counts(make_threat: MakeThreat, seen: int) -> None:
    """Six groups of three, one label each, two of ones; whoever sees one record of some, over all that they may be."""
    groups, ones, size = 6, 2, 3
    found = 0.0
    for some in itertools.product((0, 1), repeat=seen):
        left = (ones - sum(some)) / (groups - seen)
        chance = math.comb(groups - seen, ones - sum(some)) / math.comb(groups, ones) if left >= 0 else 0.0
        found += chance * (seen + (groups - seen) * max(left, 1 - left)) / groups
    stage = Subset(share=seen / groups / size)
    alike_groups = make_threat(n_records=18, prior=(2 / 3, 1 / 3), groups=((size, groups),), defences=(stage,))
    (ceiling,) = Unseen().ceilings(alike_groups)
    assert found <= ceiling.reached + 1e-12
    assert ceiling.reached < 1 or seen == 3
