"""Where a PyTorch module ends: the parameter in which its logits are linear, however the module is written.

A last layer is found by what it does. Row c of its weights moves logit c alone, by the feature, which is the same for
every c: so the derivatives of two logits tell a head from any other parameter, be it an ``nn.Linear``, a product with
a parameter in ``forward``, or a convolution of size 1 behind or before a pooling. A head that is tied to another layer
(an embedding, mostly) moves its logits on two ways; its feature is seen where the product itself is computed.
"""

from __future__ import annotations

import contextlib
import math
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

__all__ = ["Head", "feature_of", "find_head", "logits_of", "products"]

_TRIED = 4  # probes that a head must hold on


@attrs.frozen(kw_only=True)
class Head:
    """The last layer of a module.

    Attributes:
        weight: Name of its weights.
        bias: Name of its bias; empty without.
        transposed: Whether the weights are of shape ``(I, C)``.
        tied: Whether other layers use the same weights: gradients of theirs are added to the head's own.
    """

    weight: str
    bias: str = ""
    transposed: bool = False
    tied: bool = False

    def rows(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return weights, or their gradient, with a row for every class, shape ``(C, I)``."""
        return np.ascontiguousarray(values.T) if self.transposed else values.reshape(len(values), -1)

    def fits(self, shape: tuple[int, ...], rows: tuple[int, ...]) -> bool:
        """Whether values of ``shape`` are the module's own weights, of which ``rows`` is the shape of the rows."""
        return shape == rows[::-1] if self.transposed else shape[:1] == rows[:1] and math.prod(shape) == math.prod(rows)

    def columns(self, rows: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
        """Return what :meth:`rows` was given, of ``shape``."""
        return rows.T if self.transposed else rows.reshape(shape)


def logits_of(output: Any) -> Any:
    """Return the logits of what a module returned, shape ``(n, C)``: itself, its ``logits`` or its first element.

    Those of a language model, shape ``(n, T, V)``, are the last place's.
    """
    output = getattr(output, "logits", output)
    output = output[0] if isinstance(output, (tuple, list)) else output
    if getattr(output, "ndim", 0) == 3 and output.shape[2] > 1:
        return output[:, -1]
    return output.flatten(1) if getattr(output, "ndim", 0) > 2 else output


def find_head(torch: Any, module: Any, probes: Any, n_classes: int) -> Head | None:
    """Return the last layer of a module in evaluation mode, or None where its logits are linear in no parameter.

    Args:
        torch: PyTorch.
        module: The module; frozen parameters are looked at too, and are frozen again.
        probes: Inputs, one row each.
        n_classes: C.
    """
    frozen = [part for part in module.parameters() if not part.requires_grad]
    for part in frozen:
        part.requires_grad_(True)
    try:
        return _linear(torch, module, probes[:_TRIED], n_classes) or _tied(torch, module, probes[:_TRIED])
    finally:
        for part in frozen:
            part.requires_grad_(False)


def _linear(torch: Any, module: Any, probes: Any, n_classes: int) -> Head | None:
    names = dict(module.named_parameters())
    bias, found = "", []
    for name, part in names.items():
        if part.shape == (n_classes,) and all(_is_bias(torch, module, row, part) for row in probes):
            bias = name
        for transposed in (False, True):
            sides = part.shape[1:] if transposed else part.shape[:1]
            if part.ndim < 2 or tuple(sides) != (n_classes,):
                continue
            head = Head(weight=name, transposed=transposed)
            if all(_feature(torch, module, row, part, head) is not None for row in probes):
                found.append(head)
    return attrs.evolve(found[-1], bias=bias) if found else None


def _is_bias(torch: Any, module: Any, row: Any, part: Any) -> bool:
    first, last = _slopes(torch, module, row, part)
    own = torch.zeros_like(first), torch.zeros_like(first)
    own[0][0], own[1][-1] = 1, 1
    return bool(torch.equal(first, own[0]) and torch.equal(last, own[1]))


def _slopes(torch: Any, module: Any, row: Any, part: Any) -> tuple[Any, Any]:
    """Return the derivatives of the first and of the last logit."""
    logits = logits_of(module(row[None]))[0]
    first, last = (
        torch.autograd.grad(logits[place], part, retain_graph=True, allow_unused=True)[0] for place in (0, -1)
    )
    nothing = torch.zeros_like(part)
    return (nothing if first is None else first), (nothing if last is None else last)


def _feature(torch: Any, module: Any, row: Any, part: Any, head: Head) -> Any | None:
    """Return what enters the head, shape ``(I,)``, or None if it is no head."""
    first, last = (
        (slope.T if head.transposed else slope.reshape(len(slope), -1)) for slope in _slopes(torch, module, row, part)
    )
    if first[1:].any() or last[:-1].any() or not torch.allclose(first[0], last[-1], rtol=1e-3, atol=1e-6):
        return None
    return first[0]


def feature_of(torch: Any, module: Any, row: Any, head: Head) -> NDArray[Any]:
    """Return what enters the head for one input, shape ``(I,)``: the derivative of the first logit by its own row."""
    part = dict(module.named_parameters())[head.weight]
    with _thawed(part):
        logits = logits_of(module(row[None]))[0]
        slope = torch.autograd.grad(logits[0], part)[0]
    return np.asarray((slope[:, 0] if head.transposed else slope[0].reshape(-1)).detach().numpy())


@contextlib.contextmanager
def _thawed(part: Any) -> Any:
    frozen = not part.requires_grad
    part.requires_grad_(True)
    try:
        yield
    finally:
        part.requires_grad_(not frozen)


def _tied(torch: Any, module: Any, probes: Any) -> Head | None:
    """Return the head whose weights other layers use too, where the logits are seen to be a product with them."""
    seen = products(torch, module, probes)
    names = {id(part): name for name, part in module.named_parameters()}
    logits = logits_of(module(probes))
    for weight, bias, _, output in reversed(seen):
        output = logits_of(output)
        if id(weight) in names and output.shape == logits.shape and torch.allclose(output, logits):
            return Head(weight=names[id(weight)], bias=names.get(id(bias), ""), tied=True)
    return None


def products(torch: Any, module: Any, inputs: Any) -> list[tuple[Any, Any, Any, Any]]:
    """Return every linear map that a module computes: its weights, bias, what enters and what leaves it."""
    seen: list[tuple[Any, Any, Any, Any]] = []

    class HeadWatch(torch.overrides.TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, func: Any, _types: Any, args: Any = (), kwargs: Any = None) -> Any:
            output = func(*args, **(kwargs or {}))
            if func is torch.nn.functional.linear:
                weight, bias = [*args[1:], (kwargs or {}).get("bias"), None][:2]
                seen.append((weight, bias, args[0], output))
            return output

    with HeadWatch():
        module(inputs)
    return seen
