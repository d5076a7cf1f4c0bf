"""One query about a few rows, whose answer spells out an integer made of known primes.

In a probed row i label k costs ``unit * e_k * ln p_i`` more than label 0, every other row costs the same whatever its
label, and so N times the score, less what is known of it and divided by the unit, is the logarithm of the product of
``p_i ** e_(label of i)`` (Aggarwal et al., ICML 2021, Algorithm 1; AISTATS 2022, Section 3.2).

The books are kept on the predictions *as the curator reads them*, rounded to its format and clipped: what rounding
makes of ``p / (1 + p)`` is known exactly, and is charged to the margin as the *deviation*.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import attrs
import gmpy2
import numpy as np

from labelinf_core.contracts.components import Guess
from labelinf_core.contracts.errors import QueryRefusedError
from labelinf_papers.constructions.log_primes import separation
from labelinf_papers.decoders.divisibility import exponents
from labelinf_papers.decoders.nearest_divisor import nearest_divisor
from labelinf_papers.decoders.rounding import exponential, nearest_integer
from labelinf_papers.decoders.squarefree import closest_squarefree_printed
from labelinf_scores.arithmetic import make_arithmetic
from labelinf_scores.arithmetic.exact import Exact
from labelinf_scores.certificates.error import present_error
from labelinf_scores.constructions.primes import prime_product, rounding_margin
from labelinf_scores.decoders.posterior import certainly, likeliest_labels
from labelinf_scores.game.oracle import answered, blocks
from labelinf_scores.metrics.shapes import columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from labelinf_scores.game.oracle import ScoreOracle
    from labelinf_scores.game.threat import ScoreThreat

__all__ = ["NEAREST", "PRINTED", "ROUNDING", "PrimeQuery", "guess_blocks", "read_blocks"]

ROUNDING = "rounding"  #: the nearest integer, and which primes divide it
NEAREST = "nearest"  #: the nearest divisor of the product of all primes in use
PRINTED = "closest-squarefree"  #: the closest squarefree number, as AISTATS 2022, Algorithm 1 prints it

_MOST_DIVISORS = {NEAREST: 2**24, PRINTED: 2**8}  # meeting in the middle lists the root; the printed decoder walks
_LEDGER_BITS = 320  # nothing of a float64 answer to any number of records is lost in it


@attrs.frozen(kw_only=True, eq=False)
class PrimeQuery:
    """Rows that spell out an integer, for one threat.

    Attributes:
        threat: What is public.
        primes: One for each probed row, shape ``(m,)``.
        exponents: e_k, one for each class; label 0 has none.
        rows: Predictions of the probed rows, shape ``(m,)`` (two classes) or ``(m, K)``, in any number format.
        neutral: Prediction of every other row, a number or a row.
        unit: What a cost is a multiple of: -1 when label 1 is the cheaper one.
        bits: Precision asked of an exact curator.
    """

    threat: ScoreThreat
    primes: NDArray[np.int64]
    exponents: tuple[int, ...]
    rows: NDArray[Any]
    neutral: Any
    unit: Any
    bits: int

    @property
    def n_labels(self) -> int:
        """m, the rows that one query asks about."""
        return len(self.primes)

    @property
    def highest(self) -> int:
        """The largest exponent of a prime."""
        return max(self.exponents)

    @property
    def _ledger(self) -> Exact:
        computed = self.threat.computes
        needed = self.bits if computed.exact else 2 * int(computed.bits) if computed.fraction else 0
        return Exact(bits=needed + _LEDGER_BITS)

    @functools.cached_property
    def _sent(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """The probed rows, and the neutral one in an array of its own, in the curator's format."""
        read, computed = self.threat.input_format or self.threat.arithmetic, self.threat.arithmetic
        numbers = make_arithmetic(read).at_precision(self.bits)
        rows, neutral = numbers.convert(self.rows), numbers.convert([self.neutral])
        # A curator that reads one format and computes in another fills the other column in as it reads it.
        return (rows, neutral) if read == computed else (columns(rows), columns(neutral))

    @functools.cached_property
    def _costs(self) -> tuple[NDArray[Any], Any]:
        """Exact costs of the probed rows, shape ``(m, K)``, and of any other row, as the curator reads them."""
        with self._ledger.context():
            rows, neutral = (self.threat.loss.costs(self._read(sent), self._ledger) for sent in self._sent)
        return rows, neutral[0, 0]

    def _read(self, rows: Any) -> NDArray[Any]:
        exact, clip = self._ledger.convert(rows), gmpy2.mpq(self.threat.clip)
        return np.clip(exact, clip, 1 - clip) if clip else exact

    @functools.cached_property
    def deviation(self) -> float:
        """How far rounding and clipping of the predictions can move N times the score; infinity when a row is lost."""
        with self._ledger.context():
            asked = np.multiply.outer(self._logs(), [self.unit * e for e in self.exponents])
            costs = self._costs[0]
            strayed = np.abs(costs - costs[:, :1] - asked).max(axis=1).sum()
        return float(strayed) if gmpy2.is_finite(strayed) else math.inf

    def _logs(self) -> NDArray[Any]:
        return np.asarray(self._ledger.log(self._ledger.convert(self.primes)))

    @functools.cached_property
    def largest_cost(self) -> float:
        """The largest cost of any row for any label."""
        rows, neutral = self._costs
        return float(max(rows.max(), neutral))

    def feasible(self, decoder: str) -> bool:
        """Whether ``decoder`` comes to an end in reasonable time."""
        return bool((self.highest + 1) ** self.n_labels <= _MOST_DIVISORS.get(decoder, math.inf))

    def survives(self, decoder: str) -> float:
        """Return the error of the score up to which ``decoder`` finds every label; negative when it never does.

        What rounding survives is also what the printed decoder is meant to survive (but see erratum A-8).
        """
        if decoder == NEAREST:
            margin = separation(self.primes, self.highest) / 2
        else:
            margin = rounding_margin(prime_product(self.primes, self.highest))
        return (abs(float(self.unit)) * margin * (1 - 1e-12) - self.deviation) / self.threat.n_records

    @property
    def present(self) -> float:
        """The largest error of the score that the threat model admits."""
        return present_error(self.threat, self.largest_cost)

    def ask(self, oracle: ScoreOracle, block: slice) -> Any:
        """Ask about the records of ``block`` and return the logarithm of the integer that they spell out.

        Raises:
            QueriesExhaustedError: The budget is spent.
            QueryRefusedError: The curator declines, or answers something that is no finite number.
        """
        n, count = self.threat.n_records, block.stop - block.start
        sent, neutral = self._sent
        predictions = np.empty((n, *sent.shape[1:]), dtype=sent.dtype)
        predictions[:] = neutral
        predictions[block] = sent[:count]
        answer = oracle.query(predictions, precision=self.bits)
        if not gmpy2.is_finite(answer):
            raise QueryRefusedError(f"the answer is {answer}.")
        rows, elsewhere = self._costs
        with self._ledger.context():
            known = rows[:count, 0].sum() + (n - count) * elsewhere
            return (n * gmpy2.mpfr(answer) - known) / self.unit

    def read(self, logarithm: Any, count: int, decoder: str) -> NDArray[np.intp]:
        """Return the classes asked about that ``count`` rows spell out; 0 where none of them does."""
        primes, bits = self.primes[:count], self._ledger.bits
        largest = prime_product(primes, self.highest)
        if decoder == NEAREST:
            found = nearest_divisor(logarithm, primes, largest=self.highest, bits=bits)
        elif decoder == ROUNDING:
            found = exponents(nearest_integer(logarithm, largest, bits=bits), primes, largest=self.highest)
        else:
            found = exponents(closest_squarefree_printed(exponential(logarithm, largest, bits=bits), primes), primes)
        class_of = np.zeros(self.highest + 1, dtype=np.intp)
        class_of[list(self.exponents)] = np.arange(len(self.exponents))
        class_of[0] = 0
        return class_of[found]


