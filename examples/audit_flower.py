"""A Flower client with its local differential privacy, audited in this process, without a server.

Usage::

    pip install flwr
    labelinf audit client audit_flower:bare --model audit_flower:make
    labelinf audit client audit_flower:private --model audit_flower:make

What is attacked is what Flower's own ``LocalDpMod`` sends: a message with the parameters goes in, the reply with the
trained, clipped and noised ones comes out. The client is a softmax regression in NumPy; yours takes its place in
``train``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Context, Message, RecordDict
from flwr.clientapp.mod import LocalDpMod
from flwr.supercore.task_identity import TaskIdentity

TaskIdentity.run_id = TaskIdentity.node_id = TaskIdentity.task_id = 1  # what a running client is given by its server


def make(n_inputs: int, n_classes: int) -> list[Any]:
    """Return the model: weights and biases, as Flower passes them about."""
    return [np.random.normal(size=(n_classes, n_inputs)) / 8, np.zeros(n_classes)]  # noqa: NPY002


def train(parameters: list[Any], x: Any, labels: Any) -> list[Any]:
    """Return the parameters after one step on a batch: your client's ``fit``."""
    weights, bias = parameters
    scores = np.exp(x @ weights.T + bias)
    error = scores / scores.sum(axis=1, keepdims=True) - np.eye(len(bias))[labels]
    return [weights - 0.1 * error.T @ x / len(x), bias - 0.1 * error.mean(axis=0)]


def bare(parameters: list[Any], x: Any, labels: Any) -> list[Any]:
    """Send what training returns."""
    return train(parameters, x, labels)


def private(parameters: list[Any], x: Any, labels: Any) -> list[Any]:
    """Send what Flower's mod makes of it: the change clipped to 0.1, noise of standard deviation 0.005."""

    def app(message: Message, context: Context) -> Message:
        trained = train(message.content["arrays"].to_numpy_ndarrays(), x, labels)
        return Message(content=RecordDict({"arrays": ArrayRecord(trained)}), reply_to=message)

    content = RecordDict({"arrays": ArrayRecord(parameters), "config": ConfigRecord()})
    message = Message(content=content, dst_node_id=1, message_type="train")
    context = Context(run_id=1, node_id=1, node_config={}, state=RecordDict(), run_config={})
    mod = LocalDpMod(clipping_norm=0.1, sensitivity=0.005, epsilon=np.sqrt(2 * np.log(1.25e5)), delta=1e-5)
    return list(mod(message, context, app).content["arrays"].to_numpy_ndarrays())
