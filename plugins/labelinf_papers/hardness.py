"""How hard it is to decide whether a loss tells all labellings apart: formulas turned into losses.

AISTATS 2022, appendix A, turns a 3-CNF formula into a loss that is separable exactly when the formula is an *almost
tautology* (at most one assignment falsifies it), and concludes that separability is co-NP-hard. The equivalence is
true (Lemma 3); the conclusion does not follow, because the 3-CNF problem is easy (A-21): a clause that does not hold
always is falsified by at least ``2**(N - 3)`` assignments, so that for N >= 4 an almost tautology has to contain some
variable and its negation in every clause, which takes linear time to see.

The repair starts from 3-DNF tautology, which is co-NP-complete. With t terms, T the number of them that an assignment
satisfies, one more variable that no term mentions, and distinct primes p_i > t, the loss

    f(sigma) = T(sigma) * prod_i p_i**sigma_i

is separable exactly when the formula is a tautology: on satisfying assignments the p_i-adic valuations give sigma
back, since T <= t < p_i is not divisible by any; falsifying assignments all have the value 0, and there are at least
two of them or none, as the added variable is free. (The additive losses of real curators are never hard.)

Formulas are tuples of tuples of integers as in DIMACS files: 3 is the third variable, -3 its negation.

Example:
    >>> formula = ((1, 2), (-1, 3), (-2, -3))
    >>> is_tautology(formula, 3), is_separable(loss_of_dnf(formula, 3), 4)
    (False, False)
    >>> is_tautology(((1,), (-1,)), 1), is_separable(loss_of_dnf(((1,), (-1,)), 1), 2)
    (True, True)
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence

from labelinf_scores.constructions.primes import first_primes

__all__ = [
    "Formula",
    "assignments",
    "falsifying_assignments",
    "is_almost_tautology_of_3cnf",
    "is_separable",
    "is_tautology",
    "loss_of_cnf",
    "loss_of_dnf",
    "true_literals",
]

Formula = tuple[tuple[int, ...], ...]  #: clauses or terms, each of literals
SetLoss = Callable[[Sequence[int]], int]  #: the value of every labelling


def assignments(n_variables: int) -> Iterator[tuple[int, ...]]:
    """Yield all ``2**n`` assignments, as tuples of 0 and 1."""
    return itertools.product((0, 1), repeat=n_variables)


def true_literals(literals: Sequence[int], assignment: Sequence[int]) -> int:
    """Return how many literals hold: a clause "in additive form"."""
    return sum(assignment[abs(literal) - 1] == (literal > 0) for literal in literals)


def falsifying_assignments(formula: Formula, n_variables: int) -> int:
    """Return how many assignments falsify some clause of a conjunction, by trying all."""
    return sum(
        not all(true_literals(clause, assignment) for clause in formula) for assignment in assignments(n_variables)
    )


def is_tautology(formula: Formula, n_variables: int) -> bool:
    """Whether every assignment satisfies some term of a disjunction, by trying all."""
    return all(
        any(true_literals(term, assignment) == len(term) for term in formula) for assignment in assignments(n_variables)
    )


def is_almost_tautology_of_3cnf(formula: Formula, n_variables: int) -> bool:
    """Whether at most one assignment falsifies a 3-CNF formula, in linear time (A-21).

    Raises:
        ValueError: There are fewer than 4 variables, or a clause has more than 3 literals; then it may take longer.
    """
    if n_variables < 4:
        raise ValueError(f"n_variables={n_variables} must be >= 4")
    if any(len(clause) > 3 for clause in formula):
        raise ValueError("a clause has more than 3 literals")
    return all(any(-literal in clause for literal in clause) for clause in formula)


def loss_of_cnf(formula: Formula, n_variables: int, exponents: Sequence[int] | None = None) -> SetLoss:
    """Return the printed reduction (AISTATS 2022, appendix A, equation 6): separable iff an almost tautology.

    Args:
        formula: Clauses of a conjunction, at most N; the last is repeated until there are N.
        n_variables: N.
        exponents: theta, positive integers, shape ``(N,)``; ones by default.

    Raises:
        ValueError: There are no clauses, more than N, or exponents that are not N positive integers.
    """
    if not 0 < len(formula) <= n_variables:
        raise ValueError(f"formula has {len(formula)} clauses, expected 1 to n_variables={n_variables}")
    theta = tuple(exponents) if exponents is not None else (1,) * n_variables
    if len(theta) != n_variables or min(theta) < 1:
        raise ValueError(f"exponents={theta} must be {n_variables} positive integers")
    clauses = formula + formula[-1:] * (n_variables - len(formula))
    # Every clause counts at most 3 true literals, so that primes from 5 on are beyond reach.
    primes = _primes_above(max(3, *map(len, clauses)), n_variables)

    def loss(labels: Sequence[int]) -> int:
        counts: list[int] = [
            pow(true_literals(clause, labels), power) for clause, power in zip(clauses, theta, strict=True)
        ]
        return math.prod(counts) * _marked(primes, labels)

    return loss


def loss_of_dnf(formula: Formula, n_variables: int) -> SetLoss:
    """Return the repaired reduction: a loss of N + 1 labels, separable iff the disjunction is a tautology.

    Args:
        formula: Terms of a disjunction over N variables.
        n_variables: N.
    """
    primes = _primes_above(len(formula), n_variables + 1)

    def loss(labels: Sequence[int]) -> int:
        satisfied = sum(true_literals(term, labels) == len(term) for term in formula)
        return satisfied * _marked(primes, labels)

    return loss


def is_separable(loss: SetLoss, n_labels: int) -> bool:
    """Whether all ``2**n`` labellings have different values (0+-codomain separability), by trying all."""
    values = [loss(labels) for labels in assignments(n_labels)]
    return len(set(values)) == len(values)


def _marked(primes: Sequence[int], labels: Sequence[int]) -> int:
    return math.prod(prime for prime, label in zip(primes, labels, strict=True) if label)


def _primes_above(bound: int, count: int) -> list[int]:
    primes = (int(prime) for prime in first_primes(bound + count))
    return [prime for prime in primes if prime > bound][:count]
