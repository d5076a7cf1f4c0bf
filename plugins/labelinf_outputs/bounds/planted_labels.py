"""What label-DP denies to any attack on planted labels, and what so many canaries can prove at best."""

from __future__ import annotations

import math

import attrs

from labelinf_core.contracts.components import Bound
from labelinf_core.contracts.guarantees import BoundValue, Ceiling, Direction, PerGame
from labelinf_core.contracts.threat import ThreatModel
from labelinf_core.statistics import epsilon_bounds
from labelinf_outputs.game.output import OutputThreat
from labelinf_privacy.label_dp import approximate_accuracy, likeliest, pure_accuracy, pure_exact

__all__ = ["PlantedLabels"]

_STATEMENT = "labelinf theory, label-DP ceilings"


@attrs.frozen(kw_only=True)
class PlantedLabels(Bound):
    """Ceilings ``(e^eps + (K - 1) delta) / (e^eps + K - 1)`` on guessing planted labels, and the audit's own limit."""

    def ceilings(self, threat: ThreatModel) -> tuple[Ceiling, ...]:
        """One ceiling, where labels are private and no planted label is shown."""
        if not isinstance(threat, OutputThreat) or math.isinf(threat.label_epsilon):
            return ()
        accuracy, exact = _denied(threat)
        # With probability delta everything may be told at once: nothing holds in every game then.
        game = PerGame(share=likeliest(threat.label_epsilon, max(threat.prior))) if threat.label_delta == 0 else None
        conditions = _conditions(threat)
        return (Ceiling(accuracy=accuracy, exact=exact, statement=_STATEMENT, conditions=conditions, game=game),)

    def evaluate(self, threat: ThreatModel) -> tuple[BoundValue, ...]:
        """The ceiling, and the epsilon that an audit cannot exceed."""
        if not isinstance(threat, OutputThreat):
            return ()
        lines = [_provable(threat)]
        if not math.isinf(threat.label_epsilon):
            lines.append(_accuracy(threat))
        return tuple(lines)


def _denied(threat: OutputThreat) -> tuple[float, float]:
    epsilon, delta, prior = threat.label_epsilon, threat.label_delta, threat.prior
    if delta > 0:
        accuracy = approximate_accuracy(epsilon, delta, prior)
        return accuracy, accuracy
    return pure_accuracy(epsilon, prior), pure_exact(epsilon, prior, threat.n_records)


def _conditions(threat: OutputThreat) -> str:
    return (
        f"label-DP with epsilon = {threat.label_epsilon:.4g}, delta = {threat.label_delta:.4g} of the released model; "
        f"planted labels uniform and independent; nothing else shown depends on them"
    )


def _accuracy(threat: OutputThreat) -> BoundValue:
    return BoundValue(
        title="success against the planted labels",
        direction=Direction.CEILING,
        quantity="accuracy",
        value=_denied(threat)[0],
        formula="(e^eps + (K - 1) delta) / (e^eps + K - 1)",
        conditions=_conditions(threat),
        statement=_STATEMENT,
    )


def _provable(threat: OutputThreat) -> BoundValue:
    delta = threat.label_delta
    pure = "ln((K - 1) q / (1 - q)), q = (beta / 4)^(1/r)"
    return BoundValue(
        title=f"epsilon that {threat.n_records} canaries can prove",
        direction=Direction.CEILING,
        quantity="epsilon",
        value=epsilon_bounds.provable_epsilon(threat.n_records, threat.n_classes, delta=delta),
        formula="by bisection: p-value = beta / 4" if delta else pure,
        conditions=f"one model, every guess right, error probability {epsilon_bounds.BETA:g}, delta = {delta:.4g}",
        statement="Mahloujifar, Melis and Chaudhuri, 2024; Steinke, Nasr and Jagielski, NeurIPS 2023, Theorem 5.2"
        if delta
        else "Steinke, Nasr and Jagielski, NeurIPS 2023, Theorem 5.1",
    )
