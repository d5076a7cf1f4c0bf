"""NDCG, average precision, reciprocal rank, precision at k: what answers tell, by brute force, and who reads them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics

from labelinf_core.contracts.components import LabelSet, Outcome, Setting
from labelinf_core.contracts.guarantees import Promise
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_data.bundled import load_bunch
from labelinf_scores.decoders.between import halves, sums_between
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.metrics.readings import Released, ScoredMetric, Totals
from labelinf_scores.metrics.readings.discounts import SCALE, Ndcg, discount_sums
from labelinf_scores.metrics.readings.lists import AveragePrecision, ReciprocalRank, average_precision
from labelinf_scores.metrics.readings.tops import LiftAtK, PrecisionAtK

BUILDER = Builder(Host.load())
N = 6
LABELLINGS = [np.array(y, dtype=np.intp) for y in itertools.product((0, 1), repeat=N) if 0 < sum(y) < N]
LISTS = [np.array(p, dtype=float) for p in itertools.product(range(3), repeat=N)][::7]


def totals_of(labels: np.ndarray) -> Totals:
    return Totals.binary(n_records=len(labels), n_positive=int(labels.sum()))


def play(attack: str, metric: str, labels: list[int], *defences: str, **game: object) -> tuple[Outcome, Promise]:
    channel = ScoreChannel(metric=BUILDER.build(Kind.METRIC, metric, "test"), **game)
    data = LabelSet(labels=np.array(labels, dtype=np.intp), class_names=("0", "1"), title="t", provenance="made")
    played = BUILDER.build(Kind.ATTACK, attack, "test")
    setting = Setting(data=data, attack=played, defences=BUILDER.pipeline(defences, "test"))
    threat = channel.threat(setting)
    assert played.unsupported_reason(threat) == ""
    promise = played.promise(threat)
    assert promise is not None
    return channel.play(setting, curator_rng=np.random.default_rng(0), attack_rng=np.random.default_rng(1)), promise


@pytest.fixture(scope="module")
def cancer() -> list[int]:
    return [int(label) for label in load_bunch("breast-cancer").target]


def test_discounts_are_those_of_the_textbook_to_eighty_bits() -> None:
    sums = discount_sums(40, 0)
    found = [(b - a) / 2**SCALE for a, b in itertools.pairwise(sums)]
    assert found == pytest.approx([1 / math.log2(r + 1) for r in range(1, 41)], abs=1e-15)
    assert discount_sums(40, 3)[3:] == (sums[3],) * 38


@pytest.mark.parametrize("k", [0, 2])
def test_an_ndcg_is_the_sum_of_its_positives_mean_discounts(k: int) -> None:
    """The mean over all orders of the ties, by brute force, is what the interval holds, and hardly anything else."""
    metric = Ndcg(k=k)
    discount = [1 / math.log2(r + 2) if not k or r < k else 0.0 for r in range(N)]
    orders = list(itertools.permutations(range(N)))
    for predictions in LISTS[::40]:
        sorted_ones = [o for o in orders if all(predictions[a] >= predictions[b] for a, b in itertools.pairwise(o))]
        for y in LABELLINGS[::5]:
            mean = sum(sum(discount[r] for r, i in enumerate(o) if y[i]) for o in sorted_ones) / len(sorted_ones)
            told = metric.reading(predictions, Fraction(metric.score(y, predictions)), totals_of(y), Released())
            assert told.holds(y)
            assert float(told.low / 2**SCALE) == pytest.approx(mean, abs=1e-13)
            assert told.high - told.low < 2**SCALE * Fraction(1, 10**12)


def _other_ndcg(labels: np.ndarray, predictions: np.ndarray, rng: np.random.Generator) -> float:
    """An NDCG whose discounts are off by as much as is allowed, and whose additions go backwards."""
    n = len(labels)
    allowed = 1 + 14 * 2.0**-53 * rng.choice([-1, 1], n)
    discount = np.array([1 / math.log2(r + 2) for r in range(n)]) * allowed
    sums = np.cumsum(discount)
    _, group, sizes = np.unique(-predictions, return_inverse=True, return_counts=True)
    ends = sums[np.cumsum(sizes) - 1]
    gains = np.bincount(group, weights=labels) / sizes * np.diff(ends, prepend=0.0)
    ideal = 0.0
    for value in discount[: int(labels.sum())][::-1]:
        ideal += value
    total = 0.0
    for value in gains[::-1]:
        total += value
    return total / ideal


@pytest.mark.parametrize("n", [40, 569, 3000])
def test_the_true_labels_fit_what_any_host_says_beside_everybody_tied(n: int) -> None:
    """Also of a host whose discounts are another library's, as far off as allowed: the same in both of its answers."""
    rng, metric = np.random.default_rng(n), Ndcg()
    for turn, host in itertools.product(range(3), ("scikit-learn", "another")):
        labels = (rng.random(n) < (0.1, 0.4, 0.9)[turn]).astype(np.intp)
        labels[:2] = (0, 1)
        block = rng.permutation(n)[:30]
        predictions = np.zeros(n)
        predictions[block] = np.arange(30, 0, -1)

        def score(asked: np.ndarray, host: str = host, labels: np.ndarray = labels, turn: int = turn) -> Fraction:
            if host == "scikit-learn":
                return Fraction(metric.score(labels, asked))
            return Fraction(_other_ndcg(labels, asked, np.random.default_rng(turn)))

        totals, printed = totals_of(labels), Released()
        plain = metric.reading(predictions, score(predictions), totals, printed)
        close = metric.beside(predictions, score(predictions), score(np.zeros(n)), totals, printed)
        assert plain.holds(labels)
        assert close.holds(labels)
        assert n < 3000 or close.high - close.low < (plain.high - plain.low) / 2


