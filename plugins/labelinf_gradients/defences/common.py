"""What several defences of this channel share: the facts of the channel, and when noise may be certified.

A certificate compares noise on a clipped gradient with the noise alone. Samples are clipped first, whatever the order
of the defences, but signs, levels or factors that stand between the clip and the noise make the release as long as they
like. So noise is certified behind transparent defences only; what comes after it is post-processing and costs nothing.
"""

from __future__ import annotations

from labelinf_core.contracts.errors import InputError
from labelinf_core.contracts.guarantees import Ceiling, PerGame
from labelinf_core.contracts.threat import ThreatModel
from labelinf_gradients.game.gradient import GradientDefence, GradientThreat

__all__ = ["HIDDEN_FEATURES", "certified", "facts", "hides_the_clipped"]

HIDDEN_FEATURES = "one sample per release, features private, labels drawn from the class shares"


def facts(threat: ThreatModel) -> GradientThreat:
    """Return the channel's own threat model.

    Raises:
        InputError: It is another channel's.
    """
    if not isinstance(threat, GradientThreat):
        raise InputError("a defence of the gradient channel stands in another channel.")
    return threat


def hides_the_clipped(threat: GradientThreat, defence: GradientDefence) -> bool:
    """Return whether nothing changes a release before ``defence`` adds its noise to it, other noise excepted."""
    known = defence in threat.defences
    before = threat.defences[: threat.defences.index(defence)] if known else threat.defences
    return all(isinstance(item, GradientDefence) and item.transparent for item in before)


def certified(threat: GradientThreat, defence: GradientDefence, accuracy: float, statement: str) -> tuple[Ceiling, ...]:
    """Return the ceiling of a noise where it applies: clipped single samples with features unknown to the adversary.

    Args:
        threat: What the adversary knows, with all defences.
        defence: The one that adds the noise.
        accuracy: What the noise allows on clipped gradients.
        statement: Where that is proved.
    """
    if threat.batch > 1 or threat.features_public or not hides_the_clipped(threat, defence):
        return ()
    exact = accuracy**threat.n_records
    game = PerGame(share=accuracy)  # every release depends on its own sample alone
    return (Ceiling(accuracy=accuracy, statement=statement, conditions=HIDDEN_FEATURES, exact=exact, game=game),)
