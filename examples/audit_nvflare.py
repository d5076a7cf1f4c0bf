"""An NVFlare client behind NVFlare's own privacy filter, audited in this process, without a server.

Usage::

    pip install nvflare
    labelinf audit client audit_nvflare:bare --model audit_nvflare:make
    labelinf audit client audit_nvflare:filtered --model audit_nvflare:make

What is attacked is what the filter ``PercentilePrivacy`` lets through: the tenth of the changes that are largest. The
client is a softmax regression in NumPy; yours takes its place in ``change``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from nvflare.apis.dxo import DXO, DataKind, from_shareable
from nvflare.apis.fl_context import FLContext
from nvflare.app_common.filters.percentile_privacy import PercentilePrivacy


def make(n_inputs: int, n_classes: int) -> list[Any]:
    """Return the model: weights and biases."""
    return [np.random.normal(size=(n_classes, n_inputs)) / 8, np.zeros(n_classes)]  # noqa: NPY002


def change(parameters: list[Any], x: Any, labels: Any) -> list[Any]:
    """Return what one step on a batch changes: your client's training."""
    weights, bias = parameters
    scores = np.exp(x @ weights.T + bias)
    error = scores / scores.sum(axis=1, keepdims=True) - np.eye(len(bias))[labels]
    return [-0.1 * error.T @ x / len(x), -0.1 * error.mean(axis=0)]


def bare(parameters: list[Any], x: Any, labels: Any) -> list[Any]:
    """Send the change as it is."""
    return change(parameters, x, labels)


def filtered(parameters: list[Any], x: Any, labels: Any) -> list[Any]:
    """Send what the filter leaves of it."""
    weights, bias = change(parameters, x, labels)
    result = DXO(DataKind.WEIGHT_DIFF, data={"weights": weights, "bias": bias}).to_shareable()
    sent = from_shareable(PercentilePrivacy(percentile=90, gamma=1.0).process(result, FLContext())).data
    return [sent["weights"], sent["bias"]]
