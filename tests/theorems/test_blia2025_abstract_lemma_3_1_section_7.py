"""E14: "consistently exceeding 50 %" and "conclusively" (Khan et al., BLIA, 2025, abstract, Lemma 3.1, section 7)."""

from __future__ import annotations

from labelinf_core.statistics.proportions import p_value
from labelinf_papers.published.blia import entries


def test_seven_of_84_do_not_exceed_one_half() -> None:
    below = [item for item in entries() if item.rate < 0.5]
    equal = [item for item in entries() if item.rate == 0.5]

    assert len(below) == 6
    assert [(item.row.benchmark, item.attack, item.row.epsilon) for item in equal] == [("Big-Vul", "threshold", 2.0)]


def test_47_of_84_are_not_significant() -> None:
    assert sum(item.p_chance > 0.01 for item in entries()) == 47


def test_census_at_50_38_per_cent_is_what_a_coin_does() -> None:
    assert round(p_value(262, 520, 0.5), 2) == 0.45


def test_a_success_above_one_half_shows_nothing_by_itself() -> None:
    """Lemma 3.1 as printed: SR > .5 implies memorisation. A coin memorises nothing and exceeds .5 half of the time."""
    assert p_value(261, 520, 0.5) > 0.48
    assert p_value(1, 1, 0.5) == 0.5


def test_tables_2_and_8_disagree_on_big_vul() -> None:
    rate = next(i.rate for i in entries() if (i.row.benchmark, i.attack) == ("Big-Vul", "delta-margin"))

    assert rate == 0.5209  # Table 8; Table 2 prints 52.08
