"""What a client does, learnt by trying it out on records whose labels are the auditor's own.

Every answer is compared with the gradient that the module really has there: the same up to a factor, the same on some
entries, its signs, its levels, with noise, of several steps, of an adaptive one. What fits none is unknown, and unknown
is never taken for safe.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_gradients.audit.updates import Client, Update, format_seen
from labelinf_gradients.game.torch_network import TorchNetwork
from labelinf_gradients.recovery.tensors import FORMATS

__all__ = ["Conduct", "probe"]

_PROBES = 8
_REPEATS = 12
_EXACT = {"float64": 2e-5, "float32": 2e-5, "float16": 4e-3, "bfloat16": 2e-2}
_DIFFERENCE = 1e-3  # what the rounding of parameters leaves of their difference
_FEW_LEVELS = 300
_CONSTANT = 1e-3  # relative spread of a factor
_ALIKE = 0.05  # relative
_FITS = 0.05  # unexplained share of an update of several steps
_RECOGNISED = {True: 0.8, False: 0.5}  # of signs, and of a cosine
_SURELY = 4.0  # standard errors
_STEPS = (2, 3, 4, 5, 8, 10, 16, 20, 32, 50)


@attrs.frozen(kw_only=True)
class Conduct:
    """What a client does.

    Attributes:
        sign: -1 where it sends a change of its parameters, 1 where a gradient.
        factor: What the gradient is multiplied by, apart from the sign; NaN where that differs.
        clip: Largest norm of what it sends, where it clips; infinity otherwise.
        precision: Format of its numbers.
        noise: Standard deviation of what differs when it is asked again.
        kept: Share of the entries that it sends.
        at_random: Whether it draws which.
        levels: How many different sizes its entries have; 0 where they are not few.
        steps: Local steps behind one update.
        rate: Length of a step.
        optimiser: ``sgd``, ``momentum`` or ``adam``.
        left: Share of an update that this does not explain.
    """

    sign: int = 1
    factor: float = 1.0
    clip: float = math.inf
    precision: str = "float32"
    noise: float = 0.0
    kept: float = 1.0
    at_random: bool = False
    levels: int = 0
    steps: int = 1
    rate: float = math.nan
    optimiser: str = "sgd"
    left: float = 0.0

    @property
    def known(self) -> bool:
        """Whether what was seen is explained."""
        return self.left <= _FITS

    @property
    def whole(self) -> bool:
        """Whether an update is a gradient in full, but for a factor."""
        coarse = self.levels or self.noise or self.kept < 1 or self.optimiser == "adam"
        return self.known and self.steps == 1 and not coarse

    @property
    def sentence(self) -> str:
        """What it is, in words."""
        parts = [self._what]
        if self.kept < 1:
            parts.append(f"{self.kept:.1%} of the entries, {'drawn at random' if self.at_random else 'the largest'}")
        if self.levels > 1:
            parts.append(f"{self.levels} different sizes (about {math.ceil(math.log2(2 * self.levels))} bits)")
        if math.isfinite(self.clip):
            parts.append(f"clipped to {self.clip:.4g}")
        if self.noise:
            parts.append(f"noise of standard deviation {self.noise:.3g}")
        if self.precision != "float32" and not self.levels:
            parts.append(f"in {self.precision}")
        return ", ".join(parts)

    @property
    def _what(self) -> str:
        if not self.known:
            return "unknown: like nothing that was tried"
        if self.optimiser == "adam":
            return f"what {self.steps} step{'s' * (self.steps > 1)} of Adam moved, rate {self.rate:.2g}"
        if self.steps > 1:
            momentum = " with momentum 0.9" if self.optimiser == "momentum" else ""
            return f"what {self.steps} steps of SGD{momentum} moved, rate {self.rate:.2g}"
        if self.levels == 1:
            return "the signs of the gradient"
        factor = "a factor that differs" if math.isnan(self.factor) else f"{self.sign * self.factor:.4g}"
        return "the gradient" if factor == "1" else f"the gradient times {factor}"


def probe(client: Client, x: NDArray[Any], classes: NDArray[np.intp], batch: int) -> Conduct:
    """Return what a client does with batches of some records.

    Args:
        client: The client.
        x: Records, shape ``(n, d)``.
        classes: Their classes.
        batch: How many it takes at a time.
    """
    rows = [np.arange(start, start + batch) % len(x) for start in range(0, _PROBES * batch, batch)]
    sent = [client(x[own], classes[own]) for own in rows]
    again = [client(x[rows[0]], classes[rows[0]]) for _ in range(_REPEATS)]
    gradients = [_gradient(client.network, x[own], classes[own], sent[0]) for own in rows]
    precision, flat = format_seen(sent), [_flat(update) for update in sent]
    moved = np.array([_flat(update) for update in again])
    noisy, support = bool(np.ptp(moved, axis=0).any()), moved != 0
    at_random = noisy and bool((support != support[0]).any())
    noise = 0.0 if at_random else float(np.sqrt(moved.var(axis=0, ddof=1).mean()))
    found = Conduct(precision=precision, noise=noise if noisy else 0.0, at_random=at_random)
    alive = [np.abs(g) > 0 for g in gradients]
    kept = np.median([(u[own] != 0).mean() for u, own in zip(flat, alive, strict=True)])
    own = np.abs(flat[0][flat[0] != 0])
    sizes = max(len(np.unique(np.abs(part[part != 0]))) for part in sent[0].values())
    if sizes > 1 and own.std() < _ALIKE * own.mean():  # one adaptive step moves all alike, but for rounding
        sizes = own.size
    found = attrs.evolve(
        found,
        kept=1.0 if kept > 0.95 else float(kept),
        levels=sizes if sizes <= _FEW_LEVELS and sizes < 0.2 * np.count_nonzero(flat[0]) else 0,
    )
    return _compared(found, client.network, flat, gradients, (x[rows[0]], classes[rows[0]], sent[0]))


def _compared(
    found: Conduct,
    network: TorchNetwork,
    sent: list[NDArray[np.float64]],
    gradients: list[NDArray[np.float64]],
    first: tuple[NDArray[Any], NDArray[np.intp], Update],
) -> Conduct:
    """Return the conduct with the factor that fits, or the local training that does."""
    factors, left = [], []
    for update, gradient in zip(sent, gradients, strict=True):
        own = update != 0 if found.kept < 1 else np.ones(update.size, dtype=bool)
        size = float(gradient[own] @ gradient[own])
        factor = float(update[own] @ gradient[own]) / max(size, 1e-300)
        factors.append(factor)
        rest = np.linalg.norm(update[own] - factor * gradient[own]) - found.noise * math.sqrt(int(own.sum()))
        left.append(max(0.0, float(rest)) / max(float(np.linalg.norm(update[own])), 1e-300))
    sign = -1 if np.median(factors) < 0 else 1
    sizes, norms = np.abs(factors), np.array([np.linalg.norm(update) for update in sent])
    share = float(np.median(left))
    found = attrs.evolve(found, sign=sign, left=share)
    if found.levels:  # rounding to levels leaves much, but not the direction
        alike = np.median([_alike(*pair, found) for pair in zip(sent, gradients, strict=True)])
        unlike = 0.0 if alike > _RECOGNISED[found.levels == 1] else 1.0
        return attrs.evolve(found, left=unlike, factor=math.nan if found.levels == 1 else float(np.median(sizes)))
    if found.noise:  # under noise only its size is certain, and that something of the gradient is there
        error = found.noise / np.sqrt(sum(float(gradient @ gradient) for gradient in gradients))
        excess = [_excess(*pair, found.noise) for pair in zip(sent, gradients, strict=True)]
        if abs(np.mean(factors)) < _SURELY * error or np.median(excess) > _FITS:
            return attrs.evolve(found, left=1.0)
        long = np.array([np.linalg.norm(gradient) for gradient in gradients])
        clipped = np.ptp(sizes) > 0.3 * sizes.mean() and np.ptp(sizes * long) < 0.5 * (sizes * long).mean()
        clip = float(np.median(sizes * long)) if clipped else math.inf
        return attrs.evolve(found, left=0.0, factor=math.nan if clipped else float(np.median(sizes)), clip=clip)
    if share <= max(_EXACT[found.precision], _DIFFERENCE):
        same = np.ptp(sizes) <= max(_CONSTANT, 4 * FORMATS[found.precision].rounding) * sizes.max()
        clip = float(norms.max()) if not same and np.ptp(np.sort(norms)[-3:]) < 0.01 * norms.max() else math.inf
        return attrs.evolve(found, factor=float(sizes.mean()) if same else math.nan, clip=clip)
    return _trained(found, network, sent[0], first, share)


def _alike(update: NDArray[np.float64], gradient: NDArray[np.float64], found: Conduct) -> float:
    """Return how much of the direction is left: of the signs where there are no sizes, else the cosine."""
    if found.levels == 1:
        both = (update != 0) & (gradient != 0)
        return abs(float(np.mean(np.sign(update[both]) * np.sign(gradient[both])))) if both.any() else 0.0
    return abs(float(update @ gradient)) / max(float(np.linalg.norm(update) * np.linalg.norm(gradient)), 1e-300)


def _excess(update: NDArray[np.float64], gradient: NDArray[np.float64], noise: float) -> float:
    """Return the share of an update's square that neither the gradient explains nor noise of this size."""
    factor = float(update @ gradient) / max(float(gradient @ gradient), 1e-300)
    rest, expected = float(np.sum((update - factor * gradient) ** 2)), update.size * noise**2
    chance = _SURELY * math.sqrt(2 * update.size) * noise**2
    return max(0.0, rest - expected - chance) / max(float(update @ update), 1e-300)


