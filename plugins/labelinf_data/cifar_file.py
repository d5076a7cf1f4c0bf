"""A user's CIFAR file in its binary version, CIFAR-10 or CIFAR-100: 32 x 32 colour images. Nothing is unpickled.

A record is one label byte (CIFAR-10) or a coarse and a fine one (CIFAR-100), then 1 024 bytes of red, of green and of
blue, row by row (Krizhevsky, https://www.cs.toronto.edu/~kriz/cifar.html). The archive with ``data_batch_1`` without an
ending holds pickles: take the one "suitable for C programs".
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import attrs
import numpy as np

from labelinf_core.contracts.components import LabelSet, LabelSource
from labelinf_core.contracts.errors import InputError
from labelinf_data.encode import label_set

__all__ = ["CifarFile"]

_PIXELS = 3 * 32 * 32
_CLASSES = {1: 10, 2: 100}  # by label bytes


@attrs.frozen(kw_only=True)
class CifarFile(LabelSource):
    """Labels, and images as features in [0, 1], the three colours one after another.

    Attributes:
        path: A file like ``data_batch_1.bin`` or ``train.bin``.
        most: Records that are read, from the first on.
        coarse: Whether the twenty coarse classes of CIFAR-100 are wanted instead of its hundred.
    """

    suffixes: ClassVar[tuple[str, ...]] = (".bin",)
    example_parameters: ClassVar[dict[str, str]] = {"path": str(Path(__file__).parent / "examples" / "four.bin")}

    path: str = attrs.field(validator=attrs.validators.min_len(1))
    most: int = attrs.field(default=5_000, validator=attrs.validators.ge(2))
    coarse: bool = False

    def load(self) -> LabelSet:
        """Return labels and images.

        Raises:
            InputError: The file cannot be read, or is none of CIFAR's.
        """
        try:
            size = Path(self.path).stat().st_size
            head = next((n for n in _CLASSES if size and size % (n + _PIXELS) == 0), 0)
            data = np.fromfile(self.path, dtype=np.uint8, count=self.most * (head + _PIXELS)) if head else np.empty(0)
        except OSError as error:
            raise InputError(f"{self.path} cannot be read: {error.strerror}.") from error
        if not head:
            raise InputError(
                f"{self.path} has {size} bytes, expected a multiple of {1 + _PIXELS} (CIFAR-10) or {2 + _PIXELS} "
                f"(CIFAR-100): the binary version of the data."
            )
        records = data.reshape(-1, head + _PIXELS)
        column = 0 if self.coarse or head == 1 else 1
        classes, expected = records[:, column], 20 if self.coarse else _CLASSES[head]
        if int(classes.max()) >= expected or (self.coarse and head == 1):
            raise InputError(f"{self.path} has labels that are none of {expected} classes: is it a CIFAR file?")
        found = label_set([str(label) for label in classes.tolist()], title=Path(self.path).name, place=self.path)
        return attrs.evolve(found, features=records[:, head:] / 255)
