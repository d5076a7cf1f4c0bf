"""Randomised response of labels as a function; the model is :mod:`labelinf_privacy.label_noise.randomised_response`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from labelinf_privacy.label_noise.randomised_response import RandomisedResponse, keep_probability

__all__ = ["keep_probability", "perturb"]


def perturb(labels: NDArray[np.intp], epsilon: float, n_classes: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return perturbed labels."""
    return RandomisedResponse(epsilon=epsilon).sample(labels, n_classes, rng)
