"""Who is scored, and with which label, from the accuracy on a secret part of the records (M32).

A record flipped from "negative" to "positive" moves the number right by one up, one down, or not at all: scored and
positive, scored and negative, not scored. These are three labels, and a ternary detecting matrix (M5) reads them. How
many records are scored need not be known: every number is tried, and the one must make all answers whole, be the
number of records that turn out to be scored, and agree with what all records predicted negative score. Only where
exactly one does is anything decided. Rounding is no obstacle as long as one record stands out from it.

Example::

    labelinf attack scored-subset --metric accuracy --labels breast-cancer --defence 'subset(share=0.3)'
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import Guess
from labelinf_core.contracts.errors import QueriesExhaustedError, QueryRefusedError
from labelinf_scores.constructions.bit_sets import BitSets, n_columns, queries_needed
from labelinf_scores.decoders.moebius import decode_bit_sets
from labelinf_scores.game.oracle import ScoreAttack, ScoreOracle
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.metrics.readings import ScoredMetric
from labelinf_scores.metrics.readings.base import UNIT
from labelinf_scores.metrics.readings.counts import Accuracy

__all__ = ["ScoredSubset"]

_NEAR = 1e-6  # how near to whole a number of right records must be before it is looked at exactly


@attrs.frozen(kw_only=True)
class ScoredSubset(ScoreAttack):
    """Reads who is scored, and their labels."""

    reading_of = "the accuracy on a secret part of the records"

    def reads(self, metric: ScoredMetric | None) -> bool:
        """Accuracies and error rates only."""
        return isinstance(metric, Accuracy)

    def missing_requirement(self, threat: ScoreThreat) -> str:
        """There must be one subset that is always the same, and a score in which one record stands out."""
        if threat.scored == 1:
            return "all records are scored"
        if threat.scored_fresh or not threat.ordered:
            return "needs the same records to be scored in every query"
        if threat.label_keep < 1 or threat.magnification != 1:
            return "needs the true labels behind every score"
        if threat.noise_bound * 2 * threat.n_records >= 1:
            return "one record does not stand out from the error of the score"
        return ""

    def run(self, oracle: ScoreOracle, rng: np.random.Generator) -> Guess:
        """Ask for the base and the rows of one matrix, cut to the budget."""
        n = oracle.threat.n_records
        n_queries = int(min(queries_needed(n, 3), oracle.remaining - 1))
        likely = int(np.argmax(oracle.threat.prior))
        guess = np.full(n, likely, dtype=np.intp)
        if n_queries < 1:
            return Guess(labels=guess)
        design = BitSets(n_queries=n_queries, n_values=3)
        asked = min(n, n_columns(n_queries, 3))
        try:
            base = _right(oracle, np.zeros(n))
            rows = [np.zeros(n) for _ in range(n_queries)]
            for x, row in enumerate(rows):
                row[:asked] = design.row(x + 1, asked)
            answers = [_right(oracle, row) for row in rows]
        except (QueriesExhaustedError, QueryRefusedError):
            return Guess(labels=guess)
        sizes = [int(row.sum()) for row in rows]
        off = Fraction(oracle.threat.noise_bound)
        fitting = _explanations(design, base, answers, sizes, asked, n if asked < n else None, off)
        evidence: dict[str, Any] = {"numbers of scored records that fit": len(fitting)}
        if len(fitting) == 1:
            found = fitting[0]
            scored = np.flatnonzero(found != 1)
            guess[scored] = found[scored] // 2
            evidence |= {"records seen to be scored": int(scored.size), "recovery": "decided where one labelling fits"}
        return Guess(labels=guess, evidence=evidence)


def _right(oracle: ScoreOracle, predictions: NDArray[Any]) -> Fraction:
    """Return the share of the scored records that is predicted right, as it was told."""
    answer = Fraction(float(oracle.query(predictions)))
    metric = oracle.threat.metric
    return answer if metric is None or metric.higher else 1 - answer


def _explanations(
    design: BitSets,
    base: Fraction,
    answers: list[Fraction],
    sizes: list[int],
    asked: int,
    beyond: int | None,
    off: Fraction = Fraction(0),
) -> list[NDArray[np.int64]]:
    """Return what every number of scored records that fits makes of the records: 0 and 2 are scored labels, 1 is not.

    Args:
        design: The matrix.
        base: The share right with all predicted negative.
        answers: The shares right with a row's ones predicted positive.
        sizes: Ones of the rows.
        asked: Records that have a column.
        beyond: N, where some records have none; None otherwise.
        off: How far what is told may be off the share.
    """
    found = []
    shares = np.array([float(share) for share in [base, *answers]])
    for k in range(1, (beyond or asked) + 1):
        scaled = shares * k
        if (np.abs(scaled - np.round(scaled)) > _NEAR + k * float(off)).any():
            continue
        right = [round(share * k) for share in [base, *answers]]
        near = zip([base, *answers], right, strict=True)
        if any(abs(share * k - count) > (4 * UNIT + off) * k for share, count in near):
            continue
        sums = np.array([count - right[0] + size for count, size in zip(right[1:], sizes, strict=True)])
        try:
            kinds = decode_bit_sets(design, sums, asked)
        except ValueError:
            continue
        scored, negatives = int((kinds != 1).sum()), int((kinds == 0).sum())
        complete = (scored, negatives) == (k, right[0])
        partly = beyond is not None and scored <= k and negatives <= right[0]
        if complete or partly:
            found.append(kinds)
    return found