def test_two_labellings_of_one_ndcg_are_both_found() -> None:
    """An interval too short for the scorer's error would name one of them and be wrong."""
    gaps = [1 << 40, (1 << 40) + 3, 1 << 20]
    found = sums_between([halves(gaps)], 1 << 40, (1 << 40) + 3, n_labels=3)
    assert sorted(found.tolist()) == [[0, 1, 0], [1, 0, 0]]


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=9), st.integers(-80, 80), st.integers(0, 40))
@settings(max_examples=80)
def test_all_labellings_between_are_found_and_no_others(gaps: list[int], low: int, wide: int) -> None:
    every = itertools.product((0, 1), repeat=len(gaps))
    right = sorted(y for y in every if low <= sum(g * v for g, v in zip(gaps, y, strict=True)) <= low + wide)
    found = sums_between([halves(gaps)], low, low + wide, n_labels=len(gaps))
    assert sorted(map(tuple, found.tolist())) == right


def test_an_average_precision_is_scikit_learns_for_every_labelling_and_ties() -> None:
    metric = AveragePrecision()
    for predictions, y in itertools.product(LISTS[::6], LABELLINGS[::5]):
        exact, seen = average_precision(y, predictions), Fraction(metric.score(y, predictions))
        assert abs(exact - seen) <= metric.error(predictions, totals_of(y))
        assert metric.fits(y, predictions, seen, totals_of(y), Released())
    with pytest.raises(ValueError, match="no function of a sum"):
        metric.reading(LISTS[0], Fraction(1, 2), totals_of(LABELLINGS[0]), Released())


def test_a_list_of_an_average_precision_is_worth_as_proved() -> None:
    """M21's worked number, and that four records on top already hide one another: two labellings of one score."""
    labels, predictions = np.array([0, 1, 1, 0, 0, 1, 0, 0]), np.array([4.0, 3, 2, 1, 0, 0, 0, 0])
    assert float(average_precision(labels, predictions)) == pytest.approx(0.5138888889)
    seen = {}
    for chosen in itertools.combinations(range(8), 4):
        y = np.isin(np.arange(8), chosen).astype(np.intp)
        seen.setdefault(average_precision(y, predictions), set()).add(tuple(y[:4]))
    assert max(map(len, seen.values())) > 1


