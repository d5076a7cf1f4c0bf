"""Bounds of every channel are held to games that can be enumerated: one that says too little is convicted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import pytest

from labelinf_core.contracts.components import Bound
from labelinf_core.contracts.guarantees import BoundValue, Ceiling
from labelinf_core.contracts.threat import ThreatModel
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.testing.rules import NotApplicableError
from labelinf_gradients.bounds.certificates import GradientCertificate
from labelinf_gradients.rules import RULES as OF_GRADIENTS
from labelinf_outputs.bounds.planted_labels import PlantedLabels
from labelinf_outputs.rules import RULES as OF_OUTPUTS

ROOMS = [(OF_GRADIENTS, GradientCertificate()), (OF_OUTPUTS, PlantedLabels())]


@attrs.frozen(kw_only=True)
class Boast(Bound):
    """Denies what is left of a true ceiling once a share of it is taken off."""

    true: Bound
    share: float = 0.0

    def evaluate(self, threat: ThreatModel) -> tuple[BoundValue, ...]:
        return self.true.evaluate(threat)

    def ceilings(self, threat: ThreatModel) -> tuple[Ceiling, ...]:
        return tuple(
            attrs.evolve(item, accuracy=item.accuracy * (1 - self.share), game=None)
            for item in self.true.ceilings(threat)
        )


@pytest.mark.parametrize(("rules", "true"), ROOMS, ids=["gradients", "outputs"])
def test_a_ceiling_below_the_best_guess_is_contradicted(rules: Any, true: Bound) -> None:
    never = dict(rules[Kind.BOUND])["is-never-contradicted"]
    never(Boast(true=true))
    with pytest.raises(AssertionError, match="the best guess has"):
        never(Boast(true=true, share=0.02))


@attrs.frozen(kw_only=True)
class Silent(Bound):
    """Says nothing that could be false, or crashes when it is asked."""

    crashes: bool = False

    def evaluate(self, threat: ThreatModel) -> tuple[BoundValue, ...]:
        if self.crashes:
            raise ZeroDivisionError
        return ()


@pytest.mark.parametrize(("rules", "true"), ROOMS, ids=["gradients", "outputs"])
def test_what_denies_nothing_is_skipped_and_what_crashes_is_told(rules: Sequence[Any], true: Bound) -> None:
    of = dict(rules[Kind.BOUND])  # type: ignore[call-overload]
    with pytest.raises(NotApplicableError, match="denies nothing"):
        of["is-never-contradicted"](Silent())
    with pytest.raises(ZeroDivisionError):
        of["speaks-of-every-game"](Silent(crashes=True))
