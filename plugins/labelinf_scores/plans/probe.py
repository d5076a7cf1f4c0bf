"""One query about a few records: every other row costs the same whatever its label.

Rows of equal probabilities (logits of zero) tell nothing and cost a known constant, so that what remains of N times
the answer is the sum over the probed rows alone (Aggarwal et al., ICML 2021, Lemma 4; AISTATS 2022, Section 4). Costs
are those of the predictions as the curator reads them, rounded to its format and clipped, in a precision in which
nothing of a float64 answer is lost: what the decoder is left with is the error of the released score, nothing else.
"""

from __future__ import annotations

import functools
import math
from contextlib import AbstractContextManager
from typing import Any

import attrs
import gmpy2
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.errors import QueryRefusedError
from labelinf_scores.arithmetic import Arithmetic, make_arithmetic
from labelinf_scores.game.oracle import ScoreOracle
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.seen_through import averaged_records, expected_costs

__all__ = ["Probe"]

_LEDGER_BITS = 320  # more than the answer's: sums of costs between 2**-200 and 2**100 stay exact to a float64's ulp


@attrs.frozen(kw_only=True)
class Probe:
    """Asks about a few rows at a time.

    Attributes:
        threat: What is public.
        bits: Precision of answers asked of an exact curator; other curators ignore it.
    """

    threat: ScoreThreat
    bits: int = 64

    @functools.cached_property
    def numbers(self) -> Arithmetic:
        """What the curator reads predictions in."""
        return make_arithmetic(self.threat.input_format or self.threat.arithmetic).at_precision(self.bits)

    @functools.cached_property
    def own(self) -> Arithmetic:
        """What predictions are made in: at least doubles, so that rows sum to one however the curator rounds them."""
        return self.numbers if self.numbers.name == "exact" else make_arithmetic("float64")

    @functools.cached_property
    def books(self) -> Arithmetic:
        """What costs are computed in."""
        return make_arithmetic("exact").at_precision(self.bits + _LEDGER_BITS)

    def ledger(self) -> AbstractContextManager[object]:
        """Return the context to enter around sums and differences of what :meth:`costs` and :meth:`total` return."""
        return self.books.context()

    @functools.cached_property
    def neutral(self) -> NDArray[Any]:
        """A row that costs the same whatever its label, shape ``(K,)``."""
        return np.asarray(self.rows(np.zeros(1))[0])

    def rows(self, steps: NDArray[Any]) -> NDArray[Any]:
        """Return rows in which label k costs ``k * step`` more than label 0, shape ``(n, K)``."""
        with self.own.context():
            return self.threat.loss.rows(self.own.convert(steps), self.threat.n_classes, self.own)

    def costs(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Return what every label of ``rows`` costs as an attack sees it, through defences, shape ``(n, K)``."""
        with self.ledger():
            return expected_costs(self.plain_costs(rows), self.threat)

    def plain_costs(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Return what every label of ``rows`` costs in the curator's own loss, shape ``(n, K)``."""
        with self.ledger():
            read = self.books.convert(self.numbers.convert(rows))
            if self.threat.clip and math.isfinite(self.threat.reach):
                edge = self.books.convert(np.array(self.threat.clip)).item()
                read = np.clip(read, edge, 1 - edge)
            return self.threat.loss.costs(read, self.books)

    def largest_cost(self, gap: float) -> float:
        """Return the most that a row costs in a query whose rows span at most ``gap``."""
        step = gap / (self.threat.n_classes - 1)
        return float(self.plain_costs(self.rows(np.array([0.0, step, -step]))).max())

    def total(self, oracle: ScoreOracle, start: int, rows: NDArray[Any]) -> Any:
        """Ask about ``rows``, put at records ``start, start + 1, ...``, and return the noisy sum of their costs.

        Raises:
            QueriesExhaustedError: The budget is spent.
            QueryRefusedError: The curator declines.
        """
        predictions = np.tile(self.neutral, (self.threat.n_records, 1))
        predictions[start : start + len(rows)] = rows
        answer = self.answer(oracle, predictions)
        n = averaged_records(self.threat)
        with self.ledger():
            return n * gmpy2.mpfr(answer) - (n - len(rows)) * self._neutral_cost

    def answer(self, oracle: ScoreOracle, predictions: NDArray[Any]) -> Any:
        """Ask, and take a score that is not a finite number for a refusal.

        Raises:
            QueriesExhaustedError: The budget is spent.
            QueryRefusedError: The curator declines, or answers with infinity.
        """
        answer = oracle.query(predictions, precision=self.bits)
        if not gmpy2.is_finite(gmpy2.mpfr(answer)):
            raise QueryRefusedError(f"the score is {answer}.")
        return answer

    @functools.cached_property
    def _neutral_cost(self) -> Any:
        return self.costs(self.neutral[None])[0, 0]
