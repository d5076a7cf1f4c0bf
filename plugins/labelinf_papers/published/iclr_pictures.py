"""Reconstructions to look at: true digits above, and below what each method makes of their gradients, as one SVG."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from labelinf_gradients.game.networks import softmax
from labelinf_gradients.reconstruction.chain import as_printed, inputs_by_recursion
from labelinf_gradients.reconstruction.inputs import reconstruct, reconstruct_noisy
from labelinf_gradients.reconstruction.quality import psnr, ssim
from labelinf_papers.published.iclr_victims import Victims, fully_connected

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["grid", "reconstructions"]

_SIDE, _PIXEL, _GAP, _TEXT = 8, 6, 6, 330  # pixels of a digit; units of the drawing
_NOISE = 1e-3


def reconstructions(n: int) -> dict[str, NDArray[np.float64]]:
    """Return the true inputs and what each method makes of them, by its name, shape ``(n, 64)`` each.

    Labels are smoothed by secret factors. No method but the recursion under noise is given any of them.

    Args:
        n: How many digits.
    """
    network, victims = fully_connected(epochs=3), Victims.draw(n, "smoothing", seed=1)
    releases = network.gradients(victims.inputs, victims.labels)
    errors = softmax(network.logits(victims.inputs)) - victims.labels
    rng = np.random.default_rng(2)
    noisy = {name: part + _NOISE * rng.normal(size=part.shape) for name, part in releases.items()}
    single = network.astype("float32").gradients(victims.inputs, victims.labels)
    return {
        "true": victims.inputs,
        "ours, label recovered": reconstruct(network, single).inputs,
        "equations 6 and 7 as printed, label given": as_printed(network, releases, errors),
        f"ours, noise of {_NOISE:g}": reconstruct_noisy(network, noisy, family="smoothing").inputs,
        f"recursion, noise of {_NOISE:g}, label given": inputs_by_recursion(
            network, noisy, network.features(victims.inputs), errors
        ),
    }


def grid(n: int = 10) -> str:
    """Return the pictures as SVG, one method a row, with median PSNR and SSIM beside it."""
    rows, step = reconstructions(n), _SIDE * _PIXEL + _GAP
    parts = []
    for number, (name, images) in enumerate(rows.items()):
        shown, truth = np.clip(np.nan_to_num(images), 0, 1), rows["true"]
        quality = ""
        if number:
            ratio, likeness = np.median(psnr(images, truth)), np.median(ssim(shown, truth, side=_SIDE))
            quality = f": {ratio:.0f} dB, SSIM {likeness:.2f}"
        parts.append(f'<text x="0" y="{number * step + step // 2}">{name}{quality}</text>')
        parts += [_image(image, _TEXT + place * step, number * step) for place, image in enumerate(shown)]
    size = f'width="{_TEXT + n * step}" height="{len(rows) * step}"'
    style = 'font-family="sans-serif" font-size="11"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>\n' + "\n".join(parts) + "\n</svg>\n"


def _image(pixels: NDArray[np.float64], left: int, top: int) -> str:
    """Return one digit, ink black."""
    ink = np.rint(255 * (1 - pixels)).astype(int)
    squares = (
        f'<path fill="#{grey:02x}{grey:02x}{grey:02x}" d="{_squares(np.flatnonzero(ink == grey), left, top)}"/>'
        for grey in np.unique(ink)
    )
    return "".join(squares)


def _squares(places: NDArray[np.intp], left: int, top: int) -> str:
    corners = ((left + place % _SIDE * _PIXEL, top + place // _SIDE * _PIXEL) for place in places.tolist())
    return "".join(f"M{x} {y}h{_PIXEL}v{_PIXEL}h-{_PIXEL}z" for x, y in corners)
