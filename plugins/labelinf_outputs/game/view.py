"""What the adversary of a model's outputs is shown, declared beforehand."""

from __future__ import annotations

import enum

import attrs

__all__ = ["LossOracle", "Outputs", "View"]


class Outputs(enum.Enum):
    """What a model shows of a record."""

    PROBABILITIES = "probabilities"
    LOGITS = "logits"
    TOP_ONE = "top-1"
    VALUES = "values"
    """A number, of a model of values that were planted on a grid; read as log-odds of its points."""


class LossOracle(enum.Enum):
    """Which label the losses that are shown, if any, were computed with."""

    NONE = "none"
    PLANTED = "planted"
    """The label to be inferred: then its loss *is* the label, and no label-DP is left."""
    TRAINED = "trained"
    """The label the model was trained on, after every mechanism."""


@attrs.frozen(kw_only=True)
class View:
    """Everything the adversary is shown, declared beforehand.

    Attributes:
        outputs: What the model shows of every canary.
        resolution: Smallest difference of released probabilities; 0 when they are not rounded.
        loss: Whether the model's loss on every canary is shown, and with which label it was computed.
        references: Models of the same pipeline that the adversary trained itself, with planted labels of its own.
        features: Whether the canaries' features are shown.
    """

    outputs: Outputs = Outputs.PROBABILITIES
    resolution: float = 0.0
    loss: LossOracle = LossOracle.NONE
    references: int = 0
    features: bool = False

    @property
    def reveals_label(self) -> bool:
        """Whether the declared view contains the label itself."""
        return self.loss is not LossOracle.NONE

    @property
    def smallest(self) -> float:
        """What a probability that is shown as 0 may have been: half a step of rounding, or next to nothing."""
        return self.resolution / 2 if self.resolution else 1e-15

    def __str__(self) -> str:
        parts = [self.outputs.value]
        if self.resolution:
            parts.append(f"rounded to {self.resolution:g}")
        if self.reveals_label:
            parts.append(f"losses with the {self.loss.value} label")
        if self.references:
            parts.append(f"{self.references} reference models")
        return ", ".join([*parts, *["features"] * self.features])
