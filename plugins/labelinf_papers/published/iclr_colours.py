"""Colour images to look at: 32 x 32 patches of scikit-learn's two photographs, and what comes out of their gradients.

The photographs (``china.jpg``, ``flower.jpg``) are bundled with scikit-learn and need Pillow to be read. No picture is
drawn of a user's own records: a page that is published would hold them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.images import as_png
from labelinf_gradients.game.networks import Perceptron, softmax
from labelinf_gradients.reconstruction.chain import as_printed
from labelinf_gradients.reconstruction.inputs import reconstruct, reconstruct_noisy
from labelinf_gradients.reconstruction.quality import as_images, likeness, psnr

__all__ = ["colour_grid", "patches", "rebuilt"]

_SIDE, _POOL, _CLASSES, _NOISE = 32, 4, 10, 1e-3
_SHOWN, _GAP, _TEXT = 64, 6, 330  # of an image, in units of the drawing


def patches(n: int, *, seed: int = 0) -> NDArray[np.float64]:
    """Return patches in turn from both photographs, four pixels averaged to one, in [0, 1], shape ``(n, 3072)``.

    Colours stand one after another, as in CIFAR's files.
    """
    from sklearn.datasets import load_sample_images

    photographs, rng, found = load_sample_images().images, np.random.default_rng(seed), []
    for number in range(n):
        whole = np.asarray(photographs[number % 2], dtype=np.float64) / 255
        top, left = (int(rng.integers(size - _SIDE * _POOL)) for size in whole.shape[:2])
        cut = whole[top : top + _SIDE * _POOL, left : left + _SIDE * _POOL]
        small = cut.reshape(_SIDE, _POOL, _SIDE, _POOL, 3).mean(axis=(1, 3))
        found.append(small.transpose(2, 0, 1).ravel())
    return np.array(found)


def rebuilt(n: int, *, seed: int = 0) -> dict[str, NDArray[np.float64]]:
    """Return true patches and what each method makes of their gradients, by its name, shape ``(n, 3072)`` each.

    The network is 3072-256-64-10 with ReLUs, without biases and untrained; labels are random and smoothed by secret
    factors. Only the equations as printed are given any.
    """
    rng, x = np.random.default_rng(seed), patches(n, seed=seed)
    network = Perceptron.random((x.shape[1], 256, 64, _CLASSES), rng, bias=False)
    factor = rng.uniform(0, 0.5, (n, 1))
    labels = (1 - factor) * np.eye(_CLASSES)[rng.integers(_CLASSES, size=n)] + factor / _CLASSES
    releases = network.gradients(x, labels)
    noisy = {name: part + _NOISE * rng.normal(size=part.shape) for name, part in releases.items()}
    single = network.astype("float32").gradients(x, labels)
    return {
        "true": x,
        "ours, label recovered": reconstruct(network, single).inputs,
        "equations 6 and 7 as printed, label given": as_printed(network, releases, softmax(network.logits(x)) - labels),
        f"ours, noise of {_NOISE:g}": reconstruct_noisy(network, noisy, family="smoothing").inputs,
    }


def colour_grid(n: int = 8, *, seed: int = 0) -> str:
    """Return the pictures as SVG, one method a row, with median PSNR and SSIM beside it."""
    rows, step, parts = rebuilt(n, seed=seed), _SHOWN + _GAP, []
    for number, (name, images) in enumerate(rows.items()):
        shown, truth = np.clip(np.nan_to_num(images), 0, 1), rows["true"]
        quality = ""
        if number:
            quality = f": {np.median(psnr(images, truth)):.0f} dB, SSIM {np.median(likeness(shown, truth)):.2f}"
        parts.append(f'<text x="0" y="{number * step + step // 2}">{name}{quality}</text>')
        parts += [
            f'<image x="{_TEXT + place * step}" y="{number * step}" width="{_SHOWN}" height="{_SHOWN}" '
            f'href="data:image/png;base64,{as_png(image)}"/>'
            for place, image in enumerate(as_images(shown))
        ]
    size = f'width="{_TEXT + n * step}" height="{len(rows) * step}"'
    style = 'font-family="sans-serif" font-size="11"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>\n' + "\n".join(parts) + "\n</svg>\n"
