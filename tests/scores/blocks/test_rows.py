"""Rows of predictions, and what a curator whose logarithm is not known to the last bit can charge for them."""

from __future__ import annotations

import math

import attrs
import gmpy2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import xlogy

from labelinf_core.contracts.components import LabelSet, Setting
from labelinf_scores.arithmetic.formats import SIGNIFICANT_BITS
from labelinf_scores.certificates.row_costs import LOG_ERROR, costed_row, possible_costs
from labelinf_scores.certificates.summation import FRACTION_BITS, to_fixed, to_float
from labelinf_scores.constructions.rows import FreeRows, LossRows, ProperRows, rows_for
from labelinf_scores.defences.clip import Clip
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.game.scoring import Query
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.metrics.additive import AdditiveLoss
from labelinf_scores.metrics.itakura_saito import ItakuraSaito
from labelinf_scores.metrics.log_loss import LogLoss
from labelinf_scores.metrics.squared_euclidean import SquaredEuclidean

BITS = {"float64": 53, "float32": 24}


def threat_of(
    arithmetic: str = "float64", n_classes: int = 2, loss: AdditiveLoss | None = None, clip: float | None = None
) -> ScoreThreat:
    if clip is None:
        clip = float(np.finfo(arithmetic).eps) if arithmetic in BITS else 0.0
    return ScoreThreat(
        n_records=100,
        n_classes=n_classes,
        prior=(1 / n_classes,) * n_classes,
        loss=loss or LogLoss(),
        arithmetic=arithmetic,
        summation="numpy",
        scorer_clip=clip,
    )


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@settings(max_examples=80)
@given(exponent=st.floats(0, 36))
def test_the_librarys_logarithm_is_among_the_possible_costs(dtype: str, exponent: float) -> None:
    p = np.exp(-exponent).astype(dtype)
    low, high = possible_costs(float(p), BITS[dtype], LOG_ERROR[dtype])

    assert low <= to_fixed(float(-xlogy(np.ones((), dtype=dtype), p))) <= high
    assert to_float(high - low) <= 2 * np.spacing(np.array(to_float(high), dtype=dtype))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_half_has_one_possible_cost(dtype: str) -> None:
    low, high = possible_costs(0.5, BITS[dtype], LOG_ERROR[dtype])
    assert low == high == to_fixed(float(np.log(np.array(2.0, dtype=dtype))))


def test_certainty_costs_nothing() -> None:
    assert possible_costs(1.0, 53, 0.75) == (0, 0)


@pytest.mark.parametrize("arithmetic", ["float64", "float32"])
@pytest.mark.parametrize("n_classes", [2, 3, 6])
@pytest.mark.parametrize("proper", [True, False])
def test_neutral_rows_leave_the_curator_no_choice(arithmetic: str, n_classes: int, proper: bool) -> None:
    rows = rows_for(threat_of(arithmetic, n_classes), proper=proper)
    cost = rows.neutral.certain_cost
    assert cost is not None
    assert cost == pytest.approx(math.log(n_classes) if proper else 0, abs=2e-5 if arithmetic == "float32" else 1e-12)


@pytest.mark.parametrize("n_classes", [2, 3, 6, 10])
@pytest.mark.parametrize("share", [1e-12, 1e-3, 0.3, 1.0])
def test_proper_rows_cost_multiples_of_the_step_and_sum_to_one(n_classes: int, share: float) -> None:
    rows = rows_for(threat_of(n_classes=n_classes))
    step = to_fixed(share * rows.widest * (1 - 2.0**-40) / (n_classes - 1))
    row = rows.row(step)

    assert isinstance(rows, ProperRows)
    assert to_float(row.spread(step).width) < 1e-13
    assert row.prediction[None].sum(axis=1)[0] == 1
    assert row.prediction.min() >= rows.threat.clip


@pytest.mark.parametrize("n_classes", [2, 4])
def test_free_rows_cost_almost_nothing_for_label_0(n_classes: int) -> None:
    rows = rows_for(threat_of(n_classes=n_classes), proper=False)
    step = to_fixed(3.0)
    row = rows.row(step)

    assert isinstance(rows, FreeRows)
    assert 0 < to_float(row.high[0]) < 1e-12
    assert to_float(row.spread(step).width) < 1e-14


def test_easy_weights_of_free_rows_are_nearly_whole() -> None:
    rows = rows_for(threat_of(), proper=False)
    unit = to_fixed(2.0**-46)
    for place in (30, 35, 40, 44):
        weight = rows.weight(2**place, unit, 0)
        assert 2**place <= weight <= 2**place * (1 + 2.0**-8)
        assert rows.row(weight * unit).spread(weight * unit).width < unit / 100


def test_settled_rows_cost_the_same_for_every_label() -> None:
    rows = rows_for(threat_of(n_classes=3))
    costs = {rows.settled(label).low[label] for label in range(3)}
    assert len(costs) == 1
    assert to_float(costs.pop()) < 1e-15
    with pytest.raises(ValueError, match="log-loss in float64 and float32 only"):
        rows_for(threat_of(loss=SquaredEuclidean())).settled(0)


