"""Gradient matching on a convolutional network, by what is done about the label (Wang et al., ICLR 2024, Table 6).

A sigmoid network of two convolutions and a linear layer without bias, weights from U(-.5, .5), on the real digits with
smoothed labels. Needs PyTorch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from labelinf_core.plugin.reproductions import Table
from labelinf_gradients.game.torch_network import TorchNetwork, import_torch
from labelinf_gradients.published.victims import Victims
from labelinf_gradients.reconstruction.matching import Distance, LabelMode, Matching
from labelinf_gradients.reconstruction.quality import psnr
from labelinf_gradients.recovery.solver import recover

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MODES", "Mode", "convolutional", "matching_table", "ratios"]


@attrs.frozen(kw_only=True)
class Mode:
    """What is done about the label.

    Attributes:
        label: Which label is given: ``"true"``, ``"ours"``, ``"idlg"`` or nothing.
        how: ``fixed`` or ``joint``.
        by_feature: Equation 8 with alpha = 0 and beta = 2: the recovered feature for the last layer's gradient.
    """

    label: str = ""
    how: LabelMode = LabelMode.FIXED
    by_feature: bool = False


MODES = {
    "true label": Mode(label="true"),
    "ours": Mode(label="ours"),
    "iDLG": Mode(label="idlg"),
    "joint": Mode(how=LabelMode.JOINT),
    "joint from ours": Mode(label="ours", how=LabelMode.JOINT),
    "ours, eq. 8": Mode(label="ours", by_feature=True),
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
    network, victims = convolutional(), Victims.draw(images, "smoothing")
    matching = Matching(
        distance=distance,
        labels=mode.how,
        iterations=iterations,
        last_layer=0.0 if mode.by_feature else 1.0,
        feature=2.0 if mode.by_feature else 0.0,
    )
    found = []
    for number in range(images):
        x, truth = victims.inputs[number], victims.labels[number]
        released = {name: part[0] for name, part in network.gradients(x[None], truth[None]).items()}
        label, feature = _given(mode, network, released, truth)
        rng = np.random.default_rng(number)
        found.append(matching.run(network, released, x.shape, rng, label=label, feature=feature).inputs)
    return psnr(np.array(found), victims.inputs)


def _given(
    mode: Mode, network: TorchNetwork, released: dict[str, NDArray[Any]], truth: NDArray[np.float64]
) -> tuple[NDArray[np.float64] | None, NDArray[np.float64] | None]:
    """Return the label and the feature that a mode starts from; only the true label's mode is shown the truth."""
    if mode.label == "true":
        return truth, None
    last = released[network.classifier_names[0]]
    if mode.label == "idlg":
        return np.eye(len(last))[last.sum(axis=1).argmin()], None
    if mode.label == "ours":
        found = recover(last, network.classifier.weights, family="smoothing", nonnegative=network.nonnegative)
        return found.labels[0], found.features[0] if mode.by_feature else None
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
