"""Arrays of Python and gmpy2 numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["as_objects"]


def as_objects(values: Any) -> NDArray[Any]:
    """Return an object array without NumPy's scalars, which gmpy2 does not know."""
    array = np.asarray(values)
    return array.astype(object) if array.dtype != object else np.asarray(_plain(array))


_plain = np.frompyfunc(lambda value: value.item() if isinstance(value, np.generic) else value, 1, 1)
