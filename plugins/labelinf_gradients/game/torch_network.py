"""Somebody's PyTorch module as the network of a client: its own autograd computes the gradients that are attacked.

PyTorch is an extra (``pip install 'labelinf[torch]'``) and is imported when a module is loaded, not before. The module
runs in evaluation mode: batch normalisation with batch statistics and dropout are not modelled.
"""

from __future__ import annotations

import copy
import importlib
from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.errors import InputError
from labelinf_core.contracts.gate import unquoted
from labelinf_core.specs.own_code import own_function
from labelinf_gradients.game.networks import Layer

__all__ = ["TorchNetwork", "import_torch", "load"]

_PROBES = 64


def import_torch(wanted_by: str) -> Any:
    """Return the module ``torch``.

    Raises:
        InputError: It is not installed; the message names ``wanted_by``.
    """
    try:
        return importlib.import_module("torch")
    except ImportError as error:
        raise InputError(f"{wanted_by} needs PyTorch: pip install 'labelinf[torch]'.") from error


def load(target: str, *, n_inputs: int, n_classes: int, precision: str, seed: int) -> TorchNetwork:
    """Call ``module:function`` and wrap the PyTorch module that it returns.

    Args:
        target: What to call, as ``function(n_inputs, n_classes)``.
        n_inputs: Width of a flat input.
        n_classes: K.
        precision: ``"float32"`` or ``"float64"``.
        seed: Of PyTorch's global generator while the function runs.

    Raises:
        InputError: PyTorch is missing, the function fails, or what it returns cannot be used (see
            :meth:`TorchNetwork.wrap`).
    """
    module_name, _, name = target.partition(":")
    if not module_name or not name:
        raise InputError(f"network={target!r} must be 'mlp' or 'module:function', a function that makes a module.")
    torch = import_torch(f"network {target!r}")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        make = own_function(target, "network")
        try:
            made = make(n_inputs, n_classes)
        # The user's code may raise anything at all.
        except Exception as error:
            raise InputError(f"network {target!r} cannot be made: {unquoted(error)}.") from error
    if not isinstance(made, torch.nn.Module):
        raise InputError(f"network {target!r} returned {type(made).__name__}, expected a torch.nn.Module.")
    network = TorchNetwork.wrap(made, target=target, n_inputs=n_inputs, precision=precision)
    if len(network.classifier.weights) != n_classes:
        raise InputError(f"network {target!r} has {len(network.classifier.weights)} outputs for {n_classes} classes.")
    return network


