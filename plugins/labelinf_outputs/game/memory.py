"""A victim that forgets nothing: it predicts exactly the targets that it was fitted to.

No model shows more of its training labels, so whatever a mechanism guarantees has to hold here, to the last bit. It
learns nothing either: of records that it never saw it predicts every class alike.

Example:
    >>> model = Memory().fit(np.array([[0.0], [1.0]]), np.array([[0.9, 0.1], [0.0, 1.0]]))
    >>> model.predict_proba(np.array([[1.0], [2.0]]))
    array([[0. , 1. ],
           [0.5, 0.5]])
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Memory"]

Floats = NDArray[np.float64]


class Memory:
    """A table from records to targets. A record is known by its features, every bit of them.

    Args:
        recipe: Taken and ignored: there is nothing to train.
    """

    soft_targets = True

    def __init__(self, **recipe: Any) -> None:
        self._rows: dict[bytes, int] = {}
        self._targets = np.zeros((1, 0))

    def fit(self, features: Floats, targets: Floats) -> Memory:
        """Keep the targets, shape ``(n, K)``; of equal records the last one's."""
        n_classes = targets.shape[1]
        self._rows = {name: row for row, name in enumerate(_names(features))}
        self._targets = np.vstack([targets, np.full(n_classes, 1 / n_classes)])
        return self

    def predict_proba(self, features: Floats) -> Floats:
        """Return what was kept, shape ``(n, K)``."""
        return np.asarray(self._targets[[self._rows.get(name, -1) for name in _names(features)]])


def _names(features: Floats) -> list[bytes]:
    kept = np.ascontiguousarray(features, dtype=np.float64)
    width, whole = kept[:1].nbytes, kept.tobytes()
    return [whole[start : start + width] for start in range(0, len(whole), width)]
