"""Distinct primes in one exact query (Aggarwal et al., ICML 2021, Theorem 1).

The answer spells out the product of the primes of all records with label 1. It is asked for with as many bits as that
product can have, and about twenty more; one exponential, one rounding and one remainder tree give every label.

Example, any number of labels in one query::

    labelinf attack primes --labels y.csv --scorer exact
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
from labelinf_papers.decoders.divisibility import divisors
from labelinf_papers.decoders.rounding import spelled_integer
from labelinf_scores.constructions.primes import first_primes, needed_bits, prime_predictions, prime_product
from labelinf_scores.game.oracle import ScoreAttack, ScoreOracle
from labelinf_scores.game.threat import ScoreThreat

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Primes", "labels_of_score"]


def labels_of_score(score: Any, primes: NDArray[np.int64], *, bits: int) -> NDArray[np.intp] | None:
    """Return the labels that an exact score of ``prime_predictions(primes)`` spells out.

    Args:
        score: The log-loss.
        primes: The primes in use, shape ``(n_records,)``.
        bits: Precision of the score, ``needed_bits(primes)``.

    Returns:
        Shape ``(n_records,)``; None when it spells out no product of these primes, and so was not exact.
    """
    if not gmpy2.is_finite(score):
        return None
    integer = spelled_integer(score, len(primes), prime_product(primes + 1), bits=bits)
    found = divisors(integer, primes)
    return found.astype(np.intp) if prime_product(primes[found]) == integer else None


@attrs.frozen(kw_only=True)
class Primes(ScoreAttack):
    """Recovers all labels of two classes from one exact score."""

    def lacks(self, threat: ScoreThreat) -> str:
        """It needs two classes, the log-loss, exact scores, and no clipping that reaches its predictions."""
        if threat.n_classes != 2:
            return "Theorem 1 is for two classes; prime-powers serves more"
        return exact_refusal(threat)

    def promised(self, threat: ScoreThreat) -> Promise | None:
        """Every label, from an exact score."""
        return exact_promise(threat, "Aggarwal et al., ICML 2021, Theorem 1")

    def run(self, oracle: ScoreOracle, rng: np.random.Generator) -> Guess:
        """Ask once; guess the majority class when the answer spells out no product of primes."""
        primes = first_primes(oracle.threat.n_records)
        bits = needed_bits(primes)
        decode = functools.partial(labels_of_score, primes=primes, bits=bits)
        return ask_once(oracle, prime_predictions(primes), decode, bits=bits)
