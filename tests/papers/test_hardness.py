"""Formulas as losses: small cases by hand, and what is not a formula of the right kind."""

from __future__ import annotations

import pytest

from labelinf_papers.hardness import (
    falsifying_assignments,
    is_almost_tautology_of_3cnf,
    is_separable,
    is_tautology,
    loss_of_cnf,
    loss_of_dnf,
    true_literals,
)


def test_the_papers_own_example() -> None:
    """(not x1 or x2 or x3) and (x1 or x2 or not x3), theta = (1, 1, 1), equation 6."""
    loss = loss_of_cnf(((-1, 2, 3), (1, 2, -3)), 3)
    assert loss((0, 0, 0)) == 1
    assert loss((1, 1, 0)) == 5 * 7 * (1 - 1 + 1 + 0) * (1 + 1 + 1 - 0) ** 2
    assert loss((0, 1, 1)) == 7 * 11 * (1 + 1 + 1) * (1 + 0 + 1 - 1) ** 2


def test_exponents_repeat_clauses() -> None:
    assert loss_of_cnf(((1,), (1, 2)), 2, (3, 2))((1, 1)) == 5 * 7 * 1**3 * 2**2


def test_literals_count_with_their_sign() -> None:
    assert true_literals((1, -2, 3), (1, 0, 0)) == 2


def test_a_disjunction_and_its_loss() -> None:
    excluded_middle = ((1,), (-1,))
    assert is_tautology(excluded_middle, 1)
    assert is_separable(loss_of_dnf(excluded_middle, 1), 2)
    assert not is_tautology(((1,),), 1)
    assert not is_separable(loss_of_dnf(((1,),), 1), 2)


def test_falsifying_assignments_are_counted() -> None:
    assert falsifying_assignments(((1, 2, 3),), 3) == 1
    assert falsifying_assignments(((1,), (2,)), 2) == 3


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: loss_of_cnf((), 3), "formula has 0 clauses, expected 1 to n_variables=3"),
        (lambda: loss_of_cnf(((1,),) * 4, 3), "formula has 4 clauses"),
        (lambda: loss_of_cnf(((1,),), 2, (0, 1)), r"exponents=\(0, 1\) must be 2 positive integers"),
        (lambda: is_almost_tautology_of_3cnf(((1, 2, 3),), 3), "n_variables=3 must be >= 4"),
        (lambda: is_almost_tautology_of_3cnf(((1, 2, 3, 4),), 4), "more than 3 literals"),
    ],
)
def test_what_does_not_fit_says_so(call, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
