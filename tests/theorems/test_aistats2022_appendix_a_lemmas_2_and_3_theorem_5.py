"""S46, AISTATS 2022, appendix A: separability as a formula. Lemma 3 holds, the hardness proof does not; a repair."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from labelinf_papers.hardness import (
    Formula,
    falsifying_assignments,
    is_almost_tautology_of_3cnf,
    is_separable,
    is_tautology,
    loss_of_cnf,
    loss_of_dnf,
)


def random_formula(rng: np.random.Generator, n_variables: int, n_clauses: int, trivial: float = 0.0) -> Formula:
    clauses = []
    for _ in range(n_clauses):
        literals = [
            int(x) * int(s) for x, s in zip(rng.integers(1, n_variables + 1, 3), rng.choice([-1, 1], 3), strict=True)
        ]
        if rng.random() < trivial:
            literals[1] = -literals[0]
        clauses.append(tuple(literals))
    return tuple(clauses)


def clauses_of_three() -> list[tuple[int, ...]]:
    literals = (1, -1, 2, -2, 3, -3)
    return list(itertools.combinations_with_replacement(literals, 3))


def test_lemma_3_the_printed_loss_is_separable_iff_the_formula_is_an_almost_tautology() -> None:
    """All pairs of clauses over three variables (a third is the second repeated), every tenth."""
    pairs = list(itertools.combinations_with_replacement(clauses_of_three(), 2))[::10]
    outcomes = set()
    for formula in pairs:
        expected = falsifying_assignments(formula, 3) <= 1
        assert is_separable(loss_of_cnf(formula, 3), 3) == expected
        outcomes.add(expected)
    assert outcomes == {True, False}


def test_lemma_3_holds_for_every_exponent() -> None:
    rng = np.random.default_rng(0)
    for _ in range(60):
        formula = random_formula(rng, 4, 4, trivial=0.7)
        theta = rng.integers(1, 5, 4).tolist()
        assert is_separable(loss_of_cnf(formula, 4, theta), 4) == (falsifying_assignments(formula, 4) <= 1)


@pytest.mark.parametrize("n_variables", [4, 5, 6])
def test_the_source_problem_is_easy(n_variables: int) -> None:
    """Erratum A-21: a clause that can be false is false for 2**(N - 3) assignments or more."""
    rng = np.random.default_rng(n_variables)
    outcomes = {True: 0, False: 0}
    for _ in range(150):
        formula = random_formula(rng, n_variables, int(rng.integers(1, 4)), trivial=0.8)
        easy = is_almost_tautology_of_3cnf(formula, n_variables)
        assert easy == (falsifying_assignments(formula, n_variables) <= 1)
        outcomes[easy] += 1
    assert min(outcomes.values()) > 10


def test_a_dummy_variable_does_not_save_the_printed_reduction() -> None:
    clause = ((1, 2, 3),)
    assert falsifying_assignments(clause, 3) == 1
    assert falsifying_assignments(clause, 4) == 2


def test_the_repaired_loss_is_separable_iff_the_disjunction_is_a_tautology() -> None:
    rng = np.random.default_rng(0)
    outcomes = {True: 0, False: 0}
    for _ in range(150):
        n = int(rng.integers(1, 4))
        terms = tuple(tuple(sorted(set(term[:n]))) for term in random_formula(rng, n, int(rng.integers(1, 9))))
        expected = is_tautology(terms, n)
        assert is_separable(loss_of_dnf(terms, n), n + 1) == expected
        outcomes[expected] += 1
    assert min(outcomes.values()) > 10


def test_without_the_dummy_variable_a_formula_with_one_false_assignment_would_pass() -> None:
    """Why it is there: x1 is false once, and two distinct values 0 and 2 * 3 look separable."""
    loss = loss_of_dnf(((1,),), 1)
    assert len({loss((0, 0)), loss((1, 0))}) == 2
    assert not is_separable(loss, 2)
