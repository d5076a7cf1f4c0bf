"""What is known about a batch that was recovered, and how sure of it one can be without the truth."""

from __future__ import annotations

import math

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_gradients.recovery.evidence import LEVEL

__all__ = ["Batch"]


@attrs.frozen(kw_only=True, eq=False)
class Batch:
    """What was recovered of one batch.

    Attributes:
        classes: Labels of the samples that were found, shape ``(k,)``, ``k <= B``.
        features: Their last-layer features, shape ``(k, I)``.
        rank: Numerical rank of the gradient: how many samples it can tell apart.
        unexplained: Norm of what the found samples leave of the gradient, relative to it.
        uncertainty: Standard error of the least certain feature, relative to its norm, from the release's rounding.
        chance: Bound on how likely a gradient of another origin (other labels, a bias or a factor that was not told)
            has samples that explain it as well; 1 where rounding does not leave so much.
    """

    classes: NDArray[np.intp]
    features: NDArray[np.float64]
    rank: int
    unexplained: float
    uncertainty: float
    chance: float = 1.0

    @classmethod
    def nothing(cls, *, rank: int, n_features: int) -> Batch:
        """Return that nothing was found."""
        features = np.zeros((0, n_features))
        return cls(
            classes=np.zeros(0, dtype=np.intp), features=features, rank=rank, unexplained=1.0, uncertainty=math.inf
        )

    @property
    def complete(self) -> bool:
        """Whether the samples found explain the whole gradient, and that is no accident; known without the truth."""
        return len(self.classes) == self.rank > 0 and self.chance <= LEVEL

    @property
    def exact(self) -> bool:
        """Whether, moreover, the release's rounding leaves their features known to a part in a thousand."""
        return self.complete and self.uncertainty < 1e-3
