"""Queries that look like honest predictions: what a curator that refuses constructions lets through.

Detectors look for what published constructions share: neutral rows, few different rows, gaps that double. None of it is
needed. Predictions drawn at random, as uncertain as a middling model's, are one linear equation in the labels each, and
as many of them as there are labels determine them all. The labels are estimated by the best linear predictor, which
also makes do with fewer queries and with noise, if with less (labelinf theory, detectors; after Dinur and Nissim,
PODS 2003).

Nothing is promised; it takes more queries than any construction, and that is all a detector achieves.

Example::

    labelinf attack camouflage --labels y.csv --defence refuse-constructions
"""

from __future__ import annotations

import math

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import Guess
from labelinf_core.contracts.errors import QueriesExhaustedError, QueryRefusedError
from labelinf_scores.arithmetic import make_arithmetic
from labelinf_scores.decoders.posterior import likeliest_labels, scored_prior
from labelinf_scores.game.oracle import ScoreAttack, ScoreOracle
from labelinf_scores.game.scoring import Answer
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.plans.sizing import typical_error
from labelinf_scores.seen_through import averaged_records, expected_costs

__all__ = ["Camouflage"]

_MOST_UNKNOWNS = 4000  # they are solved for at the cube of their number
_DOUBLES = 2.0**-44  # relative error of a score in doubles, generously


@attrs.frozen(kw_only=True)
class Camouflage(ScoreAttack):
    """Asks with random predictions and solves for the labels.

    Attributes:
        spread: Standard deviation of the predictions' logits; an honest model's is one or two.
        queries_per_label: Queries per unknown when the budget is unlimited, at least 1.
    """

    spread: float = attrs.field(default=1.5, validator=attrs.validators.gt(0))
    queries_per_label: float = attrs.field(default=1.1, validator=attrs.validators.ge(1))

    def missing_requirement(self, threat: ScoreThreat) -> str:
        """The equations must be few enough to solve."""
        if threat.loss.takes_logits:
            return "needs a loss of probabilities"
        if _unknowns(threat) > _MOST_UNKNOWNS:
            return f"more than {_MOST_UNKNOWNS} unknowns to solve for"
        return "" if threat.ordered else "needs records in an order that does not change"

    def run(self, oracle: ScoreOracle, rng: np.random.Generator) -> Guess:
        """Ask at random as often as is needed or granted, then solve."""
        threat = oracle.threat
        wanted = math.ceil(self.queries_per_label * _unknowns(threat))
        rows, totals, refused = [], [], 0
        for _ in range(int(min(wanted, oracle.remaining))):
            try:
                predictions, answer = self._ask(oracle, rng)
            except QueriesExhaustedError:
                break
            except QueryRefusedError:
                refused += 1
                continue
            totals.append(averaged_records(threat) * float(answer))
            rows.append(_costs(predictions, threat))
        shares = np.tile(scored_prior(threat), (threat.n_records, 1))
        if rows:
            shares = _solve(np.array(rows), np.array(totals), shares, threat)
        return Guess(labels=likeliest_labels(shares, threat), evidence={"answers": len(rows), "refused": refused})

    def _ask(self, oracle: ScoreOracle, rng: np.random.Generator) -> tuple[NDArray[np.float64], Answer]:
        """Return predictions, shape ``(N, K)``, and their score."""
        drawn = rng.standard_normal((oracle.threat.n_records, oracle.threat.n_classes))
        weights = np.exp(self.spread * drawn / math.sqrt(2))
        predictions = weights / weights.sum(axis=1, keepdims=True)
        return predictions, oracle.query(predictions)


def _unknowns(threat: ScoreThreat) -> int:
    return threat.n_records * (threat.n_classes - 1)


def _costs(predictions: NDArray[np.float64], threat: ScoreThreat) -> NDArray[np.float64]:
    """Return what every label of every row costs through the defences, shape ``(N, K)``."""
    inside = np.clip(predictions, threat.clip, 1 - threat.clip) if threat.clip else predictions
    costs = np.asarray(threat.loss.costs(inside, make_arithmetic("float64")), dtype=np.float64)
    return np.asarray(expected_costs(costs, threat), dtype=np.float64)


def _solve(
    costs: NDArray[np.float64], totals: NDArray[np.float64], shares: NDArray[np.float64], threat: ScoreThreat
) -> NDArray[np.float64]:
    """Return the best linear prediction of which class is scored for every record, shape ``(N, K)``.

    Args:
        costs: Of every answer, shape ``(q, N, K)``.
        totals: N times the scores, shape ``(q,)``.
        shares: What is expected before asking, shape ``(N, K)``.
        threat: What is public.
    """
    gaps = (costs[:, :, 1:] - costs[:, :, :1]).reshape(len(totals), -1)
    scored = averaged_records(threat) / threat.n_records  # a record left out counts as none of its labels
    expected = scored * np.einsum("qnk,nk->q", costs, shares)
    variance = (shares[:, 1:] * (1 - shares[:, 1:])).ravel()
    error = averaged_records(threat) * typical_error(threat, float(np.abs(totals).mean()) / threat.n_records)
    noise = error**2 + (_DOUBLES * float(np.abs(totals).max())) ** 2
    between = (gaps * variance) @ gaps.T
    between[np.diag_indices_from(between)] += noise
    moved = variance * (gaps.T @ np.linalg.lstsq(between, totals - expected)[0])
    others = shares[:, 1:] + moved.reshape(len(shares), -1)
    return np.concatenate([1 - others.sum(axis=1, keepdims=True), others], axis=1)
