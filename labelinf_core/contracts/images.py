"""Images to look at, as data: what a channel rebuilt of private inputs, beside the true ones.

A gallery is as private as the inputs that it shows: it stands in the private record, and a page shows it where
everybody may know the records, or where somebody asked for everything.

Example:
    >>> import numpy as np
    >>> Gallery(true=(as_png(np.zeros((2, 2), dtype=np.uint8)),), rebuilt=(as_png(np.eye(2)),), says="6 dB").says
    '6 dB'
"""

from __future__ import annotations

import base64
import re
import struct
import zlib
from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Gallery", "as_png"]

_BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}")
_MOST, _LONGEST = 16, 1 << 17  # images, and characters of one


def _are_images(instance: object, attribute: attrs.Attribute[Any], value: tuple[str, ...]) -> None:
    if len(value) > _MOST or not all(len(item) <= _LONGEST and _BASE64.fullmatch(item) for item in value):
        raise ValueError(f"Gallery.{attribute.name} must hold at most {_MOST} small PNG images in base64")


@attrs.frozen(kw_only=True)
class Gallery:
    """True inputs and what an attack made of what was released about them, in the same order.

    Attributes:
        true: PNG images in base64.
        rebuilt: As many.
        says: How good they are, in a few words.
    """

    true: tuple[str, ...] = attrs.field(validator=_are_images)
    rebuilt: tuple[str, ...] = attrs.field(validator=_are_images)
    says: str = attrs.field(default="", validator=[attrs.validators.instance_of(str), attrs.validators.max_len(80)])

    @rebuilt.validator
    def _are_as_many(self, attribute: attrs.Attribute[Any], value: tuple[str, ...]) -> None:
        if len(value) != len(self.true):
            raise ValueError(f"Gallery.rebuilt holds {len(value)} images beside {len(self.true)} true ones")


def as_png(image: NDArray[Any]) -> str:
    """Return an image as a PNG of 8 bits a colour, in base64.

    Args:
        image: Values in [0, 1], shape ``(height, width)`` or ``(height, width, 3)``; what is outside is cut off, and
            what is no number is black.
    """
    import numpy as np  # a catalogue is read without

    pixels = np.rint(255 * np.clip(np.nan_to_num(np.asarray(image, dtype=np.float64)), 0, 1)).astype(np.uint8)
    lines = b"".join(b"\0" + line.tobytes() for line in pixels)
    head = struct.pack(">IIBBBBB", pixels.shape[1], pixels.shape[0], 8, 2 if pixels.ndim == 3 else 0, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b""))
    return base64.b64encode(
        b"\x89PNG\r\n\x1a\n"
        + b"".join(
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
            for kind, data in chunks
        )
    ).decode()
