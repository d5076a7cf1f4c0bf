"""Powers of distinct primes in one exact query, any number of classes (Aggarwal et al., ICML 2021, Theorems 3 and 8).

The answer spells out an integer; the exponent of the i-th prime in it is the class of record i.

Example::

    labelinf attack prime-powers --labels classes.csv --scorer exact
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import attrs
import gmpy2
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import Guess
from labelinf_core.contracts.errors import QueryRefusedError
from labelinf_core.contracts.guarantees import Promise
from labelinf_papers.constructions.prime_powers import all_classes, power_rows, row_sums
from labelinf_papers.decoders.divisibility import exponents
from labelinf_papers.decoders.rounding import spelled_integer
from labelinf_papers.plans.prime_design import prime_queries, promise_of, unplayable
from labelinf_papers.plans.prime_query import ROUNDING
from labelinf_scores.arithmetic.exact import product
from labelinf_scores.certificates.error import present_error
from labelinf_scores.constructions.primes import first_primes, needed_bits, prime_product, rounding_margin
from labelinf_scores.decoders.posterior import certainly, likeliest_labels
from labelinf_scores.game.oracle import ScoreAttack, ScoreOracle
from labelinf_scores.game.threat import ScoreThreat

__all__ = ["PrimePowers", "classes_of_score"]

_DOUBLE_CARRIES = 53  # labels that any one IEEE double can tell apart with certainty, whatever the construction


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

    theorem: ClassVar[str] = "Theorem 8"

    def missing_requirement(self, threat: ScoreThreat) -> str:
        """It needs the log-loss, exact scores, and no clipping that reaches its predictions."""
        if not threat.loss.is_log_loss:
            return "primes need the log-loss; log-primes plays other losses"
        if threat.arithmetic != "exact" and threat.n_records > _DOUBLE_CARRIES:
            return f"needs exact scores ({threat.arithmetic} cannot carry {threat.n_records} labels in one answer)"
        if threat.clip * _largest_sum(threat) > 1:
            return f"clipping at {threat.clip:g} spoils the rows of the larger primes"
        if threat.arithmetic == "exact":
            return ""
        return unplayable(prime_queries(threat, threat.n_records, classes=threat.n_classes - 1), ROUNDING)

    def promised(self, threat: ScoreThreat) -> Promise | None:
        """Every label, from an exact score.

        An exact curator is asked for as many bits as decoding needs, so that nothing is present but what defences add.
        What that may be, ``ln(1 + 1 / (2 P)) / N``, is too small for a double from about 150 records on, and is then
        given as 0: only exact scores.
        """
        n, highest, statement = threat.n_records, threat.n_classes - 1, f"Aggarwal et al., ICML 2021, {self.theorem}"
        if threat.arithmetic != "exact":
            return promise_of(prime_queries(threat, n, classes=highest), ROUNDING, statement)
        if not threat.facts.intact:
            return None
        return Promise(
            survives=rounding_margin(prime_product(first_primes(n), highest)) * (1 - 1e-12) / n,
            present=present_error(threat, math.log(_largest_sum(threat))),
            statement=statement,
            conditions="the score is the mean log-loss of the true labels, to the precision asked for",
        )

    def rows(self, primes: NDArray[np.int64], n_classes: int) -> NDArray[Any]:
        """Return what is asked about all records."""
        return power_rows(primes, all_classes(n_classes))

    def run(self, oracle: ScoreOracle, rng: np.random.Generator) -> Guess:
        """Ask once; guess the majority class when the answer spells out no product of powers."""
        threat = oracle.threat
        primes = first_primes(threat.n_records)
        bits = needed_bits(primes, threat.n_classes - 1)
        try:
            answer = oracle.query(self.rows(primes, threat.n_classes), precision=bits)
            scored = classes_of_score(answer, primes, threat.n_classes, bits=bits)
        except QueryRefusedError:
            scored = None
        known = np.full(threat.n_records, -1) if scored is None else scored
        return Guess(
            labels=likeliest_labels(certainly(known, threat), threat),
            evidence={"bits": bits, "spelled out": scored is not None},
        )


def _largest_sum(threat: ScoreThreat) -> int:
    """One over the smallest probability in use."""
    return int(row_sums(first_primes(threat.n_records)[-1:], range(threat.n_classes))[0])
