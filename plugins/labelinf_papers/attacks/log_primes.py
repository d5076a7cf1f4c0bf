"""Logarithms of primes as gaps, against noise, for any loss (Aggarwal et al., AISTATS 2022, Construction 2).

Every query asks about m records with gaps ``c N tau ln p_i`` and leaves all others without a gap. The noisy answer
spells out the product of the primes of the records with label 1: to within a rounding when c is ``3 P`` as printed,
to the nearest divisor of P with the far smaller c of :mod:`labelinf_papers.constructions.log_primes`.

From an exact curator without noise one query takes all records, with gaps ``ln p_i`` (Theorem 2, tau = 0), or
``ln p_i / N`` where the loss is bounded (Corollary 2).

Example::

    labelinf attack 'log-primes(decoder=nearest)' --metric squared-euclidean --defence 'round(decimals=4)'
"""

from __future__ import annotations

import math
from typing import Any

import attrs
import gmpy2
import numpy as np

from labelinf_core.contracts.components import Guess
from labelinf_core.contracts.guarantees import Promise
from labelinf_papers.constructions.log_primes import log_prime_gaps, printed_scale, separation
from labelinf_papers.plans.prime_design import most_labels, promise_of, unplayable
from labelinf_papers.plans.prime_query import NEAREST, PRINTED, ROUNDING, PrimeQuery, guess_blocks
from labelinf_scores.arithmetic.exact import Exact
from labelinf_scores.constructions.primes import first_primes, prime_product
from labelinf_scores.game.oracle import ScoreAttack, ScoreOracle
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.plans.probe import Probe
from labelinf_scores.plans.sizing import reach, tells_nothing

__all__ = ["LogPrimes", "log_prime_query"]

_MOST = 24  # labels a query against noise
_WIDEST = 2.0**28  # gap, where neither clip nor number format limits it: exp of it is within the range of MPFR
_RESERVE = 1 + 1e-6  # the least scale leaves nothing for the rounding of predictions
_PREDICTION_BITS = 128  # more than a bounded format keeps of a prediction
_NEUTRAL_COST = 4.0  # no loss of these papers costs more at a prediction of one half


def log_prime_query(threat: ScoreThreat, size: int, *, unit: Any) -> PrimeQuery:
    """Return a query with gaps ``unit * ln p_i`` in its first ``size`` rows.

    An exact curator is asked for enough bits that N additions and the costs themselves leave the logarithm of the
    product certain to less than ``1 / (2 P + 1)``: ``N ** 2`` terms of at most ``1 + C`` over the unit, and a reserve
    of seven bits for the operations of one cost. Predictions are computed exactly for every curator, and rounded once.
    """
    primes = first_primes(min(size, threat.n_records))
    product_bits = int(prime_product(primes).bit_length())
    largest = 1 + _NEUTRAL_COST + float(unit) * math.log(primes[-1])
    bits = product_bits + 8 + math.ceil(math.log2(threat.n_records**2 * largest / float(unit)))
    numbers = Exact(bits=max(bits, _PREDICTION_BITS))
    with numbers.context():
        gaps = np.concatenate([log_prime_gaps(primes, unit, numbers), numbers.convert([0])])
        rows = threat.loss.prediction(gaps, numbers)
    return PrimeQuery(
        threat=threat, primes=primes, exponents=(0, 1), rows=rows[:-1], neutral=rows[-1], unit=unit, bits=bits
    )


@attrs.frozen(kw_only=True)
class LogPrimes(ScoreAttack):
    """Recovers m labels per query of any loss, in spite of noise.

    Attributes:
        size: m, the records that one query asks about; 0 takes as many as survive.
        tau: Noise to survive, in units of the score; 0 takes it from the threat model and fills the clip.
        decoder: ``rounding``, ``nearest`` (divisor, at a smaller scale), or ``closest-squarefree``, as printed.
    """

    size: int = attrs.field(default=0, validator=attrs.validators.ge(0))
    tau: float = attrs.field(default=0.0, validator=attrs.validators.ge(0))
    decoder: str = attrs.field(default=ROUNDING, validator=attrs.validators.in_((ROUNDING, NEAREST, PRINTED)))

    def missing_requirement(self, threat: ScoreThreat) -> str:
        """Construction 2 is for two classes."""
        if threat.n_classes != 2:
            return "Construction 2 is for two classes"
        return tells_nothing(threat) or unplayable([self.design(threat)], self.decoder)

    def design(self, threat: ScoreThreat) -> PrimeQuery:
        """Return what is asked about every block under ``threat``."""
        noisy = self.tau or threat.noise_bound or threat.noise_std
        if threat.arithmetic == "exact" and self.decoder == ROUNDING and not noisy:
            return _noiseless(threat, self.size or threat.n_records)
        widest = self._widest(threat)

        def sized(size: int) -> list[PrimeQuery]:
            return [log_prime_query(threat, size, unit=self._unit(threat, size, widest))]

        most = min(_MOST, threat.n_records)
        return sized(self.size or most_labels(sized, most, self.decoder, least=self.tau))[0]

    def _widest(self, threat: ScoreThreat) -> float:
        """Return the widest gap to send."""
        if math.isfinite(threat.reach):
            return reach(Probe(threat=threat))
        if self.size and self.tau:
            return _WIDEST
        # Half of what an unclipped format holds: at its very end numbers lose digits.
        return min(reach(Probe(threat=threat)) / 2, _WIDEST)

    def _unit(self, threat: ScoreThreat, size: int, widest: float) -> float:
        """Return ``c N tau``, or what fills the widest gap when that is less or ``tau`` is free."""
        primes = first_primes(min(size, threat.n_records))
        filling = widest / math.log(primes[-1]) * (1 - 1e-9)
        scale = 2 / separation(primes) * _RESERVE if self.decoder == NEAREST else float(printed_scale(primes))
        return min(scale * threat.n_records * self.tau or filling, filling)

    def promised(self, threat: ScoreThreat) -> Promise | None:
        """Every label, while the error of the score stays below tau."""
        return promise_of([self.design(threat)], self.decoder, "Aggarwal et al., AISTATS 2022, Theorem 2")

    def run(self, oracle: ScoreOracle, rng: np.random.Generator) -> Guess:
        """Ask block after block while the budget lasts; guess the majority class for the rest."""
        return guess_blocks(oracle, [self.design(oracle.threat)], self.decoder)


def _noiseless(threat: ScoreThreat, size: int) -> PrimeQuery:
    """Return Theorem 2's gaps for tau = 0, or Corollary 2's where those are too wide for the loss."""
    primes = first_primes(min(size, threat.n_records))
    fits = math.log(primes[-1]) < threat.reach
    return log_prime_query(threat, size, unit=gmpy2.mpq(1) if fits else gmpy2.mpq(1, threat.n_records))
