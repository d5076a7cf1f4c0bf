"""A user's NumPy file: a vector of labels in ``.npy``, or one of the arrays in ``.npz``. Nothing is unpickled."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from labelinf_core.components import LabelSet, LabelSource
from labelinf_core.errors import InputError
from labelinf_data.encode import label_set

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["NpyFile"]


@attrs.frozen(kw_only=True)
class NpyFile(LabelSource):
    """One vector of numbers or strings.

    Attributes:
        path: The file.
        key: Name of the array in a ``.npz`` file; may be left out when there is only one.
    """

    path: str = attrs.field(validator=attrs.validators.min_len(1))
    key: str = ""

    def load(self) -> LabelSet:
        """Return the labels.

        Raises:
            InputError: The file cannot be used as it is; the message says what is wrong.
        """
        values = _vector(self.path, self.key)
        if values.dtype.kind not in "biuUf":
            raise InputError(f"{self.path} holds values of type {values.dtype}. Labels must be numbers or strings.")
        if values.ndim != 1 or not values.size:
            raise InputError(f"{self.path} holds an array of shape {values.shape}. Labels must be a vector, not empty.")
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            row = int(np.argmin(np.isfinite(values)))
            raise InputError(f"{self.path} has {values[row]} at index {row}. Every record needs a label.")
        return label_set([str(value) for value in values], title=Path(self.path).name, place=self.path)


def _vector(path: str, key: str) -> NDArray[Any]:
    try:
        with Path(path).open("rb") as file:
            loaded = np.load(file, allow_pickle=False)
            vector: NDArray[Any] = (
                loaded if isinstance(loaded, np.ndarray) else loaded[_member(path, loaded.files, key)]
            )
            return vector
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from error
    except InputError:
        raise
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(f"{path} is not a NumPy file of plain numbers or strings ({error}).") from error


def _member(path: str, names: list[str], key: str) -> str:
    if key in names:
        return key
    if not key and len(names) == 1:
        return names[0]
    wanted = f"has no array {key!r}" if key else f"has {len(names)} arrays; name one with key"
    raise InputError(f"{path} {wanted}. Arrays are {', '.join(map(repr, names)) or 'none'}.")
