"""Two classes from real data: is the handwritten digit odd?"""

from __future__ import annotations

import attrs
import numpy as np

from labelinf_core.contracts.components import LabelSet, LabelSource
from labelinf_data.bundled import load_bunch

__all__ = ["DigitsParity"]


@attrs.frozen(kw_only=True)
class DigitsParity(LabelSource):
    """Optical recognition of handwritten digits, 1 797 records, 64 features, classes even and odd."""

    def load(self) -> LabelSet:
        """Return the labels and features."""
        bunch = load_bunch("digits")
        return LabelSet(
            labels=np.asarray(bunch.target % 2, dtype=np.intp),
            class_names=("even", "odd"),
            title="digits-parity",
            provenance="real",
            public=True,
            features=np.asarray(bunch.data, dtype=np.float64),
        )
