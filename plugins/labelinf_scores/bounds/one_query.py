"""What one query cannot do: noise above which m labels do not fit, and labels beyond which no double can tell.

Between the best known construction and the best known impossibility lies Erdős's distinct subset sums problem: Conway
and Guy's weights reach ``0.235 * 2**m``, Sperner-type bounds forbid less than ``0.8 * 2**m / sqrt(m)``.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator

import attrs

from labelinf_core.contracts.components import Bound
from labelinf_core.contracts.guarantees import BoundValue, Direction
from labelinf_core.contracts.threat import ThreatModel
from labelinf_scores.arithmetic.formats import SIGNIFICANT_BITS
from labelinf_scores.bounds.common import is_of_all, score_threat
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.limits import answer_entropy, labels_in_one_answer, pigeonhole_tau, sperner_tau

__all__ = ["OneQuery"]

_labels = functools.partial(BoundValue, direction=Direction.CEILING, quantity="labels per query")


@attrs.frozen(kw_only=True)
class OneQuery(Bound):
    """Ceilings for a single query.

    Attributes:
        labels: m, the labels asked for in one query, 1 to 40.
    """

    labels: int = attrs.field(default=4, validator=[attrs.validators.ge(1), attrs.validators.le(40)])

    def evaluate(self, threat: ThreatModel) -> tuple[BoundValue, ...]:
        """Noise that stops m labels, noise that stops all, and the most labels of one answer."""
        facts = score_threat(threat)
        return () if facts is None else tuple(_lines(facts, min(self.labels, facts.n_records)))


def _lines(facts: ScoreThreat, m: int) -> Iterator[BoundValue]:
    if math.isfinite(facts.span) and is_of_all(facts):
        yield _enough(facts, m, f"noise above which no query tells {m} labels")
        if m < facts.n_records <= 500:
            yield _enough(facts, facts.n_records, "noise above which no single query tells all labels")
    if facts.n_classes != 2 or facts.groups:  # one bit may be all labels of a group
        return
    if facts.arithmetic in SIGNIFICANT_BITS and not facts.step:
        yield _labels(
            title="labels that one answer tells with certainty",
            value=labels_in_one_answer(SIGNIFICANT_BITS[facts.arithmetic]),
            formula="p significant bits: p labels",
            conditions=f"a {facts.arithmetic} score, costs not negative, whatever the query, N and clip",
            statement="labelinf theory, the 53-label limit",
        )
    if facts.step and math.isfinite(facts.span) and is_of_all(facts):
        yield _labels(
            title="labels that one rounded answer tells on average",
            value=answer_entropy(n_records=facts.n_records, span=facts.span, step=facts.step),
            formula="log2(2 pi e ((L / (2 sqrt(N) r) + 1/2)^2 + 1/12)) / 2",
            conditions=f"rounded to r = {facts.step:g}; uniform labels, queries fixed beforehand",
            statement="labelinf theory, maximum entropy",
        )


def _enough(facts: ScoreThreat, m: int, title: str) -> BoundValue:
    """The better of the pigeonhole and, for two classes, the Sperner-type bound."""
    values = [(pigeonhole_tau(m, n_records=facts.n_records, span=facts.span, n_classes=facts.n_classes), "pigeonhole")]
    if facts.n_classes == 2:
        values.append((sperner_tau(m, n_records=facts.n_records, span=facts.span), "largest weight"))
    value, which = min(values)
    return BoundValue(
        title=title,
        direction=Direction.CEILING,
        quantity="noise",
        value=value,
        formula="m L / (2 N (K^m - 1))" if which == "pigeonhole" else "L / (2 N C(m, m/2))",
        conditions="largest absolute error, worst case; one query, certain recovery",
        statement=f"labelinf theory, {which}; replaces Aggarwal et al., ICML 2021, Theorem 6",
    )
