"""Somebody's own network, named ``module:function``: a PyTorch module, or a list of arrays without PyTorch."""

from __future__ import annotations

import contextlib
import importlib.util
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.errors import InputError
from labelinf_core.contracts.gate import unquoted
from labelinf_core.specs.own_code import name_of, watched_function
from labelinf_gradients.game.networks import Layer, Network, Perceptron
from labelinf_gradients.game.torch_network import TorchNetwork, import_torch

__all__ = ["load", "seeded"]


def load(
    target: str | Callable[..., Any],
    *,
    n_inputs: int,
    n_classes: int,
    seed: int,
    precision: str = "float32",
    headless: bool = False,
) -> Network:
    """Call ``module:function``, or a function, and wrap what it returns.

    Args:
        target: What to call, as ``function(n_inputs, n_classes)``. It returns a PyTorch module, or the weights and
            biases of a perceptron with ReLUs, ``[W1, b1, W2, b2, ...]``, a row of weights for every output.
        n_inputs: Width of a flat input.
        n_classes: K.
        seed: Of all global generators while the function runs.
        precision: ``"float32"`` or ``"float64"``.
        headless: Whether a network without a last layer for these classes is taken too.

    Raises:
        InputError: PyTorch is missing and needed, the function fails, or what it returns cannot be used (see
            :meth:`TorchNetwork.wrap`).
    """
    if isinstance(target, str) and not all(target.partition(":")):
        raise InputError(f"network={target!r} must be 'mlp' or 'module:function', a function that makes a module.")
    with seeded(seed):
        make, target = _function(target), name_of(target)
        try:
            made = make(n_inputs, n_classes)
        # The user's code may raise anything at all.
        except Exception as error:
            raise InputError(f"network {target!r} cannot be made: {unquoted(error)}.") from error
    if isinstance(made, Sequence) and not isinstance(made, str):
        found: Network = _perceptron(made, target, n_inputs, precision)
    else:
        torch = import_torch(f"network {target!r}")
        if not isinstance(made, torch.nn.Module):
            raise InputError(
                f"network {target!r} returned {type(made).__name__}, expected a torch.nn.Module or a list of arrays."
            )
        found = TorchNetwork.wrap(made, target=target, n_inputs=n_inputs, precision=precision, headless=headless)
    if not headless and len(found.classifier.weights) != n_classes:
        raise InputError(f"network {target!r} has {len(found.classifier.weights)} outputs for {n_classes} classes.")
    return found


def _function(target: str | Callable[..., Any]) -> Any:
    """Return the function; where PyTorch is missing, that is what its module most likely wants."""
    try:
        return watched_function(target, "network")
    except InputError:
        import_torch(f"network {name_of(target)!r}")
        raise


@contextlib.contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed the global generators of Python, NumPy and PyTorch for a while: a user's function draws from them."""
    kept, state = np.random.get_state(), random.getstate()  # noqa: NPY002
    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002
    try:
        if not _has_torch():
            yield
            return
        torch = import_torch("a seed")
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            yield
    finally:
        np.random.set_state(kept)  # noqa: NPY002
        random.setstate(state)


def _has_torch() -> bool:
    try:
        return importlib.util.find_spec("torch") is not None
    except ValueError:  # a module that was taken away
        return False


def _perceptron(made: Sequence[Any], target: str, n_inputs: int, precision: str) -> Perceptron:
    """Return the perceptron of a list of weights, each with its bias or without.

    Raises:
        InputError: The arrays do not fit one another.
    """
    layers: list[tuple[NDArray[Any], NDArray[Any] | None]] = []
    width = n_inputs
    for part in made:
        array = np.array(part, dtype=precision)
        if array.ndim == 2 and array.shape[1] == width:
            layers.append((array, None))
            width = len(array)
        elif array.ndim == 1 and layers and layers[-1][1] is None and len(array) == width:
            layers[-1] = (layers[-1][0], array)
        else:
            raise InputError(
                f"network {target!r} returned an array of shape {array.shape} where weights of shape "
                f"(n, {width}), outputs by inputs, or their bias were expected, in the order W1, b1, W2, b2, ..."
            )
    if not layers:
        raise InputError(f"network {target!r} returned no arrays.")
    return Perceptron(layers=tuple(Layer(weights=weights, bias=bias) for weights, bias in layers))
