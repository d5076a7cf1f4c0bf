"""Binary weights in one exact query: any number of labels in as many bits, and a few (labelinf theory).

The strongest attack on a curator that computes exactly: where primes need ``N ln N`` bits of the answer, gaps that
halve from row to row need N + O(log N), for every loss, and decoding is reading off the digits.

Example::

    labelinf attack exact-binary --labels y.csv --scorer exact
"""

from __future__ import annotations

import math
from typing import Any

import attrs
import gmpy2
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import Guess
from labelinf_core.contracts.errors import QueryRefusedError
from labelinf_core.contracts.guarantees import Promise
from labelinf_papers.constructions.binary_weights import binary_bits, binary_digits, binary_gaps
from labelinf_scores.arithmetic.exact import Exact
from labelinf_scores.certificates.error import present_error
from labelinf_scores.decoders.posterior import certainly, likeliest_labels
from labelinf_scores.game.oracle import ScoreAttack, ScoreOracle
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.plans.sizing import expected_error

__all__ = ["ExactBinary"]

_LARGEST_COST = 2.0  # of a row whose gap is at most one, for every loss of the papers
_GUARD_BITS = 32


@attrs.frozen(kw_only=True)
class ExactBinary(ScoreAttack):
    """Recovers all labels of two classes from one exact score, of any loss."""

    def missing_requirement(self, threat: ScoreThreat) -> str:
        """It needs two classes and exact scores."""
        if threat.n_classes != 2:
            return "binary weights are for two classes"
        if threat.arithmetic != "exact":
            return f"needs exact scores; powers-blocks plays {threat.arithmetic}"
        return ""

    def promised(self, threat: ScoreThreat) -> Promise | None:
        """Every label, while the error of the score stays below half of the smallest gap."""
        if not threat.facts.intact:
            return None
        return Promise(
            survives=math.ldexp(float(_widest(threat)), -threat.n_records) * (1 - 1e-12) / threat.n_records,
            present=present_error(threat, _LARGEST_COST),
            statement="labelinf theory, binary weights in N + O(log N) bits",
            conditions="the score is the mean loss of the true labels, to the precision asked for",
        )

    def run(self, oracle: ScoreOracle, rng: np.random.Generator) -> Guess:
        """Ask once, read off the digits that stand above the noise, and guess the majority class for the rest."""
        threat = oracle.threat
        n, widest = threat.n_records, _widest(threat)
        gaps, bits = binary_gaps(n, widest=widest), binary_bits(n, widest=widest)
        predictions = _predictions(gaps, threat, bits=bits)
        scored = np.full(n, -1)
        try:
            answer = oracle.query(predictions, precision=bits)
        except QueryRefusedError:
            answer = gmpy2.nan()
        if gmpy2.is_finite(answer):
            total = _above_base(answer, predictions, threat, bits=bits + _GUARD_BITS)
            noise = 2 * n * expected_error(threat, _LARGEST_COST)
            scored = np.where(gaps > noise, binary_digits(total, n, widest=widest), -1)
        return Guess(
            labels=likeliest_labels(certainly(scored, threat), threat),
            evidence={"bits": bits, "asked about": int(np.count_nonzero(scored >= 0))},
        )


def _widest(threat: ScoreThreat) -> Any:
    """Return the largest power of two, at most one, within the span of the loss."""
    return gmpy2.mpq(1) if threat.reach > 1 else gmpy2.mpq(1, 2 ** (1 - math.frexp(threat.reach * (1 - 1e-12))[1]))


def _predictions(gaps: NDArray[Any], threat: ScoreThreat, *, bits: int) -> NDArray[Any]:
    numbers = Exact(bits=bits)
    with numbers.context():
        return np.asarray(threat.loss.prediction(gaps, numbers))


def _above_base(answer: Any, predictions: NDArray[Any], threat: ScoreThreat, *, bits: int) -> Any:
    """Return N times the answer less what it were if all labels were 0."""
    numbers = Exact(bits=bits)
    with numbers.context():
        base = threat.loss.score(np.zeros(threat.n_records, dtype=np.intp), predictions, numbers)
        return threat.n_records * (gmpy2.mpfr(answer) - base)
