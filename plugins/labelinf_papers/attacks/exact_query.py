"""One query that spells out all labels in one integer: when it can be played, what it promises, how it is asked."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from labelinf_core.contracts.components import Guess
from labelinf_core.contracts.errors import QueryRefusedError
from labelinf_core.contracts.guarantees import Promise
from labelinf_papers.constructions.prime_powers import row_sums
from labelinf_papers.plans.prime_design import prime_queries, promise_of, unplayable
from labelinf_papers.plans.prime_query import ROUNDING
from labelinf_scores.certificates.error import present_error
from labelinf_scores.constructions.primes import first_primes, prime_product, rounding_margin
from labelinf_scores.decoders.posterior import certainly, likeliest_labels
from labelinf_scores.game.oracle import ScoreOracle
from labelinf_scores.game.threat import ScoreThreat

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ask_once", "exact_promise", "exact_refusal"]

_DOUBLE_CARRIES = 53  # labels that any one IEEE double can tell apart with certainty, whatever the construction


def exact_refusal(threat: ScoreThreat) -> str:
    """Say why one integer cannot spell out all labels as exponents 0..K-1 of primes; empty when it can."""
    if not threat.loss.is_log_loss:
        return "primes need the log-loss; log-primes plays other losses"
    if threat.arithmetic != "exact" and threat.n_records > _DOUBLE_CARRIES:
        return f"needs exact scores ({threat.arithmetic} cannot carry {threat.n_records} labels in one answer)"
    if threat.clip * _largest_sum(threat) > 1:
        return f"clipping at {threat.clip:g} spoils the rows of the larger primes"
    if threat.arithmetic == "exact":
        return ""
    return unplayable(prime_queries(threat, threat.n_records, classes=threat.n_classes - 1), ROUNDING)


def exact_promise(threat: ScoreThreat, statement: str) -> Promise | None:
    """Say what is certain of one query about all records.

    An exact curator is asked for as many bits as decoding needs, so that nothing is present but what defences add. What
    that may be, ``ln(1 + 1 / (2 P)) / N``, is too small for a double from about 150 records on, and is then given
    as 0: only exact scores.
    """
    n, highest = threat.n_records, threat.n_classes - 1
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


def ask_once(
    oracle: ScoreOracle,
    predictions: NDArray[Any],
    decode: Callable[[Any], NDArray[np.intp] | None],
    *,
    bits: int,
) -> Guess:
    """Ask about all records at once, and guess the majority class when the answer spells out no labels.

    Args:
        oracle: The curator.
        predictions: What to ask.
        decode: From the answer to the labels; None when it was not exact.
        bits: Precision to ask for.
    """
    try:
        scored = decode(oracle.query(predictions, precision=bits))
    except QueryRefusedError:
        scored = None
    known = np.full(oracle.threat.n_records, -1) if scored is None else scored
    return Guess(
        labels=likeliest_labels(certainly(known, oracle.threat), oracle.threat),
        evidence={"bits": bits, "spelled out": scored is not None},
    )


def _largest_sum(threat: ScoreThreat) -> int:
    """One over the smallest probability in use."""
    return int(row_sums(first_primes(threat.n_records)[-1:], range(threat.n_classes))[0])
