"""Label-DP of the whole game: how well anyone can guess a label, whatever is asked and known (theory: label-DP)."""

from __future__ import annotations

import math

import attrs

from labelinf_core.contracts.components import Bound
from labelinf_core.contracts.guarantees import BoundValue, Ceiling, PerGame
from labelinf_core.contracts.threat import ThreatModel
from labelinf_privacy.label_dp import approximate_accuracy, likeliest, pure_accuracy, pure_exact
from labelinf_scores.bounds.common import INDEPENDENT, counts_allowance
from labelinf_scores.bounds.entropy import counts_bits, counts_probability

__all__ = ["LabelDp"]


@attrs.frozen(kw_only=True)
class LabelDp(Bound):
    """Ceilings from the label-DP budget of everything released.

    Pure: a label is guessed with at most ``max_j e**eps P_(1..j) / (j - 1 + e**eps)``, and all N with its Nth power
    (divided by the probability of the class counts, when the adversary knows them exactly).
    """

    def ceilings(self, threat: ThreatModel) -> tuple[Ceiling, ...]:
        """One ceiling, when there is a budget."""
        epsilon, delta, prior = threat.label_epsilon, threat.label_delta, threat.prior
        if math.isinf(epsilon):
            return ()
        if delta > 0:
            accuracy = approximate_accuracy(epsilon, delta, prior)
            double = approximate_accuracy(2 * epsilon, min(1.0, (1 + math.exp(epsilon)) * delta), prior)
            exact, game = accuracy, None  # with probability delta everything may be told at once
        else:
            accuracy, double = pure_accuracy(epsilon, prior), pure_accuracy(2 * epsilon, prior)
            known = counts_probability(prior, threat.n_records)
            exact = min(accuracy, pure_exact(epsilon, prior, threat.n_records) / known)
            game = PerGame(share=likeliest(epsilon, max(prior)), bits=counts_bits(prior, threat.n_records))
        return (
            Ceiling(
                accuracy=accuracy,
                exact=exact,
                statement="labelinf theory, label-DP ceilings",
                conditions=f"label-DP with epsilon = {epsilon:.4g}, delta = {delta:.4g} in all; {INDEPENDENT}",
                game=game,
                allowance=counts_allowance(accuracy, double, threat.n_records, threat.n_classes),
            ),
        )

    def evaluate(self, threat: ThreatModel) -> tuple[BoundValue, ...]:
        """Nothing but the ceiling."""
        return ()
