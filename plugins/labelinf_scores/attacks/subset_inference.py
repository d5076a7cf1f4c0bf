"""Scores on a secret part of the records: who is in it, and with which label, many records an answer.

A record that is not scored adds nothing, not even what a neutral row adds. So every row has K + 1 outcomes: left out,
or scored with one of K labels. Rows are laid so that any two outcomes differ by more than all narrower rows together,
and one answer is read from the widest row down. Nothing inside the subset is hidden; 26 records an answer in doubles
(labelinf theory, scoring part of the records). Not to know the subset's size removes no more than the scale.

* A *fixed* subset is read in one pass over the records; those left out are guessed.
* A *fresh* one for every query shows a share of the records in every pass; those not seen yet are asked about again.

An answer that fits no outcome (noise, another sample) is thrown away and its records are asked about again.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from typing import Any

import attrs
import gmpy2
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import Guess
from labelinf_core.contracts.errors import QueriesExhaustedError, QueryRefusedError
from labelinf_scores.arithmetic.formats import SIGNIFICANT_BITS
from labelinf_scores.certificates.interval import last_place
from labelinf_scores.decoders.posterior import certainly, likeliest_labels
from labelinf_scores.game.oracle import ScoreAttack, ScoreOracle
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.plans.probe import Probe
from labelinf_scores.plans.sizing import reach

__all__ = ["LEFT_OUT", "SubsetInference", "SubsetRows", "outcome_gaps"]

_MOST_ROWS = 64
_PLACES = 3  # last places of the sum that its roundings are taken to move it by, beyond those of equal rows
_FINEST = 2.0**-48  # an exact curator tells more, but doubles hold the gaps
_SPARE = 64  # times farther apart than they must be are sums where some answers are about other records
_UNREAD = -1
LEFT_OUT = -2  #: the outcome of a record that is not scored


@attrs.frozen(kw_only=True)
class SubsetInference(ScoreAttack):
    """Reads who is scored, and their labels.

    Attributes:
        most_passes: Passes over the records not seen yet, when every query has a subset of its own.
    """

    most_passes: int = attrs.field(default=64, validator=attrs.validators.ge(1))

    def missing_requirement(self, threat: ScoreThreat) -> str:
        """There must be a subset, two classes, and no noise but the subset itself."""
        if unfit := _unfit(threat):
            return unfit
        return "" if SubsetRows.of(threat).gaps else "no record stands out from the error of the score"

    def run(self, oracle: ScoreOracle, rng: np.random.Generator) -> Guess:
        """Ask about all records, and again about those that may still show."""
        threat = oracle.threat
        rows = SubsetRows.of(threat)
        found = np.full(threat.n_records, _UNREAD, dtype=np.intp)
        passes = 0
        try:
            for passes in range(1, self.most_passes + 1):  # noqa: B007
                left = _open(found, threat)
                for start in range(0, len(left), len(rows.gaps)):
                    _read(oracle, rows, left[start : start + len(rows.gaps)], found)
                if not len(_open(found, threat)):
                    break
        except QueriesExhaustedError:
            pass
        labels = np.where(found >= 0, found, _UNREAD)
        return Guess(
            labels=likeliest_labels(_fill(labels, threat), threat),
            evidence={
                "records per query": len(rows.gaps),
                "passes": passes,
                "seen in the subset": int(np.count_nonzero(found >= 0)),
                "seen to be left out": int(np.count_nonzero(found == LEFT_OUT)),
            },
        )


def outcome_gaps(least: float, widest: float) -> Iterator[float]:
    """Yield gaps d between the labels of rows whose three outcomes differ by more than all narrower rows together.

    A row in which label 1 costs d more than label 0 costs ``ln(2 / (1 + e**-d))`` less than a neutral one when the
    label is 0, and d minus that more when it is 1.

    Args:
        least: Least distance of two sums.
        widest: Largest gap that the curator's clip holds.
    """
    below = 0.0
    while (margin := below + least) < math.log(2) * (1 - 2.0**-40):
        gap = -math.log1p(2 * math.expm1(-margin))
        if gap > widest:
            return
        yield gap
        below += gap


@attrs.frozen(kw_only=True, eq=False)
class SubsetRows:
    """The rows of one query, widest last.

    Attributes:
        probe: Knows what rows cost as the curator reads them.
        error: Half the least distance of two sums.
        gaps: Between the labels of every row.
    """

    probe: Probe
    error: float
    gaps: tuple[float, ...]

    @classmethod
    def of(cls, threat: ScoreThreat) -> SubsetRows:
        """Lay as many rows as the error of a score and the clip leave room for."""
        probe, error = Probe(threat=threat), _error(threat)
        # Sums as close as can be leave no room to tell an answer that is about something else.
        spare = _SPARE if threat.noise_std > 0 and not threat.scored_fresh else 1
        gaps = tuple(outcome_gaps(2 * error * spare, reach(probe)))[: min(_MOST_ROWS, threat.n_records)]
        return cls(probe=probe, error=error, gaps=gaps)

    @functools.cached_property
    def predictions(self) -> NDArray[Any]:
        """What to send for a block, shape ``(m, 2)``."""
        return self.probe.rows(np.array(self.gaps))

    @functools.cached_property
    def neutral_sum(self) -> Any:
        """What all scored records cost together when all rows are neutral, as the curator adds it up."""
        n, cost = _scored(self.probe.threat), self.probe.plain_costs(self.probe.neutral[None])[0, 0]
        if self.probe.threat.summation != "numpy":
            return gmpy2.mpq(cost) * n
        return gmpy2.mpq(float(np.full(n, float(cost), dtype=self.probe.threat.arithmetic).sum()))

    @functools.cached_property
    def outcomes(self) -> list[tuple[Any, Any]]:
        """What label 0 and label 1 of every row cost beyond a neutral row, exactly."""
        neutral = gmpy2.mpq(self.probe.plain_costs(self.probe.neutral[None])[0, 0])
        costs = self.probe.plain_costs(self.predictions)
        return [(gmpy2.mpq(zero) - neutral, gmpy2.mpq(one) - neutral) for zero, one in costs]

    def decode(self, score: Any, size: int) -> NDArray[np.intp] | None:
        """Return the outcomes of the first ``size`` rows; None when the answer fits none."""
        left = gmpy2.mpq(score) * _scored(self.probe.threat) - self.neutral_sum
        found = np.empty(size, dtype=np.intp)
        for row in reversed(range(size)):
            values = {LEFT_OUT: 0, 0: self.outcomes[row][0], 1: self.outcomes[row][1]}
            below = sum(self.outcomes[j][0] + self.outcomes[j][1] for j in range(row)) / 2
            best = min(values, key=lambda outcome: abs(left - below - values[outcome]))
            found[row], left = best, left - values[best]
        return found if abs(left) <= self.error else None


def _scored(threat: ScoreThreat) -> int:
    """Return how many records one score averages over."""
    return threat.averaged or threat.n_records


def _error(threat: ScoreThreat) -> float:
    """Return how far the sum over the scored records may be from what its rows cost."""
    n = _scored(threat)
    rounding = threat.step / 2 * (1 + 2.0**-20)
    released = n * (last_place(threat, 1.0) / 2 + rounding)
    bits = SIGNIFICANT_BITS.get(threat.arithmetic)
    added = 0.0 if bits is None else _PLACES * 2.0 ** (math.frexp(n * math.log(2))[1] - bits)
    return max(_FINEST, released + added)


def _read(oracle: ScoreOracle, rows: SubsetRows, block: NDArray[np.intp], found: NDArray[np.intp]) -> None:
    """Ask about a block once and write down what shows."""
    predictions = np.tile(rows.probe.neutral, (oracle.threat.n_records, 1))
    predictions[block] = rows.predictions[: len(block)]
    try:
        outcomes = rows.decode(rows.probe.answer(oracle, predictions), len(block))
    except QueriesExhaustedError:
        raise
    except QueryRefusedError:
        return
    if outcomes is not None:
        found[block] = outcomes


def _open(found: NDArray[np.intp], threat: ScoreThreat) -> NDArray[np.intp]:
    """Return the records that another query may show."""
    return np.flatnonzero(found < 0 if threat.scored_fresh else found == _UNREAD)


def _fill(labels: NDArray[np.intp], threat: ScoreThreat) -> NDArray[np.float64]:
    """Return probabilities: what was read, and for the rest what remains of the class counts."""
    shares = certainly(labels, threat)
    if threat.label_keep < 1:
        return shares
    counts = np.rint(np.array(threat.prior) * threat.n_records)
    left = np.maximum(counts - np.bincount(labels[labels >= 0], minlength=threat.n_classes), 0)
    if left.sum():
        shares[labels < 0] = left / left.sum()
    return shares


def _unfit(threat: ScoreThreat) -> str:
    """Say why no subset can be inferred under ``threat``; empty when one can."""
    reasons = (
        (threat.facts.size == threat.n_records, "all records are scored"),
        (threat.n_classes > 2, "three outcomes a record are worked out for two classes"),
        (not threat.loss.is_log_loss, "needs the log-loss of probabilities"),
        (bool(threat.noise) or threat.magnification != 1, "needs scores without noise"),
        (threat.ladder_step > 0, "needs every score, not improvements alone"),
        (not threat.ordered, "needs records in an order that does not change"),
        (threat.facts.label_fresh, "needs the same labels behind every score"),
    )
    return next((reason for is_so, reason in reasons if is_so), "")
