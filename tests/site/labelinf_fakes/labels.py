"""Made labels, good and bad."""

from __future__ import annotations

from typing import Literal

import attrs
import numpy as np

from labelinf_core.contracts.components import LabelSet, LabelSource


@attrs.frozen(kw_only=True)
class Made(LabelSource):
    """Balanced labels.

    Attributes:
        n: How many.
        classes: How many classes.
        private: Whether they are a user's own.
    """

    n: int = attrs.field(default=12, validator=attrs.validators.ge(2))
    classes: int = 2
    private: bool = False

    def load(self) -> LabelSet:
        return LabelSet(
            labels=np.arange(self.n) % self.classes,
            class_names=tuple(f"class {k}" for k in range(self.classes)),
            title="made",
            provenance="made",
            public=not self.private,
        )


@attrs.frozen(kw_only=True)
class Bad(LabelSource):
    """Labels that break the contract.

    Attributes:
        how: In which way.
    """

    how: Literal["outside", "float", "empty", "one-class", "raises"] = "outside"

    def load(self) -> LabelSet:
        if self.how == "raises":
            raise KeyError("no such table")
        labels = {
            "outside": np.array([0, 1, 2]),
            "float": np.array([0.0, 1.0]),
            "empty": np.array([], dtype=np.intp),
            "one-class": np.array([1, 1, 1]),
        }[self.how]
        return LabelSet(labels=labels, class_names=("no", "yes"), title="bad", provenance="made")
