"""Low bits of noise drawn in floating point: is a released number noise alone, or noise on something else?

A sampler reaches a small part of all doubles. NumPy's Laplace noise is ``scale * log(2 u)`` or
``-scale * log(2 - u - u)`` of a multiple u of ``2**-53``; its normal noise is one of 256 widths times a whole number of
52 bits (the ziggurat of Marsaglia and Tsang, 2000). A bare draw is always among these numbers; noise that was added to
a number other than zero is among them as often as chance has it, which is seldom where they lie thin. The logarithm of
that ratio is the evidence of one entry for a zero (Mironov, CCS 2012, for one number; labelinf theory, corrections, D1,
for gradients).

Example:
    >>> rng = np.random.default_rng(0)
    >>> noise = rng.laplace(0, 3.0, 200)
    >>> bool((laplace_evidence(noise, 3.0) >= 0).all()), bool(laplace_evidence(noise + 0.01, 3.0).sum() < -100)
    (True, True)
"""

from __future__ import annotations

import functools
import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["gaussian_evidence", "laplace_evidence"]

Floats = NDArray[np.float64]

_BITS = 52
_RARE = math.log(1e-3)  # of a bare draw that this model of the sampler misses
_CHUNK = 1 << 8  # with 256 widths, what a core keeps near
_UNSEEN = 1e300
_DRAWS = 20_000  # some eighty of every strip: its width is known to the last bit
_log = np.frompyfunc(math.log, 1, 1)  # the C library's, as in the sampler; NumPy's own differs in the last bit


def laplace_evidence(values: Floats, scale: float) -> Floats:
    """Return ``log P(value | bare noise) / P(value | something added)``, in the shape of ``values``."""
    size, positive = np.abs(values), values > 0
    share = np.exp(-size / scale)
    whole = np.rint(np.where(positive, 1 - share / 2, share / 2) * 2.0**53)
    found = np.zeros(size.shape, dtype=bool)
    for shift in (-1, 0, 1):
        uniform = np.clip(whole + shift, 1, 2.0**53 - 1) * 2.0**-53
        argument = np.where(positive, 2.0 - uniform - uniform, uniform + uniform)
        found |= -(scale * _log(argument).astype(np.float64)) == size
    by_chance = np.clip(np.spacing(size) * share * 2.0**_BITS / scale, 1e-12, 1)
    return np.where(found, -np.log(by_chance), _RARE)


def gaussian_evidence(values: Floats, scale: float) -> Floats:
    """Return ``log P(value | bare noise) / P(value | something added)``, in the shape of ``values``."""
    flat = np.abs(values).ravel()
    chunks = np.split(flat, range(_CHUNK, flat.size, _CHUNK))
    return np.concatenate([_of_widths(chunk, scale) for chunk in chunks]).reshape(values.shape)


def _of_widths(size: Floats, scale: float) -> Floats:
    """Count the widths of which each size is a whole multiple: one of them at least where it is bare."""
    widths = _widths()
    nearest = np.rint(size[:, None] / scale / widths)
    hits = np.zeros(nearest.shape, dtype=bool)
    for shift in (-1, 0, 1):  # the quotient itself is rounded
        whole = nearest + shift
        hits |= (scale * (whole * widths) == size[:, None]) & (whole < 2.0**_BITS)
    bare = hits.sum(axis=1) / (2 * widths.size * 2.0**_BITS)
    unit = size / scale
    by_chance = np.log(np.spacing(size) / scale) - unit**2 / 2 - math.log(2 * math.pi) / 2
    with np.errstate(divide="ignore"):
        return np.asarray(np.maximum(np.log(bare) - by_chance, _RARE))


@functools.cache
def _widths() -> Floats:
    """Return the widths of NumPy's ziggurat, learnt from its draws: shape ``(256,)``.

    A word chooses the strip with its lowest 8 bits, the sign with the next, and a whole number with the 52 after it.
    """
    rng, seen = np.random.default_rng(0), []
    bits = rng.bit_generator
    for _ in range(_DRAWS):
        state = bits.state
        word, after = int(bits.random_raw()), bits.state
        bits.state = state
        size = abs(float(rng.standard_normal()))
        if bits.state == after:  # one word was enough, so that the draw is that whole number of widths
            seen.append((word & 0xFF, word >> 9 & (1 << _BITS) - 1, size))
    strips, whole, sizes = (np.array(column) for column in zip(*seen, strict=True))
    return np.array([_width(whole[strips == strip], sizes[strips == strip]) for strip in range(256)])


def _width(whole: NDArray[np.int64], sizes: Floats) -> float:
    """Return the double that every size is a rounded multiple of; a huge one where no size is to be seen."""
    if not whole.size:  # strip 1 always takes more than one word
        return _UNSEEN
    about = float((sizes / np.maximum(whole, 1)).max())
    near = about + np.arange(-4, 5) * np.spacing(about)
    return float(near[(whole[:, None] * near == sizes[:, None]).sum(axis=0).argmax()])
