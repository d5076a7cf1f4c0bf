"""Clients that send no last layer: adapters, frozen heads, biases alone, tokens, targets; and what tells nothing."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from labelinf_core.contracts.audited import AuditWord
from labelinf_core.contracts.components import LabelSet
from labelinf_core.contracts.exits import Exit
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_data.bundled import load_bunch
from labelinf_gradients.audit.client import ClientAudit, audit_client
from labelinf_gradients.audit.updates import UserClient
from labelinf_gradients.audit.words import answer, lines
from labelinf_gradients.game.own_network import load

torch = pytest.importorskip("torch")
nn, functional = torch.nn, torch.nn.functional


class Adapted(nn.Module):  # type: ignore[misc,name-defined]
    """A frozen linear layer W with an adapter: W + B A, B zero (LoRA)."""

    def __init__(self, n_in: int, n_out: int) -> None:
        super().__init__()
        self.base = nn.Linear(n_in, n_out).requires_grad_(False)
        self.A, self.B = nn.Parameter(0.1 * torch.randn(4, n_in)), nn.Parameter(torch.zeros(n_out, 4))

    def forward(self, x: Any) -> Any:
        return self.base(x) + x @ self.A.T @ self.B.T


class Tokens(nn.Module):  # type: ignore[misc,name-defined]
    """A causal language model in small: logits of the next token at every place, shape ``(B, T, V)``."""

    def __init__(self, places: int, tied: bool) -> None:
        super().__init__()
        self.embed, self.place = nn.Embedding(50, 32), nn.Parameter(0.1 * torch.randn(places, 32))
        self.block = nn.TransformerEncoderLayer(32, 2, 64, dropout=0, batch_first=True)
        self.head = nn.Linear(32, 50, bias=False)
        if tied:
            self.head.weight = self.embed.weight

    def forward(self, tokens: Any) -> Any:
        return self.head(self.block(self.embed(tokens) + self.place))


def mlp(trained: Callable[[str], bool], outputs: int = 0) -> Callable[[int, int], Any]:
    """Return what makes a network of which some parameters are trained."""

    def make(n_inputs: int, n_classes: int) -> Any:
        module = nn.Sequential(nn.Linear(n_inputs, 64), nn.ReLU(), nn.Linear(64, outputs or n_classes))
        for name, part in module.named_parameters():
            part.requires_grad_(trained(name))
        return module

    return make


def gradient(module: Any, loss: Any) -> dict[str, Any]:
    own = {name: part for name, part in module.named_parameters() if part.requires_grad}
    return dict(zip(own, torch.autograd.grad(loss, list(own.values())), strict=True))


def entropy(module: Any, x: Any, y: Any) -> dict[str, Any]:
    return gradient(module, functional.cross_entropy(module(x), y))


def adapted(module: Any) -> Any:
    """Return a network with adapters that the client adds: nobody else knows their names."""
    layers = [Adapted(64, 64), nn.ReLU(), Adapted(64, 10)]
    for number in (0, 2):
        layers[number].base = module[number].requires_grad_(False)
        layers[number].A.data = torch.linspace(-1, 1, 256).reshape(4, 64).sin()
    return nn.Sequential(*layers)


def local_steps(module: Any, x: Any, y: Any) -> Any:
    own = torch.optim.SGD([part for part in module.parameters() if part.requires_grad], lr=0.1)
    for _ in range(5):
        own.zero_grad()
        functional.cross_entropy(module(x), y).backward()
        own.step()
    return module


MODULES: dict[str, Callable[[int, int], Any]] = {
    "LoRA": lambda n, c: nn.Sequential(Adapted(n, 64), nn.ReLU(), Adapted(64, c)),
    "frozen head": mlp(lambda name: name.startswith("0")),
    "one hidden bias": mlp(lambda name: name == "0.bias"),
    "BitFit": mlp(lambda name: name.endswith("bias")),
    "no linear end": lambda n, c: nn.Sequential(nn.Linear(n, 64), nn.ReLU(), nn.Linear(64, c), nn.Tanh()),
    "mlp": mlp(lambda name: True),
    "regression": mlp(lambda name: True, outputs=1),
    "tokens": lambda n, c: Tokens(n, tied=False),
    "tied tokens": lambda n, c: Tokens(n, tied=True),
    "images": lambda n, c: nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, c)),
}
CLIENTS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "entropy": entropy,
    "local steps": local_steps,
    "own adapter": lambda module, x, y: {f"base.{k}": v for k, v in entropy(adapted(module), x, y).items()},
    "last place": lambda module, x, y: gradient(module, functional.cross_entropy(module(x)[:, -1], y)),
    "squares": lambda module, x, y: gradient(module, functional.mse_loss(module(x)[:, 0], y.float())),
    "absolute": lambda module, x, y: gradient(module, functional.l1_loss(module(x)[:, 0], y.float())),
    "body alone": lambda module, x, y: {k: v for k, v in entropy(module, x, y).items() if k.startswith("0")},
    "as images": lambda module, x, y: entropy(module, x.reshape(-1, 1, 8, 8), y),
    "noise": lambda module, x, y: {k: torch.randn_like(v) for k, v in module.named_parameters() if v.requires_grad},
    "zeros": lambda module, x, y: {k: torch.zeros_like(v) for k, v in module.named_parameters() if v.requires_grad},
    "others": lambda module, x, y: entropy(module, torch.rand_like(x), torch.randint(10, y.shape)),
}


def audited(module: str, client: str, batch: int = 1, seed: int = 0, samples: int = 32) -> ClientAudit:
    bunch = load_bunch("digits")
    names = tuple("0123456789")
    data = LabelSet(labels=bunch.target, class_names=names, title="digits", provenance="real", features=bunch.data)
    network = load(MODULES[module], n_inputs=64, n_classes=10, precision="float32", seed=seed, headless=True)
    torch.manual_seed(seed)
    asked = UserClient(function=CLIENTS[client], name=client, network=network)
    rng, builder = np.random.default_rng(seed), Builder(Host.load())
    return audit_client(asked, data, builder, samples=samples, batch=batch, own=200, gain=0.1, rng=rng)


@pytest.mark.long
@pytest.mark.parametrize(
    ("module", "client", "least"),
    [
        ("LoRA", "entropy", 32),
        ("LoRA", "local steps", 32),
        ("frozen head", "entropy", 32),
        ("one hidden bias", "entropy", 32),
        ("BitFit", "entropy", 32),
        ("mlp", "body alone", 32),
        ("mlp", "own adapter", 31),
        ("no linear end", "entropy", 31),
        ("images", "as images", 31),
        ("regression", "squares", 32),
        pytest.param("tokens", "last place", 31, marks=pytest.mark.slow),
        pytest.param("tied tokens", "last place", 31, marks=pytest.mark.slow),
    ],
)
def test_labels_come_out_without_a_last_layer(module: str, client: str, least: int) -> None:
    found = audited(module, client)

    assert found.word is AuditWord.LEAKS
    assert not found.headed
    assert found.scores[0].correct >= least
    assert found.control is not None
    assert found.control.given >= least - 2  # by the labels themselves, not by what records look like
    assert not found.control.by_records
    assert "not supported" in lines(found)[0]


@pytest.mark.long
@pytest.mark.parametrize(("module", "batch"), [("LoRA", 4), ("frozen head", 4), ("BitFit", 4), ("BitFit", 16)])
def test_batches_give_their_counts_away_and_those_are_called_counts(module: str, batch: int) -> None:
    found = audited(module, "entropy", batch, samples=64)

    assert found.word is AuditWord.LEAKS
    assert found.scores[0].correct > 54 > 64 * found.baseline
    assert "of 64 label counts" in answer(found).leaks
    assert "of the label counts" in answer(found).stopped
    assert {score.counted for score in found.scores} == {"label counts"}


@pytest.mark.long
@pytest.mark.parametrize("module", ["LoRA", "frozen head", "regression", "tokens"])
@pytest.mark.parametrize("client", ["noise", "zeros"])
def test_what_tells_nothing_is_neither_a_leak_nor_safe(module: str, client: str) -> None:
    found = audited(module, client)

    assert found.word is AuditWord.UNSHOWN
    assert found.status is Exit.INCONCLUSIVE
    assert answer(found).leaks.startswith("NOT SUPPORTED")


@pytest.mark.slow
@pytest.mark.parametrize("batch", [1, 4])
def test_labels_of_others_are_seldom_called_a_leak(batch: int) -> None:
    """At one percent an audit, two of twenty happen once in sixty runs, and the seeds are fixed."""
    found = [audited("LoRA", "others", batch, seed).word is AuditWord.LEAKS for seed in range(20)]

    assert sum(found) <= 1


@pytest.mark.long
def test_a_loss_that_tells_little_of_the_label_is_no_label_read() -> None:
    """Of the absolute loss the sign comes out alone; that records give classes away is said beside it."""
    found = audited("regression", "absolute")

    assert found.control is not None
    assert found.control.given < 16
    assert found.control.by_records


HEADLESS = """
import torch