@pytest.mark.parametrize("loss", [ItakuraSaito(), SquaredEuclidean(), LogLoss()], ids=str)
@pytest.mark.parametrize("arithmetic", ["float64", "fpa:41", "exact", "bfloat16"])
def test_gaps_written_down_are_at_least_what_was_wanted(loss: AdditiveLoss, arithmetic: str) -> None:
    rows = rows_for(threat_of(arithmetic, loss=loss, clip=1e-3))
    if not isinstance(rows, LossRows):
        rows = LossRows(threat=rows.threat)
    unit = to_fixed(2.0**-30)
    wanted = to_fixed(min(0.5, rows.widest / 2))
    gap = rows.at_least(wanted, unit)
    row = rows.row(gap * unit)

    assert wanted - unit <= gap * unit <= row.low[1] - row.high[0]
    assert gap * unit < 1.6 * wanted


FORMATS = ["exact", "fpa:41", "float64", "float32", "float16", "bfloat16"]


@pytest.mark.parametrize("clip", [0.01, 1 / 3])
@pytest.mark.parametrize("arithmetic", FORMATS)
@pytest.mark.parametrize("loss", [LogLoss(), SquaredEuclidean(), ItakuraSaito()], ids=str)
def test_a_row_at_the_very_edge_of_the_clip_costs_what_the_curator_charges(
    loss: AdditiveLoss, arithmetic: str, clip: float
) -> None:
    """Rounding may put it beyond the edge; the curator then moves it back, and so does the ledger."""
    channel = ScoreChannel(loss=loss, scorer=arithmetic)
    data = LabelSet(labels=np.array([0, 1]), class_names=("a", "b"), title="x", provenance="made")
    threat = channel.threat(Setting(data=data, defences=(Clip(epsilon=clip),)))
    rows = LossRows(threat=threat)
    step = to_fixed(rows.widest)
    row = rows.row(step)

    assert abs(row.low[1] - row.high[0] - step) < step / 32
    for label in (0, 1):
        curator = channel.curator(np.array([label, label]), threat, np.random.default_rng(0))
        score = curator.answer(Query(predictions=np.stack([row.prediction] * 2), precision=256))
        charged = float(score)
        places = SIGNIFICANT_BITS.get(arithmetic)  # of the mean; fpa:41 has 20 bits behind the point
        tolerance = 2.0 ** (1 - places) * charged if places else 2.0**-19
        assert to_float(row.low[label]) - tolerance <= charged <= to_float(row.high[label]) + tolerance


def test_a_gap_beyond_the_clip_does_not_exist() -> None:
    rows = LossRows(threat=threat_of(clip=0.01))
    with pytest.raises(ValueError, match="no row has a gap of 5"):
        rows.at_least(to_fixed(5.0), to_fixed(2.0**-30))


@pytest.mark.parametrize("arithmetic", ["float16", "bfloat16"])
@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_rows_for_formats_of_few_bits_sum_to_one_before_they_are_rounded(arithmetic: str, n_classes: int) -> None:
    """A curator that rejects rows, or divides them by their sums, changes nothing."""
    rows = rows_for(threat_of(arithmetic, n_classes))
    for step in (0.0, 0.3, rows.widest / (n_classes - 1)):
        prediction = rows.row(to_fixed(step)).prediction
        assert prediction.dtype == np.float64
        assert prediction.sum() == pytest.approx(1, abs=1e-15)


@pytest.mark.parametrize(("arithmetic", "widest"), [("float16", 14 * math.log(2)), ("bfloat16", 126 * math.log(2))])
def test_the_widest_row_is_the_least_normal_number(arithmetic: str, widest: float) -> None:
    rows = rows_for(threat_of(arithmetic))
    assert rows.widest == pytest.approx(widest, rel=1e-4)
    assert to_float(rows.row(to_fixed(rows.widest)).low[1]) == pytest.approx(widest, rel=2.0**-8)


def test_gaps_of_unbounded_losses_leave_room_for_the_sum() -> None:
    rows = rows_for(threat_of("float16", loss=ItakuraSaito()))
    assert rows.widest * 4 * rows.threat.n_records <= 2.0**15


def test_a_question_splits_the_classes_in_two() -> None:
    rows = rows_for(threat_of(n_classes=4))
    levels = (0, 1, 1, 0)
    row = rows.question(to_fixed(2.0), levels)

    assert to_float(row.spread(to_fixed(2.0)).width) < 1e-14
    assert row.prediction[0] == pytest.approx(row.prediction[3])
    assert row.prediction[1] == pytest.approx(row.prediction[0] * math.exp(-2))


def test_reversing_a_question_swaps_the_labels_exactly() -> None:
    rows = rows_for(threat_of())
    step = to_fixed(30.0)
    one, other = rows.question(step, (0, 1)), rows.question(step, (1, 0))
    assert one.prediction.tolist() == other.prediction[::-1].tolist()
    assert one.spread(step) == other.spread(step)


def test_costs_of_wide_formats_are_enclosed_not_rounded() -> None:
    threat = attrs.evolve(threat_of("exact"), summation="exact")
    row = costed_row(threat, np.array([gmpy2.mpq(2, 3), gmpy2.mpq(1, 3)], dtype=object))
    with gmpy2.context(precision=400):
        true = gmpy2.log(gmpy2.mpfr(3)) * 2**FRACTION_BITS
        assert abs(true - row.low[1]) < 2 ** (FRACTION_BITS - 250)
