"""Label-DP of the whole game: how well anyone can guess a label, whatever is asked and known (theory: label-DP)."""

from __future__ import annotations

import functools
import math
from typing import ClassVar

import attrs

from labelinf_core.contracts.components import Bound
from labelinf_core.contracts.guarantees import BoundValue, Ceiling, PerGame
from labelinf_core.contracts.threat import ThreatModel
from labelinf_privacy.label_dp import approximate_accuracy, likeliest, pure_accuracy, pure_exact
from labelinf_scores.bounds.common import counts_allowance, independent
from labelinf_scores.bounds.entropy import counts_bits, counts_probability
from labelinf_scores.bounds.groups import on_average

__all__ = ["LabelDp", "moved_accuracy"]


_CERTAIN = 30.0  #: an epsilon of a whole group from which on nothing is claimed where there is a delta


@attrs.frozen(kw_only=True)
class LabelDp(Bound):
    """Ceilings from the label-DP budget of everything released.

    Pure: a label is guessed with at most ``max_j e**eps P_(1..j) / (j - 1 + e**eps)``, and all N with its Nth power
    (divided by the probability of the class counts, when the adversary knows them exactly). Of groups neither the power
    nor a line of one game is proved: all labels are guessed no more often than one.
    """

    several_metrics: ClassVar[bool] = True

    def ceilings(self, threat: ThreatModel) -> tuple[Ceiling, ...]:
        """One ceiling, when there is a budget."""
        epsilon, delta, prior = threat.label_epsilon, threat.label_delta, threat.prior
        if math.isinf(epsilon):
            return ()
        against = functools.partial(moved_accuracy, epsilon, delta, prior)
        accuracy, allowance = on_average(threat, against), counts_allowance(threat, against)
        exact, game = min(1.0, accuracy + allowance), None  # with probability delta everything may be told at once
        if delta == 0 and not threat.groups:
            known = counts_probability(prior, threat.n_records)
            exact = min(exact, pure_exact(epsilon, prior, threat.n_records) / known)
            game = PerGame(share=likeliest(epsilon, max(prior)), bits=counts_bits(prior, threat.n_records))
        return (
            Ceiling(
                accuracy=accuracy,
                exact=exact,
                statement="labelinf theory, label-DP ceilings",
                conditions=f"label-DP with epsilon = {epsilon:.4g}, delta = {delta:.4g} in all; {independent(threat)}",
                game=game,
                allowance=allowance,
            ),
        )

    def evaluate(self, threat: ThreatModel) -> tuple[BoundValue, ...]:
        """Nothing but the ceiling."""
        return ()


def moved_accuracy(epsilon: float, delta: float, prior: tuple[float, ...], records: int) -> float:
    """Return the largest accuracy on a label that ``records`` records tell, each with (epsilon, delta)."""
    total = records * epsilon
    if delta == 0:
        return pure_accuracy(total, prior)
    if total > _CERTAIN:
        return 1.0
    steps = sum(math.exp(step * epsilon) for step in range(records))
    return approximate_accuracy(total, min(1.0, steps * delta), prior)
