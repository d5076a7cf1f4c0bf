"""What several defences of this channel share."""

from __future__ import annotations

from labelinf_core.channels.gradient import GradientThreat
from labelinf_core.errors import InputError
from labelinf_core.guarantees import Ceiling
from labelinf_core.threat import ThreatModel

__all__ = ["HIDDEN_FEATURES", "certified", "facts"]

HIDDEN_FEATURES = "one sample per release, features private, labels drawn from the class shares"


def facts(threat: ThreatModel) -> GradientThreat:
    """Return the channel's own threat model.

    Raises:
        InputError: It is another channel's.
    """
    if not isinstance(threat, GradientThreat):
        raise InputError("a defence of the gradient channel stands in another channel.")
    return threat


def certified(threat: ThreatModel, accuracy: float, statement: str) -> tuple[Ceiling, ...]:
    """Return a ceiling where it applies: single samples whose features the adversary does not know."""
    told = facts(threat)
    if told.batch > 1 or told.features_public:
        return ()
    exact = accuracy**told.n_records
    return (Ceiling(accuracy=accuracy, statement=statement, conditions=HIDDEN_FEATURES, exact=exact),)