@pytest.mark.long
def test_a_reciprocal_rank_tells_who_is_above_and_no_more() -> None:
    """The labellings that fit the reading are those with this score, exactly."""
    metric = ReciprocalRank()
    for predictions, y in itertools.product(LISTS[::12], LABELLINGS[::9]):
        best = predictions[y == 1].max()
        exact = Fraction(1, int((predictions >= best).sum()))
        seen = metric.score(y, predictions)
        assert seen == float(exact)
        told = metric.reading(predictions, Fraction(seen), totals_of(y), Released())
        same = [z for z in LABELLINGS if z.sum() == y.sum()]
        assert [told.holds(z) for z in same] == [metric.score(z, predictions) == seen for z in same]


@pytest.mark.parametrize("metric", [PrecisionAtK(k=3), PrecisionAtK(k=1), PrecisionAtK(k=9), LiftAtK(k=4)])
def test_precision_at_k_is_the_mean_over_all_orders_of_ties(metric: PrecisionAtK) -> None:
    orders = list(itertools.permutations(range(N)))
    for predictions in LISTS[::30]:
        allowed = [o for o in orders if all(predictions[a] >= predictions[b] for a, b in itertools.pairwise(o))]
        for y in LABELLINGS[::6]:
            k = min(metric.k, N)
            mean = Fraction(sum(int(y[list(o[:k])].sum()) for o in allowed), k * len(allowed))
            mean *= Fraction(N, int(y.sum())) if isinstance(metric, LiftAtK) else 1
            seen = metric.score(y, predictions)
            assert seen == pytest.approx(float(mean), abs=1e-15)
            assert metric.reading(predictions, Fraction(seen), totals_of(y), Released()).holds(y)


@pytest.mark.parametrize(
    ("metric", "exact"),
    [
        (Ndcg(), 1e-12),
        (Ndcg(k=2), 1e-12),
        (AveragePrecision(), 1e-12),
        (PrecisionAtK(k=2), 1e-12),
    ],
)
def test_one_record_above_all_others_tells_twice_the_floor(metric: ScoredMetric, exact: float) -> None:
    for positive in range(1, N):
        same = [y for y in LABELLINGS if y.sum() == positive]
        seen = [metric.score(y, np.eye(N)[0]) for y in same]
        assert max(seen) - min(seen) == pytest.approx(2 * metric.floor(totals_of(same[0])), abs=exact)


@pytest.mark.parametrize("metric", [Ndcg(), Ndcg(k=2), PrecisionAtK(k=2), LiftAtK(k=2), ReciprocalRank()])
def test_no_exchange_of_two_labels_moves_more_than_twice_the_ceiling(metric: ScoredMetric) -> None:
    for positive in (1, 3, 5):
        same = [y for y in LABELLINGS if y.sum() == positive]
        table = np.array([[metric.score(y, p) for p in LISTS[::16]] for y in same])
        moved = [
            np.abs(table[i] - table[j]).max()
            for i, j in itertools.combinations(range(len(same)), 2)
            if np.abs(same[i] - same[j]).sum() == 2
        ]
        assert max(moved, default=0) <= 2 * metric.enough(totals_of(same[0])) + 1e-12


@given(st.lists(st.integers(0, 1), min_size=2, max_size=40), st.sampled_from(["ndcg", "average-precision"]))
@settings(max_examples=30)
def test_lists_of_any_labels_are_read(labels: list[int], metric: str) -> None:
    if len(set(labels)) < 2:
        return
    outcome, promise = play("ranked-block", metric, labels)
    assert promise.certified
    assert outcome.n_correct == len(labels)
    assert "contradiction" not in outcome.evidence


@pytest.mark.parametrize("decimals", [2, 3, 5])
@pytest.mark.parametrize(
    ("attack", "metric"),
    [
        ("ranked-block", "ndcg"),
        ("ranked-block", "ndcg(k=5)"),
        ("ranked-block", "average-precision"),
        ("first-positive", "reciprocal-rank"),
        ("detecting-counts", "precision-at-k(k=5)"),
    ],
)
def test_a_rounded_list_gives_away_what_is_certified(attack: str, metric: str, decimals: int) -> None:
    """Certified: every label. Not certified: what is written down is right all the same, or was not written down."""
    rng = np.random.default_rng(decimals)
    labels = [0, 1, *rng.integers(0, 2, 58).tolist()]
    outcome, promise = play(attack, metric, labels, f"round(decimals={decimals})")
    assert "contradiction" not in outcome.evidence
    if promise.certified:
        assert outcome.n_correct == len(labels)
    assert outcome.n_correct >= outcome.evidence["labels decided"]


