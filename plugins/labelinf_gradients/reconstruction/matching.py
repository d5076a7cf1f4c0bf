r"""Gradient matching: find an input whose gradient is the released one, with PyTorch.

``min_x D(grad(x, y), released)`` with ``D`` the squared distance summed over layers (Zhu et al., DLG, 2019) or one
minus the cosine of all layers together (Geiping et al., 2020). What the label is makes the difference: known, recovered
and kept, optimised jointly from nothing, or jointly from the recovered one (Wang et al., ICLR 2024, Section 4.3). With
the recovered feature of the last layer its distance can be added, and the last layer's gradient, of which it is the
better half, left out (Section 5.1, eq. 8).

Needs the extra ``labelinf[torch]``.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_gradients.game.torch_network import TorchNetwork, import_torch

__all__ = ["Distance", "Matched", "Matching"]


class Distance(enum.Enum):
    """How far two gradients are from one another."""

    SQUARED = "squared"
    COSINE = "cosine"


@attrs.frozen(kw_only=True, eq=False)
class Matched:
    """What was found.

    Attributes:
        inputs: Reconstructed input, in the shape asked for.
        label: Soft label at the end, shape ``(C,)``.
        distance: Of the gradients, at the end.
    """

    inputs: NDArray[np.float64]
    label: NDArray[np.float64]
    distance: float


@attrs.frozen(kw_only=True)
class Matching:
    """How gradients are matched.

    Attributes:
        distance: ``squared`` or ``cosine``.
        joint: Whether the label is the softmax of a free vector, optimised with the input, and a given one is where it
            starts; otherwise it is given and stays: known, recovered exactly, or guessed by its sign.
        iterations: Steps of Adam.
        rate: Length of a step; falls tenfold at three eighths, five eighths and seven eighths of the way.
        last_layer: ``alpha`` of eq. 8: weight of the last layer's gradient.
        feature: ``beta`` of eq. 8: weight of the squared distance to the recovered last-layer feature.
    """

    distance: Distance = Distance.SQUARED
    joint: bool = False
    iterations: int = attrs.field(default=1200, validator=attrs.validators.ge(1))
    rate: float = attrs.field(default=0.1, validator=attrs.validators.gt(0))
    last_layer: float = attrs.field(default=1.0, validator=attrs.validators.ge(0))
    feature: float = attrs.field(default=0.0, validator=attrs.validators.ge(0))

    def run(
        self,
        network: TorchNetwork,
        released: Mapping[str, NDArray[Any]],
        shape: tuple[int, ...],
        rng: np.random.Generator,
        *,
        label: NDArray[np.float64] | None = None,
        feature: NDArray[np.float64] | None = None,
    ) -> Matched:
        """Reconstruct the input of one sample.

        Args:
            network: The network.
            released: Gradients by parameter name; parameters without one are not matched.
            shape: Of the input, without the batch: ``(d,)`` or ``(channels, height, width)``.
            rng: Source of the starting point.
            label: Fixed label, or where a joint one starts; None starts a joint one anywhere.
            feature: Recovered input of the last layer, where :attr:`feature` is positive.

        Raises:
            InputError: PyTorch is not installed.
            ValueError: A fixed label or the feature is missing.
        """
        torch = import_torch("gradient matching")
        if not self.joint and label is None:
            raise ValueError("a label that stays must be given.")
        if self.feature > 0 and feature is None:
            raise ValueError("feature > 0 needs the recovered feature.")
        task = _Task(torch, self, network, released, feature)
        x = task.tensor(rng.random((1, *shape))).requires_grad_()
        n_classes = network.classifier.weights.shape[0]
        start = rng.normal(size=(1, n_classes)) if label is None else np.log(np.clip(label, 1e-6, 1)).reshape(1, -1)
        free = task.tensor(start).requires_grad_(self.joint)
        fixed = None if self.joint else task.tensor(np.array([label], dtype=np.float64))
        optimiser = torch.optim.Adam([x, free] if fixed is None else [x], lr=self.rate)
        drops = [self.iterations * eighths // 8 for eighths in (3, 5, 7)]
        schedule = torch.optim.lr_scheduler.MultiStepLR(optimiser, milestones=drops, gamma=0.1)
        for _ in range(self.iterations):
            optimiser.zero_grad()
            loss = task.loss(x, torch.softmax(free, dim=1) if fixed is None else fixed)
            loss.backward(inputs=[x, free] if fixed is None else [x])
            optimiser.step()
            schedule.step()
        final = torch.softmax(free, dim=1) if fixed is None else fixed
        distance = float(task.loss(x, final).detach())
        task.handle.remove()
        return Matched(
            inputs=x.detach().numpy()[0].astype(np.float64),
            label=final.detach().numpy()[0].astype(np.float64),
            distance=distance,
        )


class _Task:
    """The loss of one reconstruction."""

    def __init__(
        self,
        torch: Any,
        matching: Matching,
        network: TorchNetwork,
        released: Mapping[str, NDArray[Any]],
        feature: NDArray[np.float64] | None,
    ) -> None:
        self._torch, self._matching, self._network = torch, matching, network
        self._parameters = {name: value for name, value in network.module.named_parameters() if name in released}
        self._wanted = {
            name: self.tensor(released[name]).reshape(part.shape) for name, part in self._parameters.items()
        }
        if network.head.transposed and network.head.weight in self._wanted:
            own = network.head.columns(released[network.head.weight], ())
            self._wanted[network.head.weight] = self.tensor(own)
        self._feature = None if feature is None else self.tensor(feature[None])
        self._entered: list[Any] = []
        layer = network.module.get_submodule(network.head.weight.rpartition(".")[0])
        self.handle = layer.register_forward_pre_hook(lambda _, inputs: self._entered.append(inputs[0]))

    def tensor(self, values: NDArray[Any]) -> Any:
        dtype = next(iter(self._network.module.parameters())).dtype
        return self._torch.as_tensor(np.array(values), dtype=dtype)

    def loss(self, x: Any, label: Any) -> Any:
        self._entered.clear()
        functional = self._torch.nn.functional
        cost = functional.cross_entropy(self._network.module(x), label)
        parts = self._torch.autograd.grad(cost, list(self._parameters.values()), create_graph=True)
        own = dict(zip(self._parameters, parts, strict=True))
        loss = self._apart(own)
        if self._feature is not None and self._matching.feature > 0:
            loss = loss + self._matching.feature * ((self._entered[-1] - self._feature) ** 2).sum()
        return loss

    def _apart(self, own: Mapping[str, Any]) -> Any:
        weight = dict.fromkeys(self._network.classifier_names, self._matching.last_layer)
        pairs = [(weight.get(name, 1.0), own[name], wanted) for name, wanted in self._wanted.items()]
        if self._matching.distance is Distance.SQUARED:
            return sum(w * ((a - b) ** 2).sum() for w, a, b in pairs)
        product = sum(w * (a * b).sum() for w, a, b in pairs)
        sizes = sum(w * (a * a).sum() for w, a, _ in pairs) * sum(w * (b * b).sum() for w, _, b in pairs)
        return 1 - product / sizes.sqrt()
