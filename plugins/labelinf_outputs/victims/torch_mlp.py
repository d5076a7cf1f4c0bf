"""The network of :mod:`labelinf_outputs.game.mlp` in PyTorch (``pip install 'labelinf[torch]'``).

An example of somebody's own model: any class with ``fit`` and ``predict_proba`` can stand in its place.

    victim = "labelinf_outputs.victims.torch_mlp:TorchMlp"
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

__all__ = ["TorchMlp"]

_LEARNING_RATE = 3e-3


class TorchMlp:
    """One hidden layer, trained on the full batch by Adam.

    Args:
        epochs: Steps, at least 1.
        hidden: Units of the hidden layer, at least 1.
        weight_decay: Factor of half the squared weights in the loss.
        random_state: Seed of the initial weights.
    """

    soft_targets = True  #: fit takes shares of the classes, shape (n, K), instead of labels

    def __init__(
        self, *, epochs: int = 400, hidden: int = 256, weight_decay: float = 0.0, random_state: int = 0
    ) -> None:
        self._epochs = epochs
        self._hidden = hidden
        self._weight_decay = weight_decay
        self._seed = random_state

    def fit(self, features: NDArray[np.float64], targets: NDArray[np.float64]) -> TorchMlp:
        """Train on ``features``, shape ``(n, d)``, and ``targets``, shape ``(n, K)``."""
        spread = features.std(axis=0)
        self._mean, self._spread = features.mean(axis=0), np.where(spread > 1e-9, spread, np.inf)
        x, y = self._standard(features), torch.as_tensor(targets, dtype=torch.float32)
        with torch.random.fork_rng(devices=[]):  # the global generator stays as it was
            torch.manual_seed(self._seed)
            self._network = torch.nn.Sequential(
                torch.nn.Linear(x.shape[1], self._hidden), torch.nn.ReLU(), torch.nn.Linear(self._hidden, y.shape[1])
            )
        adam = torch.optim.Adam(self._network.parameters(), lr=_LEARNING_RATE, weight_decay=self._weight_decay)
        for _ in range(self._epochs):
            adam.zero_grad()
            loss = torch.nn.functional.cross_entropy(self._network(x), y)
            loss.backward()
            adam.step()
        return self

    def predict_log_proba(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return log-probabilities, shape ``(n, K)``."""
        with torch.no_grad():
            logits = self._network(self._standard(features)).double()
        return np.asarray(torch.log_softmax(logits, dim=1).numpy())

    def predict_proba(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return probabilities, shape ``(n, K)``."""
        return np.asarray(np.exp(self.predict_log_proba(features)))

    def _standard(self, features: NDArray[np.float64]) -> torch.Tensor:
        return torch.as_tensor((features - self._mean) / self._spread, dtype=torch.float32)
