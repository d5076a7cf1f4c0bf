"""Powers of distinct primes in one exact query, any number of classes (Aggarwal et al., ICML 2021, Theorems 3 and 8).

The answer spells out an integer; the exponent of the i-th prime in it is the class of record i.

Example::

    labelinf attack prime-powers --labels classes.csv --scorer exact
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import attrs
import gmpy2
import numpy as np

from labelinf_core.contracts.components import Guess
from labelinf_core.contracts.guarantees import Promise
from labelinf_papers.attacks.exact_query import ask_once, exact_promise, exact_refusal
from labelinf_papers.constructions.prime_powers import all_classes, power_rows, row_sums
from labelinf_papers.decoders.divisibility import exponents
from labelinf_papers.decoders.rounding import spelled_integer
from labelinf_scores.arithmetic.exact import product
from labelinf_scores.constructions.primes import first_primes, needed_bits
from labelinf_scores.game.oracle import ScoreAttack, ScoreOracle
from labelinf_scores.game.threat import ScoreThreat

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["PrimePowers", "classes_of_score"]


def classes_of_score(score: Any, primes: NDArray[np.int64], n_classes: int, *, bits: int) -> NDArray[np.intp] | None:
    """Return the classes that an exact score of ``power_rows(primes, all_classes(n_classes))`` spells out.

    Args:
        score: The log-loss.
        primes: The primes in use, shape ``(n_records,)``.
        n_classes: K.
        bits: Precision of the score, ``needed_bits(primes, n_classes - 1)``.

    Returns:
        Classes 0..K-1, shape ``(n_records,)``; None when it spells out nothing of that kind, and so was not exact.
    """
    if not gmpy2.is_finite(score):
        return None
    normaliser = product(row_sums(primes, all_classes(n_classes)))
    integer = spelled_integer(score, len(primes), normaliser, bits=bits)
    found = exponents(integer, primes, largest=n_classes - 1)
    powers = [gmpy2.mpz(prime) ** e for prime, e in zip(primes.tolist(), found.tolist(), strict=True)]
    return found if product(powers) == integer else None


@attrs.frozen(kw_only=True)
class PrimePowers(ScoreAttack):
    """Recovers all labels of any number of classes from one exact score."""

    def lacks(self, threat: ScoreThreat) -> str:
        """It needs the log-loss, exact scores, and no clipping that reaches its predictions."""
        return exact_refusal(threat)

    def promised(self, threat: ScoreThreat) -> Promise | None:
        """Every label, from an exact score."""
        return exact_promise(threat, "Aggarwal et al., ICML 2021, Theorem 8")

    def run(self, oracle: ScoreOracle, rng: np.random.Generator) -> Guess:
        """Ask once; guess the majority class when the answer spells out no product of powers."""
        n_classes, primes = oracle.threat.n_classes, first_primes(oracle.threat.n_records)
        bits = needed_bits(primes, n_classes - 1)
        decode = functools.partial(classes_of_score, primes=primes, n_classes=n_classes, bits=bits)
        return ask_once(oracle, power_rows(primes, all_classes(n_classes)), decode, bits=bits)
