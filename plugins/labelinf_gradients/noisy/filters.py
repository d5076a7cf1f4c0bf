"""Matched filters: a label's row is the one that points most clearly away from the feature.

``<G_i, d> = (p_i - y_i) <x, d>`` plus noise, so the least of them is the label as far as ``d`` points along ``x``. The
better the direction is known, the more noise it takes to hide the label (labelinf theory, noise).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelinf_gradients.recovery.factor import principal

__all__ = ["filtered", "likeliest_mixtures", "principal_directions"]

_FAINT = 1e-200  # of a variance: beside it no prior weighs anything


def filtered(gradients: NDArray[Any], directions: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the row of least inner product, shape ``(n,)``.

    Args:
        gradients: Of the last layer's weights, shape ``(n, C, I)``.
        directions: ``d``, shape ``(I,)`` for all or ``(n, I)``.
    """
    d = np.broadcast_to(directions, (len(gradients), gradients.shape[2]))
    return np.asarray(np.einsum("nci,ni->nc", gradients.astype(np.float64), d).argmin(axis=1))


def principal_directions(gradients: NDArray[Any]) -> NDArray[np.float64]:
    """Return every gradient's leading right singular vector, turned so that its entries sum to no less than zero."""
    return principal(gradients, nonnegative=True).direction


def likeliest_mixtures(
    released: NDArray[np.float64],
    templates: NDArray[np.float64],
    classes: NDArray[np.intp],
    prior: tuple[float, ...],
    noise_std: float,
) -> NDArray[np.intp]:
    """Return the likeliest class where each class is a mixture of known gradients in Gaussian noise, shape ``(n,)``.

    Args:
        released: Flat gradients, shape ``(n, d)``.
        templates: Flat gradients without noise, shape ``(m, d)``.
        classes: Class of every template, shape ``(m,)``.
        prior: Share of every class.
        noise_std: Standard deviation of the noise on every entry; 0 ignores the prior.
    """
    logs = (released @ templates.T - (templates**2).sum(axis=1) / 2) / (noise_std**2 or _FAINT)
    score = np.full((len(released), len(prior)), -np.inf)
    for k, share in enumerate(prior):
        own = logs[:, classes == k]
        if own.shape[1] and share > 0:
            top = own.max(axis=1)
            score[:, k] = top + np.log(np.exp(own - top[:, None]).mean(axis=1)) + np.log(share)
    return np.asarray(score.argmax(axis=1))
