"""Noise chosen by an adversary of the attacker: what it must be to hide labels for ever (labelinf theory, worst case).

Below ``L / (2N)`` it hides nothing: one label per query comes out with certainty, as do all by a detecting matrix in
about ``2N / log2 N`` queries. From ``k L / (2N)`` on a curator can answer as if k secret labels were halfway between
the two classes: the error stays within, and those k labels never enter an answer. Whoever knows the class counts still
learns one label that is hidden alone, as all others come out; from ``L / N`` on two labels may have changed places.
"""

from __future__ import annotations

import math

import attrs

from labelinf_core.contracts.components import Bound
from labelinf_core.contracts.guarantees import BoundValue, Direction
from labelinf_core.contracts.threat import ThreatModel
from labelinf_scores.bounds.common import is_of_all, is_open, score_threat

__all__ = ["WorstCaseThreshold", "hideable", "hiding_noise"]


def hideable(span: float, n_records: int, tau: float, n_classes: int = 2) -> int:
    """Return the labels that noise within ``tau`` can hide for ever: ``floor(2 N tau / L)``, at most N.

    With K classes a hidden label stands for the mean of all of them: ``floor(K N tau / ((K - 1) L))``.
    """
    one = hiding_noise(span, n_records, 1, n_classes)
    return min(n_records, math.floor(tau / one * (1 + 2.0**-50)))


def hiding_noise(span: float, n_records: int, n_hidden: int, n_classes: int = 2) -> float:
    """Return the noise that hiding ``n_hidden`` labels takes: ``k L (K - 1) / (K N)``, 0 for none."""
    return n_hidden * span * (n_classes - 1) / (n_classes * n_records) if n_hidden else 0.0


@attrs.frozen(kw_only=True)
class WorstCaseThreshold(Bound):
    """The one threshold at which worst-case noise begins to hide labels, from both sides."""

    def evaluate(self, threat: ThreatModel) -> tuple[BoundValue, ...]:
        """The noise that hides the first label, and the noise that hides them all."""
        facts = score_threat(threat)
        if facts is None or math.isinf(facts.span) or not is_of_all(facts):
            return ()
        statement = "labelinf theory, worst-case noise"
        tight = ", two classes: below L / (2N) all come out" if facts.n_classes == 2 and is_open(facts) else ""
        return (
            BoundValue(
                title="worst-case noise that hides the first label for ever",
                direction=Direction.CEILING,
                quantity="noise",
                value=facts.span / facts.n_records,
                formula="L / N: the middle of what is answered when two records of different classes change places",
                conditions=f"largest absolute error, chosen by the curator; class counts known{tight}",
                statement=statement,
            ),
            BoundValue(
                title="worst-case noise that hides every label for ever",
                direction=Direction.CEILING,
                quantity="noise",
                value=hiding_noise(facts.span, facts.n_records, facts.n_records, facts.n_classes),
                formula="L (K - 1) / K; two classes: L / 2",
                conditions="largest absolute error, chosen by the curator; class counts known",
                statement=statement,
            ),
        )
