"""The AUC of many classes: scikit-learn's two averages, exactly, and all labels out of them."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_wine
from sklearn.metrics import roc_auc_score

from labelinf_core.contracts.components import LabelSet, Outcome, Setting
from labelinf_core.contracts.guarantees import Promise
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.metrics.readings import Released, Totals
from labelinf_scores.metrics.readings.columns import MacroAuc, PairwiseAuc
from labelinf_scores.metrics.readings.ranks import RocAuc

BUILDER = Builder(Host.load())
KINDS = {"ovr": MacroAuc(), "ovo": PairwiseAuc()}


def play(metric: MacroAuc, labels: list[int], *defences: str) -> tuple[Outcome, Promise]:
    channel = ScoreChannel(metric=metric)
    names = tuple(map(str, range(max(labels) + 1)))
    data = LabelSet(labels=np.array(labels, dtype=np.intp), class_names=names, title="t", provenance="made")
    attack = BUILDER.build(Kind.ATTACK, "ranked-columns", "test")
    setting = Setting(data=data, attack=attack, defences=BUILDER.pipeline(defences, "test"))
    threat = channel.threat(setting)
    assert attack.unsupported_reason(threat) == ""
    promise = attack.promise(threat)
    assert promise is not None
    return channel.play(setting, curator_rng=np.random.default_rng(0), attack_rng=np.random.default_rng(1)), promise


@pytest.mark.long
@pytest.mark.parametrize("against", ["ovr", "ovo"])
def test_exact_scores_are_scikit_learns(against: str) -> None:
    """For many labellings, ties in every column among them; the interval of a sum holds them where there is one."""
    rng, metric = np.random.default_rng(0), KINDS[against]
    for n in (6, 9, 60):
        for _ in range(12):
            labels = np.concatenate([np.arange(3), rng.integers(0, 3, n - 3)])
            predictions = 1 / 3 + 2.0**-30 * rng.integers(0, 4, (n, 3))
            totals = Totals(counts=tuple(np.bincount(labels).tolist()))
            seen = metric.score(labels, predictions)
            assert seen == roc_auc_score(labels, predictions, multi_class=against)
            assert abs(metric.worth(labels, predictions, totals) - Fraction(seen)) <= metric.error(totals)
            assert metric.fits(labels, predictions, Fraction(seen), totals, Released())
            if against == "ovr":
                told = metric.reading(predictions, Fraction(seen), totals, Released())
                assert told.holds(labels)
                same = [rng.permutation(labels) for _ in range(20)]
                for other in same:
                    exact = metric.worth(other, predictions, totals) == metric.worth(labels, predictions, totals)
                    assert told.holds(other) == exact


def test_two_classes_are_the_auc_and_pairs_are_no_sum() -> None:
    assert all(metric.of_classes(2) == RocAuc() for metric in KINDS.values())
    totals = Totals(counts=(2, 2, 2))
    with pytest.raises(ValueError, match="no function of a sum"):
        PairwiseAuc().reading(np.full((6, 3), 1 / 3), Fraction(1, 2), totals, Released())
    assert "sum to one" in MacroAuc().fault(np.full((6, 3), 0.5), 6)
    assert "classes" in MacroAuc().fault(np.full(6, 0.5), 6)


@pytest.mark.parametrize("against", ["ovr", "ovo"])
def test_a_record_on_top_of_a_column_tells_its_class_as_far_as_said(against: str) -> None:
    metric, counts = KINDS[against], (2, 3, 4)
    labels = np.repeat(np.arange(3), counts)
    totals = Totals(counts=counts)
    for k in range(3):
        seen = {}
        for place, label in enumerate(labels):
            predictions = np.full((9, 3), 1 / 3)
            predictions[place, k] += 2.0**-30
            seen[label] = metric.score(labels, predictions)
        apart = min(seen[k] - seen[b] for b in range(3) if b != k)
        assert apart == pytest.approx(float(metric.alone(k, totals)), abs=1e-12)
        assert (
            k in sorted(range(3), key=lambda c: metric.alone(c, totals))[:1]
            or apart >= 2 * metric.floor(totals) - 1e-12
        )


@pytest.mark.long
@given(st.lists(st.integers(0, 2), min_size=3, max_size=16), st.sampled_from(["ovr", "ovo"]), st.booleans())
@settings(max_examples=25)
def test_small_boards_of_many_classes_are_read(labels: list[int], against: str, rounded: bool) -> None:
    if len(set(labels)) < 3:
        return
    outcome, promise = play(KINDS[against], labels, *(("round(decimals=3)",) if rounded else ()))
    assert "contradiction" not in outcome.evidence
    assert outcome.n_correct >= outcome.evidence["labels decided"]
    if promise.certified:
        assert outcome.n_correct == len(labels)


@pytest.mark.long
@pytest.mark.parametrize(
    ("against", "decimals", "mark"),
    [("ovr", None, 26), ("ovo", None, 26), pytest.param("ovr", 4, 60, marks=pytest.mark.slow)],
)
def test_the_classes_of_wine_come_out(against: str, decimals: int | None, mark: int) -> None:
    labels = [int(label) for label in load_wine().target]
    defences = () if decimals is None else (f"round(decimals={decimals})",)
    outcome, promise = play(KINDS[against], labels, *defences)
    assert promise.certified
    assert outcome.n_correct == 178
    assert outcome.queries <= mark


@pytest.mark.long
def test_four_classes_and_a_rare_one_come_out() -> None:
    labels = [0] * 20 + [1] * 9 + [2] * 2 + [3]
    for metric in KINDS.values():
        outcome, promise = play(metric, labels)
        assert promise.certified
        assert outcome.n_correct == len(labels)


def test_every_pair_of_orders_of_few_records_is_scored_exactly() -> None:
    """Brute force: the table of a block is scikit-learn's score of every labelling with the same totals."""
    from labelinf_scores.attacks.ranked_columns import _worths

    counts, places = (2, 2, 3), np.array([[0, 2, 1], [1, 0, 2], [2, 1, 0]])

    class Named:
        totals = Totals(counts=counts)

    board = Named()
    for metric, (a, b, c) in itertools.product(KINDS.values(), itertools.product(range(3), repeat=3)):
        left = np.array(counts) - np.bincount([a, b, c], minlength=3)
        if left.min() < 0:
            continue
        labels = np.concatenate([[a, b, c], np.repeat(np.arange(3), left)])
        predictions = np.full((7, 3), 1 / 3)
        predictions[:3] += (places + 1) * 2.0**-30
        worths, unit = _worths(board, metric, places, np.array([[a, b, c]], dtype=np.int8))  # type: ignore[arg-type]
        assert Fraction(int(worths[0]), unit) == metric.worth(labels, predictions, board.totals)
        assert metric.score(labels, predictions) == pytest.approx(int(worths[0]) / unit, abs=1e-12)
