"""Primes in blocks: a few labels per query, in bounded precision (Aggarwal et al., ICML 2021, Algorithm 1, Theorem 3).

Every query asks about m records with the first m primes and leaves all others at equal probabilities. Two classes are
Algorithm 1. More classes are Theorem 3 repaired (erratum I-6): the classes asked about have exponents from one on, so
that exponent zero means *another class*; class 0 is what no query claims.

How many labels a query carries is where the paper errs (erratum I-4): line 4 of Algorithm 1 keeps the predictions
apart, not the answers. What is needed is ``N * error < ln(1 + 1 / (2 P))``, P being the largest integer that can be
spelled out; ``size=0`` takes as many labels as that allows.

Example::

    labelinf attack 'prime-blocks(size=5)' --labels y.csv
    labelinf attack 'prime-blocks(size=0, decoder=nearest)' --labels y.csv
"""

from __future__ import annotations

import functools

import attrs
import numpy as np

from labelinf_core.contracts.components import Guess
from labelinf_core.contracts.guarantees import Promise
from labelinf_papers.plans.prime_design import most_labels, prime_queries, promise_of, unplayable
from labelinf_papers.plans.prime_query import NEAREST, ROUNDING, PrimeQuery, guess_blocks
from labelinf_scores.game.oracle import ScoreAttack, ScoreOracle, needed_queries
from labelinf_scores.game.threat import ScoreThreat

__all__ = ["PrimeBlocks"]

_MOST = 64  # labels a query, when the attack may choose: every certified size is far smaller


@attrs.frozen(kw_only=True)
class PrimeBlocks(ScoreAttack):
    """Recovers m labels per query from the divisors of one integer.

    Attributes:
        size: m, the records that one query asks about; 0 takes as many as are certified for this curator.
        classes: Classes that one query tells apart, beside the rest; 0 takes what needs the fewest queries.
        decoder: ``rounding``, the papers' (nearest integer), or ``nearest`` (nearest divisor of the largest integer).
    """

    size: int = attrs.field(default=5, validator=attrs.validators.ge(0))
    classes: int = attrs.field(default=0, validator=attrs.validators.ge(0))
    decoder: str = attrs.field(default=ROUNDING, validator=attrs.validators.in_((ROUNDING, NEAREST)))

    def missing_requirement(self, threat: ScoreThreat) -> str:
        """Primes need the log-loss of probabilities, and rows that the curator's format holds."""
        if not threat.loss.is_log_loss:
            return "primes need the log-loss; log-primes plays other losses"
        return unplayable(self.design(threat), self.decoder)

    def design(self, threat: ScoreThreat) -> list[PrimeQuery]:
        """Return what is asked about every block under ``threat``: of all designs the one with the fewest queries."""
        others = threat.n_classes - 1
        counts = (
            [min(self.classes, others)] if self.classes else sorted({-(-others // j) for j in range(1, others + 1)})
        )
        designs = [self._sized(threat, count) for count in counts]
        return min(designs, key=lambda queries: needed_queries(threat.n_records, queries[0].n_labels) * len(queries))

    def _sized(self, threat: ScoreThreat, classes: int) -> list[PrimeQuery]:
        design = functools.partial(prime_queries, threat, classes=classes)
        return design(self.size or most_labels(design, min(_MOST, threat.n_records), self.decoder))

    def promised(self, threat: ScoreThreat) -> Promise | None:
        """Every label, while the error of the score stays below the margin of the decoder."""
        statement = "Aggarwal et al., ICML 2021, " + ("Algorithm 1" if threat.n_classes == 2 else "Theorem 3, repaired")
        return promise_of(self.design(threat), self.decoder, statement)

    def run(self, oracle: ScoreOracle, rng: np.random.Generator) -> Guess:
        """Ask block after block while the budget lasts; guess the majority class for the rest."""
        return guess_blocks(oracle, self.design(oracle.threat), self.decoder)
