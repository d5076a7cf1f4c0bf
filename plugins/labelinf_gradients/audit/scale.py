"""How large a client's updates are, measured on records of the adversary's own: what it computes is nobody's business.

An adversary who runs the client's code need not know what it does: attacks are played on what it sends. Some take a
gradient's size, so updates are divided by the factor that brings them nearest to the public network's own gradients.
How far that leaves them off says which attacks are worth their time, and the noise is what differs between two answers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_gradients.audit.change import flat
from labelinf_gradients.audit.updates import Update, format_seen
from labelinf_gradients.game.networks import Network

__all__ = ["UpdateScale"]

_BATCHES = 8


@attrs.frozen(kw_only=True)
class UpdateScale:
    """The size of a client's updates.

    Attributes:
        factor: What brings gradients nearest to the updates, with its sign.
        left: What that leaves of an update: a share of its length.
        noise: Standard deviation of an entry when the same records are asked about again.
        clip: Largest norm of an update without noise, where it is known.
        precision: Coarsest format that holds all numbers.
    """

    factor: float = 1.0
    left: float = 1.0
    noise: float = 0.0
    clip: float = math.inf
    precision: str = "float64"

    @classmethod
    def measured(
        cls,
        client: Callable[[NDArray[Any], NDArray[np.intp]], Update],
        network: Network,
        x: NDArray[Any],
        classes: NDArray[np.intp],
        batch: int,
    ) -> UpdateScale:
        """Return what is measured of batches of some records, half of them with other classes than their own.

        Args:
            client: What sends updates.
            network: What it starts from.
            x: Records, shape ``(n, d)``.
            classes: Their classes.
            batch: How many a client takes at a time.
        """
        every = np.eye(len(network.classifier.weights))
        rows = np.arange(_BATCHES * batch).reshape(_BATCHES, batch) % len(x)
        told = classes[rows]
        told[::2] = (told[::2] + 1) % len(every)  # what a trained network learns from wrong labels is not small
        sent, again = ([client(x[own], labels) for own, labels in zip(rows, told, strict=True)] for _ in range(2))
        first, second = (np.array([flat(update) for update in updates]) for updates in (sent, again))
        own = np.array([_gradient(network, x[n], every[labels], sent[0]) for n, labels in zip(rows, told, strict=True)])
        factor = float((first * own).sum() / ((own * own).sum() or 1.0)) or 1.0
        left = float(np.linalg.norm(first - factor * own) / (np.linalg.norm(first) or 1.0))
        noise = float(np.std(first - second)) / math.sqrt(2)
        return cls(factor=factor, left=left, noise=noise, precision=format_seen(sent))


def _gradient(
    network: Network, x: NDArray[Any], labels: NDArray[np.float64], like: Mapping[str, Any]
) -> NDArray[np.float64]:
    found = network.mean_gradient(x, labels)
    return flat({name: found[name] for name in like})
