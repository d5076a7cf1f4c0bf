"""G1: the bias attack (Wang et al., ICLR 2024, Section 2, after Aono et al., 2017), and the label it gives."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from labelinf_gradients.closed_forms import from_last_bias
from labelinf_gradients.game.networks import Layer, softmax


def test_the_worked_quotient() -> None:
    g = [Fraction(-9, 10), Fraction(4, 10), Fraction(5, 10)]
    rows = [2 * entry for entry in g]  # x = 2

    assert sum(a * b for a, b in zip(rows, g, strict=True)) / sum(b * b for b in g) == 2
    floats = np.array([rows], dtype=float)[:, :, None], np.array([g], dtype=float)
    assert from_last_bias(*floats, Layer(weights=np.zeros((3, 1))))[1] == pytest.approx(np.array([[2.0]]))


@pytest.mark.parametrize("label", [(0.2, 0.3, 0.5), (1.0, 0.0, 0.0), (0.0, 0.01, 0.99)])
def test_any_label_follows(label: tuple[float, ...]) -> None:
    layer = Layer(weights=np.array([[1.0, -2.0], [0.5, 0.0], [0.0, 1.0]]), bias=np.array([0.1, 0.0, -0.3]))
    x = np.array([[0.7, -1.3]])
    g = softmax(layer(x)) - np.array([label])

    found, feature, _ = from_last_bias(g[:, :, None] * x[:, None, :], g, layer)

    assert found[0] == pytest.approx(label, abs=1e-12)
    assert feature == pytest.approx(x, abs=1e-12)


def test_one_entry_is_enough_without_noise_but_all_rows_are_better_with_it() -> None:
    rng = np.random.default_rng(0)
    x, g = rng.normal(size=(400, 30)), rng.normal(size=(400, 10))
    rows = g[:, :, None] * x[:, None, :] + rng.normal(0, 0.01, (400, 10, 30))
    at, top = np.arange(400), np.abs(g).argmax(axis=1)

    single = rows[at, top] / g[at, top][:, None]
    all_rows = from_last_bias(rows, g, Layer(weights=np.zeros((10, 30))))[1]

    assert np.sqrt(((all_rows - x) ** 2).mean()) < 0.75 * np.sqrt(((single - x) ** 2).mean())
