"""Audits a kind of model: plants labels in a data set, trains it and reference models, and hands over what they say.

For whoever asks whether a library's model keeps the epsilon that it states. A model that takes ``epsilon`` is given the
claimed one. What is tested is what it tells of labels: a claim about whole *records* says more than that.
"""

from __future__ import annotations

import math

from labelinf_core.contracts.components import LabelSet
from labelinf_outputs.audit.claim import PrivacyClaim
from labelinf_outputs.audit.planted import Planted
from labelinf_outputs.game.canaries import CanaryGame, TrainingPlan
from labelinf_outputs.game.training import Recipe
from labelinf_outputs.game.view import View

__all__ = ["trained"]

_CANARIES, _TEST, _REFERENCES = 0.4, 0.1, 4


def trained(victim: str, data: LabelSet, claim: PrivacyClaim, seed: int) -> tuple[Planted, float]:
    """Return what there is to audit, and the share of unseen records that the model gets right.

    Args:
        victim: As a suite names it.
        data: Records with features.
        claim: What is tested.
        seed: Everything random follows from it.

    Raises:
        InputError: There are no features, too few records, or the victim cannot be trained.
    """
    recipe = Recipe(epsilon=claim.epsilon if math.isfinite(claim.epsilon) else None)
    plan = TrainingPlan(victim=victim, recipe=recipe, canaries=_CANARIES, test=_TEST)
    view = View(references=_REFERENCES)
    game, threat = CanaryGame(plan, data, (), seed), plan.threat(data, view)
    oracle, member = game.oracle(threat), game.member(0)
    planted = Planted(
        release=oracle.query(),
        labels=member.planted,
        class_names=data.class_names,
        view=view,
        references=oracle.references(),
        sealed=True,
        records=tuple(map(str, range(member.planted.size))),
    )
    return planted, member.test_accuracy
