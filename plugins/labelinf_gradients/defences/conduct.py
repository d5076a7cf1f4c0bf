"""What a client does otherwise: other labels, other parameters, more samples or more steps behind a release.

They are orders that the client obeys, and certify nothing. Soft labels are recovered exactly where they are known to
be soft (:mod:`labelinf_gradients.recovery.solver`).
"""

from __future__ import annotations

import attrs

from labelinf_core.contracts.components import TunableParameter
from labelinf_core.contracts.threat import ThreatModel
from labelinf_gradients.game.effects import Batched, LocalSteps, MixedPairs, Smoothed, Withheld
from labelinf_gradients.game.gradient import GradientDefence

__all__ = ["Aggregate", "DropBias", "FederatedAveraging", "LabelSmoothing", "Mixup"]


@attrs.frozen(kw_only=True)
class LabelSmoothing(GradientDefence):
    """Trains on smoothed labels, with a secret factor per sample (Szegedy et al., 2016).

    Attributes:
        most: Largest smoothing factor, in (0, 1].
    """

    most: float = attrs.field(default=0.5, validator=[attrs.validators.gt(0), attrs.validators.le(1)])

    def effects(self, threat: ThreatModel) -> tuple[Smoothed]:
        """Have labels smoothed."""
        return (Smoothed(most=self.most),)


@attrs.frozen(kw_only=True)
class Mixup(GradientDefence):
    """Trains on mixtures of two samples and their labels, with a secret weight (Zhang et al., 2018)."""

    def effects(self, threat: ThreatModel) -> tuple[MixedPairs]:
        """Have samples mixed."""
        return (MixedPairs(),)


@attrs.frozen(kw_only=True)
class DropBias(GradientDefence):
    """Keeps the gradients of biases at home; their values stay public with the network."""

    def effects(self, threat: ThreatModel) -> tuple[Withheld]:
        """Have gradients of biases withheld."""
        return (Withheld(),)


@attrs.frozen(kw_only=True)
class Aggregate(GradientDefence):
    """Releases the mean gradient of several samples instead of one's.

    Attributes:
        batch: Samples per release, at least 2.
    """

    batch: int = attrs.field(default=8, validator=attrs.validators.ge(2))

    def effects(self, threat: ThreatModel) -> tuple[Batched]:
        """Have several samples behind a release."""
        return (Batched(size=self.batch),)

    @classmethod
    def tunable_parameters(cls, threat: ThreatModel) -> tuple[TunableParameter, ...]:
        """Return the batch, as far as there are records."""
        if threat.n_records < 3:
            return ()
        most = float(min(64, threat.n_records))
        title = "samples behind one update"
        return (
            TunableParameter(title=title, template="aggregate(batch={})", weakest=2.0, strongest=most, integer=True),
        )


@attrs.frozen(kw_only=True)
class FederatedAveraging(GradientDefence):
    """Releases what several local steps on the batch have moved, per step and unit of the rate (McMahan et al., 2017).

    That is the mean of the steps' gradients, on the scale of a single one.

    Attributes:
        steps: Local steps, at least 2.
        rate: Length of a step, more than 0.
    """

    steps: int = attrs.field(default=5, validator=attrs.validators.ge(2))
    rate: float = attrs.field(default=0.05, validator=attrs.validators.gt(0))

    def effects(self, threat: ThreatModel) -> tuple[LocalSteps]:
        """Have several steps behind a release."""
        return (LocalSteps(steps=self.steps, rate=self.rate),)

    @classmethod
    def tunable_parameters(cls, threat: ThreatModel) -> tuple[TunableParameter, ...]:
        """Return the number of steps."""
        title = "local steps behind one update"
        return (
            TunableParameter(
                title=title, template="federated-averaging(steps={})", weakest=2.0, strongest=32.0, integer=True
            ),
        )
