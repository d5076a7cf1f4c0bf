"""Reconstructions to look at: true images above, and below what each method makes of their gradients, as one SVG.

Digits, and 32 x 32 patches of the two photographs that come with scikit-learn (``china.jpg``, ``flower.jpg``; they need
Pillow to be read). No picture is drawn of a user's own records: a page that is published would hold them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.images import as_png
from labelinf_gradients.game.networks import Perceptron, softmax
from labelinf_gradients.reconstruction.chain import as_printed, inputs_by_recursion
from labelinf_gradients.reconstruction.inputs import reconstruct, reconstruct_noisy
from labelinf_gradients.reconstruction.quality import as_images, likeness, psnr
from labelinf_papers.published.iclr_victims import Victims, fully_connected

__all__ = ["colour_grid", "grid", "patches", "rebuilt", "reconstructions"]

_NOISE, _CLASSES = 1e-3, 10
_PIXEL, _DIGIT = 6, 8  # units of the drawing, and pixels of a digit's side
_SIDE, _POOL, _PATCH = 32, 4, 64  # pixels of a side of a patch, of the photograph for one, units of the drawing
_GAP, _TEXT = 6, 330  # units of the drawing

Images = Mapping[str, "NDArray[np.float64]"]


def reconstructions(n: int) -> Images:
    """Return ``n`` true digits and what each method makes of them, by its name, shape ``(n, 64)`` each.

    Labels are smoothed by secret factors. No method but the recursion under noise is given any of them.
    """
    network, victims = fully_connected(epochs=3), Victims.draw(n, "smoothing", seed=1)
    rng = np.random.default_rng(2)
    made, noisy = _methods(network, victims.inputs, victims.labels, rng)
    errors = softmax(network.logits(victims.inputs)) - victims.labels
    features = network.features(victims.inputs)
    name = f"recursion, noise of {_NOISE:g}, label given"
    return {**made, name: inputs_by_recursion(network, noisy, features, errors)}


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


def rebuilt(n: int, *, seed: int = 0) -> Images:
    """Return true patches and what each method makes of their gradients, by its name, shape ``(n, 3072)`` each.

    The network is 3072-256-64-10 with ReLUs, without biases and untrained; labels are random and smoothed by secret
    factors. Only the equations as printed are given any.
    """
    rng, x = np.random.default_rng(seed), patches(n, seed=seed)
    network = Perceptron.random((x.shape[1], 256, 64, _CLASSES), rng, bias=False)
    factor = rng.uniform(0, 0.5, (n, 1))
    labels = (1 - factor) * np.eye(_CLASSES)[rng.integers(_CLASSES, size=n)] + factor / _CLASSES
    return _methods(network, x, labels, rng)[0]


def _methods(
    network: Perceptron, x: NDArray[np.float64], labels: NDArray[np.float64], rng: np.random.Generator
) -> tuple[Images, dict[str, NDArray[Any]]]:
    """Return the inputs and what every method makes of their gradients, and the noised gradients."""
    releases = network.gradients(x, labels)
    noisy = {name: part + _NOISE * rng.normal(size=part.shape) for name, part in releases.items()}
    single = network.astype("float32").gradients(x, labels)
    made = {
        "true": x,
        "ours, label recovered": reconstruct(network, single).inputs,
        "equations 6 and 7 as printed, label given": as_printed(network, releases, softmax(network.logits(x)) - labels),
        f"ours, noise of {_NOISE:g}": reconstruct_noisy(network, noisy, family="smoothing").inputs,
    }
    return made, noisy


def grid(n: int = 10) -> str:
    """Return ``n`` digits and what is made of them as SVG."""

    def drawn(images: NDArray[np.float64], left: Sequence[int], top: int) -> list[str]:
        return [_digit(image, place, top) for image, place in zip(images, left, strict=True)]

    return _svg(reconstructions(n), n, _DIGIT * _PIXEL, drawn)


def colour_grid(n: int = 8, *, seed: int = 0) -> str:
    """Return ``n`` patches and what is made of them as SVG."""

    def drawn(images: NDArray[np.float64], left: Sequence[int], top: int) -> list[str]:
        size = f'width="{_PATCH}" height="{_PATCH}" href="data:image/png;base64,'
        shown = zip(as_images(images), left, strict=True)
        return [f'<image x="{place}" y="{top}" {size}{as_png(image)}"/>' for image, place in shown]

    return _svg(rebuilt(n, seed=seed), n, _PATCH, drawn)


def _svg(rows: Images, n: int, side: int, drawn: Callable[[NDArray[np.float64], Sequence[int], int], list[str]]) -> str:
    """Return pictures, one method a row, with median PSNR and SSIM beside it."""
    step, truth, parts = side + _GAP, rows["true"], []
    for number, (name, images) in enumerate(rows.items()):
        shown, quality = np.clip(np.nan_to_num(images), 0, 1), ""
        if number:
            quality = f": {np.median(psnr(images, truth)):.0f} dB, SSIM {np.median(likeness(shown, truth)):.2f}"
        parts.append(f'<text x="0" y="{number * step + step // 2}">{name}{quality}</text>')
        parts += drawn(shown, range(_TEXT, _TEXT + n * step, step), number * step)
    size = f'width="{_TEXT + n * step}" height="{len(rows) * step}"'
    style = 'font-family="sans-serif" font-size="11"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>\n' + "\n".join(parts) + "\n</svg>\n"


def _digit(pixels: NDArray[np.float64], left: int, top: int) -> str:
    """Return one digit, ink black."""
    ink = np.rint(255 * (1 - pixels)).astype(int)
    squares = (
        f'<path fill="#{grey:02x}{grey:02x}{grey:02x}" d="{_squares(np.flatnonzero(ink == grey), left, top)}"/>'
        for grey in np.unique(ink)
    )
    return "".join(squares)


def _squares(places: NDArray[np.intp], left: int, top: int) -> str:
    corners = ((left + place % _DIGIT * _PIXEL, top + place // _DIGIT * _PIXEL) for place in places.tolist())
    return "".join(f"M{x} {y}h{_PIXEL}v{_PIXEL}h-{_PIXEL}z" for x, y in corners)