def _trained(
    found: Conduct,
    network: TorchNetwork,
    update: NDArray[np.float64],
    first: tuple[NDArray[Any], NDArray[np.intp], Update],
    share: float,
) -> Conduct:
    """Return the local training whose outcome is nearest: optimiser, steps and rate."""
    x, classes, like = first
    best = found
    size = float(np.median(np.abs(update[update != 0])))
    for optimiser, steps in [("adam", 1), *((kind, n) for kind in ("sgd", "momentum", "adam") for n in _STEPS)]:
        rate = size / steps if optimiser == "adam" else _projected(network, update, first) / _total(optimiser, steps)
        for _ in range(3):
            moved = _flat(_local(network, x, classes, optimiser, steps, rate, like))
            length = float(moved @ moved)
            ratio = float(update @ moved) / length if length > 0 and np.isfinite(length) else 0.0
            rate *= min(max(abs(ratio), 0.2), 5.0)
        sign = -1 if ratio > 0 else 1
        left = float(np.linalg.norm(update + sign * moved) / np.linalg.norm(update))
        if left < 0.8 * best.left and left < share:
            best = attrs.evolve(
                best, optimiser=optimiser, steps=steps, rate=rate, left=left, sign=sign, factor=rate * steps
            )
        if best.left < 1e-3:
            break
    return best


