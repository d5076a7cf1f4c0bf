"""A user's own client: whatever it does to its updates, its labels come out."""

from __future__ import annotations

import json
import re
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from labelinf_core.contracts.components import LabelSet
from labelinf_core.contracts.errors import InputError
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_data.bundled import load_bunch
from labelinf_gradients.audit.client import audit_client
from labelinf_gradients.audit.saved import audit_saved
from labelinf_gradients.audit.updates import UserClient, as_update, format_seen, read_updates
from labelinf_gradients.game.own_network import load
from labelinf_gradients.game.torch_network import TorchNetwork
from labelinf_gradients.recovery.tensors import FORMATS

torch = pytest.importorskip("torch")

CLIENTS = """
import torch
import torch.nn.functional as F
from torch import nn

def make(n_inputs, n_classes):
    return nn.Sequential(nn.Linear(n_inputs, 64), nn.ReLU(), nn.Linear(64, n_classes))

def plain(model, x, y):
    loss = F.cross_entropy(model(x), y)
    return dict(zip(dict(model.named_parameters()), torch.autograd.grad(loss, list(model.parameters()))))

def changed(model, x, y):
    return [-0.1 * part for part in plain(model, x, y).values()]

def sgd(model, x, y, steps=5, make=lambda own: torch.optim.SGD(own, lr=0.1)):
    optimiser = make(list(model.parameters()))
    for _ in range(steps):
        optimiser.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimiser.step()
    return model

def momentum(model, x, y):
    return sgd(model, x, y, 8, lambda own: torch.optim.SGD(own, lr=0.02, momentum=0.9))

def adam(model, x, y):
    return sgd(model, x, y, 1, lambda own: torch.optim.Adam(own, lr=0.001))

def adamw(model, x, y):
    return sgd(model, x, y, 3, lambda own: torch.optim.AdamW(own, lr=0.001))

def decayed(model, x, y):
    return sgd(model, x, y, 12, lambda own: torch.optim.SGD(own, lr=0.1, weight_decay=0.01))

def clipped(model, x, y, norm=0.5):
    parts = plain(model, x, y)
    size = float(torch.sqrt(sum((part ** 2).sum() for part in parts.values())))
    return {name: part * min(1.0, norm / size) for name, part in parts.items()}

def dpsgd(model, x, y):
    return {name: part + 0.5 * torch.randn_like(part) for name, part in clipped(model, x, y, 1.0).items()}

def topk(model, x, y):
    parts = plain(model, x, y)
    return {k: v * (v.abs() >= v.abs().flatten().kthvalue(int(0.98 * v.numel())).values) for k, v in parts.items()}

def sign(model, x, y):
    return {name: part.sign() for name, part in plain(model, x, y).items()}

def eight_bits(model, x, y):
    parts = plain(model, x, y)
    return {k: torch.round(v / v.abs().max() * 127) * (v.abs().max() / 127) for k, v in parts.items()}

def bf16(model, x, y):
    return {name: part.bfloat16() for name, part in plain(model, x, y).items()}

def secure_sum(model, x, y):
    parts = [plain(model, x[row : row + 1], y[row : row + 1]) for row in range(len(x))]
    return {name: sum(part[name] for part in parts) for name in parts[0]}
"""
NAMESPACE: dict[str, Any] = {}
exec(CLIENTS, NAMESPACE)


@pytest.fixture(scope="module")
def network() -> TorchNetwork:
    torch.manual_seed(0)
    return TorchNetwork.wrap(NAMESPACE["make"](64, 10), target="test", n_inputs=64, precision="float32")


OTHERS: dict[str, Any] = {
    "sines": lambda model, x, y: {k: torch.sin(40 * v) for k, v in NAMESPACE["plain"](model, x, y).items()},
    "squares": lambda model, x, y: {k: v * v for k, v in NAMESPACE["plain"](model, x, y).items()},
    "other labels": lambda model, x, y: NAMESPACE["plain"](model, x, (y + 1) % 10),
    "another loss": lambda model, x, y: dict(
        zip(
            dict(model.named_parameters()),
            torch.autograd.grad((model(x) - torch.eye(10)[y]).square().mean(), list(model.parameters())),
            strict=True,
        )
    ),
    "RMSprop": lambda model, x, y: NAMESPACE["sgd"](model, x, y, 5, lambda own: torch.optim.RMSprop(own, lr=1e-3)),
    "momentum 0.5": lambda model, x, y: NAMESPACE["sgd"](
        model, x, y, 5, lambda own: torch.optim.SGD(own, lr=0.1, momentum=0.5)
    ),
    "entries clipped": lambda model, x, y: {
        k: v.clamp(-0.01, 0.01) for k, v in NAMESPACE["plain"](model, x, y).items()
    },
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["sgd", "momentum", "adam", "adamw", "decayed", "clipped", "topk", "sign", "eight_bits", "bf16", *OTHERS]
)
def test_labels_come_out_whatever_a_client_does(network: TorchNetwork, name: str) -> None:
    """With local steps, under another loss, clipped entry by entry, or by gradients of other labels than its own."""
    torch.manual_seed(1)
    bunch = load_bunch("digits")
    names = tuple("0123456789")
    data = LabelSet(labels=bunch.target, class_names=names, title="digits", provenance="real", features=bunch.data)
    client = UserClient(function={**NAMESPACE, **OTHERS}[name], name=name, network=network)
    rng, builder = np.random.default_rng(0), Builder(Host.load())
    found = audit_client(client, data, builder, samples=32, batch=4, own=100, gain=0.1, rng=rng)

    assert found.leaks
    assert found.control is not None
    assert found.control.given >= 28


