"""E5 (remark): the constants of the search (Wang et al., ICLR 2024, Appendix E; the published code)."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from labelinf_gradients.game.networks import softmax
from labelinf_papers.attacks.variance_search import VarianceSearch
from labelinf_papers.search.algorithm import search
from labelinf_papers.search.loss import label_loss
from labelinf_papers.search.secant import Secant


def test_recovery_runs_with_what_the_published_code_uses() -> None:
    defaults = inspect.signature(search).parameters

    assert (defaults["population"].default, defaults["iterations"].default) == (500, 40)
    assert (VarianceSearch().population, VarianceSearch().iterations) == (500, 40)
    assert Secant(at=1.0).rate == 0.5


@pytest.mark.parametrize(("population", "iterations"), [(500, 40), (200, 30)])
def test_both_settings_solve_an_untrained_sample(population: int, iterations: int) -> None:
    rng = np.random.default_rng(0)
    weights, x = rng.normal(size=(10, 30)) / 6, rng.random(30)
    label = 0.8 * np.eye(10)[3] + 0.02
    gradient = np.outer(softmax(weights @ x) - label, x)
    loss = label_loss(gradient, weights, coefficient=4.0, excluded=1)

    found = search(loss, rng, population=population, iterations=iterations, gradient=False)

    assert found.by == "swarm"
    assert np.abs(loss.labels(np.array([found.scalar]))[0] - label).sum() < 1e-3