def read_blocks(oracle: ScoreOracle, queries: Sequence[PrimeQuery], decoder: str) -> NDArray[np.intp]:
    """Ask about block after block while the budget lasts.

    Args:
        oracle: The curator.
        queries: What is asked about every block; each tells other classes apart.
        decoder: :data:`ROUNDING` or :data:`NEAREST`.

    Returns:
        The class that each record was scored with, -1 where it is not known, shape ``(n_records,)``.
    """
    scored = np.full(oracle.threat.n_records, -1, dtype=np.intp)
    plan = blocks(len(scored), queries[0].n_labels)
    for block, answers in answered(plan, lambda block: [query.ask(oracle, block) for query in queries]):
        count = block.stop - block.start
        found = [query.read(answer, count, decoder) for query, answer in zip(queries, answers, strict=True)]
        scored[block] = np.max(found, axis=0)
    return scored


def guess_blocks(oracle: ScoreOracle, queries: Sequence[PrimeQuery], decoder: str) -> Guess:
    """Ask as :func:`read_blocks` does, and guess the majority class for the rest."""
    scored = read_blocks(oracle, queries, decoder)
    return Guess(
        labels=likeliest_labels(certainly(scored, oracle.threat), oracle.threat),
        evidence={
            "labels per query": queries[0].n_labels / len(queries),
            "survives": min(query.survives(decoder) for query in queries),
            "asked about": int(np.count_nonzero(scored >= 0)),
        },
    )
