"""Few queries through Gaussian noise: the channel carries few bits, so most labels stay open.

For fewer queries than records the privacy ceiling is not tight: it would allow one answer with noise ``L / (2N)`` to
give 84 % of a thousand labels away, through a channel of five bits. The mutual information says otherwise.
"""

from __future__ import annotations

import math

import attrs

from labelinf_core.contracts.components import Bound
from labelinf_core.contracts.guarantees import BoundValue, Ceiling
from labelinf_core.contracts.threat import ThreatModel
from labelinf_privacy.noise.grid_gaussian import GridGaussian
from labelinf_scores.bounds.common import UNRELATED, score_threat
from labelinf_scores.bounds.entropy import gaussian_bits, label_bits, told_accuracy
from labelinf_scores.bounds.groups import said

__all__ = ["GaussianCapacity"]


@attrs.frozen(kw_only=True)
class GaussianCapacity(Bound):
    """A ceiling from the bits that the query budget carries through Gaussian noise."""

    def ceilings(self, threat: ThreatModel) -> tuple[Ceiling, ...]:
        """One ceiling, when those bits are fewer than the labels hold."""
        facts = score_threat(threat)
        if facts is None or facts.groups or facts.query_budget is None or math.isinf(facts.span):
            return ()  # of groups the counts may tell every label
        apart = [noise for noise in facts.noise if noise.jump == 0 and noise.drawn_anew]
        models = [noise.model for noise in apart if isinstance(noise.model, GridGaussian)]
        if not models or math.isinf(facts.facts.error):
            return ()
        model = max(models, key=lambda one: one.scale)  # rounding afterwards tells no more than the real channel
        # What the errors of its sum, and putting it on the grid, can add to the score's deviation.
        rounded = model.step / 2 + facts.magnification * facts.facts.error
        entropy = label_bits(facts.prior, facts.n_records)
        span = facts.magnification * facts.span
        wider = math.sqrt(2) if facts.n_classes == 2 else 2.0  # of labels in random order, than of independent ones
        bits = gaussian_bits(
            spread=wider * span / (2 * math.sqrt(facts.averaged or facts.n_records)) + rounded,
            span=span + 2 * rounded,
            std=model.scale,
            queries=facts.query_budget,
            enough=entropy,
        )
        if bits >= entropy:
            return ()
        return (
            Ceiling(
                accuracy=told_accuracy(bits=bits, prior=facts.prior, n_records=facts.n_records),
                exact=min(1.0, (bits + 1) / entropy),
                statement="labelinf theory, capacity of Gaussian noise",
                conditions=f"at most {bits:.3g} bits pass {facts.query_budget} answers; class counts known; "
                f"{UNRELATED}; {said(facts)}",
            ),
        )

    def evaluate(self, threat: ThreatModel) -> tuple[BoundValue, ...]:
        """Nothing but the ceiling."""
        return ()
