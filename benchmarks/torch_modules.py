"""Fourteen ordinary PyTorch modules, as somebody would write them: made by ``f(n_inputs, n_classes)``, of 64 inputs.

Usage: ``labelinf audit client mine:update --model torch_modules:cnn`` from this folder; ``clients.py`` plays them all.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional


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


class BatchNormResNet(nn.Module):
    def __init__(self, n: int, c: int) -> None:
        super().__init__()
        self.first, self.norm = nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.second, self.head = nn.Conv2d(8, 8, 3, padding=1), nn.Linear(8, c)

    def forward(self, x: Any) -> Any:
        h = torch.relu(self.norm(self.first(x.view(-1, 1, 8, 8))))
        return self.head(torch.relu(h + self.second(h)).mean(dim=(2, 3)))


class VisionTransformer(nn.Module):
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


class Bag(nn.Module):
    def __init__(self, n: int, c: int) -> None:
        super().__init__()
        self.table, self.head = nn.EmbeddingBag(100, 24), nn.Linear(24, c)

    def forward(self, tokens: Any) -> Any:
        return self.head(self.table(tokens))


class Recurrent(nn.Module):
    def __init__(self, n: int, c: int) -> None:
        super().__init__()
        self.body, self.head = nn.LSTM(8, 24, batch_first=True), nn.Linear(24, c)

    def forward(self, x: Any) -> Any:
        return self.head(self.body(x.view(-1, 8, 8))[0][:, -1])


class SharedLayer(nn.Module):
    """One hidden layer that runs twice."""

    def __init__(self, n: int, c: int) -> None:
        super().__init__()
        self.first, self.twice, self.head = nn.Linear(n, 32), nn.Linear(32, 32), nn.Linear(32, c)

    def forward(self, x: Any) -> Any:
        h = torch.relu(self.twice(torch.relu(self.first(x))))
        return self.head(torch.relu(self.twice(h)))


class Tied(nn.Module):
    """A head whose weights are those of the embedding, and a bias of its own."""

    def __init__(self, n: int, c: int) -> None:
        super().__init__()
        self.table, self.body = nn.Embedding(c, 16), nn.Linear(16, 16)
        self.bias = nn.Parameter(torch.zeros(c))

    def forward(self, tokens: Any) -> Any:
        h = torch.tanh(self.body(self.table(tokens).mean(dim=1)))
        return functional.linear(h, self.table.weight, self.bias)


class FunctionalHead(nn.Module):
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


class TokenTransformer(nn.Module):
    def __init__(self, n: int, c: int) -> None:
        super().__init__()
        self.table = nn.Embedding(50, 16)
        layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, dropout=0.1)
        self.body, self.head = nn.TransformerEncoder(layer, 1), nn.Linear(16, c)

    def forward(self, tokens: Any) -> Any:
        return self.head(self.body(self.table(tokens)).mean(dim=1))


class MixedPrecision(nn.Module):
    def __init__(self, n: int, c: int) -> None:
        super().__init__()
        self.body = mlp(n, c)

    def forward(self, x: Any) -> Any:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return self.body(x).float()


def adapted(config: str) -> Any:
    def make(n: int, c: int) -> Any:
        import peft
        import transformers

        sizes = {"hidden_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 96}
        whole = transformers.BertConfig(vocab_size=64, num_labels=c, **sizes)
        return peft.get_peft_model(transformers.BertForSequenceClassification(whole), getattr(peft, config)())

    make.__name__ = config
    return make


MODULES = (
    *(mlp, gelu, cnn, BatchNormResNet, VisionTransformer, Bag, Recurrent, SharedLayer, Tied, FunctionalHead),
    *(convolution_head, TokenTransformer, dropout, MixedPrecision),
)
EVERY = (*MODULES, *map(adapted, ("LoraConfig", "IA3Config")))  # those of peft have frozen heads
