"""K-ary randomised response: the simplest label-DP mechanism (Warner, JASA 1965; Kairouz et al., ICML 2016).

Example:
    >>> round(keep_probability(1.0, 2), 7)
    0.7310586
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["keep_probability", "perturb"]


def keep_probability(epsilon: float, n_classes: int) -> float:
    """Return ``e**eps / (e**eps + K - 1)``, the probability that a label survives."""
    return 1 / (1 + (n_classes - 1) * math.exp(-epsilon))


def perturb(labels: NDArray[np.intp], epsilon: float, n_classes: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return perturbed labels: each kept with :func:`keep_probability`, else another class, each as likely.

    Guarantees:
        Pure label-DP with ``epsilon`` (``tests/privacy/test_randomised_response.py``).
    """
    kept = rng.random(labels.size) < keep_probability(epsilon, n_classes)
    others = (labels + rng.integers(1, n_classes, labels.size)) % n_classes
    return np.where(kept, labels, others)
