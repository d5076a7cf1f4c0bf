"""Our accounting beside an independent accountant: diffprivlib's, which adds epsilons up and composes with slack."""

from __future__ import annotations

import math

import pytest
from diffprivlib import BudgetAccountant

from labelinf_privacy.composition import PureProduct
from labelinf_privacy.laplace_product import LaplaceProduct
from labelinf_privacy.noise.grid_laplace import GridLaplace
from labelinf_scores.game.effects import Added, Budgeted, Clipped
from labelinf_scores.game.facts import ScoreFacts
from labelinf_scores.metrics.log_loss import LogLoss


def accountant(epsilon: float, queries: int, slack: float = 0.0) -> tuple[float, float]:
    budget = BudgetAccountant(slack=slack)
    for _ in range(queries):
        budget.spend(epsilon, 0)
    total, delta = budget.total()
    return float(total), float(delta)


@pytest.mark.parametrize("queries", [1, 7, 100])
def test_a_budget_is_paid_exactly_where_the_accountant_says_that_it_is(queries: int) -> None:
    """Pure epsilons add up, in both; a hair less is refused."""
    noise = Added(model=GridLaplace(scale=2.0))
    start = ScoreFacts(n_records=50, n_classes=2, loss=LogLoss())
    price = noise.after(Clipped(epsilon=0.01).after(start)).answer_price
    total, _ = accountant(price, queries)
    facts = noise.after(Clipped(epsilon=0.01).after(start))
    assert math.isfinite(Budgeted(queries=queries, shared=True, epsilon=total).after(facts).label_epsilon)
    assert math.isinf(Budgeted(queries=queries, shared=True, epsilon=total * (1 - 1e-9)).after(facts).label_epsilon)


@pytest.mark.parametrize(("epsilon", "queries"), [(0.01, 400), (0.1, 50), (0.5, 10)])
@pytest.mark.parametrize("slack", [1e-3, 1e-6])
def test_exact_products_never_need_more_than_the_accountant_grants(epsilon: float, queries: int, slack: float) -> None:
    """Its bound for adaptive composition holds for any pure DP; ours is the truth, of Laplace pairs or of any."""
    total, delta = accountant(epsilon, queries, slack)
    assert delta == pytest.approx(slack)
    for profile in (LaplaceProduct(epsilon=epsilon, queries=queries), PureProduct(epsilon=epsilon, queries=queries)):
        assert profile.delta(total) <= delta
    # And it is no coincidence: at half of that epsilon much more than the slack is left where composition matters.
    assert PureProduct(epsilon=epsilon, queries=queries).delta(total / 4) > delta