@pytest.mark.parametrize(
    ("attack", "metric", "mark"),
    [
        pytest.param("ranked-block", "ndcg", 17, marks=pytest.mark.slow),
        ("ranked-block", "ndcg(k=16)", 36),
        pytest.param("first-positive", "reciprocal-rank", 357, marks=pytest.mark.slow),
        ("detecting-counts", "precision-at-k", 162),
        ("detecting-counts", "lift-at-k(k=50)", 162),
    ],
)
def test_a_ranked_list_gives_every_label_away(attack: str, metric: str, mark: int, cancer: list[int]) -> None:
    outcome, promise = play(attack, metric, cancer)
    assert promise.certified
    assert (outcome.n_correct, outcome.queries) == (569, mark)


@pytest.mark.slow
def test_an_average_precision_gives_every_label_away(cancer: list[int]) -> None:
    outcome, _ = play("ranked-block", "average-precision", cancer[:110])
    assert outcome.n_correct == 110
    assert outcome.queries <= 5


@pytest.mark.long
def test_no_budget_that_may_end_it_is_certified(cancer: list[int]) -> None:
    for attack, metric, enough in (("ranked-block", "ndcg", 88), ("first-positive", "reciprocal-rank", 17)):
        positive = sum(cancer[:40])
        needed = positive + 1 if attack == "first-positive" else enough
        for queries in (needed, needed - 1):
            _, promise = play(attack, metric, cancer[:40], queries=queries)
            assert promise.certified == (queries == needed)


ORACLES: dict[str, Callable[[np.ndarray, np.ndarray], float]] = {
    "ndcg": lambda y, p: metrics.ndcg_score([y], [p]),
    "ndcg(k=4)": lambda y, p: metrics.ndcg_score([y], [p], k=4),
    "average-precision": metrics.average_precision_score,
}


@pytest.mark.parametrize("name", list(ORACLES))
def test_the_oracle_is_scikit_learns_own_function(name: str) -> None:
    rng, metric = np.random.default_rng(0), BUILDER.build(Kind.METRIC, name, "test")
    for _ in range(20):
        labels, predictions = rng.integers(0, 2, 30), rng.integers(0, 9, 30).astype(float)
        labels[0] = 1
        assert metric.score(labels, predictions) == float(ORACLES[name](labels, predictions))


@pytest.mark.long
def test_an_answer_of_no_labels_is_a_contradiction() -> None:
    """A host that scores otherwise than it says decides nothing wrongly that is called certain."""

    class Shifted(Ndcg):
        def score(self, labels: np.ndarray, predictions: np.ndarray) -> float:
            value = super().score(labels, predictions)
            return value if len(np.unique(predictions)) == 1 else value + 1e-6

    channel = ScoreChannel(metric=attrs.frozen(kw_only=True)(Shifted)())
    data = LabelSet(labels=np.arange(60) % 2, class_names=("0", "1"), title="t", provenance="made")
    setting = Setting(data=data, attack=BUILDER.build(Kind.ATTACK, "ranked-block", "test"))
    assert setting.attack is not None
    promise = setting.attack.promise(channel.threat(setting))
    assert promise is None or not promise.certified
    outcome = channel.play(setting, curator_rng=np.random.default_rng(0), attack_rng=np.random.default_rng(1))
    assert outcome.evidence["recovery"] != "certified"


@pytest.mark.parametrize(("k", "least"), [(10, 8.59e-5), (16, 4.32e-8)])
def test_sums_of_the_first_discounts_are_as_far_apart_as_said(k: int, least: float) -> None:
    """All 2^k sums, in whole numbers."""
    sums = np.zeros(1, dtype=np.int64)
    for before, after in itertools.pairwise(discount_sums(k, 0)):
        sums = np.concatenate([sums, sums + ((after - before) >> (SCALE - 56))])
    found = int(np.diff(np.sort(sums)).min())
    assert found > k
    assert found / 2.0**56 == pytest.approx(least, rel=0.002)
