"""Weights with distinct sums and their decoders, against brute force."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelinf_scores.constructions.conway_guy import ConwayGuy, conway_guy_sequence, conway_guy_weights
from labelinf_scores.constructions.weights import Superincreasing, superincreasing
from labelinf_scores.decoders.digits import digits

VECTORS = json.loads((Path(__file__).parents[2] / "theorems" / "vectors.json").read_text())["conway_guy"]


def test_the_sequence_and_the_sets_are_the_published_ones() -> None:
    assert list(conway_guy_sequence(len(VECTORS["u"]) - 1)) == VECTORS["u"]
    for size in "4567":
        assert list(conway_guy_weights(int(size))) == VECTORS["sets"][size]
    # The table lists 1, 2, 4 for three; the definition u_3 - u_i gives another set of the same range.
    assert conway_guy_weights(3) == (2, 3, 4)


@pytest.mark.parametrize("n_rows", range(1, 17))
def test_conway_guy_sums_are_distinct(n_rows: int) -> None:
    sums = np.zeros(1, dtype=np.int64)
    for weight in conway_guy_weights(n_rows):
        sums = np.concatenate([sums, sums + weight])
    assert len(np.unique(sums)) == 2**n_rows
    assert max(conway_guy_weights(n_rows)) == conway_guy_sequence(n_rows)[n_rows]


def test_only_narrow_weights_are_widened() -> None:
    assert ConwayGuy(table_rows=3).n_widened(5) == 2
    assert ConwayGuy(table_rows=3).n_widened(2) == 0
    assert Superincreasing().n_widened(5) == 5


@settings(max_examples=100)
@given(st.integers(2, 10), st.integers(1, 90), st.integers(0, 2**32 - 1), st.integers(0, 4))
def test_digits_come_back_from_numbers_of_any_size(k: int, n_rows: int, seed: int, extra: int) -> None:
    rng = np.random.default_rng(seed)
    weights = superincreasing(n_rows, k, lambda place, least: least + extra)
    labels = rng.integers(0, k, (3, n_rows))
    totals = [sum(int(a) * b for a, b in zip(row, weights, strict=True)) for row in labels]
    assert np.array_equal(digits(weights, totals, k), labels)


def test_a_total_out_of_range_gives_labels_all_the_same() -> None:
    assert digits((1, 2, 4), [-5, 100]).tolist() == [[0, 0, 0], [1, 1, 1]]


@pytest.mark.parametrize("table_rows", [1, 21])
def test_tables_have_a_sensible_size(table_rows: int) -> None:
    with pytest.raises(ValueError, match="table_rows"):
        ConwayGuy(table_rows=table_rows)
