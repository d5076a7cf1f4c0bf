"""How good a reconstruction is."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["as_images", "colours_of", "likeness", "psnr", "ssim"]

_LEAST_SIDE = 4  # of a square that is looked at as an image


def psnr(found: NDArray[Any], truth: NDArray[Any], *, span: float = 1.0) -> NDArray[np.float64]:
    """Return the peak signal-to-noise ratio in decibels, shape ``(n,)``.

    On floats: quantising to 8 bits first, as the published 51 dB do, caps the ratio near 51 to 59 dB whatever the
    attack (labelinf theory, erratum on image quality).

    Args:
        found: Reconstructions, shape ``(n, d)``.
        truth: Originals, shape ``(n, d)``.
        span: Largest minus smallest value a pixel can have.
    """
    difference = np.asarray(found, dtype=np.float64) - np.asarray(truth, dtype=np.float64)
    error = (difference**2).mean(axis=1)
    with np.errstate(divide="ignore"):
        return np.asarray(10 * np.log10(span**2 / error))


def ssim(found: NDArray[Any], truth: NDArray[Any], *, side: int, window: int = 7) -> NDArray[np.float64]:
    """Return the structural similarity of square grey images with values in [0, 1], at most 1, shape ``(n,)``.

    Means over all windows, each weighted evenly (Wang et al., 2004, with its constants .01 and .03).

    Args:
        found: Reconstructions, shape ``(n, side * side)``.
        truth: Originals.
        side: Of an image.
        window: Side of a window; the image's where that is less.
    """
    shape, size = (-1, side, side), (min(window, side),) * 2
    one, two = (
        np.lib.stride_tricks.sliding_window_view(np.asarray(part, dtype=np.float64).reshape(shape), size, axis=(1, 2))
        for part in (found, truth)
    )
    means = one.mean(axis=(3, 4)), two.mean(axis=(3, 4))
    apart = one - means[0][..., None, None], two - means[1][..., None, None]
    spare = size[0] * size[1] - 1
    var, other, both = ((a * b).sum(axis=(3, 4)) / spare for a, b in ((apart[0],) * 2, (apart[1],) * 2, apart))
    light = (2 * means[0] * means[1] + 1e-4) / (means[0] ** 2 + means[1] ** 2 + 1e-4)
    return np.asarray((light * (2 * both + 9e-4) / (var + other + 9e-4)).mean(axis=(1, 2)))


def colours_of(width: int) -> int:
    """Return how many colours square images of ``width`` numbers have, 1 or 3; 0 if they are no such images."""
    for colours in (1, 3):
        side = math.isqrt(width // colours)
        if side >= _LEAST_SIDE and colours * side * side == width:
            return colours
    return 0


def as_images(rows: NDArray[Any]) -> NDArray[Any]:
    """Return rows as square images, grey ``(n, side, side)`` or coloured ``(n, side, side, 3)``.

    Args:
        rows: Shape ``(n, d)``; colours stand one after another, as in CIFAR's files.

    Raises:
        ValueError: They are no such images.
    """
    n, width = rows.shape
    colours = colours_of(width)
    if not colours:
        raise ValueError(f"rows of {width} numbers are no square images")
    side = math.isqrt(width // colours)
    planes = rows.reshape(n, colours, side, side)
    return planes[:, 0] if colours == 1 else planes.transpose(0, 2, 3, 1)


def likeness(found: NDArray[Any], truth: NDArray[Any]) -> NDArray[np.float64]:
    """Return the structural similarity of square images, the mean over their colours, shape ``(n,)``.

    Args:
        found: Reconstructions as rows that :func:`as_images` takes, shape ``(n, d)``.
        truth: Originals.
    """
    side = as_images(truth).shape[1]
    planes = (np.clip(rows, 0, 1).reshape(-1, side * side) for rows in (found, truth))
    return ssim(*planes, side=side).reshape(len(truth), -1).mean(axis=1)
