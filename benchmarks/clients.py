"""``labelinf audit client`` on fourteen ordinary modules, each under what clients do to their updates.

Usage::

    python benchmarks/clients.py                            # needs PyTorch; about ten minutes on one core
    python benchmarks/clients.py --modules cnn LoraConfig IA3Config --conducts plain Adam    # adapters of peft

Every cell is one audit: 32 labels of the five first digits, all attacks, one record an update (four in the last two
columns, four clients summed in *sum of 4*). A cell says what the audit answered: the share of labels that came out, or
*nothing found*; ``!`` behind it where an attack failed. What must not be, more labels behind the proved change than it
allows, is printed as ``FALSE``, and ends with status 1.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
import torch_modules
from torch.nn import functional

from labelinf_core.contracts.components import LabelSet
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_data.bundled import load_bunch
from labelinf_gradients.audit.client import ClientAudit, audit_client
from labelinf_gradients.audit.updates import UserClient
from labelinf_gradients.game.torch_network import TorchNetwork

_CLASSES, _LABELS, _OWN = 5, 32, 100
_CLIP, _NOISE = 1.0, 0.1
_FOURS = ("train()", "mini-batches")

Update = Callable[[Any, Any, Any], Any]


def loss_of(model: Any, x: Any, y: Any) -> Any:
    output = model(x)
    return functional.cross_entropy(getattr(output, "logits", output).flatten(1), y)


def plain(model: Any, x: Any, y: Any) -> dict[str, Any]:
    own = {name: part for name, part in model.named_parameters() if part.requires_grad}
    return dict(zip(own, torch.autograd.grad(loss_of(model, x, y), list(own.values())), strict=True))


def trained(optimiser: Any, steps: int, **options: Any) -> Update:
    def update(model: Any, x: Any, y: Any) -> Any:
        own = optimiser(model.parameters(), **options)
        for _ in range(steps):
            own.zero_grad()
            loss_of(model, x, y).backward()
            own.step()
        return model

    return update


def changed(change: Callable[[Any], Any]) -> Update:
    return lambda model, x, y: {name: change(part) for name, part in plain(model, x, y).items()}


def private(model: Any, x: Any, y: Any) -> dict[str, Any]:
    parts = plain(model, x, y)
    size = float(torch.sqrt(sum((part**2).sum() for part in parts.values())))
    return {k: part * min(1.0, _CLIP / size) + _NOISE * torch.randn_like(part) for k, part in parts.items()}


def top(part: Any) -> Any:
    return part * (part.abs() >= part.abs().flatten().kthvalue(max(1, int(0.9 * part.numel()))).values)


def eight_bits(part: Any) -> Any:
    return torch.round(part / (part.abs().max() + 1e-30) * 127) * (part.abs().max() / 127)


def train_mode(model: Any, x: Any, y: Any) -> dict[str, Any]:
    return plain(model.train(), x, y)


def mini_batches(model: Any, x: Any, y: Any) -> Any:
    for rows in torch.randperm(len(x)).split(2):
        model = trained(SGD, 1, lr=0.1)(model, x[rows], y[rows])
    return model


SGD, ADAM = torch.optim.SGD, torch.optim.Adam
CONDUCTS: dict[str, Update] = {
    "plain": plain,
    "5 steps": trained(SGD, 5, lr=0.1),
    "Adam": trained(ADAM, 1, lr=0.001),
    "DP-SGD": private,
    "top-k": changed(top),
    "sign": changed(torch.sign),
    "8 bits": changed(eight_bits),
    "bf16": changed(lambda part: part.bfloat16()),
    "sum of 4": plain,
    "Nesterov": trained(SGD, 5, lr=0.02, momentum=0.9, nesterov=True),
    "AdamW": trained(torch.optim.AdamW, 3, lr=0.001),
    "train()": train_mode,
    "mini-batches": mini_batches,
}  #: what a client does


def digits() -> LabelSet:
    bunch = load_bunch("digits")
    rows = bunch.target < _CLASSES
    names = tuple(map(str, range(_CLASSES)))
    return LabelSet(
        labels=bunch.target[rows], class_names=names, title="digits", provenance="real", features=bunch.data[rows]
    )


def played(data: LabelSet, builder: Builder, make: Any, conduct: str) -> ClientAudit:
    torch.manual_seed(0)
    network = TorchNetwork.wrap(make(64, _CLASSES), target=conduct, n_inputs=64, precision="float32", headless=True)
    client = UserClient(function=CONDUCTS[conduct], name=conduct, network=network)
    settings: Any = {"samples": _LABELS, "own": _OWN, "gain": 0.1, "rng": np.random.default_rng(0)}
    batch, clients = 4 if conduct in _FOURS else 1, 4 if conduct == "sum of 4" else 1
    return audit_client(client, data, builder, batch=batch, clients=clients, **settings)


def cell(found: ClientAudit) -> str:
    if found.refuted or found.tried is None:
        return f"FALSE ({found.tried} behind {found.change}, at most {found.allows:.0%} proved)"
    return (f"{found.share.value:.0%}" if found.leaks else "nothing found") + "!" * found.failed


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Audits of clients on fourteen modules.")
    parser.add_argument("--modules", nargs="*", default=[make.__name__ for make in torch_modules.MODULES])
    parser.add_argument("--conducts", nargs="*", default=list(CONDUCTS), choices=list(CONDUCTS))
    parser.add_argument("-v", action="store_true", help="what each audit said, and how long it took")
    options = parser.parse_args(arguments)
    data, builder, rows = digits(), Builder(Host.load(strict=True)), []
    for make in (make for make in torch_modules.EVERY if make.__name__ in options.modules):
        row = []
        for conduct in options.conducts:
            start = time.process_time()
            found = played(data, builder, make, conduct)
            row.append(cell(found))
            if options.v:
                what = (
                    f"{found.scores[0].attack}, p = {found.p_value:.3g}, {time.process_time() - start:.0f} s; behind "
                )
                what += f"{found.change} {found.tried}, of at most {found.allows:.0%}"
                failed = "; ".join(f"{s.attack}: {s.failed}{s.unfit}" for s in found.scores if s.failed or s.unfit)
                print(f"{make.__name__}, {conduct}: {row[-1]}; {what}; {failed}", file=sys.stderr)
        rows.append((make.__name__, *row))
    for line in (("module", *options.conducts), ("---",) * (1 + len(options.conducts)), *rows):
        print(f"| {' | '.join(line)} |")
    return int(any("FALSE" in own for row in rows for own in row))


if __name__ == "__main__":
    sys.exit(main())
