"""A network trained by Opacus. Beside this file, one command audits it against its own claim.

    labelinf audit model opacus_victim:Private --epsilon 2 --delta 1e-5

The noise is Opacus's own, for the epsilon that is claimed. Without the claim it is trained without noise.
"""

import numpy as np
import torch
from opacus import PrivacyEngine
from torch.utils.data import DataLoader, TensorDataset


class Private:
    """A perceptron with one hidden layer, 40 epochs.

    Args:
        epsilon: Of a record, of the whole training; None: no privacy.
        delta: That goes with it.
    """

    def __init__(self, epsilon: float | None = None, delta: float = 1e-5, epochs: int = 40, random_state: int = 0):
        self.epsilon, self.delta, self.epochs, self.seed = epsilon, delta, epochs, random_state

    def fit(self, features, labels):
        """Train on labels 0..K-1."""
        torch.manual_seed(self.seed)
        self.mean, self.spread = features.mean(axis=0), features.std(axis=0) + 1e-9
        self.classes_ = np.unique(labels)
        x, y = self._scaled(features), torch.tensor(np.searchsorted(self.classes_, labels))
        net = torch.nn.Sequential(
            torch.nn.Linear(x.shape[1], 256), torch.nn.ReLU(), torch.nn.Linear(256, len(self.classes_))
        )
        optimiser = torch.optim.Adam(net.parameters(), lr=0.005)
        loader = DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True)
        if self.epsilon is not None:
            net, optimiser, loader = PrivacyEngine().make_private_with_epsilon(
                module=net,
                optimizer=optimiser,
                data_loader=loader,
                epochs=self.epochs,
                target_epsilon=self.epsilon,
                target_delta=self.delta,
                max_grad_norm=1.0,
            )
        for _ in range(self.epochs):
            for some, told in loader:
                optimiser.zero_grad()
                torch.nn.functional.cross_entropy(net(some), told).backward()
                optimiser.step()
        self.net = net
        return self

    def predict_proba(self, features):
        """Return probabilities, shape (n, K)."""
        with torch.no_grad():
            return torch.softmax(self.net(self._scaled(features)), dim=1).double().numpy()

    def _scaled(self, features):
        return torch.tensor((features - self.mean) / self.spread, dtype=torch.float32)
