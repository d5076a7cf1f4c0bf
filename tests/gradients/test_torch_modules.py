"""Fourteen ordinary PyTorch modules, as somebody would write them: whose labels come out, and whose do not, is said."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from labelinf_core.contracts.components import LabelSet, Setting
from labelinf_core.contracts.errors import LabelinfError
from labelinf_gradients.attacks.adaptive import DefenceAware
from labelinf_gradients.attacks.bias import HiddenBias, LastBias
from labelinf_gradients.attacks.exact import ExactSolver
from labelinf_gradients.game.channel import GradientChannel
from labelinf_gradients.game.gradient import Shared
from labelinf_gradients.game.torch_network import TorchNetwork

torch = pytest.importorskip("torch")
nn = torch.nn
functional = torch.nn.functional


def mlp(n: int, c: int) -> Any:
    return nn.Sequential(nn.Linear(n, 48), nn.ReLU(), nn.Linear(48, c))


def gelu(n: int, c: int) -> Any:
    return nn.Sequential(nn.Linear(n, 48), nn.GELU(), nn.Linear(48, c))


def cnn(n: int, c: int) -> Any:
    return nn.Sequential(
        nn.Unflatten(1, (1, 8, 8)), nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(72, c)
    )


def dropout(n: int, c: int) -> Any:
    return nn.Sequential(nn.Linear(n, 48), nn.ReLU(), nn.Dropout(0.5), nn.Linear(48, c))


class BatchNormResNet(nn.Module):  # type: ignore[misc]
    def __init__(self, n: int, c: int) -> None:
        super().__init__()
        self.first, self.norm = nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.second, self.head = nn.Conv2d(8, 8, 3, padding=1), nn.Linear(8, c)

    def forward(self, x: Any) -> Any:
        h = torch.relu(self.norm(self.first(x.view(-1, 1, 8, 8))))
        return self.head(torch.relu(h + self.second(h)).mean(dim=(2, 3)))


class VisionTransformer(nn.Module):  # type: ignore[misc]
    """Layers with biases, layer normalisation, and a head without one."""

    def __init__(self, n: int, c: int) -> None:
        super().__init__()
        self.patches = nn.Linear(8, 16)
        self.place = nn.Parameter(torch.randn(1, 8, 16) / 4)
        layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, dropout=0.0)
        self.body, self.norm = nn.TransformerEncoder(layer, 1), nn.LayerNorm(16)
        self.head = nn.Linear(16, c, bias=False)

    def forward(self, x: Any) -> Any:
        return self.head(self.norm(self.body(self.patches(x.view(-1, 8, 8)) + self.place).mean(dim=1)))


class Bag(nn.Module):  # type: ignore[misc]
    def __init__(self, n: int, c: int) -> None:
        super().__init__()
        self.table, self.head = nn.EmbeddingBag(100, 24), nn.Linear(24, c)

    def forward(self, tokens: Any) -> Any:
        return self.head(self.table(tokens))


class Recurrent(nn.Module):  # type: ignore[misc]
    def __init__(self, n: int, c: int) -> None:
        super().__init__()
        self.body, self.head = nn.LSTM(8, 24, batch_first=True), nn.Linear(24, c)

    def forward(self, x: Any) -> Any:
        return self.head(self.body(x.view(-1, 8, 8))[0][:, -1])


class SharedLayer(nn.Module):  # type: ignore[misc]
    """One hidden layer that runs twice."""

    def __init__(self, n: int, c: int) -> None:
        super().__init__()
        self.first, self.twice, self.head = nn.Linear(n, 32), nn.Linear(32, 32), nn.Linear(32, c)

    def forward(self, x: Any) -> Any:
        h = torch.relu(self.twice(torch.relu(self.first(x))))
        return self.head(torch.relu(self.twice(h)))


class Tied(nn.Module):  # type: ignore[misc]
    """A head whose weights are those of the embedding, and a bias of its own."""

    def __init__(self, n: int, c: int) -> None:
        super().__init__()
        self.table, self.body = nn.Embedding(c, 16), nn.Linear(16, 16)
        self.bias = nn.Parameter(torch.zeros(c))

    def forward(self, tokens: Any) -> Any:
        h = torch.tanh(self.body(self.table(tokens).mean(dim=1)))
        return functional.linear(h, self.table.weight, self.bias)


class FunctionalHead(nn.Module):  # type: ignore[misc]
    def __init__(self, n: int, c: int) -> None:
        super().__init__()
        self.body = nn.Linear(n, 32)
        self.out, self.shift = nn.Parameter(torch.randn(32, c) / 6), nn.Parameter(torch.zeros(c))

    def forward(self, x: Any) -> Any:
        return torch.relu(self.body(x)) @ self.out + self.shift


def convolution_head(n: int, c: int) -> Any:
    return nn.Sequential(
        nn.Unflatten(1, (1, 8, 8)), nn.Conv2d(1, 16, 3), nn.ReLU(), nn.Conv2d(16, c, 1), nn.AdaptiveAvgPool2d(1)
    )


class TokenTransformer(nn.Module):  # type: ignore[misc]
    def __init__(self, n: int, c: int) -> None:
        super().__init__()
        self.table = nn.Embedding(50, 16)
        layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, dropout=0.1)
        self.body, self.head = nn.TransformerEncoder(layer, 1), nn.Linear(16, c)

    def forward(self, tokens: Any) -> Any:
        return self.head(self.body(self.table(tokens)).mean(dim=1))


class MixedPrecision(nn.Module):  # type: ignore[misc]
    def __init__(self, n: int, c: int) -> None:
        super().__init__()
        self.body = mlp(n, c)

    def forward(self, x: Any) -> Any:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return self.body(x).float()


MODULES = (
    *(mlp, gelu, cnn, BatchNormResNet, VisionTransformer, Bag, Recurrent, SharedLayer, Tied, FunctionalHead),
    *(convolution_head, TokenTransformer, dropout, MixedPrecision),
)


@pytest.fixture(scope="module")
def digits() -> LabelSet:
    from labelinf_data.bunches import load_bunch

    bunch = load_bunch("digits")
    names = tuple("0123456789")
    return LabelSet(labels=bunch.target, class_names=names, title="digits", provenance="real", features=bunch.data)


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, __name__, sys.modules[__name__])


def play(data: LabelSet, module: Any, attack: Any, **settings: Any) -> Any:
    precision = "bfloat16" if module is MixedPrecision else "float32"
    channel = GradientChannel(
        network=f"{__name__}:{module.__name__}", samples=16, auxiliary=20, precision=precision, **settings
    )
    setting = Setting(data=data, attack=attack)
    channel.check(data)
    return channel.play(setting, curator_rng=np.random.default_rng(0), attack_rng=np.random.default_rng(1))


@pytest.mark.slow
@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_the_label_comes_out_of_any_module(digits: LabelSet, module: Any) -> None:
    outcome = play(digits, module, ExactSolver(family="auto"))

    if module is Tied:  # its gradient is a sum of the head's and the embedding's: said, and no crash
        assert outcome.evidence["unexplained"] > 8
        assert play(digits, module, LastBias(), bias=True).n_correct == 16
        return
    assert outcome.n_correct == 16
    assert "unexplained" not in outcome.evidence


@pytest.mark.slow
@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_a_closed_form_says_where_it_does_not_hold(digits: LabelSet, module: Any) -> None:
    """Only a ReLU in front of the head carries the scale of the hidden bias; elsewhere the evidence says so."""
    relu = module in (mlp, dropout, MixedPrecision, FunctionalHead)
    if module in (Bag, cnn, Recurrent):  # no bias of a linear layer stands in front of the head
        with pytest.raises(LabelinfError, match="needs a hidden layer with a bias"):
            play(digits, module, HiddenBias(), bias=True, shared=Shared.ALL)
        return
    outcome = play(digits, module, HiddenBias(), bias=True, shared=Shared.ALL)
    holds = "closed form does not hold" not in outcome.evidence
    assert holds or not relu
    assert not holds or outcome.evidence["soft labels within 1e-3"] > 0.9 or module is MixedPrecision


@pytest.mark.slow
@pytest.mark.parametrize("module", [Tied, MixedPrecision])
def test_counts_come_out_where_samples_cannot_be_taken_apart(digits: LabelSet, module: Any) -> None:
    """A tied head's gradient, or one in half precision, has more rank than its batch: the adaptive attack goes on."""
    assert play(digits, module, DefenceAware(), batch=4).n_correct > 8


@pytest.mark.parametrize("module", [FunctionalHead, convolution_head, Tied, TokenTransformer])
def test_heads_that_are_no_linear_module_are_found(module: Any) -> None:
    torch.manual_seed(0)
    network = TorchNetwork.wrap(module(64, 10), target="test", n_inputs=64, precision="float64")
    x = np.random.default_rng(0).uniform(size=(3, 64))

    logits = network.classifier(network.features(x))
    moved = network.moved({network.head.weight: np.ones(network.classifier.weights.shape)})

    expected = network.module(network.inputs(x)).detach().numpy().reshape(3, 10)
    assert np.abs(logits - expected).max() < 1e-9
    assert network.gradients(x, np.eye(10)[:3])[network.head.weight].shape[1] == 10
    assert np.abs(moved.classifier.weights - network.classifier.weights - 1).max() < 1e-12
