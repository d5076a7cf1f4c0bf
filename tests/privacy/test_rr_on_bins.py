"""RRonBins: the best intervals by brute force, no better mechanism by linear programming, and its law by simulation."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import optimize

from labelinf_privacy.rr_on_bins import RrOnBins


def drawn(seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return np.sort(rng.normal(size=n)) * 5, rng.dirichlet(np.ones(n))


def loss_of(y: np.ndarray, p: np.ndarray, epsilon: float, cuts: tuple[int, ...]) -> float:
    """Expected squared error of one cut, each interval releasing what is best for it."""
    total, stops = 0.0, [*cuts[1:], y.size]
    for start, stop in zip(cuts, stops, strict=True):
        weights = p * np.where((np.arange(y.size) >= start) & (np.arange(y.size) < stop), math.exp(epsilon), 1)
        total += float((weights * (y - weights @ y / weights.sum()) ** 2).sum())
    return total / (math.exp(epsilon) + len(cuts) - 1)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_no_other_cut_is_better(seed: int, epsilon: float) -> None:
    y, p = drawn(seed, 7)
    cuts = [(0, *rest) for k in range(7) for rest in itertools.combinations(range(1, 7), k)]

    found = RrOnBins.of(y.tolist(), p.tolist(), epsilon)

    assert found.loss == pytest.approx(min(loss_of(y, p, epsilon, cut) for cut in cuts))
    assert found.loss == pytest.approx(loss_of(y, p, epsilon, found.starts))


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_no_mechanism_on_one_label_is_better(epsilon: float) -> None:
    """A linear programme over all mechanisms that answer with one of 60 values; their grid costs a little."""
    y, p = drawn(5, 4)
    answers = np.linspace(y[0], y[-1], 60)
    gain = (p[:, None] * (y[:, None] - answers) ** 2).ravel()
    rows = []
    for one, other in itertools.permutations(range(4), 2):
        block = np.zeros((60, 4, 60))
        block[np.arange(60), one, np.arange(60)] = 1
        block[np.arange(60), other, np.arange(60)] = -math.exp(epsilon)
        rows.append(block.reshape(60, -1))
    sums = np.kron(np.eye(4), np.ones(60))
    least = optimize.linprog(gain, np.vstack(rows), np.zeros(12 * 60), sums, np.ones(4))

    loss = RrOnBins.of(y.tolist(), p.tolist(), epsilon).loss
    assert least.success
    assert loss <= float(least.fun or 0) + 1e-9
    assert loss == pytest.approx(least.fun, rel=0.01)


def test_what_is_released_has_the_stated_law_and_loss() -> None:
    """60 000 labels: 5 standard deviations."""
    y, p = drawn(2, 12)
    found, rng = RrOnBins.of(y.tolist(), p.tolist(), 2.0), np.random.default_rng(0)
    labels = rng.choice(y, 60_000, p=p)
    said = found.perturb(labels, rng)
    own = np.searchsorted(found.starts, np.searchsorted(y, labels), side="right") - 1
    keep = math.exp(2) / (math.exp(2) + len(found.starts) - 1)

    errors = (said - labels) ** 2
    assert abs(errors.mean() - found.loss) < 5 * errors.std() / 60_000**0.5
    kept = (said == np.array(found.released)[own]).mean()
    assert abs(kept - keep) < 5 * math.sqrt(keep * (1 - keep) / 60_000)


def test_no_budget_releases_the_mean() -> None:
    found = RrOnBins.of([0.0, 1.0, 5.0], [0.5, 0.25, 0.25], 0.0)

    assert found.released == (1.5,) or np.allclose(found.released, 1.5)
    assert np.allclose(found.perturb(np.array([0.0, 5.0]), np.random.default_rng(0)), 1.5)
