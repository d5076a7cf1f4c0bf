"""A gradient of a bias gives the label away in closed form, whatever its family: no search, no prior.

A last-layer bias has gradient ``p - y`` itself, so the feature is a quotient (Aono et al., 2017) and the soft label
follows. Where the last layer has no bias but the last hidden one does, and a ReLU stands between, its gradient fixes
the scale of the feature (labelinf theory, closed forms). Whether that holds can be seen from the gradients themselves:
behind tanh, sigmoid, GELU, batch normalisation or a tied head it does not. Without any bias the complete gradient of a
ReLU network is the same for ``(s x, y(s))`` at every scale ``s``: only then is a prior on labels *necessary* (Wang et
al., ICLR 2024, Section 3.4, claims it for all analytical recovery).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelinf_gradients.game.networks import Layer, softmax
from labelinf_gradients.recovery.factor import factor

__all__ = ["from_hidden_bias", "from_last_bias"]

_TINY = float(np.finfo(float).tiny)


def from_last_bias(
    gradients: NDArray[Any], bias_gradients: NDArray[Any], classifier: Layer
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the label and the feature of single samples: ``x = G'g / |g|^2``, ``y = softmax(W x + b) - g``.

    Least squares over all rows replaces the paper's division of single entries.

    Args:
        gradients: ``G``, of the last layer's weights, shape ``(n, C, I)``.
        bias_gradients: ``g``, of its bias, shape ``(n, C)``.
        classifier: The last layer.

    Returns:
        Soft labels, shape ``(n, C)``, NaN where the gradient is zero; features, shape ``(n, I)``; and the share of a
        gradient that this does not explain, shape ``(n,)``: rounding where it is of one sample and of a layer of its
        own; of the order of one of a batch, or a tied head.
    """
    whole, g = gradients.astype(np.float64), bias_gradients.astype(np.float64)
    size = np.einsum("nc,nc->n", g, g)
    with np.errstate(divide="ignore", invalid="ignore"):
        features = np.einsum("nci,nc->ni", whole, g) / size[:, None]
    left = np.linalg.norm(whole - g[:, :, None] * np.nan_to_num(features)[:, None, :], axis=(1, 2))
    misfit = left / np.maximum(np.linalg.norm(whole, axis=(1, 2)), _TINY)
    return softmax(classifier(features)) - g, features, np.asarray(misfit)


def from_hidden_bias(
    gradients: NDArray[Any], hidden_bias_gradients: NDArray[Any], classifier: Layer
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the label and the feature of single samples from the gradient of the last *hidden* ReLU layer's bias.

    With ``G = a v'`` that gradient is ``q / t``, ``q = (W'a) * [v > 0]``: so ``t = |q|^2 / <q, g>``.

    Args:
        gradients: Of the last layer's weights, shape ``(n, C, I)``.
        hidden_bias_gradients: ``g``, of the hidden layer's bias, shape ``(n, I)``.
        classifier: The last layer.

    Returns:
        As :func:`from_last_bias`; the share is of the hidden bias's gradient: rounding where a ReLU stands between.
    """
    parts, g = factor(gradients, nonnegative=True), hidden_bias_gradients.astype(np.float64)
    q = (parts.column @ classifier.weights.astype(np.float64)) * (parts.direction > 0)
    size, along = np.einsum("ni,ni->n", q, q), np.einsum("ni,ni->n", q, g)
    share = along / np.maximum(size, _TINY)
    left = np.linalg.norm(g - share[:, None] * q, axis=1) / np.maximum(np.linalg.norm(g, axis=1), _TINY)
    with np.errstate(divide="ignore", invalid="ignore"):
        scales = size / along
        features = scales[:, None] * parts.direction
        labels = softmax(classifier(features)) - parts.column / scales[:, None]
    return labels, features, np.asarray(np.maximum(left, parts.misfit))