def _total(optimiser: str, steps: int) -> float:
    """Return how many gradients such steps add up to."""
    return sum((1 - 0.9 ** (n + 1)) / 0.1 for n in range(steps)) if optimiser == "momentum" else float(steps)


def _projected(
    network: TorchNetwork,
    update: NDArray[np.float64],
    first: tuple[NDArray[Any], NDArray[np.intp], Update],
) -> float:
    gradient = _gradient(network, first[0], first[1], first[2])
    return abs(float(update @ gradient)) / max(float(gradient @ gradient), 1e-300)


def _local(
    network: TorchNetwork,
    x: NDArray[Any],
    classes: NDArray[np.intp],
    optimiser: str,
    steps: int,
    rate: float,
    like: Update,
) -> Update:
    """Return what local training on a whole batch moves."""
    import torch

    module = copy.deepcopy(network.module)
    own = [part for part in module.parameters() if part.requires_grad]
    make = {
        "sgd": lambda: torch.optim.SGD(own, lr=rate),
        "momentum": lambda: torch.optim.SGD(own, lr=rate, momentum=0.9),
        "adam": lambda: torch.optim.Adam(own, lr=rate),
    }[optimiser]()
    for _ in range(steps):
        make.zero_grad()
        _loss(network, module, x, classes).backward()
        make.step()
    before, after = dict(network.module.named_parameters()), dict(module.named_parameters())
    return _rows(network, {name: (after[name] - before[name]).detach().numpy() for name in like})


def _gradient(network: TorchNetwork, x: NDArray[Any], classes: NDArray[np.intp], like: Update) -> NDArray[np.float64]:
    import torch

    parts = dict(network.module.named_parameters())
    loss = _loss(network, network.module, x, classes)
    found = torch.autograd.grad(loss, [parts[name] for name in like], allow_unused=True)
    return _flat(
        _rows(
            network,
            {
                name: np.zeros(tuple(parts[name].shape)) if part is None else part.detach().numpy()
                for name, part in zip(like, found, strict=True)
            },
        )
    )


def _loss(network: TorchNetwork, module: Any, x: NDArray[Any], classes: NDArray[np.intp]) -> Any:
    import torch

    from labelinf_gradients.game.torch_head import logits_of

    wanted = torch.as_tensor(classes, dtype=torch.long)
    return torch.nn.functional.cross_entropy(logits_of(module(network.inputs(x))), wanted)


def _rows(network: TorchNetwork, parts: Mapping[str, NDArray[Any]]) -> Update:
    return {
        name: np.asarray(network.head.rows(part) if name == network.head.weight else part, dtype=np.float64)
        for name, part in parts.items()
    }


def _flat(update: Update) -> NDArray[np.float64]:
    return np.concatenate([part.ravel() for part in update.values()])
