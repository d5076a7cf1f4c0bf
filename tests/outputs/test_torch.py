"""A PyTorch network of a user's own as the victim of the channel's game; skipped where PyTorch is not installed."""

from __future__ import annotations

import sys
import types
from typing import Any

import numpy as np
import pytest

from labelinf_core.contracts.components import LabelSet, Setting
from labelinf_outputs.attacks.threshold import Threshold
from labelinf_outputs.defences.label_rr import LabelRr
from labelinf_outputs.game.channel import OutputChannel

torch = pytest.importorskip("torch")


class TorchMlp:
    """One hidden layer, trained on the full batch by Adam."""

    soft_targets = True

    def __init__(self, *, epochs: int, random_state: int) -> None:
        self._epochs, self._seed = epochs, random_state

    def fit(self, features: Any, targets: Any) -> TorchMlp:
        self._mean, self._spread = features.mean(axis=0), np.maximum(features.std(axis=0), 1e-9)
        x, y = self._tensor(features), torch.as_tensor(targets, dtype=torch.float32)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self._seed)
            layers = torch.nn.Linear(x.shape[1], 256), torch.nn.ReLU(), torch.nn.Linear(256, y.shape[1])
        self._network = torch.nn.Sequential(*layers)
        adam = torch.optim.Adam(self._network.parameters(), lr=3e-3)
        for _ in range(self._epochs):
            adam.zero_grad()
            torch.nn.functional.cross_entropy(self._network(x), y).backward()
            adam.step()
        return self

    def predict_log_proba(self, features: Any) -> Any:
        with torch.no_grad():
            return torch.log_softmax(self._network(self._tensor(features)).double(), dim=1).numpy()

    def _tensor(self, features: Any) -> Any:
        return torch.as_tensor((features - self._mean) / self._spread, dtype=torch.float32)


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch) -> None:
    """A module of the user's own."""
    module = types.ModuleType("torchhome")
    module.Mlp = TorchMlp  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torchhome", module)


def played(records: LabelSet, *defences: LabelRr, epochs: int) -> tuple[float, float]:
    """Return the share of planted labels that come out of two games, and of fresh ones."""
    channel = OutputChannel(victim="torchhome:Mlp", epochs=epochs, canaries=0.3, references=0)
    right = fresh = total = 0
    for trial in range(2):
        outcome = channel.play(
            Setting(data=records, attack=Threshold(), defences=defences),
            curator_rng=np.random.default_rng(trial),
            attack_rng=np.random.default_rng([trial, 1]),
        )
        assert outcome.placebo is not None
        right, fresh, total = right + outcome.n_correct, fresh + outcome.placebo.n_correct, total + outcome.n_records
    return right / total, fresh / total


def test_planted_labels_come_out_of_a_network_that_memorised_them(records: LabelSet) -> None:
    recovered, placebo = played(records, epochs=300)

    assert recovered > 0.95
    assert 0.3 < placebo < 0.7


def test_randomised_response_holds_in_pytorch_too(records: LabelSet) -> None:
    """At epsilon 1 nothing beats 73.1 %; 120 guesses stay within four standard deviations of it."""
    recovered, _ = played(records, LabelRr(epsilon=1.0), epochs=300)

    assert recovered < 0.731 + 4 * 0.0405