def test_updates_are_read_in_every_shape(network: TorchNetwork) -> None:
    parameters = dict(network.module.named_parameters())
    step = {name: np.full(tuple(part.shape), 1e-3, dtype=np.float32) for name, part in parameters.items()}
    moved = network.moved(step).module

    for sent in (step, list(step.values()), moved, dict(moved.named_parameters())):
        update = as_update(sent, network, "mine")
        assert set(update) == set(parameters)
        assert all(part == pytest.approx(1e-3, rel=1e-3) for part in update["2.weight"].ravel())


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        (3.0, "returned float, expected a mapping from parameter names"),
        ([np.ones(3)], "returned 1 arrays for 4 parameters"),
        ({"2.weight": np.full((10, 64), np.nan)}, "returned numbers that are not finite"),
        ({}, "returned nothing"),
        ({"2.weight": np.ones((3, 3))}, r"returned '2.weight' of shape \(3, 3\), expected \(10, 64\)"),
    ],
)
def test_what_is_no_update_is_one_sentence(network: TorchNetwork, sent: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        as_update(sent, network, "mine")


@pytest.mark.parametrize("name", ["plain", "changed", "clipped", "bf16"])
@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
def test_saved_updates_give_their_labels_away(network: TorchNetwork, tmp_path: Path, name: str, suffix: str) -> None:
    bunch = load_bunch("digits")
    client = UserClient(function=NAMESPACE[name], name=name, network=network)
    sent = [client(bunch.data[row : row + 1] / 16, bunch.target[row : row + 1]) for row in range(12)]
    arrays = {key: np.array([update[key] for update in sent], dtype=np.float32) for key in sent[0]}
    path = tmp_path / f"updates{suffix}"
    if suffix == ".npz":
        np.savez(path, labels=bunch.target[:12], **arrays)
    else:
        write_safetensors(path, {**arrays, "labels": np.asarray(bunch.target[:12], dtype=np.int64)})

    updates, labels = read_updates(str(path), network)
    found = audit_saved(updates, labels, network, FORMATS[format_seen(updates)])

    assert found.correct == found.n_updates == 12
    assert found.scaled == (name in ("changed", "clipped"))


def write_safetensors(path: Path, arrays: dict[str, Any]) -> None:
    """Write the format by its specification: the length of the header, the header, the numbers."""
    header, data = {}, b""
    for name, values in arrays.items():
        kind = {"float32": "F32", "int64": "I64"}[str(values.dtype)]
        header[name] = {
            "dtype": kind,
            "shape": list(values.shape),
            "data_offsets": [len(data), len(data) + values.nbytes],
        }
        data += values.tobytes()
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


MODEL = """
import torch, torch.nn.functional as F
from torch import nn, optim, autograd
def make(n, c): return nn.Sequential(nn.Linear(n, 64), nn.ReLU(), nn.Linear(64, c))
"""
GRADIENT = "def grads(m, x, y): return autograd.grad(F.cross_entropy(m(x), y), list(m.parameters()))\n"
TRAINED = """
def update(m, x, y):
    own = {}
    for _ in range({}):
        own.zero_grad(); F.cross_entropy(m(x), y).backward(); own.step()
    return m
"""
NINE = {
    "plain": GRADIENT + "def update(m, x, y): return grads(m, x, y)",
    "five steps": TRAINED.format("optim.SGD(m.parameters(), lr=0.1)", 5),
    "Adam": TRAINED.format("optim.Adam(m.parameters())", 1),
    "DP-SGD": GRADIENT
    + """
def update(m, x, y):
    found = grads(m, x, y)
    size = sum((part ** 2).sum() for part in found) ** 0.5
    return [part * min(1, 1 / size) + 0.5 * torch.randn_like(part) for part in found]
""",
    "top-k": GRADIENT + "def update(m, x, y): return [v * (v.abs() >= v.abs().quantile(0.98)) for v in grads(m, x, y)]",
    "sign": GRADIENT + "def update(m, x, y): return [part.sign() for part in grads(m, x, y)]",
    "8 bits": GRADIENT
    + """
def update(m, x, y):
    return [torch.round(v / v.abs().max() * 127) * (v.abs().max() / 127) for v in grads(m, x, y)]
""",
    "bf16": GRADIENT + "def update(m, x, y): return [part.bfloat16() for part in grads(m, x, y)]",
    "secure sum": GRADIENT + "def update(m, x, y): return grads(m, x, y)",
}  #: what a user writes, each in ten lines at most


def audited(folder: Path, text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / "mine.py").write_text(text)
    command = ["audit", "client", "mine:update", "--model", "mine:make", *arguments]
    return subprocess.run(
        [sys.executable, "-m", "labelinf_core", *command], cwd=folder, capture_output=True, text=True, check=False
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", NINE)
def test_an_audit_from_an_empty_folder_takes_ten_lines(tmp_path: Path, name: str) -> None:
    text = MODEL + NINE[name]
    clients = ("--clients", "4") if name == "secure sum" else ()

    done = audited(tmp_path, text, "--json", *clients)

    assert len([line for line in text.splitlines() if line.strip()]) <= 10
    assert done.returncode == 1, done.stderr
    found = json.loads(done.stdout)
    assert found["scores"][0]["correct"] / found["n_records"] > (0.4 if name == "DP-SGD" else 0.95)


def test_a_client_that_says_nothing_leaks_nothing(tmp_path: Path) -> None:
    nothing = "def update(m, x, y): return [torch.full_like(part, 50.0) for part in m.parameters()]"

    done = audited(tmp_path, MODEL + nothing)

    assert done.returncode == 3, done.stderr


DEMANDING = """
import torch
from torch import nn
def whole(n, c): return nn.Sequential(nn.Linear(n, 16), nn.ReLU(), nn.Linear(16, c))
def doubles(n, c): return whole(n, c).double()
def normed(n, c): return nn.Sequential(nn.Linear(n, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, c))
def plain(m, x, y): return torch.autograd.grad(nn.functional.cross_entropy(m(x), y), list(m.parameters()))
def eager(m, x, y):
    assert m.training
    return plain(m, x, y)
def training(m, x, y): return plain(m.train(), x, y)
def two(m, x, y): return plain(m, x.double(), y)
def once(m, x, y, asked=[]):
    asked.append(x)
    assert len(asked) > 1
    return plain(m, x, y)
def hers(m, x, y): raise LookupError(f"the label is {y}")
"""


@pytest.mark.parametrize(
    ("model", "client", "said"),
    [
        ("whole", "eager", "AssertionError in demanding, line 9; given its module in train mode it does not"),
        ("normed", "training", "; about two records it does not, as batch normalisation: --batch 8"),
        ("normed", "eager", "; about two records it does not"),
        ("whole", "hers", "LookupError in demanding, line 17."),
        ("whole", "once", "AssertionError in demanding, line 15."),
        ("whole", "two", "RuntimeError in torch.nn.modules.linear, line"),
    ],
)
def test_a_client_that_fails_is_said_to_and_under_what_it_would_not(model: str, client: str, said: str) -> None:
    """Her exception keeps its type and its place, and none of its words: they may hold labels."""
    asked = demanding(model, client)

    with pytest.raises(InputError, match=re.escape(said)) as failed:
        asked(np.zeros((1, 64)), np.array([7]))

    assert "label is" not in str(failed.value)
    assert ("train()" in str(failed.value)) == (client == "eager")


def test_doubles_stay_doubles() -> None:
    """A client that computes in them was given floats, and failed."""
    asked = demanding("doubles", "two")

    assert asked.network.parameters["0.weight"].dtype == np.float64
    assert set(asked(np.zeros((1, 64)), np.array([7]))) == set(asked.network.parameters)
    assert {part.dtype for part in demanding("whole", "plain").network.parameters.values()} == {np.dtype(np.float32)}


def demanding(model: str, client: str) -> UserClient:
    written: dict[str, Any] = {"__name__": "demanding"}
    exec(compile(DEMANDING, "demanding.py", "exec"), written)
    network = load(written[model], n_inputs=64, n_classes=10, seed=0, headless=True)
    return UserClient(function=written[client], name=client, network=network)