@attrs.frozen(kw_only=True, eq=False)
class TorchNetwork:
    """A PyTorch module whose last layer is linear. Frozen parameters have no gradient and are not released.

    Attributes:
        module: The module, in evaluation mode.
        last: Name of its last linear layer.
        nonnegative: Whether that layer's inputs were never negative on random inputs: after a ReLU, a sigmoid or an
            average of those they cannot be.
    """

    module: Any
    last: str
    nonnegative: bool

    @classmethod
    def wrap(cls, module: Any, *, target: str, n_inputs: int, precision: str) -> TorchNetwork:
        """Find the linear layer of ``module`` that runs last and check that the logits are its outputs.

        Args:
            module: A ``torch.nn.Module`` of flat inputs.
            target: How messages call it.
            n_inputs: Width of an input.
            precision: ``"float32"`` or ``"float64"``; the module is converted to it, in place.

        Raises:
            InputError: It does not run on such inputs, has no linear layer, something follows the last one, or that
                one is frozen.
        """
        torch = import_torch(f"network {target!r}")
        module = module.to(getattr(torch, precision)).eval()
        probes = np.random.default_rng(0).normal(size=(_PROBES, n_inputs))
        last = _last_linear(module, torch.as_tensor(probes, dtype=getattr(torch, precision)), target)
        found = cls(module=module, last=last, nonnegative=False)
        features, logits = found._run(probes)
        fits = torch.is_tensor(logits) and logits.shape == (_PROBES, found._linear.out_features)
        if not fits or not torch.allclose(found._linear(features), logits, rtol=1e-3, atol=1e-5):
            raise InputError(f"network {target!r} does not end in its linear layer {last!r}; its logits must.")
        if not found._linear.weight.requires_grad:
            raise InputError(f"the last layer of network {target!r} is frozen: there is no gradient to attack.")
        return attrs.evolve(found, nonnegative=bool((features >= 0).all()))

    @property
    def classifier(self) -> Layer:
        """The last layer."""
        layer = self._linear
        bias = None if layer.bias is None else layer.bias.detach().numpy()
        return Layer(weights=layer.weight.detach().numpy(), bias=bias)

    @property
    def classifier_names(self) -> tuple[str, ...]:
        """Names of the last layer's parameters."""
        prefix = f"{self.last}." if self.last else ""
        return tuple(name for name in (f"{prefix}weight", f"{prefix}bias") if name in self._trainable)

    @property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """Shape of every parameter."""
        return {name: tuple(value.shape) for name, value in self._trainable.items()}

    def features(self, x: NDArray[Any]) -> NDArray[Any]:
        """Return the last layer's inputs, shape ``(n, I)``."""
        return np.asarray(self._run(x)[0].detach().numpy())

    def gradients(self, x: NDArray[Any], labels: NDArray[Any]) -> Mapping[str, NDArray[Any]]:
        """Return every sample's own gradient, one backward pass each."""
        torch = import_torch("this network")
        parameters = self._trainable
        found: dict[str, list[NDArray[Any]]] = {name: [] for name in parameters}
        for row, label in zip(self._tensor(x), self._tensor(labels), strict=True):
            loss = torch.nn.functional.cross_entropy(self.module(row[None]), label[None])
            parts = torch.autograd.grad(loss, list(parameters.values()), allow_unused=True)
            for (name, parameter), part in zip(parameters.items(), parts, strict=True):
                found[name].append((torch.zeros_like(parameter) if part is None else part).detach().numpy())
        return {name: np.stack(parts) for name, parts in found.items()}

    def moved(self, step: Mapping[str, NDArray[Any]]) -> TorchNetwork:
        """Return a copy with ``step`` added to its parameters."""
        torch = import_torch("this network")
        module = copy.deepcopy(self.module)
        with torch.no_grad():
            for name, value in module.named_parameters():
                if name in step:
                    value += self._tensor(step[name])
        return attrs.evolve(self, module=module)

    @property
    def _trainable(self) -> dict[str, Any]:
        return {name: value for name, value in self.module.named_parameters() if value.requires_grad}

    @property
    def _linear(self) -> Any:
        return self.module.get_submodule(self.last)

    def _run(self, x: NDArray[Any]) -> tuple[Any, Any]:
        """Return what enters the last layer, and the module's outputs."""
        entered: list[Any] = []
        handle = self._linear.register_forward_pre_hook(lambda _, inputs: entered.append(inputs[0]))
        try:
            logits = self.module(self._tensor(x))
        finally:
            handle.remove()
        return entered[-1], logits

    def _tensor(self, values: NDArray[Any]) -> Any:
        torch = import_torch("this network")
        return torch.as_tensor(np.array(values), dtype=self._linear.weight.dtype)


def _last_linear(module: Any, probes: Any, target: str) -> str:
    """Return the name of the linear layer that runs last, whatever the order in which layers were declared."""
    linear = import_torch(f"network {target!r}").nn.Linear
    ran: list[str] = []
    handles = [
        part.register_forward_hook(lambda _module, _inputs, _output, name=name: ran.append(name))
        for name, part in module.named_modules()
        if isinstance(part, linear)
    ]
    try:
        module(probes)
    # The user's code may raise anything at all.
    except Exception as error:
        shape = tuple(probes.shape)
        raise InputError(f"network {target!r} does not run on {shape}: {unquoted(error)}.") from error
    finally:
        for handle in handles:
            handle.remove()
    if not ran:
        raise InputError(f"network {target!r} has no linear layer; its last layer must be one (torch.nn.Linear).")
    return ran[-1]
