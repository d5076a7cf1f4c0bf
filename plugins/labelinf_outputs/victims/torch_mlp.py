"""The network of :mod:`labelinf_outputs.game.mlp` in PyTorch (``pip install 'labelinf[torch]'``).

An example of somebody's own model: any class with ``fit`` and ``predict_proba`` can stand in its place.

    victim = "labelinf_outputs.victims.torch_mlp:TorchMlp"
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from labelinf_outputs.game.mlp import LEARNING_RATE, Mlp

__all__ = ["TorchMlp"]


class TorchMlp(Mlp):
    """One hidden layer, trained on the full batch by Adam; what it takes is what :class:`Mlp` takes."""

    def fit(self, features: NDArray[np.float64], targets: NDArray[np.float64]) -> TorchMlp:
        """Train on ``features``, shape ``(n, d)``, and ``targets``, shape ``(n, K)``."""
        spread = features.std(axis=0)
        self._mean, self._spread = features.mean(axis=0), np.where(spread > 1e-9, spread, np.inf)
        x, y = self._tensor(features), torch.as_tensor(targets, dtype=torch.float32)
        with torch.random.fork_rng(devices=[]):  # the global generator stays as it was
            torch.manual_seed(self._seed)
            self._network = torch.nn.Sequential(
                torch.nn.Linear(x.shape[1], self._hidden), torch.nn.ReLU(), torch.nn.Linear(self._hidden, y.shape[1])
            )
        adam = torch.optim.Adam(self._network.parameters(), lr=LEARNING_RATE, weight_decay=self._weight_decay)
        for _ in range(self._epochs):
            adam.zero_grad()
            loss = torch.nn.functional.cross_entropy(self._network(x), y)
            loss.backward()
            adam.step()
        return self

    def predict_log_proba(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return log-probabilities, shape ``(n, K)``."""
        with torch.no_grad():
            logits = self._network(self._tensor(features)).double()
        return np.asarray(torch.log_softmax(logits, dim=1).numpy())

    def _tensor(self, features: NDArray[np.float64]) -> torch.Tensor:
        return torch.as_tensor((features - self._mean) / self._spread, dtype=torch.float32)
