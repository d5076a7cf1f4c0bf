"""Somebody's PyTorch module as the network of a client: its own autograd computes the gradients that are attacked.

PyTorch is an extra (``pip install 'labelinf[torch]'``) and is imported when a module is loaded, not before. The module
runs in evaluation mode: batch normalisation with batch statistics and dropout are not modelled.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import importlib
from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.errors import InputError
from labelinf_core.contracts.gate import unquoted
from labelinf_gradients.game.networks import Layer
from labelinf_gradients.game.torch_head import Head, feature_of, find_head, logits_of, products
from labelinf_gradients.recovery.tensors import as_array

__all__ = ["TorchNetwork", "import_torch"]

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


@attrs.frozen(kw_only=True, eq=False)
class TorchNetwork:
    """A PyTorch module whose logits are linear in a parameter. Frozen parameters have no gradient and are not released.

    An audit of a client takes any module: it asks for nothing of a last layer that is not there.

    Attributes:
        module: The module, in evaluation mode.
        head: Its last layer; without a name where there is none.
        nonnegative: Whether what enters that layer was never negative on random inputs: after a ReLU, a sigmoid or an
            average of those it cannot be.
        vocabulary: How many tokens there are, for a module that takes tokens; 0 for one that takes numbers.
    """

    module: Any
    head: Head
    nonnegative: bool
    vocabulary: int = 0

    @classmethod
    def wrap(cls, module: Any, *, target: str, n_inputs: int, precision: str, headless: bool = False) -> TorchNetwork:
        """Find the last layer of ``module`` and check that the logits are its outputs.

        Args:
            module: A ``torch.nn.Module`` of flat inputs: numbers, or else tokens.
            target: How messages call it.
            n_inputs: Width of an input.
            precision: ``"float32"`` or ``"float64"``; the module is converted to it, in place.
            headless: Whether a module without a last layer, with a frozen one, or of other inputs is taken too; doubles
                of such a one stay doubles.

        Raises:
            InputError: It does not run on such inputs, its logits are linear in none of its parameters, or those are
                frozen.
        """
        torch = import_torch(f"network {target!r}")
        if headless and {part.dtype for part in module.parameters()} == {torch.float64}:
            precision = "float64"
        module = module.to(getattr(torch, precision)).eval()
        probes = np.random.default_rng(0).normal(size=(_PROBES, n_inputs))
        nothing = cls(module=module, head=Head(weight=""), nonnegative=False)
        try:
            vocabulary = _vocabulary(torch, module, torch.as_tensor(probes, dtype=getattr(torch, precision)), target)
        except InputError:
            if headless:
                return nothing
            raise
        probes = np.abs(np.tanh(probes)) if vocabulary else probes
        found = attrs.evolve(nothing, vocabulary=vocabulary)
        inputs = found.inputs(probes, getattr(torch, precision))
        logits = logits_of(module(inputs))
        flat = torch.is_tensor(logits) and logits.ndim == 2 and len(logits) == _PROBES
        head = find_head(torch, module, inputs, logits.shape[1]) if flat else None
        if head is None:
            if headless:
                return found
            raise InputError(
                f"the logits of network {target!r} are linear in none of its parameters: it must end in a linear layer "
                f"(torch.nn.Linear, a product with a parameter, or a convolution of size 1), with nothing behind it."
            )
        if not headless and not found._parameters[head.weight].requires_grad:
            raise InputError(
                f"the last layer of network {target!r} is frozen: attacks on its gradient cannot be played. labelinf "
                f"audit client plays those that need none, on the client's code."
            )
        whole = attrs.evolve(found, head=head)
        return attrs.evolve(whole, nonnegative=bool((whole.features(probes) >= 0).all()))

    @property
    def classifier(self) -> Layer:
        """The last layer."""
        bias = self._parameters[self.head.bias].detach().numpy() if self.head.bias else None
        return Layer(weights=self.head.rows(self._parameters[self.head.weight].detach().numpy()), bias=bias)

    @property
    def classifier_names(self) -> tuple[str, ...]:
        """Names of the last layer's parameters; none where it is frozen or there is none."""
        own = self._trainable
        return tuple(n for n in (self.head.weight, self.head.bias) if n in own) if self.head.weight in own else ()

    @property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """Shape of every parameter; the last layer's weights have a row for every class."""
        return {name: value.shape for name, value in self.parameters.items()}

    def features(self, x: NDArray[Any]) -> NDArray[Any]:
        """Return what enters the last layer, shape ``(n, I)``."""
        torch, inputs = import_torch("this network"), self.inputs(x)
        weight = self._parameters[self.head.weight]
        for used, _, entered, _ in reversed(products(torch, self.module, inputs)):
            if used is weight and entered.ndim == 2:
                return as_array(entered)
        return np.stack([feature_of(torch, self.module, row, self.head) for row in inputs])

    def gradients(self, x: NDArray[Any], labels: NDArray[Any]) -> Mapping[str, NDArray[Any]]:
        """Return every sample's own gradient, one backward pass each."""
        own = [self.mean_gradient(x[row : row + 1], labels[row : row + 1]) for row in range(len(x))]
        return {name: np.stack([parts[name] for parts in own]) for name in self._trainable}

    @functools.cached_property
    def parameters(self) -> Mapping[str, NDArray[Any]]:
        """Value of every parameter; the last layer's weights have a row for every class."""
        return self._with_rows(self._trainable)

    def mean_gradient(self, x: NDArray[Any], labels: NDArray[Any]) -> Mapping[str, NDArray[Any]]:
        """Return the batch's mean gradient, by one backward pass; see :class:`Network`."""
        torch, own = import_torch("this network"), self._trainable
        output = self.module(self.inputs(x))
        loss = torch.nn.functional.cross_entropy(logits_of(output), self._tensor(labels))
        parts = torch.autograd.grad(loss, list(own.values()), allow_unused=True)
        return self._with_rows(
            {
                name: torch.zeros_like(parameter) if part is None else part
                for (name, parameter), part in zip(own.items(), parts, strict=True)
            }
        )

    def _with_rows(self, parts: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
        found = {name: part.detach().numpy() for name, part in parts.items()}
        return {name: self.head.rows(part) if name == self.head.weight else part for name, part in found.items()}

    def moved(self, step: Mapping[str, NDArray[Any]]) -> TorchNetwork:
        """Return a copy with ``step`` added to its parameters."""
        torch = import_torch("this network")
        module = copy.deepcopy(self.module)
        with torch.no_grad():
            for name, value in module.named_parameters():
                if name in step:
                    own = self.head.columns(step[name], tuple(value.shape)) if name == self.head.weight else step[name]
                    value += self._tensor(own)
        return attrs.evolve(self, module=module)

    def inputs(self, x: NDArray[Any], dtype: Any = None) -> Any:
        """Return inputs as the module takes them: numbers, or the tokens that numbers in [0, 1] stand for."""
        torch = import_torch("this network")
        if self.vocabulary:
            tokens = np.rint(np.clip(x, 0, 1) * (self.vocabulary - 1))
            return torch.as_tensor(tokens, dtype=torch.long)
        return self._tensor(x) if dtype is None else torch.as_tensor(np.array(x), dtype=dtype)

    @functools.cached_property
    def _parameters(self) -> dict[str, Any]:
        return dict(self.module.named_parameters())

    @functools.cached_property
    def _trainable(self) -> dict[str, Any]:
        return {name: value for name, value in self._parameters.items() if value.requires_grad}

    def _tensor(self, values: NDArray[Any]) -> Any:
        torch = import_torch("this network")
        return torch.as_tensor(np.array(values), dtype=next(iter(self._parameters.values())).dtype)


def _vocabulary(torch: Any, module: Any, probes: Any, target: str) -> int:
    """Return how many tokens a module takes, 0 where it takes numbers."""
    tables = (torch.nn.Embedding, torch.nn.EmbeddingBag)
    sizes = [part.num_embeddings for part in module.modules() if isinstance(part, tables)]
    try:
        with torch.no_grad():
            module(probes)
    # The user's code may raise anything at all.
    except Exception as error:
        for size in sorted(set(sizes), reverse=True):
            with contextlib.suppress(Exception), torch.no_grad():
                module((probes.abs().tanh() * (size - 1)).round().long())
                return int(size)
        shape = tuple(probes.shape)
        raise InputError(f"network {target!r} does not run on {shape}: {unquoted(error)}.") from error
    return 0
