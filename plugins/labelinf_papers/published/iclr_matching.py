"""Gradient matching on a convolutional network, by what is known of the label (Wang et al., ICLR 2024, Tables 3 to 6).

A sigmoid network of two convolutions and a linear layer without bias, weights from U(-.5, .5), on the real digits with
smoothed labels. Needs PyTorch.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.plugin.reproductions import Table
from labelinf_gradients.game.torch_network import TorchNetwork, import_torch
from labelinf_gradients.reconstruction.matching import Distance, Matching
from labelinf_gradients.reconstruction.quality import likeness, psnr
from labelinf_gradients.recovery.solver import recover
from labelinf_papers.published.iclr_victims import Victims, halves

__all__ = ["MODES", "Mode", "convolutional", "feature_table", "label_table", "matching_table", "ratios"]

_EPOCHS = 5  # of a trained network


@attrs.frozen(kw_only=True)
class Mode:
    """What is done about the label.

    Attributes:
        label: Which label is given: ``"true"``, ``"ours"``, ``"idlg"`` or nothing.
        joint: Whether it is optimised with the input.
        weights: alpha and beta of equation 8: of the last layer's gradient and of the recovered feature.
    """

    label: str = ""
    joint: bool = False
    weights: tuple[float, float] = (1.0, 0.0)


MODES = {
    "true label": Mode(label="true"),
    "ours": Mode(label="ours"),
    "iDLG": Mode(label="idlg"),
    "joint": Mode(joint=True),
    "joint from ours": Mode(label="ours", joint=True),
    "ours, eq. 8": Mode(label="ours", weights=(0.0, 2.0)),
}


def convolutional(*, seed: int = 0) -> TorchNetwork:
    """Return the network: 8 x 8 images, 8 and 16 channels, sigmoids, float64."""
    torch = import_torch("gradient matching")
    nn = torch.nn
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        module = nn.Sequential(
            nn.Unflatten(1, (1, 8, 8)),
            nn.Conv2d(1, 8, 3, padding=1),
            nn.Sigmoid(),
            nn.Conv2d(8, 16, 3, stride=2, padding=1),
            nn.Sigmoid(),
            nn.Flatten(),
            nn.Linear(256, 10, bias=False),
        )
        for parameter in module.parameters():
            nn.init.uniform_(parameter, -0.5, 0.5)
    return TorchNetwork.wrap(module, target="convolutional", n_inputs=64, precision="float64")


def ratios(mode: Mode, distance: Distance, *, images: int, iterations: int) -> NDArray[np.float64]:
    """Return the PSNR of every image in dB, shape ``(images,)``."""
    victim = _Victim()
    return psnr(*victim.matched(mode, distance, images=images, iterations=iterations))


@attrs.frozen(kw_only=True)
class _Victim:
    """Whose gradients are matched.

    Attributes:
        family: Of the labels.
        epochs: Of the network's training on the other digits.
    """

    family: str = "smoothing"
    epochs: int = 0

    def quality(self, mode: Mode, distance: Distance, *, images: int, iterations: int) -> str:
        """Return the median PSNR and SSIM of a mode."""
        found, true = self.matched(mode, distance, images=images, iterations=iterations)
        return f"{np.median(psnr(found, true)):.1f} / {np.median(likeness(found, true)):.2f}"

    def matched(
        self, mode: Mode, distance: Distance, *, images: int, iterations: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return what comes out, and the true inputs, shape ``(images, 64)`` each."""
        network, victims = _trained(self.epochs), Victims.draw(images, self.family)
        matching = Matching(
            distance=distance,
            joint=mode.joint,
            iterations=iterations,
            last_layer=mode.weights[0],
            feature=mode.weights[1],
        )
        found = []
        for number in range(images):
            x, truth = victims.inputs[number], victims.labels[number]
            released = {name: part[0] for name, part in network.gradients(x[None], truth[None]).items()}
            label, feature = _given(mode, network, released, truth, self.family)
            rng = np.random.default_rng(number)
            found.append(matching.run(network, released, x.shape, rng, label=label, feature=feature).inputs)
        return np.array(found), victims.inputs


@functools.cache
def _trained(epochs: int) -> TorchNetwork:
    """Return the network after some epochs of Adam on the other half of the digits."""
    network = convolutional()
    torch = import_torch("gradient matching")
    inputs, classes = (torch.as_tensor(part) for part in halves()[0])
    optimiser = torch.optim.Adam(network.module.parameters(), lr=0.01)
    for _ in range(epochs):
        for rows in torch.arange(len(inputs)).split(64):
            optimiser.zero_grad()
            torch.nn.functional.cross_entropy(network.module(inputs[rows]), classes[rows]).backward()
            optimiser.step()
    return network


def _given(
    mode: Mode, network: TorchNetwork, released: dict[str, NDArray[Any]], truth: NDArray[np.float64], family: str
) -> tuple[NDArray[np.float64] | None, NDArray[np.float64] | None]:
    """Return the label and the feature that a mode starts from; only the true label's mode is shown the truth."""
    if mode.label == "true":
        return truth, None
    last = released[network.classifier_names[0]]
    if mode.label == "idlg":
        return np.eye(len(last))[last.sum(axis=1).argmin()], None
    if mode.label == "ours":
        found = recover(last, network.classifier.weights, family=family, nonnegative=network.nonnegative)
        return found.labels[0], found.features[0] if mode.weights[1] else None
    return None, None


def matching_table(*, images: int, iterations: int) -> Table:
    """Compute every mode under both distances."""
    rows = []
    for name, mode in MODES.items():
        cells = (np.median(ratios(mode, distance, images=images, iterations=iterations)) for distance in Distance)
        rows.append((name, *map(float, cells)))
    return Table(
        title=f"gradient matching, sigmoid network, {images} smoothed digits, {iterations} steps: median PSNR in dB",
        columns=("label", *(distance.value for distance in Distance)),
        rows=tuple(rows),
    )


def label_table(*, images: int, iterations: int) -> Table:
    """Compute Table 3: PSNR and SSIM by what is known of the label, mixed and smoothed labels, trained or not."""
    names = [name for name in MODES if "eq. 8" not in name]
    rows = []
    for family, distance, epochs in itertools.product(("mixup", "smoothing"), Distance, (0, _EPOCHS)):
        victims = _Victim(family=family, epochs=epochs)
        cells = (victims.quality(MODES[name], distance, images=images, iterations=iterations) for name in names)
        rows.append((family, distance.value, "yes" if epochs else "no", *cells))
    return Table(
        title=f"Table 3: median PSNR in dB / SSIM by label, {images} digits a cell, {iterations} steps",
        columns=("labels", "distance", "trained", *names),
        rows=tuple(rows),
    )


def feature_table(*, images: int, iterations: int) -> Table:
    """Compute Table 4: weights alpha of the last layer's gradient and beta of its feature, label recovered."""
    weights = ((1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (0.0, 2.0), (2.0, 2.0))
    rows = []
    for family, distance in itertools.product(("mixup", "smoothing"), Distance):
        victims = _Victim(family=family)
        modes = (attrs.evolve(MODES["ours"], weights=pair) for pair in weights)
        cells = (victims.quality(mode, distance, images=images, iterations=iterations) for mode in modes)
        rows.append((family, distance.value, *cells))
    return Table(
        title=f"Table 4: median PSNR in dB / SSIM by alpha and beta, {images} digits a cell, {iterations} steps",
        columns=("labels", "distance", *(f"alpha {alpha:g}, beta {beta:g}" for alpha, beta in weights)),
        rows=tuple(rows),
    )
