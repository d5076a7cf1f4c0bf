"""T11: what Delta-Margin and a loss oracle do without any memorisation (Khan et al., BLIA, 2025, Algorithm 5.2)."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, stats

from labelinf_outputs.attacks.delta_margin import CERTAIN_RATIO, scores
from labelinf_outputs.attacks.loss_inversion import fit_of_losses


def critical_probability(ratio: float) -> float:
    """Return the ``p_1`` above which a label 1 is guessed correctly: ``2 p - 1 = -ratio ln p``."""
    return float(optimize.brentq(lambda p: 2 * p - 1 + ratio * np.log(p), 0.5, 1.0))


def test_the_ratio_from_which_every_zero_is_guessed() -> None:
    best = optimize.minimize_scalar(
        lambda p: -(2 * p - 1) / -np.log1p(-p), bounds=(0.6, 0.95), method="bounded", options={"xatol": 1e-12}
    )

    assert pytest.approx(-best.fun, abs=1e-12) == CERTAIN_RATIO
    assert round(CERTAIN_RATIO, 7) == 0.3733646
    assert round(best.x, 4) == 0.8133


@pytest.mark.parametrize(("ratio", "printed"), [(0.374, 0.5966), (0.5, 0.6197), (1.0, 0.6874), (2.0, 0.7662)])
def test_the_success_of_delta_margin_follows_from_its_losses_alone(ratio: float, printed: float) -> None:
    p = np.linspace(1e-6, 1 - 1e-6, 100_001)
    pairs = np.column_stack([1 - p, p])

    on_zeros = scores(pairs, -np.log(1 - p), 1.0, ratio) > 0
    on_ones = scores(pairs, -np.log(p), 1.0, ratio) > 0

    assert not on_zeros.any()  # always right, whatever the model says
    critical = critical_probability(ratio)
    assert round(critical, 4) == printed
    assert np.array_equal(on_ones[np.abs(p - critical) > 1e-5], (p > critical)[np.abs(p - critical) > 1e-5])


def test_delta_margin_guesses_three_quarters_of_labels_that_nobody_saw() -> None:
    """A balanced, confident model and fresh random labels; 20 000 of them lie within .015 (5 standard deviations)."""
    rng = np.random.default_rng(0)
    p = np.where(rng.random(20_000) < 0.5, 0.97, 0.03)
    labels = rng.integers(0, 2, p.size)
    losses = -np.log(np.where(labels == 1, p, 1 - p))

    guesses = scores(np.column_stack([1 - p, p]), losses, 1.0, 1.0) > 0

    assert abs((guesses == labels).mean() - 0.75) < 0.016
    assert 5 * stats.binom.std(p.size, 0.75) / p.size < 0.016


def test_a_loss_oracle_is_the_label() -> None:
    rng = np.random.default_rng(1)
    logs = np.log(rng.dirichlet(np.ones(5), 1000))
    labels = rng.integers(0, 5, 1000)

    assert np.array_equal(fit_of_losses(logs, -logs[np.arange(1000), labels]).argmax(axis=1), labels)