class Adapted(torch.nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.base = torch.nn.Linear(n_in, n_out).requires_grad_(False)
        self.A, self.B = torch.nn.Parameter(0.1 * torch.randn(4, n_in)), torch.nn.Parameter(torch.zeros(n_out, 4))

    def forward(self, x):
        return self.base(x) + x @ self.A.T @ self.B.T

def model(n_inputs, n_classes):
    return Adapted(n_inputs, n_classes)

def client(model, x, y):
    optimiser = torch.optim.SGD([part for part in model.parameters() if part.requires_grad], lr=0.1)
    torch.nn.functional.cross_entropy(model(x), y).backward()
    optimiser.step()
    return model
"""
CHECKED = """
import sys
import torch
import labelinf as li

sys.path.insert(0, "")
torch.set_num_threads(2)
side = torch.ones(600, 600)
print(float((side @ side).sum()))  # its threads are not there in a copy of this process
found = li.check("adapter.py", model="adapter:model", deploy="kept")
print(found.word.value)
print(li.check("kept/labelinf_client.py", model="adapter:model").word.value)
"""


@pytest.mark.long
def test_a_client_without_a_head_is_checked_and_deployed_where_torch_has_threads(tmp_path: Path) -> None:
    (tmp_path / "adapter.py").write_text(HEADLESS)
    (tmp_path / "run.py").write_text(CHECKED)

    found = subprocess.run(
        [sys.executable, "run.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )

    assert found.stdout.splitlines()[-2:] == ["leaks", "no leak shown"], found.stderr
    assert "before=before" in (tmp_path / "kept/labelinf_client.py").read_text()
