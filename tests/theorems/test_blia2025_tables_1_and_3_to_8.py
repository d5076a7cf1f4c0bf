"""T12: the published tables, computed again from the printed figures (Khan et al., BLIA, 2025, Tables 1 and 3 to 8)."""

from __future__ import annotations

import math

import pytest

from labelinf_core.statistics.proportions import p_value
from labelinf_papers.published.blia import entries, keeps, loss_identity, rows, threshold_fit, train_fit

FOUND = entries()
LIMITED = [item for item in FOUND if math.isfinite(item.row.epsilon)]
ABOVE = [
    ("IMDB", "threshold", 2.0, 1.8e-3),
    ("IMDB", "threshold", 1.0, 3e-9),
    ("IMDB", "threshold", 0.8, 7e-12),
    ("IMDB", "threshold", 0.5, 1e-18),
    ("IMDB", "threshold", 0.3, 2e-17),
    ("IMDB", "delta-margin", 2.0, 1e-10),
    ("IMDB", "delta-margin", 1.0, 1e-26),
    ("IMDB", "delta-margin", 0.8, 2e-32),
    ("IMDB", "delta-margin", 0.5, 6e-53),
    ("IMDB", "delta-margin", 0.3, 6e-55),
    ("FashionMNIST", "delta-margin", 1.0, 3e-6),
    ("FashionMNIST", "delta-margin", 0.5, 7e-98),
    ("FashionMNIST", "delta-margin", 0.3, 3e-78),
    ("CIFAR-10", "delta-margin", 1.0, 3e-14),
    ("CIFAR-100", "delta-margin", 0.3, 1e-34),
]


def test_every_rate_is_a_whole_number_of_canaries() -> None:
    assert len(FOUND) == 84
    assert max(abs(item.correct / item.row.canaries - item.rate) for item in FOUND) <= 5e-5


def test_37_of_84_are_significant_at_one_per_cent_and_33_after_holm() -> None:
    assert sum(item.p_chance <= 0.01 for item in FOUND) == 37
    assert sum(item.p_chance_holm <= 0.01 for item in FOUND) == 33


def test_15_of_72_exceed_the_ceiling_and_14_after_correction() -> None:
    assert len(LIMITED) == 72
    assert sum(item.p_ceiling <= 0.01 for item in LIMITED) == 15
    assert sum(item.p_ceiling_holm <= 0.01 for item in LIMITED) == 14
    assert sum(72 * item.p_ceiling <= 0.01 for item in LIMITED) == 14  # Bonferroni


def test_the_entries_above_the_ceiling_are_these() -> None:
    found = {(i.row.benchmark, i.attack, i.row.epsilon): i.p_ceiling for i in LIMITED if i.p_ceiling <= 0.01}

    assert found.keys() == {case[:3] for case in ABOVE}
    for benchmark, attack, epsilon, p in ABOVE:
        assert found[benchmark, attack, epsilon] == pytest.approx(p, rel=0.5)


def test_the_one_that_correction_saves_is_imdb_threshold_at_two() -> None:
    saved = [item for item in LIMITED if item.p_ceiling <= 0.01 < item.p_ceiling_holm]

    assert [(item.row.benchmark, item.attack, item.row.epsilon) for item in saved] == [("IMDB", "threshold", 2.0)]


def test_imdb_delta_margin_is_right_on_half_of_the_threshold_errors() -> None:
    found = loss_identity("IMDB")
    percent = [(round(100 * a, 1), round(100 * b, 1)) for a, b in zip(found.published, found.predicted, strict=True)]

    assert percent == [(98.8, 99.0), (96.8, 97.5), (96.2, 96.1), (92.0, 92.1), (91.0, 91.2), (92.0, 90.2), (89.2, 87.8)]
    assert round(found.chi_square, 1) == 7.4
    assert round(found.p_value, 2) == 0.39


def test_imdb_thresholds_fit_resampling_and_not_randomised_response() -> None:
    resampling, correct = threshold_fit("IMDB", resampling=True), threshold_fit("IMDB", resampling=False)

    assert (round(resampling.chi_square, 1), round(resampling.p_value, 2)) == (9.9, 0.13)
    assert correct.p_value == pytest.approx(3e-49, rel=0.1)


@pytest.mark.parametrize(
    ("benchmark", "resampling", "correct"),
    [("CIFAR-10", 0.9, 12.6), ("Big-Vul", 0.6, 13.4), ("Census", 9.7, 0.6), ("CIFAR-100", 4.2, 15.3)],
)
def test_train_accuracies_fit_one_mechanism_or_the_other(benchmark: str, resampling: float, correct: float) -> None:
    assert round(100 * train_fit(benchmark, resampling=True).rms, 1) == resampling
    assert round(100 * train_fit(benchmark, resampling=False).rms, 1) == correct


@pytest.mark.parametrize(("benchmark", "rms"), [("FashionMNIST", 10), ("IMDB", 14)])
def test_some_train_accuracies_fit_neither(benchmark: str, rms: float) -> None:
    assert round(100 * train_fit(benchmark, resampling=True).rms) == rms
    assert 100 * train_fit(benchmark, resampling=False).rms > rms


def test_even_resampling_does_not_explain_delta_margin() -> None:
    beyond = {
        (item.row.benchmark, item.row.epsilon)
        for item in LIMITED
        if p_value(item.correct, item.row.canaries, keeps(item.row.epsilon, resampling=True)) <= 0.01
    }

    assert beyond == {("IMDB", e) for e in (1.0, 0.8, 0.5, 0.3)} | {("FashionMNIST", e) for e in (0.5, 0.3)}


def test_the_tables_are_whole() -> None:
    table = rows()

    assert len(table) == 42
    assert {row.epsilon for row in table} == {math.inf, 4, 2, 1, 0.8, 0.5, 0.3}
    assert {row.benchmark: row.canaries for row in table} == {
        "Census": 520,
        "IMDB": 500,
        "FashionMNIST": 1200,
        "CIFAR-10": 1000,
        "CIFAR-100": 1000,
        "Big-Vul": 3018,
    }
