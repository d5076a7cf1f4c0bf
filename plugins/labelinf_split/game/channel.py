"""The game: a split run on planted labels, of which the feature party guesses the canaries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import Attack, Defence, LabelSet, Measure, Setting
from labelinf_core.contracts.errors import InputError
from labelinf_core.contracts.planted import PlantedChannel
from labelinf_split.game.training import recorded
from labelinf_split.game.view import Side, SplitAttack, SplitDefence, SplitThreat, SplitView

__all__ = ["SplitChannel"]

_SHARE: Any = [attrs.validators.gt(0), attrs.validators.lt(1)]
_WHOLE = attrs.validators.ge(1)


@attrs.frozen(kw_only=True)
class SplitChannel(PlantedChannel):
    """A feature party and a label party train a network that is cut between them.

    Attributes:
        top: The label party's network: ``none`` (logits are a sum of embeddings), ``linear`` or ``mlp``.
        bottom: The feature party's network; ``none`` sends standardised features.
        label_features: The label party has the second half of the features.
        frozen: The label party does not train.
        top_known: The feature party sees a linear top's weights at every step.
        shots: Labels of every class that it knows; 0: classes have no names, but where there is no top.
        encrypted: It sees mean gradients of its own weights only, as behind homomorphic encryption.
        epochs: Passes over the records.
        batch: Records of a step.
        optimiser: Of both parties.
        rate: Step size; like all settings, public.
        width: Entries of an embedding; without a top there is one for every class, without a bottom for every feature.
        hidden: Units of hidden layers.
        canaries: Share of the training records whose labels are planted, in (0, 1).
        test: Share of the records kept for measuring accuracy, in (0, 1).
        precision: Of all arithmetic.
    """

    default_labels: ClassVar[str] = "breast-cancer"
    rank: ClassVar[int] = 30
    attacks: ClassVar[type[Attack]] = SplitAttack
    defences: ClassVar[type[Defence]] = SplitDefence

    top: Side = Side.LINEAR
    bottom: Side = Side.MLP
    label_features: bool = False
    frozen: bool = False
    top_known: bool = False
    shots: int = attrs.field(default=5, validator=attrs.validators.ge(0))
    encrypted: bool = False
    epochs: int = attrs.field(default=5, validator=_WHOLE)
    batch: int = attrs.field(default=32, validator=_WHOLE)
    optimiser: Literal["adam", "sgd"] = attrs.field(default="adam", validator=attrs.validators.in_(("adam", "sgd")))
    rate: float = attrs.field(default=3e-3, validator=attrs.validators.gt(0))
    width: int = attrs.field(default=16, validator=_WHOLE)
    hidden: int = attrs.field(default=32, validator=_WHOLE)
    canaries: float = attrs.field(default=0.2, validator=_SHARE)
    test: float = attrs.field(default=0.2, validator=_SHARE)
    precision: Literal["single", "double"] = attrs.field(
        default="single", validator=attrs.validators.in_(("single", "double"))
    )

    @classmethod
    def measures(cls) -> tuple[Measure, ...]:
        """Return the accuracy that is left, what of it the label party has alone, and what attacks say of proofs."""
        return (
            Measure(key="test_accuracy", title="test accuracy"),
            Measure(key="certified", title="certified", of="trial", better="lower", unit="share"),
            Measure(key="certificate", title="certificate", of="trial", unit="text"),
        )

    def known(self, data: LabelSet) -> SplitThreat:
        """Return what the feature party knows of an undefended run.

        Raises:
            InputError: There are no features, too few records, or the settings do not fit together.
        """
        if data.features is None or data.features.shape[1] < 2:
            raise InputError(f"labels {data.title!r} come with fewer than two features; two parties need one each.")
        if self.top is Side.NONE and self.bottom is Side.NONE:
            raise InputError("without a top the embeddings are the logits, so there must be a bottom.")
        if self.encrypted and self.bottom is Side.NONE:
            raise InputError("encrypted=true shows gradients of the bottom's weights, so there must be a bottom.")
        training = data.n_records - max(1, int(self.test * data.n_records))
        planted = int(self.canaries * training)
        if planted < 1 or training - planted < 1:
            raise InputError(
                f"{data.n_records} records are too few for canaries={self.canaries:g}, test={self.test:g}."
            )
        own = (int((data.features.std(axis=0) > 1e-9).sum()) + 1) // 2
        width = own if self.bottom is Side.NONE else self.width
        return SplitThreat(
            n_records=planted,
            n_classes=data.n_classes,
            prior=(1 / data.n_classes,) * data.n_classes,
            run=self,
            width=data.n_classes if self.top is Side.NONE else width,
            n_training=training,
        )

    def release(
        self, data: LabelSet, labels: NDArray[np.intp], threat: SplitThreat, rng: np.random.Generator
    ) -> SplitView:
        """Train, and return what the feature party sees."""
        return recorded(threat, data, labels, int.from_bytes(rng.bytes(16))).view

    def utility(self, data: LabelSet, defences: tuple[Defence, ...], rng: np.random.Generator) -> Mapping[str, float]:
        """Return the share of unseen records that both parties together get right."""
        threat = self.threat(Setting(data=data, defences=defences))
        labels = rng.integers(0, threat.n_classes, threat.n_records, dtype=np.intp)
        return {"test_accuracy": recorded(threat, data, labels, int.from_bytes(rng.bytes(16))).test_accuracy}
