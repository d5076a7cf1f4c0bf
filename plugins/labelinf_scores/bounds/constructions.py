"""How much noise each construction survives: less than that does not stop it (labelinf theory, the tau* table).

With span L, m labels in one query of N records survive open noise ``|eta| < tau*``:

===================================  ==============================  =====================================
construction                         tau*                            source
===================================  ==============================  =====================================
one label per query                  ``L / (2N)``                    ICML 2021, Algorithm 3, m = 1
powers of two                        ``L / (N 2**m)``                ICML 2021, Algorithm 2 in base e
powers of two, base 3 as printed     ``L / (N 2**m ln 3)``           ICML 2021, Algorithm 2
Conway-Guy weights u_m               ``L / (2 N u_m)``               Conway and Guy, 1968
mixed radix, K classes               ``L / (2 N (K-1) K**(m-1))``    labelinf theory; K = 2: powers of two
logarithms of primes, scale 3P       ``L / (3 N P_m ln p_m)``        AISTATS 2022, Construction 2
primes, nothing scaled, rounding     ``ln(1 + 1/(2 P_m)) / N``       ICML 2021, Algorithm 1
===================================  ==============================  =====================================

Rounding to a step r is noise of r / 2, and counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import attrs

from labelinf_core.contracts.components import Bound
from labelinf_core.contracts.guarantees import BoundValue, Direction
from labelinf_core.contracts.threat import ThreatModel
from labelinf_scores.bounds.common import is_open, score_threat
from labelinf_scores.constructions.conway_guy import conway_guy_sequence
from labelinf_scores.constructions.loss_rows import room_of_proper_rows
from labelinf_scores.constructions.powers import units
from labelinf_scores.constructions.primes import first_primes, prime_product
from labelinf_scores.game.threat import ScoreThreat

__all__ = [
    "ConstructionNoise",
    "normalised_span",
    "tau_conway_guy",
    "tau_log_primes",
    "tau_mixed_radix",
    "tau_powers",
    "tau_primes",
]


def normalised_span(span: float, n_classes: int) -> float:
    """Return the widest range of equally spaced log-losses of a row of K probabilities that sum to one.

    With the span ``L = ln((1 - c) / c)`` of a clip at c, the least of the probabilities
    ``exp(-k r / (K - 1)) / Z``, k < K, is c for the r that is returned; two classes: L itself.
    """
    if n_classes == 2:
        return span
    return max(0.0, room_of_proper_rows(span + math.log1p(math.exp(-span)), n_classes))  # -ln c


def tau_powers(span: float, n_records: int, n_labels: int, n_classes: int = 2, *, base: float = math.e) -> float:
    """Return ``L / (N 2**m ln(base))``; for K classes the exponents of AISTATS 2022, Theorem 3, in their place."""
    return span / (n_records * math.log(base) * units(n_labels, n_classes))


def tau_mixed_radix(span: float, n_records: int, n_labels: int, n_classes: int) -> float:
    """Return ``L / (2 N (K-1) K**(m-1))``; ``L / (2N)`` for one label of two classes."""
    return span / (2 * n_records * (n_classes - 1) * float(n_classes) ** (n_labels - 1))


def tau_conway_guy(span: float, n_records: int, n_labels: int) -> float:
    """Return ``L / (2 N u_m)``, u the Conway-Guy sequence 0, 1, 2, 4, 7, 13, 24, 44, ..."""
    return span / (2 * n_records * conway_guy_sequence(n_labels)[-1])


def tau_log_primes(span: float, n_records: int, n_labels: int) -> float:
    """Return ``L / (3 N P ln p_m)``, P the product of the first m primes."""
    primes = first_primes(n_labels)
    product = float(prime_product(primes))
    return span / (3 * n_records * product * math.log(primes[-1]))


def tau_primes(n_records: int, n_labels: int) -> float:
    """Return ``ln(1 + 1 / (2P)) / N``: unscaled primes, whatever the span, decoded by rounding."""
    product = float(prime_product(first_primes(n_labels)))
    return math.log1p(1 / (2 * product)) / n_records


@attrs.frozen(kw_only=True)
class ConstructionNoise(Bound):
    """Floors for the noise: what each construction survives.

    Attributes:
        labels: m, the labels in one query for the constructions that pack several, 1 to 40.
    """

    labels: int = attrs.field(default=4, validator=[attrs.validators.ge(1), attrs.validators.le(40)])

    def evaluate(self, threat: ThreatModel) -> tuple[BoundValue, ...]:
        """One line per construction, when the span is finite and rows can be meant for records."""
        facts = score_threat(threat)
        if facts is None or not is_open(facts) or math.isinf(facts.span):
            return ()
        if facts.n_classes > 2 and not facts.loss.is_log_loss:
            return ()
        return tuple(_lines(facts, min(self.labels, facts.n_records)))


def _lines(facts: ScoreThreat, m: int) -> Iterator[BoundValue]:
    n, k = facts.n_records, facts.n_classes
    span = normalised_span(facts.span, k)
    yield _floor(
        "one label per query",
        tau_mixed_radix(span, n, 1, k),
        "L / (2 N (K - 1))",
        "Aggarwal et al., ICML 2021, Algorithm 3; Cantor and Mills, 1966",
    )
    yield _floor(
        f"{m} labels a query, mixed radix", tau_mixed_radix(span, n, m, k), "L / (2 N (K-1) K^(m-1))", "labelinf theory"
    )
    yield _floor(
        f"{m} labels a query, powers as printed",
        tau_powers(span, n, m, k, base=3.0),
        "L / (N 2^m ln 3)" if k == 2 else "L / (N ln 3 (2^(mK) - 2^((m-1)K+1)))",
        "Aggarwal et al., ICML 2021, Algorithm 2" if k == 2 else "Aggarwal et al., AISTATS 2022, Theorem 3",
    )
    if k == 2:
        yield from _two_classes(span, n, m, facts.loss.is_log_loss)


def _two_classes(span: float, n: int, m: int, log_loss: bool) -> Iterator[BoundValue]:
    yield _floor(
        f"{m} labels a query, Conway-Guy weights", tau_conway_guy(span, n, m), "L / (2 N u_m)", "Conway and Guy, 1968"
    )
    yield _floor(
        f"{m} labels a query, logarithms of primes",
        tau_log_primes(span, n, m),
        "L / (3 N P_m ln p_m)",
        "Aggarwal et al., AISTATS 2022, Theorem 2",
    )
    if log_loss and math.log(first_primes(m)[-1]) <= span:
        yield _floor(
            f"{m} labels a query, primes",
            tau_primes(n, m),
            "ln(1 + 1/(2 P_m)) / N",
            "Aggarwal et al., ICML 2021, Algorithm 1",
        )


def _floor(title: str, value: float, formula: str, statement: str) -> BoundValue:
    return BoundValue(
        title=title,
        direction=Direction.FLOOR,
        quantity="noise",
        value=value,
        formula=formula,
        conditions="largest absolute error, rounding included; all labels come out below it",
        statement=statement,
    )
