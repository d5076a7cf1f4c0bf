"""What one query cannot do: noise above which m labels do not fit, and labels beyond which no double can tell.

Class counts are taken to be known, as they are to whoever reads a board's description. So of the K^m label vectors of
m records only those remain that the counts allow, and the others' labels move with them: the fewer vectors, the more
noise each survives. Without counts, between the best known construction and the best known impossibility lies Erdős's
distinct subset sums problem: Conway and Guy's weights reach ``0.235 * 2**m``, Sperner-type bounds forbid less than
``0.8 * 2**m / sqrt(m)``.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence

import attrs

from labelinf_core.contracts.components import Bound
from labelinf_core.contracts.guarantees import BoundValue, Direction
from labelinf_core.contracts.threat import ThreatModel
from labelinf_scores.arithmetic.formats import SIGNIFICANT_BITS
from labelinf_scores.bounds.common import is_of_all, score_threat
from labelinf_scores.bounds.entropy import class_counts
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.limits import answer_entropy, labels_in_one_answer

__all__ = ["OneQuery", "label_vectors"]

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
            conditions=f"a {facts.arithmetic} score, costs not negative, whatever the query, N and clip; class counts "
            f"are not known: of few label orders that they leave one answer may tell all",
            statement="labelinf theory, the 53-label limit",
        )
    if facts.step and math.isfinite(facts.span) and is_of_all(facts):
        yield _labels(
            title="labels that one rounded answer tells on average",
            value=answer_entropy(n_records=facts.n_records, span=facts.span, step=facts.step),
            formula="log2(2 pi e ((L / (2 sqrt(N) r) + 1/2)^2 + 1/12)) / 2",
            conditions=f"rounded to r = {facts.step:g}; uniform labels, class counts unknown, queries fixed beforehand",
            statement="labelinf theory, maximum entropy",
        )


def _enough(facts: ScoreThreat, m: int, title: str) -> BoundValue:
    """The pigeonhole: so many scores lie within what m labels, and others that keep the counts, can move."""
    vectors = label_vectors(class_counts(facts.prior, facts.n_records), m)
    moved = min(facts.n_classes * m, facts.n_records)
    return BoundValue(
        title=title,
        direction=Direction.CEILING,
        quantity="noise",
        value=moved * facts.span / facts.n_records / (2 * (vectors - 1)) if vectors > 1 else math.inf,
        formula="min(K m, N) L / (2 N (V - 1)), V label vectors of m records that the class counts allow",
        conditions="largest absolute error, worst case; one query, certain recovery; class counts known",
        statement="labelinf theory, pigeonhole, and the largest weight",
    )


def label_vectors(counts: Sequence[int], m: int) -> int:
    """Return V: how many label vectors m records can have where so many records are of each class.

    >>> label_vectors([2, 2], 4), label_vectors([9, 1], 3)
    (6, 4)
    """
    ways = [1, *[0] * m]
    for count in counts:
        ways = [sum(ways[j - c] * math.comb(j, c) for c in range(min(count, j) + 1)) for j in range(m + 1)]
    return ways[m]
