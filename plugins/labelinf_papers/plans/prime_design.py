"""How prime queries are made, sized and certified for one threat."""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Sequence

import gmpy2

from labelinf_core.contracts.guarantees import Promise
from labelinf_papers.constructions.prime_powers import class_block, power_rows
from labelinf_papers.plans.prime_query import PRINTED, PrimeQuery
from labelinf_scores.constructions.primes import first_primes, needed_bits
from labelinf_scores.game.oracle import needed_queries
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.plans.sizing import expected_error

__all__ = ["most_labels", "prime_queries", "promise_of", "unplayable"]


def prime_queries(threat: ScoreThreat, size: int, *, classes: int) -> list[PrimeQuery]:
    """Return what is asked about every block of records.

    Args:
        threat: What is public.
        size: m, records that one query asks about.
        classes: Classes that one query tells apart, beside *none of these*: 1..K-1.

    Returns:
        One query for each group of classes, ``ceil((K - 1) / classes)`` in all.
    """
    n, k = threat.n_records, threat.n_classes
    primes = first_primes(min(size, n))
    queries = []
    for first in range(1, k, classes):
        exponents = class_block(k, first=first, count=classes)
        rows = power_rows(primes, exponents)
        queries.append(
            PrimeQuery(
                threat=threat,
                primes=primes,
                exponents=exponents,
                rows=rows[:, 1] if k == 2 else rows,
                neutral=gmpy2.mpq(1, 2) if k == 2 else [gmpy2.mpq(1, k)] * k,
                unit=-1,
                bits=needed_bits(primes, max(exponents), offset=(n - len(primes)) * math.log(k)),
            )
        )
    return queries


def most_labels(design: Callable[[int], Sequence[PrimeQuery]], most: int, decoder: str, *, least: float = 0.0) -> int:
    """Return the largest size, 1..``most``, whose queries survive what error there is; 1 when none does.

    What a query survives falls with its size, so that bisection finds it.

    Args:
        design: From a size to the queries about one block.
        most: Largest size to consider.
        decoder: What reads the answers.
        least: Error of the score to survive, though there may be less.
    """

    def fails(size: int) -> bool:
        return not all(
            query.feasible(decoder)
            and query.survives(decoder) >= max(least, expected_error(query.threat, query.largest_cost))
            for query in design(size)
        )

    return max(1, bisect.bisect_left(range(1, most + 1), True, key=fails))


def unplayable(queries: Sequence[PrimeQuery], decoder: str) -> str:
    """Say why ``queries`` cannot be asked or read; empty when they can."""
    threat, size = queries[0].threat, queries[0].n_labels
    if not all(query.feasible(decoder) for query in queries):
        return f"decoder {decoder} is too slow for {size} primes a query; take fewer, or rounding"
    if any(math.isinf(query.deviation) for query in queries):
        return f"{threat.arithmetic} does not hold the smallest probability of a row"
    return ""


def promise_of(queries: Sequence[PrimeQuery], decoder: str, statement: str) -> Promise | None:
    """Say what is certain when every block is asked ``queries``; None where no score tells the true labels."""
    threat = queries[0].threat
    asked = len(queries) * needed_queries(threat.n_records, queries[0].n_labels)
    if not threat.facts.intact or not threat.allows(asked):
        return None
    survives = min(query.survives(decoder) for query in queries)
    return Promise(
        survives=max(survives, 0.0),
        present=max(query.present for query in queries),
        statement=statement,
        conditions=(
            f"every score within tau of the mean loss of the true labels; {queries[0].n_labels} primes a query, "
            f"decoded by {decoder}"
        ),
        proved=decoder != PRINTED and (survives > 0 or threat.arithmetic == "exact"),
    )
