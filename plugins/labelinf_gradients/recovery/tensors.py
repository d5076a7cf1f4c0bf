"""Arrays, and tensors of PyTorch without importing it: what their numbers are and how exactly they are known."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.errors import InputError
from labelinf_gradients.recovery.results import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, GradientPrecision

__all__ = ["FORMATS", "as_array", "format_of", "precision_of", "rounded_to"]

FORMATS = {"float32": FLOAT32, "float64": FLOAT64, "float16": FLOAT16, "bfloat16": BFLOAT16}


def as_array(values: Any) -> NDArray[Any]:
    """Return an array of what may be a tensor; halves become float32. InputError: several of different shapes."""
    if isinstance(values, list | tuple) and len({np.shape(value) for value in values}) > 1:
        raise InputError("one array is wanted, not several of different shapes: of [W.grad, b.grad], W.grad.")
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        values = (values.float() if format_of(values) == "bfloat16" else values).numpy()
    array: NDArray[Any] = np.asarray(values)
    return array.astype(np.float32) if array.dtype == np.float16 else array


def format_of(values: Any) -> str:
    """Return the name of the number format of an array or a tensor; ``float64`` for what is none."""
    return str(getattr(values, "dtype", "float64")).removeprefix("torch.")


def precision_of(values: Any) -> GradientPrecision:
    """Return how exactly the entries of an array or a tensor are known, by its type."""
    return FORMATS.get(format_of(values), FLOAT64)


def rounded_to(values: NDArray[Any], name: str) -> NDArray[Any]:
    """Return numbers of any format and shape, rounded to the nearest that one of :data:`FORMATS` holds, ties to even.

    Those of the halves are returned as float32.
    """
    if name != "bfloat16":
        return as_array(values.astype(name))
    single = np.ascontiguousarray(values, dtype=np.float32)
    bits = single.view(np.uint32)
    even = (bits >> np.uint32(16)) & np.uint32(1)
    kept = ((bits + np.uint32(0x7FFF) + even) & np.uint32(0xFFFF0000)).view(np.float32)
    return np.where(np.isfinite(single), kept, single)
